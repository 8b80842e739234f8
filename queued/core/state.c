/* SPDX-License-Identifier: Apache-2.0 */
/* state.c - the tables of all truth: made, freed and looked up. */
#include "core/state.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/backfill.h"
#include "core/order.h"
#include "core/relax.h"
#include "core/window.h"
#include "util/str.h"

struct state *state_create(const struct settings *settings)
{
    struct state *s = xcalloc(1, sizeof(*s));

    s->settings = settings;
    cluster_init(&s->cluster, settings);
    tenants_init(&s->tenants, settings);
    s->meta.next_seq = s->meta.oldest_seq = 1;
    s->turn = 1;
    s->positions = xcalloc(1, sizeof(*s->positions));
    s->backfill = backfill_create(settings, 0);
    s->windows = windows_create();
    for (uint32_t t = 0; t < settings->n_tenants; t++)
        *vec_push(&s->queues) = (struct order_queue){.at = 0};
    return s;
}

static void free_tables(struct state *s)
{
    struct bucket *b, *next_b;
    struct remembered *r, *next_r;
    struct submit_key *k, *next_k;
    struct orphan *o, *next_o;

    HASH_ITER(hh, s->buckets, b, next_b)
    {
        HASH_DELETE(hh, s->buckets, b);
        free(b->verdict);
        free(b);
    }
    HASH_ITER(hh, s->answers, r, next_r)
    {
        HASH_DELETE(hh, s->answers, r);
        free(r->text);
        free(r);
    }
    HASH_ITER(hh, s->keys, k, next_k)
    {
        HASH_DELETE(hh, s->keys, k);
        free(k->key);
        free(k);
    }
    HASH_ITER(hh, s->orphans, o, next_o)
    {
        HASH_DELETE(hh, s->orphans, o);
        free(o->key);
        free(o);
    }
}

void state_destroy(struct state *s)
{
    if (!s)
        return;
    HASH_CLEAR(hh_name, s->jobs_by_name);
    for (size_t i = 0; i < s->by_id.n; i++) {
        struct job *j = s->by_id.v[i];

        relax_fini(s, j);
        job_destroy(j);
    }
    free_tables(s);
    vec_fini(&s->positions->order);
    free(s->positions);
    backfill_destroy(s->backfill);
    windows_destroy(s->windows);
    vec_fini(&s->by_id);
    vec_fini(&s->ids);
    for (size_t t = 0; t < s->queues.n; t++)
        vec_fini(&s->queues.v[t].entries);
    vec_fini(&s->queues);
    vec_fini(&s->active);
    vec_fini(&s->claims);
    cluster_fork_free(s->plan_fork);
    vec_fini(&s->timers);
    for (size_t i = 0; i < s->refused_hosts.n; i++)
        free(s->refused_hosts.v[i]);
    vec_fini(&s->refused_hosts);
    vec_fini(&s->lost_nodes);
    vec_fini(&s->dependents);
    vec_fini(&s->settled);
    vec_fini(&s->arrays_due);
    cluster_fini(&s->cluster);
    tenants_fini(&s->tenants);
    free(s);
}

static void fill_key(struct submit_key *k, struct job_id job,
                     const uint8_t digest[SPEC_DIGEST_BYTES], usec_t drop_at)
{
    k->job = job;
    memcpy(k->digest, digest, sizeof(k->digest));
    k->drop_at = drop_at;
}

void state_add_key(struct state *s, const char *key, struct job_id job,
                   const uint8_t digest[SPEC_DIGEST_BYTES], usec_t drop_at)
{
    struct submit_key *k = xcalloc(1, sizeof(*k));

    k->key = xstrdup(key);
    fill_key(k, job, digest, drop_at);
    HASH_ADD_KEYPTR(hh, s->keys, k->key, strlen(k->key), k);
}

void state_load_key(struct state *s, const char *key, struct job_id job,
                    const uint8_t digest[SPEC_DIGEST_BYTES], usec_t drop_at)
{
    struct submit_key *k = NULL;

    HASH_FIND_STR(s->keys, key, k);
    if (k)
        fill_key(k, job, digest, drop_at);
    else
        state_add_key(s, key, job, digest, drop_at);
}

struct job *state_job(const struct state *s, struct job_id id)
{
    size_t at;

    if (id.v == 0)
        return NULL;
    at = state_jobs_after(s, (struct job_id){id.v - 1});
    return at < s->by_id.n && s->ids.v[at] == id.v ? s->by_id.v[at] : NULL;
}

size_t state_jobs_after(const struct state *s, struct job_id after)
{
    size_t lo = 0, hi = s->by_id.n;

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;

        if (s->ids.v[mid] <= after.v)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

const struct submit_key *state_key(const struct state *s, const char *tenant, const char *key)
{
    char text[TENANT_PATH_MAX + SUBMIT_KEY_MAX + 2];
    struct submit_key *k = NULL;

    (void)str_join(text, sizeof(text), tenant, '\n', key); /* longer ones were refused */
    HASH_FIND_STR(s->keys, text, k);
    return k;
}

void state_pod_asks(const struct job *j, uint32_t role, struct resources *ret)
{
    role_asks(&j->demand->roles[role], j->fixed_cpu_milli[role], j->fixed_memory_bytes[role], ret);
}
