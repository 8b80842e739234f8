/* SPDX-License-Identifier: Apache-2.0 */
/* fake_store.c - sorted arrays of records behind the store port.
 *
 * Keys mostly grow, so that an insertion is mostly an append.
 */
#include "fake_store.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "store/store_load.h"
#include "util/crc32c.h"
#include "util/mem.h"
#include "util/vec.h"

struct record {
    uint8_t *key;
    size_t key_len;
    uint8_t *value;
    size_t value_len;
};

struct table {
    VEC(struct record) records; /* by key */
};

struct fake_store {
    struct table tables[STORE_TABLES];
    uint64_t rng;
    enum fake_failure fails;
    bool holds_acks, is_acked;
    uint64_t n_commits, n_puts;
    char created_by[STORE_CREATED_BY_MAX + 1];
};

struct fake_store *fake_store_create(uint64_t seed)
{
    struct fake_store *f = xcalloc(1, sizeof(*f));

    f->rng = seed;
    f->is_acked = true;
    (void)str_copy(f->created_by, sizeof(f->created_by), "fake");
    return f;
}

static void record_fini(struct record *r)
{
    free(r->key);
    free(r->value);
}

void fake_store_destroy(struct fake_store *f)
{
    if (!f)
        return;
    for (int t = 0; t < STORE_TABLES; t++) {
        for (size_t i = 0; i < f->tables[t].records.n; i++)
            record_fini(&f->tables[t].records.v[i]);
        vec_fini(&f->tables[t].records);
    }
    free(f);
}

/* ---- records */

static int compare(const struct record *r, struct store_bytes key)
{
    size_t n = r->key_len < key.len ? r->key_len : key.len;
    int c = n ? memcmp(r->key, key.p, n) : 0;

    if (c)
        return c;
    return r->key_len < key.len ? -1 : r->key_len > key.len;
}

