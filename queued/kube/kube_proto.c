/* SPDX-License-Identifier: Apache-2.0 */
/* kube_proto.c - the walk over envelopes, lists and frames.
 *
 * An object is the bytes k8s\0 and a message Unknown {1 TypeMeta {2 kind}, 2 raw, 3 encoding}; a
 * list is {1 ListMeta {2 version, 3 continue}, 2 items}; an event is {1 type, 2 {1 raw}}.
 */
#include "kube/kube_proto.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "util/mem.h"

enum { MAGIC_BYTES = 4, FRAME_HEADER = 4, SMALL_MAX = 1024 * 1024 };
static const uint8_t magic[MAGIC_BYTES] = {'k', '8', 's', 0};

bool proto_is_type(const char *type)
{
    static const char name[] = "application/vnd.kubernetes.protobuf";
    size_t n = sizeof(name) - 1;

    return type && !strncasecmp(type, name, n) && strchr("; \t", type[n]);
}

/* ---- one message that is whole in memory */

/* The bytes of field `number`, the last one of them as protobuf wants it; false: damaged, or the
 * field is of another type. ret is empty when there is none. */
static bool bytes_of(struct proto_span message, uint32_t number, struct proto_span *ret)
{
    struct proto_walk w = proto_walk(message);
    struct proto_field f;

    *ret = (struct proto_span){message.p, 0};
    while (proto_walk_next(&w, &f)) {
        if (f.number != number)
            continue;
        if (f.wire != WIRE_BYTES)
            return false;
        *ret = f.value;
    }
    return !w.is_bad;
}

/* A text into an array; false: too long, or there is a NUL in it. */
static bool copy_text(char *dst, size_t size, struct proto_span s)
{
    if (s.len >= size || memchr(s.p, 0, s.len))
        return false;
    memcpy(dst, s.p, s.len);
    dst[s.len] = '\0';
    return true;
}

static bool read_kind(struct proto_span type_meta, char kind[PROTO_KIND_MAX + 1])
{
    struct proto_span s;

    return bytes_of(type_meta, 2, &s) && copy_text(kind, PROTO_KIND_MAX + 1, s);
}

bool proto_is_envelope(const void *bytes, size_t len)
{
    return len >= MAGIC_BYTES && !memcmp(bytes, magic, MAGIC_BYTES);
}

bool proto_open(const void *bytes, size_t len, char kind[PROTO_KIND_MAX + 1],
                struct proto_span *ret)
{
    struct proto_span unknown, type_meta, raw, encoding;

    if (!proto_is_envelope(bytes, len))
        return false;
    unknown = (struct proto_span){(const uint8_t *)bytes + MAGIC_BYTES, len - MAGIC_BYTES};
    if (!bytes_of(unknown, 1, &type_meta) || !read_kind(type_meta, kind) ||
        !bytes_of(unknown, 2, &raw) || !bytes_of(unknown, 3, &encoding) || encoding.len)
        return false;
    *ret = raw;
    return true;
}

bool proto_event_read(const void *bytes, size_t len, struct proto_event *ret)
{
    struct proto_span event = {bytes, len}, type, object;

    if (!bytes_of(event, 1, &type) || !bytes_of(event, 2, &object) ||
        !bytes_of(object, 1, &ret->object))
        return false;
    if (!copy_text(ret->type, sizeof(ret->type), type))
        ret->type[0] = '\0';
    return true;
}

/* ---- frames */

static size_t frame_size(const uint8_t *p)
{
    return (size_t)p[0] << 24 | (size_t)p[1] << 16 | (size_t)p[2] << 8 | p[3];
}

/* Add what the partial frame lacks for `want` bytes; false: it still lacks some. */
static bool fill(struct str *partial, const uint8_t **p, size_t *len, size_t want)
{
    size_t n = partial->len < want ? want - partial->len : 0;

    if (n > *len)
        n = *len;
    str_add_bytes(partial, *p, n);
    *p += n;
    *len -= n;
    return partial->len >= want;
}

