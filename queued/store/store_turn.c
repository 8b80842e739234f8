/* SPDX-License-Identifier: Apache-2.0 */
/* store_turn.c - from the SAVE and DROP effects of a turn to records in a sink, with the tenants
 * that it charged.
 *
 * Jobs come first and in order of their ids, each once, whatever the order of the effects;
 * the meta record comes last, so that a reader of any store sees numbers that cover the rest.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/window.h"
#include "store/store_pack.h"

struct writer {
    const struct state *s;
    const struct store_sink *sink;
    struct arena scratch; /* of one message */
    struct pack pack;
    uint32_t n_put;
};

static void put(struct writer *w, enum store_table t, const struct store_key *k,
                const ProtobufCMessage *m)
{
    struct store_bytes key = store_bytes_of(k);

    w->sink->put(w->sink->ctx, t, key, store_pack(&w->pack, t, key, m));
    w->n_put++;
    arena_reset(&w->scratch);
}

static void del(struct writer *w, enum store_table t, const struct store_key *k)
{
    w->sink->del(w->sink->ctx, t, store_bytes_of(k));
}

static void put_job(struct writer *w, struct job_id id)
{
    const struct job *j = state_job(w->s, id);
    Queued__Record__JobRecord r = QUEUED__RECORD__JOB_RECORD__INIT;
    struct store_key key;

    if (!j)
        return; /* dropped later in the same turn */
    store_make_job(&r, j, w->s, &w->scratch);
    store_key_u64(&key, id.v);
    put(w, STORE_JOBS, &key, &r.base);
}

static int by_id(const void *a, const void *b)
{
    uint64_t x = ((const struct job_id *)a)->v, y = ((const struct job_id *)b)->v;

    return x < y ? -1 : x > y;
}

static void put_jobs(struct writer *w, const struct effects *fx)
{
    VEC(struct job_id) ids = {0};
    bool is_sorted = true; /* new jobs are */

    for (size_t i = 0; i < fx->list.n; i++) {
        struct job_id id = fx->list.v[i].job;

        if (fx->list.v[i].kind != EFFECT_SAVE_JOB)
            continue;
        is_sorted = is_sorted && (ids.n == 0 || ids.v[ids.n - 1].v <= id.v);
        *vec_push(&ids) = id;
    }
    if (!is_sorted)
        qsort(ids.v, ids.n, sizeof(*ids.v), by_id);
    for (size_t i = 0; i < ids.n; i++)
        if (i == 0 || ids.v[i].v != ids.v[i - 1].v)
            put_job(w, ids.v[i]);
    vec_fini(&ids);
}

/* Those whose past or stop changed in this turn. */
static void put_tenants(struct writer *w)
{
    for (uint32_t i = 0; i < w->s->settings->n_tenants; i++) {
        Queued__Record__TenantRecord r = QUEUED__RECORD__TENANT_RECORD__INIT;
        struct store_key key;

        if (w->s->tenants.v[i].saved_turn != w->s->turn)
            continue;
        store_make_tenant(&r, w->s->settings, &w->s->tenants.v[i], &w->scratch);
        store_key_text(&key, w->s->settings->tenants[i].path);
        put(w, STORE_TENANTS, &key, &r.base);
    }
}

/* Those whose past changed in this turn. */
static void put_users(struct writer *w)
{
    const struct tenants *t = &w->s->tenants;
    const struct account *a = t->users_turn == w->s->turn ? t->accounts : NULL;

    for (; a; a = a->hh.next) {
        Queued__Record__TenantRecord r = QUEUED__RECORD__TENANT_RECORD__INIT;
        char text[TENANT_PATH_MAX + 1 + 10 + 1];
        struct store_key key;

        if (!a->share || a->share->saved_turn != w->s->turn)
            continue;
        (void)snprintf(text, sizeof(text), "%s\n%u", t->settings->tenants[a->key.tenant].path,
                       (unsigned)a->key.uid);
        store_make_past(&r, t->settings, a->share->past, &w->scratch);
        store_key_text(&key, text);
        put(w, STORE_TENANTS, &key, &r.base);
    }
}

static void put_spec(struct writer *w, struct job_id id, const struct spec *spec)
{
    Queued__Record__SpecRecord r = QUEUED__RECORD__SPEC_RECORD__INIT;
    struct store_key key;

    store_make_spec(&r, spec, &w->scratch);
    store_key_u64(&key, id.v);
    put(w, STORE_SPECS, &key, &r.base);
}

