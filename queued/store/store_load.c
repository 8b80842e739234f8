/* SPDX-License-Identifier: Apache-2.0 */
/* store_load.c - walk the tables, give each record to the state, set the damaged ones aside.
 *
 * Nothing is changed while a table is walked: what is to be moved or deleted is remembered and
 * carried out at the end.
 */
#include "store/store_load.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "life/state_apply.h"
#include "util/log.h"
#include "util/mem.h"
#include "util/vec.h"

#define ANSWER_KEPT_US (ANSWER_KEPT_HOURS * 3600 * USEC_PER_SEC)
#define KEY_KEPT_US    (KEY_KEPT_DAYS * 86400 * USEC_PER_SEC)

/* A record to be taken out of its table. */
struct removal {
    enum store_table table;
    bool to_quarantine;
    struct store_key key;
};

struct loader {
    const struct store_source *src;
    const char *where;
    struct state *s;
    struct store_loaded done;
    bool has_meta;
    usec_t newest_answer;
    uint64_t first_note, last_note; /* 0: none */
    VEC(struct removal) removals;
    struct err refused; /* a newer format; code OK: none */
};

static void remove_later(struct loader *l, enum store_table t, struct store_bytes key,
                         bool to_quarantine)
{
    struct removal *r = vec_push(&l->removals);

    r->table = t;
    r->to_quarantine = to_quarantine;
    r->key.len = key.len < sizeof(r->key.bytes) ? key.len : sizeof(r->key.bytes);
    memcpy(r->key.bytes, key.p, r->key.len);
}

static const char *key_text(char buf[JOB_ID_TEXT + 1], struct store_bytes key)
{
    uint64_t n = 0;

    for (size_t i = 0; i < key.len && i < 8; i++)
        n = n << 8 | ((const uint8_t *)key.p)[i];
    return job_id_format(buf, (struct job_id){n});
}

/* The record is damaged: say so once, and take it out at the end. */
static void set_aside(struct loader *l, enum store_table t, struct store_bytes key,
                      const struct err *why)
{
    char id[JOB_ID_TEXT + 1];

    log_error("damaged record moved to quarantine", "store=%s table=%s key=%s err=\"%s\"", l->where,
              store_table_name(t), t == STORE_META ? "meta" : key_text(id, key), why->text);
    l->done.quarantined++;
    remove_later(l, t, key, true);
}

static void seen_id(struct loader *l, struct job_id id)
{
    if (id.v > l->s->meta.last_id.v)
        l->s->meta.last_id = id;
}

/* ---- meta */

static bool load_meta(void *arg, struct store_bytes key, struct store_bytes value)
{
    struct loader *l = arg;
    struct err err;

    if (store_decode_meta(key, value, &l->s->meta, l->done.created_by, &err) == 0) {
        l->has_meta = true;
        return true;
    }
    if (err.code == ERR_REFUSED) {
        l->refused = err;
        return false;
    }
    set_aside(l, STORE_META, key, &err);
    return true;
}

/* ---- jobs */

static int load_spec(struct loader *l, const struct job *j, struct spec **ret, struct err *err)
{
    struct store_bytes key, value;
    struct store_key of;

    store_key_u64(&of, job_spec_id(j).v);
    key = store_bytes_of(&of);
    if (!l->src->get(l->src->ctx, STORE_SPECS, key, &value))
        return err_set(err, ERR_INVALID, "its spec is missing");
    if (store_decode_spec(key, value, ret, err) < 0)
        return err_wrap(err, "its spec");
    return 0;
}

static bool load_job(void *arg, struct store_bytes key, struct store_bytes value)
{
    struct loader *l = arg;
    struct job *job = NULL;
    struct spec *spec = NULL;
    struct err err;

    if (key.len == 8)
        seen_id(l, (struct job_id){store_key_u64_of(key)});
    if (store_decode_job(key, value, l->s, &job, &err) < 0 || load_spec(l, job, &spec, &err) < 0 ||
        state_load_job(l->s, job, spec, &err) < 0) {
        set_aside(l, STORE_JOBS, key, &err);
        remove_later(l, STORE_SPECS, key, true); /* kept beside it, for repair by hand */
        job_destroy(job);
    } else {
        l->done.jobs++;
    }
    if (spec)
        spec_destroy(spec);
    return true;
}

/* After the jobs, whose charges it does not contain: they go on from what it says. */
static bool load_tenant(void *arg, struct store_bytes key, struct store_bytes value)
{
    struct loader *l = arg;
    struct err err;

    if (store_decode_tenant(key, value, &l->s->tenants, &err) < 0)
        set_aside(l, STORE_TENANTS, key, &err);
    return true;
}

/* ---- keys, answers, notes */

/* When to drop a key whose job is not there: its own word, else a while after the last submission
 * (ids hold milliseconds), as for a job whose record was lost or dropped just before a crash. */
static usec_t drop_time(const struct loader *l, const struct store_submit_key *k)
{
    if (k->drop_at || state_job(l->s, k->job))
        return k->drop_at;
    return (usec_t)(l->s->meta.last_id.v >> 12) * USEC_PER_MSEC + KEY_KEPT_US;
}

static bool load_key(void *arg, struct store_bytes key, struct store_bytes value)
{
    struct loader *l = arg;
    struct store_submit_key k;
    struct err err;

    if (store_decode_key(key, value, &k, &err) < 0) {
        set_aside(l, STORE_KEYS, key, &err);
        return true;
    }
    seen_id(l, k.job);
    state_load_key(l->s, k.text, k.job, k.digest, drop_time(l, &k));
    l->done.keys++;
    return true;
}