/* The frame that came in pieces; true: go on (it may still lack bytes). */
static bool feed_partial(struct proto_frame *f, const uint8_t **p, size_t *len,
                         bool (*event)(void *ctx, const char *p, size_t len), void *ctx)
{
    size_t size;
    bool ok;

    if (!fill(&f->partial, p, len, FRAME_HEADER))
        return true;
    size = frame_size((const uint8_t *)f->partial.s);
    if (size > FRAME_LINE_MAX)
        return false;
    if (!fill(&f->partial, p, len, FRAME_HEADER + size))
        return true;
    ok = event(ctx, f->partial.s + FRAME_HEADER, size);
    str_clear(&f->partial);
    return ok;
}

bool proto_frame_feed(struct proto_frame *f, const void *bytes, size_t len,
                      bool (*event)(void *ctx, const char *p, size_t len), void *ctx)
{
    const uint8_t *p = bytes;

    while (len) {
        size_t size = f->partial.len || len < FRAME_HEADER ? SIZE_MAX : frame_size(p);

        if (size != SIZE_MAX && size > FRAME_LINE_MAX)
            return false;
        if (size == SIZE_MAX || size > len - FRAME_HEADER) {
            if (!feed_partial(f, &p, &len, event, ctx))
                return false;
            continue;
        }
        if (!event(ctx, (const char *)p + FRAME_HEADER, size))
            return false;
        p += FRAME_HEADER + size;
        len -= FRAME_HEADER + size;
    }
    return true;
}

void proto_frame_fini(struct proto_frame *f)
{
    str_fini(&f->partial);
}

/* ---- lists */

enum { ENVELOPE_TYPE = 1, ENVELOPE_RAW = 2, ENVELOPE_ENCODING = 3 };
enum { LIST_META = 1, LIST_ITEM = 2 };

static int take_meta(struct proto_list *l, struct proto_span meta, struct err *err)
{
    struct proto_span rv, next;

    if (!bytes_of(meta, 2, &rv) || !bytes_of(meta, 3, &next) ||
        !copy_text(l->page.rv, sizeof(l->page.rv), rv) || memchr(next.p, 0, next.len))
        return err_set(err, ERR_INVALID, "the metadata of the list cannot be read");
    free(l->page.next);
    l->page.next = NULL;
    if (!next.len)
        return 0;
    l->page.next = xcalloc(1, next.len + 1);
    memcpy(l->page.next, next.p, next.len);
    return 0;
}

static int take_envelope(struct proto_list *l, struct proto_span s, struct err *err)
{
    char kind[PROTO_KIND_MAX + 1] = "";

    if (l->number == ENVELOPE_ENCODING)
        return s.len ? err_set(err, ERR_INVALID, "the list is encoded, which nobody asked for") : 0;
    if (!read_kind(s, kind) || strcmp(kind, l->kind) != 0)
        return err_set(err, ERR_INVALID, "the answer is a \"%s\" and no %s", kind, l->kind);
    l->has_kind = true;
    return 0;
}

static int take_element(struct proto_list *l, struct proto_span s, struct err *err)
{
    if (!l->is_inside)
        return take_envelope(l, s, err);
    if (l->number == LIST_META)
        return take_meta(l, s, err);
    if (!l->sink->item(l->sink->ctx, (const char *)s.p, s.len))
        return err_set(err, ERR_INVALID, "item %zu of the list cannot be decoded", l->page.n);
    l->page.n++;
    return 0;
}

/* What follows the header of a field: how many bytes, and who wants them. */
static int begin_element(struct proto_list *l, unsigned wire, uint64_t n, struct err *err)
{
    bool is_item = l->is_inside && l->number == LIST_ITEM;
    bool is_known = l->is_inside ? l->number <= LIST_ITEM : l->number <= ENVELOPE_ENCODING;

    if (l->is_inside && n > l->raw_left)
        return err_set(err, ERR_INVALID, "an element is longer than the list around it");
    if (is_known && wire != WIRE_BYTES)
        return err_set(err, ERR_INVALID, "field %u is of another type", l->number);
    if (!l->is_inside && l->number == ENVELOPE_RAW) {
        if (!l->has_kind || l->has_raw)
            return err_set(err, ERR_INVALID, "the envelope of the list is in disorder");
        l->has_raw = l->is_inside = true;
        l->raw_left = n;
        l->number = 0;
        return 0;
    }
    if (is_known && n > (is_item ? FRAME_LINE_MAX : SMALL_MAX))
        return err_set(err, ERR_INVALID, "%s has %llu bytes", is_item ? "an item" : "an element",
                       (unsigned long long)n);
    l->is_skipped = !is_known;
    l->want = n;
    return 0;
}