/* The key that an effect means: named by it, else the one of its job. */
static const struct submit_key *find_key(const struct state *s, const struct effect *f)
{
    const struct job *j = state_job(s, f->job);
    struct submit_key *k = NULL;

    if (f->u.key) {
        HASH_FIND_STR(s->keys, f->u.key, k);
        return k;
    }
    return j && j->submit_key ? state_key(s, j->tenant, j->submit_key) : NULL;
}

static void put_key(struct writer *w, const struct effect *f)
{
    const struct submit_key *k = find_key(w->s, f);
    Queued__Record__KeyRecord r = QUEUED__RECORD__KEY_RECORD__INIT;
    struct store_key key;

    if (!k)
        return; /* dropped later in the same turn */
    r.key = k->key;
    PACK(&r, job, k->job.v);
    r.has_digest = 1;
    r.digest.data = (uint8_t *)(uintptr_t)k->digest; /* packing does not write to it */
    r.digest.len = sizeof(k->digest);
    PACK(&r, drop_at, k->drop_at);
    store_key_text(&key, k->key);
    put(w, STORE_KEYS, &key, &r.base);
}

static void put_answer(struct writer *w, const struct answer *a)
{
    Queued__Record__AnswerRecord r = QUEUED__RECORD__ANSWER_RECORD__INIT;
    struct store_key key;

    PACK(&r, job, a->job.v);
    PACK(&r, code, a->code);
    PACK(&r, is_again, a->is_again);
    r.text = a->text;
    store_key_answer(&key, a);
    put(w, STORE_ANSWERS, &key, &r.base);
}

static void put_note(struct writer *w, const struct job_note *n)
{
    Queued__Record__NoteRecord r = QUEUED__RECORD__NOTE_RECORD__INIT;
    struct store_key key;

    PACK(&r, at, n->at);
    PACK(&r, job, n->job.v);
    r.job_name = store_text(n->job_name);
    r.tenant = store_text(n->tenant);
    PACK(&r, uid, n->uid);
    PACK(&r, from, n->from);
    PACK(&r, to, n->to);
    PACK(&r, attempt, n->attempt);
    r.reason = store_text(n->reason);
    r.text = store_text(n->text);
    store_key_u64(&key, n->seq);
    put(w, STORE_NOTES, &key, &r.base);
}

static void put_attempt(struct writer *w, const struct attempt_row *row)
{
    Queued__Record__AttemptRecord r = QUEUED__RECORD__ATTEMPT_RECORD__INIT;
    struct store_key key;

    r.name = store_text(row->name);
    r.tenant = store_text(row->tenant);
    r.user = store_text(row->user);
    PACK(&r, gpus, row->gpus);
    PACK(&r, parts, row->parts);
    r.model = store_text(row->model);
    PACK(&r, pods, row->pods);
    PACK(&r, nodes, row->nodes);
    PACK(&r, decided_at, row->decided_at);
    PACK(&r, running_at, row->running_at);
    PACK(&r, ended_at, row->ended_at);
    PACK(&r, state, row->state);
    PACK_ALWAYS(&r, exit_code, row->exit_code);
    r.reason = store_text(row->reason);
    PACK(&r, config_generation, row->config_generation);
    store_key_attempt(&key, row->job, row->attempt);
    put(w, STORE_ATTEMPTS, &key, &r.base);
}

/* A node is drained, or is no longer. */
static void put_drain(struct writer *w, const char *node)
{
    const struct drain *d = cluster_drained(&w->s->cluster, node);
    Queued__Record__DrainRecord r = QUEUED__RECORD__DRAIN_RECORD__INIT;
    struct store_key key;

    store_key_text(&key, node);
    if (!d) {
        del(w, STORE_DRAINS, &key);
        return;
    }
    r.text = store_text(d->text);
    PACK(&r, since, d->since);
    put(w, STORE_DRAINS, &key, &r.base);
}

/* A reservation is made, or is no more. */
static void put_window(struct writer *w, const char *name)
{
    const struct window *window = window_find(w->s, name);
    Queued__Record__WindowRecord r = QUEUED__RECORD__WINDOW_RECORD__INIT;
    struct store_key key;

    store_key_text(&key, name);
    if (!window) {
        del(w, STORE_WINDOWS, &key);
        return;
    }
    store_make_window(&r, window, w->s, &w->scratch);
    put(w, STORE_WINDOWS, &key, &r.base);
}