/* First position with a key not below this one. */
static size_t position(const struct table *t, struct store_bytes key)
{
    size_t lo = 0, hi = t->records.n;

    if (hi && compare(&t->records.v[hi - 1], key) < 0)
        return hi;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (compare(&t->records.v[mid], key) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static struct record *find(const struct table *t, struct store_bytes key)
{
    size_t i = position(t, key);

    return i < t->records.n && compare(&t->records.v[i], key) == 0 ? &t->records.v[i] : NULL;
}

void fake_store_set(struct fake_store *f, enum store_table t, struct store_bytes key,
                    struct store_bytes value)
{
    struct table *table = &f->tables[t];
    struct record *r = find(table, key);

    if (r) {
        free(r->value);
    } else {
        size_t i = position(table, key);

        (void)vec_push(&table->records);
        r = &table->records.v[i];
        memmove(r + 1, r, (table->records.n - 1 - i) * sizeof(*r));
        r->key = xmemdup(key.p, key.len);
        r->key_len = key.len;
    }
    r->value = xmemdup(value.p, value.len);
    r->value_len = value.len;
}

static void del(void *ctx, enum store_table t, struct store_bytes key)
{
    struct fake_store *f = ctx;
    struct record *r = find(&f->tables[t], key);

    if (!r)
        return;
    record_fini(r);
    vec_remove(&f->tables[t].records, (size_t)(r - f->tables[t].records.v));
}

static void put(void *ctx, enum store_table t, struct store_bytes key, struct store_bytes value)
{
    struct fake_store *f = ctx;

    fake_store_set(f, t, key, value);
    f->n_puts++;
}

static void del_below(void *ctx, enum store_table t, struct store_bytes key)
{
    struct fake_store *f = ctx;
    struct table *table = &f->tables[t];
    size_t n = position(table, key);

    if (n == 0)
        return;
    for (size_t i = 0; i < n; i++)
        record_fini(&table->records.v[i]);
    memmove(table->records.v, table->records.v + n,
            (table->records.n - n) * sizeof(*table->records.v));
    table->records.n -= n;
}

/* ---- the port */

static enum fake_failure next_failure(struct fake_store *f)
{
    enum fake_failure how = f->fails;

    f->fails = FAKE_WORKS;
    if (how != FAKE_FAILS_EITHER)
        return how;
    f->rng = f->rng * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return f->rng >> 63 ? FAKE_FAILS_BEFORE : FAKE_FAILS_AFTER;
}

static int commit_begin(void *ctx, const struct state *s, const struct effects *fx, struct err *err)
{
    struct fake_store *f = ctx;
    const struct store_sink sink = {
        .ctx = f,
        .created_by = f->created_by,
        .put = put,
        .del = del,
        .del_below = del_below,
    };
    enum fake_failure how = next_failure(f);

    assert(f->is_acked); /* one commit in flight at a time */
    if (how == FAKE_FAILS_BEFORE)
        return err_set(err, ERR_UNAVAILABLE, "fake store: failed before the commit");
    (void)store_records_put(s, fx, &sink);
    f->n_commits++;
    if (how == FAKE_FAILS_AFTER)
        return err_set(err, ERR_UNAVAILABLE, "fake store: failed after the commit");
    f->is_acked = !f->holds_acks;
    return 0;
}

static bool is_acked(void *ctx)
{
    const struct fake_store *f = ctx;

    return f->is_acked;
}

static int read_spec(void *ctx, struct job_id id, struct spec **ret, struct err *err)
{
    const struct fake_store *f = ctx;
    const struct record *r;
    struct store_key key;

    store_key_u64(&key, id.v);
    r = find(&f->tables[STORE_SPECS], store_bytes_of(&key));
    if (!r)
        return err_set(err, ERR_NOT_FOUND, "the spec of this job is not stored");
    if (store_decode_spec(store_bytes_of(&key), (struct store_bytes){r->value, r->value_len}, ret,
                          err) == 0)
        return 0;
    if (err)
        err->code = ERR_INTERNAL;
    return -1;
}

static int read_notes(void *ctx, struct note_range range,
                      bool (*fn)(void *arg, const struct job_note *note), void *arg,
                      struct err *err)
{
    const struct fake_store *f = ctx;
    const struct table *t = &f->tables[STORE_NOTES];
    struct store_key key;
    struct job_note note;

    store_key_u64(&key, range.from);
    for (size_t i = position(t, store_bytes_of(&key)); i < t->records.n && range.max > 0;
         i++, range.max--) {
        const struct record *r = &t->records.v[i];

        if (store_decode_note((struct store_bytes){r->key, r->key_len},
                              (struct store_bytes){r->value, r->value_len}, &note, err) < 0)
            return -1;
        if (!fn(arg, &note))
            break;
    }
    return 0;
}

static int walk(void *ctx, enum store_table t,
                bool (*fn)(void *arg, struct store_bytes key, struct store_bytes value), void *arg,
                struct err *err)
{
    const struct fake_store *f = ctx;
    const struct table *table = &f->tables[t];

    (void)err;
    for (size_t i = 0; i < table->records.n; i++) {
        const struct record *r = &table->records.v[i];

        if (!fn(arg, (struct store_bytes){r->key, r->key_len},
                (struct store_bytes){r->value, r->value_len}))
            break;
    }
    return 0;
}

static bool get(void *ctx, enum store_table t, struct store_bytes key, struct store_bytes *ret)
{
    const struct fake_store *f = ctx;
    const struct record *r = find(&f->tables[t], key);

    if (!r)
        return false;
    *ret = (struct store_bytes){r->value, r->value_len};
    return true;
}

static int load(void *ctx, struct state *s, struct err *err)
{
    const struct store_source src = {.ctx = ctx, .walk = walk, .get = get, .put = put, .del = del};
    struct fake_store *f = ctx;
    struct store_loaded done;

    if (store_load(&src, "fake", s, &done, err) < 0)
        return -1;
    if (*done.created_by)
        (void)str_copy(f->created_by, sizeof(f->created_by), done.created_by);
    return 0;
}

struct store_port fake_store_port(struct fake_store *f)
{
    return (struct store_port){
        .ctx = f,
        .commit_begin = commit_begin,
        .is_acked = is_acked,
        .read_spec = read_spec,
        .read_notes = read_notes,
        .load = load,
    };
}

/* ---- for tests */

void fake_store_fail_next(struct fake_store *f, enum fake_failure how)
{
    f->fails = how;
}

void fake_store_hold_acks(struct fake_store *f, bool hold)
{
    f->holds_acks = hold;
}

void fake_store_ack(struct fake_store *f)
{
    f->is_acked = true;
}

void fake_store_crash(struct fake_store *f)
{
    f->is_acked = true;
    f->fails = FAKE_WORKS;
}

uint64_t fake_store_commits(const struct fake_store *f)
{
    return f->n_commits;
}

uint64_t fake_store_puts(const struct fake_store *f)
{
    return f->n_puts;
}

size_t fake_store_count(const struct fake_store *f, enum store_table t)
{
    return f->tables[t].records.n;
}

bool fake_store_at(const struct fake_store *f, enum store_table t, size_t i,
                   struct store_bytes *ret_key, struct store_bytes *ret_value)
{
    const struct record *r;

    if (i >= f->tables[t].records.n)
        return false;
    r = &f->tables[t].records.v[i];
    *ret_key = (struct store_bytes){r->key, r->key_len};
    *ret_value = (struct store_bytes){r->value, r->value_len};
    return true;
}

void fake_store_sign(enum store_table t, struct store_bytes key, uint8_t *value, size_t len)
{
    uint8_t where[3] = {(uint8_t)t, (uint8_t)(key.len >> 8), (uint8_t)key.len};
    uint32_t crc = crc32c(crc32c(0, where, sizeof(where)), key.p, key.len);

    assert(len >= STORE_HEADER_BYTES);
    crc = crc32c(crc32c(crc, value, 4), value + STORE_HEADER_BYTES, len - STORE_HEADER_BYTES);
    for (int i = 0; i < 4; i++)
        value[4 + i] = (uint8_t)(crc >> (24 - 8 * i));
}

static void feed_record(const struct record *r, void (*fn)(void *arg, const void *p, size_t len),
                        void *arg)
{
    uint64_t lengths[2] = {r->key_len, r->value_len};

    fn(arg, lengths, sizeof(lengths));
    fn(arg, r->key, r->key_len);
    fn(arg, r->value, r->value_len);
}

static void feed(const struct fake_store *f, void (*fn)(void *arg, const void *p, size_t len),
                 void *arg)
{
    for (int t = 0; t < STORE_TABLES; t++) {
        const struct table *table = &f->tables[t];
        uint64_t n = table->records.n;

        fn(arg, &n, sizeof(n));
        for (size_t i = 0; i < table->records.n; i++)
            feed_record(&table->records.v[i], fn, arg);
    }
}

static void add_to_str(void *arg, const void *p, size_t len)
{
    str_add_bytes(arg, p, len);
}

void fake_store_bytes(const struct fake_store *f, struct str *ret)
{
    feed(f, add_to_str, ret);
}

/* FNV-1a by words, with a shift: its lowest bits would never see the highest. */
static void add_to_hash(void *arg, const void *p, size_t len)
{
    const uint8_t *bytes = p;
    uint64_t *hash = arg;

    for (size_t at = 0; at < len; at += sizeof(uint64_t)) {
        uint64_t word = 0;

        memcpy(&word, bytes + at, len - at < sizeof(word) ? len - at : sizeof(word));
        *hash = (*hash ^ word) * UINT64_C(0x100000001b3);
        *hash ^= *hash >> 32;
    }
}

uint64_t fake_store_hash(const struct fake_store *f)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    feed(f, add_to_hash, &hash);
    return hash;
}
