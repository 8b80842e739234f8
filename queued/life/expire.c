/* SPDX-License-Identifier: Apache-2.0 */
/* expire.c - bounded sweeps over what the state remembers for a time only. */
#include "life/expire.h"

#include <stdlib.h>
#include <string.h>

#include "life/intake.h"
#include "life/job_life.h"
#include "life/orphan.h"
#include "core/window.h"
#include "util/str.h"

/* The submit key that made a job, of the tenant that it was submitted to. */
static struct submit_key *key_of(const struct state *s, const struct job *j)
{
    char text[TENANT_PATH_MAX + SUBMIT_KEY_MAX + 2];
    struct submit_key *k = NULL;

    if (!j->submit_key)
        return NULL;
    (void)str_join(text, sizeof(text), j->tenant, '\n', j->submit_key); /* bounded */
    HASH_FIND_STR(s->keys, text, k);
    if (!k || k->job.v != j->id.v) /* it was moved to this tenant: rare */
        for (k = s->keys; k && k->job.v != j->id.v;)
            k = k->hh.next;
    return k;
}

void expire_job(struct state *s, struct job *j, struct effects *fx)
{
    struct submit_key *k = key_of(s, j);

    if (k) {
        k->drop_at = s->now + EXPIRE_KEY_S * USEC_PER_SEC;
        effects_add(fx, EFFECT_SAVE_KEY, j->id)->u.key = arena_strdup(&fx->arena, k->key);
    }
    (void)effects_add(fx, EFFECT_DROP_JOB, j->id);
    intake_drop_job(s, j);
}

static void sweep_answers(struct state *s, struct effects *fx)
{
    struct remembered *r, *next;
    int n = 0;

    HASH_ITER(hh, s->answers, r, next)
    {
        struct answer *a;

        if (r->at + EXPIRE_ANSWER_S * USEC_PER_SEC > s->now || n++ == EXPIRE_BATCH)
            return; /* the others are younger */
        a = arena_alloc(&fx->arena, sizeof(*a));
        a->uid = r->key.uid;
        a->at = r->at;
        memcpy(a->request_id, r->key.request_id, sizeof(a->request_id));
        effects_add(fx, EFFECT_DROP_REQUEST, r->job)->u.answer = a;
        HASH_DELETE(hh, s->answers, r);
        free(r->text);
        free(r);
    }
}

static void sweep_keys(struct state *s, struct effects *fx)
{
    struct submit_key *k, *next;
    int n = 0;

    HASH_ITER(hh, s->keys, k, next)
    {
        if (k->drop_at == 0 || k->drop_at > s->now)
            continue;
        if (n++ == EXPIRE_BATCH)
            return;
        effects_add(fx, EFFECT_DROP_KEY, k->job)->u.key = arena_strdup(&fx->arena, k->key);
        HASH_DELETE(hh, s->keys, k);
        free(k->key);
        free(k);
    }
}

/* true: there are more to go. */
static bool sweep_notes(struct state *s, struct effects *fx)
{
    uint64_t n = s->meta.next_seq - s->meta.oldest_seq;

    if (n <= EXPIRE_NOTES_MAX)
        return false;
    s->meta.oldest_seq += n - EXPIRE_NOTES_MAX > 1000 ? 1000 : n - EXPIRE_NOTES_MAX;
    effects_add(fx, EFFECT_DROP_EVENTS, (struct job_id){0})->u.below_seq = s->meta.oldest_seq;
    return n - EXPIRE_NOTES_MAX > 1000;
}

/* Ids are in order of time. */
static void sweep_attempts(struct state *s, struct effects *fx)
{
    usec_t until = s->now - EXPIRE_ATTEMPT_S * USEC_PER_SEC;

    if (s->now < s->next_trim)
        return;
    s->next_trim = s->now + 24 * 3600 * USEC_PER_SEC;
    if (until > 0)
        (void)effects_add(fx, EFFECT_DROP_ATTEMPTS,
                          (struct job_id){(uint64_t)(until / USEC_PER_MSEC) << 12});
}

usec_t expire_sweep(struct state *s, struct effects *fx)
{
    bool has_more;

    sweep_answers(s, fx);
    sweep_keys(s, fx);
    has_more = sweep_notes(s, fx);
    sweep_attempts(s, fx);
    windows_sweep(s, fx);
    orphans_check(s, fx);
    return s->now + (has_more ? 1 : 100) * USEC_PER_SEC / 10;
}