static void put_meta(struct writer *w)
{
    const struct store_meta *m = &w->s->meta;
    Queued__Record__MetaRecord r = QUEUED__RECORD__META_RECORD__INIT;
    struct store_key key;

    PACK(&r, format, STORE_FORMAT);
    r.created_by = store_text(w->sink->created_by);
    PACK(&r, last_id, m->last_id.v);
    PACK(&r, next_seq, m->next_seq);
    PACK(&r, oldest_seq, m->oldest_seq);
    r.cluster_uid = store_text(m->cluster_uid);
    PACK(&r, foreign_from, m->foreign_from.v);
    PACK(&r, moves_day, m->moves_day);
    PACK(&r, moves_lost, m->moves_lost);
    PACK(&r, config_generation, m->config_generation);
    PACK(&r, config_digest, m->config_digest);
    PACK(&r, foreign_to, m->foreign_to.v);
    store_key_meta(&key);
    put(w, STORE_META, &key, &r.base);
}

static void drop_job(struct writer *w, struct job_id id)
{
    struct store_key key;

    store_key_u64(&key, id.v);
    del(w, STORE_JOBS, &key);
    del(w, STORE_SPECS, &key);
}

static void drop_events(struct writer *w, uint64_t below)
{
    struct store_key key;

    store_key_u64(&key, below);
    w->sink->del_below(w->sink->ctx, STORE_NOTES, store_bytes_of(&key));
}

static void drop_attempts(struct writer *w, struct job_id below)
{
    struct store_key key;

    store_key_attempt(&key, below, 0);
    w->sink->del_below(w->sink->ctx, STORE_ATTEMPTS, store_bytes_of(&key));
}

static void drop_answer(struct writer *w, const struct answer *a)
{
    struct store_key key;

    store_key_answer(&key, a);
    del(w, STORE_ANSWERS, &key);
}

static void drop_key(struct writer *w, const char *text)
{
    struct store_key key;

    store_key_text(&key, text);
    del(w, STORE_KEYS, &key);
}

static void put_other(struct writer *w, const struct effect *f)
{
    switch (f->kind) {
    case EFFECT_SAVE_SPEC:
        put_spec(w, f->job, f->u.spec);
        return;
    case EFFECT_SAVE_KEY:
        put_key(w, f);
        return;
    case EFFECT_SAVE_REQUEST:
        put_answer(w, f->u.answer);
        return;
    case EFFECT_SAVE_EVENT:
        put_note(w, f->u.note);
        return;
    case EFFECT_SAVE_ATTEMPT:
        put_attempt(w, f->u.attempt);
        return;
    case EFFECT_SAVE_DRAIN:
        put_drain(w, f->u.key);
        return;
    case EFFECT_SAVE_WINDOW:
        put_window(w, f->u.key);
        return;
    case EFFECT_DROP_JOB:
        drop_job(w, f->job);
        return;
    case EFFECT_DROP_KEY:
        drop_key(w, f->u.key);
        return;
    case EFFECT_DROP_REQUEST:
        drop_answer(w, f->u.answer);
        return;
    case EFFECT_DROP_EVENTS:
        drop_events(w, f->u.below_seq);
        return;
    case EFFECT_DROP_ATTEMPTS:
        drop_attempts(w, f->job);
        return;
    case EFFECT_SAVE_JOB:    /* written before */
    case EFFECT_SAVE_CONFIG: /* in the records of tenants and of all */
    case EFFECT_REPLY:
    case EFFECT_GANG_START:
    case EFFECT_GANG_STOP:
    case EFFECT_POD_DELETE:
    case EFFECT_ORPHAN_FOUND:
    case EFFECT_ORPHAN_HELD:
    case EFFECT_KINDS:
        return;
    }
}

uint32_t store_records_put(const struct state *s, const struct effects *fx,
                           const struct store_sink *sink)
{
    struct writer w = {.s = s, .sink = sink};

    put_jobs(&w, fx);
    put_tenants(&w);
    put_users(&w);
    for (size_t i = 0; i < fx->list.n; i++)
        put_other(&w, &fx->list.v[i]);
    put_meta(&w);
    arena_fini(&w.scratch);
    pack_fini(&w.pack);
    return w.n_put;
}