/* One byte more of a header, which goes to a field that has begun when it is whole. */
static int feed_header(struct proto_list *l, uint8_t byte, struct err *err)
{
    uint64_t tag, n = 0;
    unsigned wire;
    int a, b = 0;

    l->header[l->n_header++] = byte;
    if (l->is_inside && !l->raw_left--)
        return err_set(err, ERR_INVALID, "the list has no end");
    a = proto_varint(l->header, l->n_header, &tag);
    if (!a)
        return 0;
    if (a < 0 || !proto_split_tag(tag, &l->number, &wire))
        return err_set(err, ERR_INVALID, "what comes is no field of a message");
    if (wire == WIRE_VARINT || wire == WIRE_BYTES)
        b = proto_varint(l->header + a, l->n_header - (size_t)a, &n);
    else
        n = wire == WIRE_64 ? 8 : 4;
    if (b < 0)
        return err_set(err, ERR_INVALID, "what comes is no length of a field");
    if (!b && (wire == WIRE_VARINT || wire == WIRE_BYTES)) {
        l->number = 0;
        return 0;
    }
    l->n_header = 0;
    return begin_element(l, wire, wire == WIRE_VARINT ? 0 : n, err);
}

/* The bytes of an element: handed over as they lie when they are all here, else kept. */
static int feed_element(struct proto_list *l, const uint8_t **p, size_t *len, struct err *err)
{
    size_t n = l->want < *len ? (size_t)l->want : *len;
    struct proto_span s = {*p, n};
    int rc;

    *p += n;
    *len -= n;
    l->want -= n;
    if (l->is_inside)
        l->raw_left -= n;
    if (!l->is_skipped && (l->want || l->partial.len)) {
        str_add_bytes(&l->partial, s.p, n);
        s = (struct proto_span){(const uint8_t *)l->partial.s, l->partial.len};
    }
    if (l->want)
        return 0;
    rc = l->is_skipped ? 0 : take_element(l, s, err);
    str_clear(&l->partial);
    l->number = 0;
    return rc;
}

static int feed_magic(struct proto_list *l, uint8_t byte, struct err *err)
{
    l->header[l->n_header++] = byte;
    if (byte != magic[l->n_header - 1])
        return err_set(err, ERR_INVALID, "the answer is no protobuf of the API");
    l->has_magic = l->n_header == MAGIC_BYTES;
    if (l->has_magic)
        l->n_header = 0;
    return 0;
}

int proto_list_feed(struct proto_list *l, const void *bytes, size_t len, struct err *err)
{
    const uint8_t *p = bytes;
    int rc = 0;

    while (!rc && (len || (l->number && !l->want))) {
        if (l->number) {
            rc = feed_element(l, &p, &len, err);
            continue;
        }
        if (l->is_inside && !l->raw_left && !l->n_header)
            l->is_inside = false;
        rc = l->has_magic ? feed_header(l, *p, err) : feed_magic(l, *p, err);
        p++;
        len--;
    }
    return rc;
}

int proto_list_end(struct proto_list *l, struct json_page *ret, struct err *err)
{
    if (!l->has_raw || l->raw_left || l->number || l->n_header)
        return err_set(err, ERR_INVALID, "the list breaks off after %zu items", l->page.n);
    if (!l->page.rv[0])
        return err_set(err, ERR_INVALID, "the list has no version");
    *ret = l->page;
    l->page.next = NULL;
    return 0;
}

void proto_list_fini(struct proto_list *l)
{
    free(l->page.next);
    l->page.next = NULL;
    str_fini(&l->partial);
}
