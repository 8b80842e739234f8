/* SPDX-License-Identifier: Apache-2.0 */
/* indices.c - a sorted vector of ranges, searched by halves. */
#include "spec/indices.h"

#include "spec/limits.h"

void indices_fini(struct indices *s)
{
    vec_fini(&s->ranges);
    s->n = 0;
}

/* The first range that does not end before index. */
static size_t place_of(const struct indices *s, uint32_t index)
{
    size_t lo = 0, hi = s->ranges.n;

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;

        if (s->ranges.v[mid].to < index)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static void insert(struct indices *s, size_t at, struct index_range r)
{
    (void)vec_push(&s->ranges);
    memmove(&s->ranges.v[at + 1], &s->ranges.v[at],
            (s->ranges.n - 1 - at) * sizeof(s->ranges.v[0]));
    s->ranges.v[at] = r;
}

bool indices_has(const struct indices *s, uint32_t index)
{
    size_t at = place_of(s, index);

    return at < s->ranges.n && s->ranges.v[at].from <= index;
}

bool indices_add(struct indices *s, uint32_t index)
{
    size_t at = place_of(s, index);
    bool joins_left = at > 0 && s->ranges.v[at - 1].to + 1 == index;
    bool joins_right = at < s->ranges.n && s->ranges.v[at].from == index + 1;

    if (at < s->ranges.n && s->ranges.v[at].from <= index)
        return false;
    s->n++;
    if (joins_left && joins_right) {
        s->ranges.v[at - 1].to = s->ranges.v[at].to;
        vec_remove(&s->ranges, at);
    } else if (joins_left) {
        s->ranges.v[at - 1].to = index;
    } else if (joins_right) {
        s->ranges.v[at].from = index;
    } else {
        insert(s, at, (struct index_range){index, index});
    }
    return true;
}

bool indices_remove(struct indices *s, uint32_t index)
{
    size_t at = place_of(s, index);
    struct index_range *r = at < s->ranges.n ? &s->ranges.v[at] : NULL;

    if (!r || r->from > index)
        return false;
    s->n--;
    if (r->from == r->to) {
        vec_remove(&s->ranges, at);
    } else if (r->from == index) {
        r->from++;
    } else if (r->to == index) {
        r->to--;
    } else {
        uint32_t to = r->to;

        r->to = index - 1;
        insert(s, at + 1, (struct index_range){index + 1, to});
    }
    return true;
}

/* Behind all that are there, or over the last of them. */
static void append(struct indices *s, uint32_t from, uint32_t to)
{
    struct index_range *last = s->ranges.n ? &s->ranges.v[s->ranges.n - 1] : NULL;

    if (!last || from > last->to + 1) {
        *vec_push(&s->ranges) = (struct index_range){from, to};
        s->n += to - from + 1;
    } else if (to > last->to) {
        s->n += to - last->to;
        last->to = to;
    }
}

void indices_select(struct indices *ret, const struct indices *a, const struct indices *b,
                    bool is_in)
{
    size_t k = 0;

    *ret = (struct indices){.n = 0};
    for (size_t i = 0; i < a->ranges.n; i++) {
        struct index_range left = a->ranges.v[i];

        while (k < b->ranges.n && b->ranges.v[k].to < left.from)
            k++;
        for (size_t m = k; m < b->ranges.n && b->ranges.v[m].from <= left.to; m++) {
            struct index_range r = b->ranges.v[m];
            uint32_t from = r.from > left.from ? r.from : left.from;

            if (is_in)
                append(ret, from, r.to < left.to ? r.to : left.to);
            else if (from > left.from)
                append(ret, left.from, from - 1);
            left.from = r.to + 1;
        }
        if (!is_in && left.from <= left.to)
            append(ret, left.from, left.to);
    }
}

void indices_copy(struct indices *ret, const struct indices *from)
{
    indices_select(ret, from, &(struct indices){.n = 0}, false);
}

void indices_join(struct indices *to, const struct indices *more)
{
    struct indices ret = {.n = 0};
    size_t i = 0, k = 0;

    while (i < to->ranges.n || k < more->ranges.n) {
        bool is_left = k == more->ranges.n ||
                       (i < to->ranges.n && to->ranges.v[i].from <= more->ranges.v[k].from);
        struct index_range r = is_left ? to->ranges.v[i++] : more->ranges.v[k++];

        append(&ret, r.from, r.to);
    }
    indices_fini(to);
    *to = ret;
}

static bool take_number(const char **at, uint32_t *ret)
{
    const char *from = *at;

    for (*ret = 0; **at >= '0' && **at <= '9' && *ret < ARRAY_INDICES_MAX; ++*at)
        *ret = *ret * 10 + (uint32_t)(**at - '0');
    return *at > from;
}

/* "7", "0-49" or "0-90:10". */
static int parse_part(struct indices *ret, const char **at, struct err *err)
{
    uint32_t from, to, step = 1;

    if (!take_number(at, &from))
        return err_set(err, ERR_INVALID,
                       "an index or a range is expected at '%.20s', as in 0-49 or 1,3,5-7", *at);
    to = from;
    if (**at == '-') {
        ++*at;
        if (!take_number(at, &to) || to < from)
            return err_set(err, ERR_INVALID, "the range of %u has no end at or above it", from);
        if (**at == ':') {
            ++*at;
            if (!take_number(at, &step) || step == 0)
                return err_set(err, ERR_INVALID, "the range of %u has no step above 0", from);
        }
    }
    if (to >= ARRAY_INDICES_MAX)
        return err_set(err, ERR_INVALID, "an index is at most %u", ARRAY_INDICES_MAX - 1);
    for (uint32_t i = from; i <= to; i += step)
        if (!indices_add(ret, i))
            return err_set(err, ERR_INVALID, "index %u is there twice", i);
    return 0;
}

int indices_parse(struct indices *ret, const char *text, struct err *err)
{
    const char *at = text;

    *ret = (struct indices){.n = 0};
    do {
        at += at > text; /* the comma */
        if (parse_part(ret, &at, err)) {
            indices_fini(ret);
            return -1;
        }
    } while (*at == ',');
    if (!*at)
        return 0;
    indices_fini(ret);
    return err_set(err, ERR_INVALID, "'%.20s' is no index, range or comma", at);
}

void indices_format(struct str *out, const struct indices *s, size_t max_ranges)
{
    for (size_t i = 0; i < s->ranges.n; i++) {
        const struct index_range *r = &s->ranges.v[i];

        if (max_ranges && i == max_ranges) {
            str_add(out, ",...");
            return;
        }
        str_addf(out, "%s%u", i ? "," : "", r->from);
        if (r->to > r->from)
            str_addf(out, "-%u", r->to);
    }
}