static bool load_drain(void *arg, struct store_bytes key, struct store_bytes value)
{
    struct loader *l = arg;
    struct err err;

    if (store_decode_drain(key, value, &l->s->cluster, &err) < 0)
        set_aside(l, STORE_DRAINS, key, &err);
    return true;
}

static bool load_window(void *arg, struct store_bytes key, struct store_bytes value)
{
    struct loader *l = arg;
    struct err err;

    if (store_decode_window(key, value, l->s, &err) < 0)
        set_aside(l, STORE_WINDOWS, key, &err);
    return true;
}

static bool find_newest_answer(void *arg, struct store_bytes key, struct store_bytes value)
{
    struct loader *l = arg;
    usec_t at;

    if (key.len < 8 || store_record_check(STORE_ANSWERS, key, value, NULL) < 0)
        return true; /* load_answer() sets it aside */
    at = (usec_t)store_key_u64_of(key);
    if (at > l->newest_answer)
        l->newest_answer = at;
    return true;
}

static bool load_answer(void *arg, struct store_bytes key, struct store_bytes value)
{
    struct loader *l = arg;
    struct answer a;
    struct err err;

    if (store_decode_answer(key, value, &a, &err) < 0) {
        set_aside(l, STORE_ANSWERS, key, &err);
        return true;
    }
    seen_id(l, a.job);
    if (a.at < l->newest_answer - ANSWER_KEPT_US) {
        remove_later(l, STORE_ANSWERS, key, false);
        l->done.dropped++;
    } else {
        state_load_answer(l->s, &a);
        l->done.answers++;
    }
    free(a.text);
    return true;
}

/* Events stay in the store; here only their numbers matter. */
static bool look_at_note(void *arg, struct store_bytes key, struct store_bytes value)
{
    struct loader *l = arg;
    struct job_note n;
    struct err err;

    if (key.len != 8) {
        (void)err_set(&err, ERR_INVALID, "a key of %zu bytes is no sequence number", key.len);
        set_aside(l, STORE_NOTES, key, &err);
        return true;
    }
    if (store_record_check(STORE_NOTES, key, value, &err) < 0 ||
        (!l->has_meta && store_decode_note(key, value, &n, &err) < 0)) {
        set_aside(l, STORE_NOTES, key, &err);
        return true;
    }
    if (!l->has_meta)
        seen_id(l, n.job);
    if (!l->first_note)
        l->first_note = store_key_u64_of(key);
    l->last_note = store_key_u64_of(key);
    return true;
}

/* ---- all */

static int walk_all(struct loader *l, struct err *err)
{
    static const struct {
        enum store_table table;
        bool (*fn)(void *arg, struct store_bytes key, struct store_bytes value);
    } steps[] = {
        {STORE_DRAINS, load_drain},          {STORE_JOBS, load_job},
        {STORE_TENANTS, load_tenant},        {STORE_KEYS, load_key},
        {STORE_ANSWERS, find_newest_answer}, {STORE_ANSWERS, load_answer},
        {STORE_NOTES, look_at_note},         {STORE_WINDOWS, load_window},
    };

    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        if (l->src->walk(l->src->ctx, steps[i].table, steps[i].fn, l, err) < 0)
            return err_wrap(err, "store %s: read table %s", l->where,
                            store_table_name(steps[i].table));
    }
    return 0;
}

/* Numbers that no record may pass, also when the meta record is gone. */
static void raise_numbers(struct loader *l)
{
    struct store_meta *m = &l->s->meta;

    if (m->next_seq <= l->last_note)
        m->next_seq = l->last_note + 1;
    if (m->next_seq == 0)
        m->next_seq = 1;
    if (!l->has_meta && l->first_note)
        m->oldest_seq = l->first_note;
    if (m->oldest_seq == 0)
        m->oldest_seq = 1;
}

static void quarantine(struct loader *l, const struct removal *r)
{
    struct store_bytes value;
    struct store_key kept;
    void *copy;

    if (!l->src->get(l->src->ctx, r->table, store_bytes_of(&r->key), &value))
        return;
    copy = xmemdup(value.p, value.len); /* value is valid until the next call only */
    store_key_quarantine(&kept, r->table, store_bytes_of(&r->key));
    l->src->put(l->src->ctx, STORE_QUARANTINE, store_bytes_of(&kept),
                (struct store_bytes){copy, value.len});
    free(copy);
}

static void remove_all(struct loader *l)
{
    for (size_t i = 0; i < l->removals.n; i++) {
        const struct removal *r = &l->removals.v[i];

        if (r->to_quarantine)
            quarantine(l, r);
        l->src->del(l->src->ctx, r->table, store_bytes_of(&r->key));
    }
}

int store_load(const struct store_source *src, const char *where, struct state *s,
               struct store_loaded *ret, struct err *err)
{
    struct loader l = {.src = src, .where = where, .s = s, .newest_answer = INT64_MIN / 2};
    int rc = -1;

    if (src->walk(src->ctx, STORE_META, load_meta, &l, err) < 0) {
        (void)err_wrap(err, "store %s: read table meta", where);
        goto out;
    }
    if (l.refused.code != ERR_OK) {
        (void)err_set(err, ERR_REFUSED,
                      "store %s: %s; start the version that wrote it, or restore a backup", where,
                      l.refused.text);
        goto out;
    }
    if (walk_all(&l, err) < 0)
        goto out;
    raise_numbers(&l);
    remove_all(&l);
    *ret = l.done;
    rc = 0;
out:
    vec_fini(&l.removals);
    return rc;
}
