/* SPDX-License-Identifier: Apache-2.0 */
/* claimed.c - what a claim holds and counts, from the decision to preempt to the placement. */
#include "life/claimed.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/backfill.h"
#include "core/claim.h"
#include "core/future.h"
#include "core/order.h"
#include "life/job_life.h"
#include "life/resize.h"

static void set_leaving(struct state *s, struct job *j, bool is_leaving)
{
    if (j->is_leaving == is_leaving || !j->charged_parts)
        return;
    j->is_leaving = is_leaving;
    if (!j->move) /* that one is charged again at once */
        job_count_gpus(&s->tenants, j, is_leaving ? tenant_spare : tenant_expect);
}

static void mark_victims(struct state *s, const struct claim *k)
{
    for (uint32_t i = 0; i < k->n_victims; i++)
        if (!k->victims[i].pod && claim_victim(s, &k->victims[i]))
            set_leaving(s, claim_victim(s, &k->victims[i]), true);
}

static bool is_to_move(const struct job *j)
{
    return j->move && (j->is_leaving || j->state == JOB_PREEMPTING);
}

void claims_synced(struct state *s)
{
    for (size_t i = 0; i < s->claims.n; i++)
        mark_victims(s, s->claims.v[i]->claim);
    for (size_t i = 0; i < s->active.n; i++)
        if (!is_to_move(s->active.v[i])) /* its claim had ended before the restart */
            claim_drop_move(s, s->active.v[i]);
}

void claim_hold_move(struct state *s, const struct job *j)
{
    if (!j->move)
        return;
    future_put(&s->cluster, j->demand, j->move, cluster_hold);
    for (uint32_t i = 0; i < j->move->n; i++)
        cluster_name(&s->cluster, j->move->members[i].node_ix);
}

/* What it held is free; the nodes are still named by it. */
static struct ev_placed *take_move(struct state *s, struct job *j)
{
    struct ev_placed *to = j->move;

    if (!to)
        return NULL;
    future_put(&s->cluster, j->demand, to, cluster_release);
    j->move = NULL;
    s->is_quiet = false;
    return to;
}

void claim_drop_move(struct state *s, struct job *j)
{
    struct ev_placed *to = take_move(s, j);

    if (!to)
        return;
    for (uint32_t i = 0; i < to->n; i++)
        cluster_unname(&s->cluster, to->members[i].node_ix);
    free(to->members);
    free(to);
}

/* What the taker will hold stands for its tenant and its user from now on, or no more. */
static void expect(struct state *s, const struct job *j, bool is_expected)
{
    uint64_t gpus[MODELS_MAX];

    job_count_gpus(&s->tenants, j, is_expected ? tenant_expect : tenant_spare);
    job_gpus(j, j->models, gpus);
    for (uint32_t m = 0; m < MODELS_MAX && j->tenant_ix != IX_NONE; m++)
        if (gpus[m])
            tenant_charge_user(&s->tenants, job_account(j), m,
                               is_expected ? (int64_t)gpus[m] : -(int64_t)gpus[m]);
}

static void enter(struct state *s, struct job *j)
{
    order_remove(s, j);
    *vec_push(&s->claims) = j;
    expect(s, j, true);
}

void claim_load(struct state *s, struct job *j)
{
    enter(s, j);
    job_hold(s, j);
}

void claim_place(struct state *s, struct job *j, struct ev_placed *to)
{
    job_take(s, j, to);
    j->claim = xcalloc(1, sizeof(*j->claim));
    j->claim->until = s->now + s->settings->grace_cap_us;
    enter(s, j);
}

void claim_move(struct state *s, struct job *j)
{
    struct ev_placed *to = take_move(s, j);

    if (!to)
        return;
    claim_place(s, j, to);
    for (uint32_t i = 0; i < to->n; i++) /* a node that is gone lives by its names: now by others */
        cluster_unname(&s->cluster, j->members[i].node_ix);
    free(to);
}

/* Its members stay as they are. */
static void leave(struct state *s, struct job *j)
{
    size_t at = 0;

    while (s->claims.v[at] != j)
        at++;
    vec_remove(&s->claims, at);
    for (uint32_t i = j->claim->n_told; i < j->claim->n_victims; i++) {
        struct job *o = claim_victim(s, &j->claim->victims[i]);

        if (o && o->state == JOB_RUNNING && !j->claim->victims[i].pod)
            set_leaving(s, o, false);
        s->mature_gen++; /* who waited for it to leave may want it */
    }
    for (uint32_t i = 0; i < j->claim->n_victims; i++) {
        struct job *o = state_job(s, j->claim->victims[i].job);

        if (o && !is_to_move(o))
            claim_drop_move(s, o);
    }
    expect(s, j, false);
    s->licence_gen += j->demand->has_licences;
    job_free_claim(j);
    order_add(s, j);
}

void claim_drop(struct state *s, struct job *j)
{
    for (uint32_t i = 0; i < j->n_members; i++)
        if (j->members[i].phase != MEMBER_ABSENT)
            job_release(s, j, &j->members[i], MEMBER_GONE);
    leave(s, j);
    job_drop_members(s, j);
    j->attempt--; /* it never had a pod */
    j->run_until = 0;
    job_set_timer(s, j);
}

/* Each victim has a place to go to, and the day's budget pays for it. */
static void make_moves(struct state *s, struct ev_claimed *ev, struct effects *fx)
{
    int64_t day = s->now / (CLAIM_DAY_S * USEC_PER_SEC);

    s->meta.moves_lost = ev->lost + (s->meta.moves_day == day ? s->meta.moves_lost : 0);
    s->meta.moves_day = day;
    for (uint32_t i = 0; i < ev->n_victims; i++) {
        struct job *j = state_job(s, ev->victims[i].job);

        j->move = xmalloc(sizeof(*j->move));
        *j->move = ev->moves[i];
        claim_hold_move(s, j);
        job_save(s, j, fx);
    }
    free(ev->moves);
    ev->moves = NULL;
}

static void make(struct state *s, struct ev_claimed *ev, struct effects *fx)
{
    struct job *j = state_job(s, ev->placed.job);

    job_take(s, j, &ev->placed);
    if (ev->moves)
        make_moves(s, ev, fx);
    j->claim = xcalloc(1, sizeof(*j->claim));
    j->claim->until = ev->until;
    j->claim->n_victims = ev->n_victims;
    j->claim->victims = ev->victims;
    ev->victims = NULL;
    enter(s, j);
    mark_victims(s, j->claim);
    job_set_timer(s, j);
    job_save(s, j, fx);
}

/* It is to leave, or to give up pods. */
static void tell(struct state *s, struct job *victim, const struct job *taker, struct effects *fx)
{
    bool is_lower = victim->priority < taker->priority;
    const struct claim *k = taker->claim;
    char text[REASON_TEXT_MAX + 1];
    uint32_t at = 0;

    while (k->victims[at].job.v != victim->id.v)
        at++;
    if (k->victims[at].pod) {
        (void)snprintf(text, sizeof(text), "for %s of %s: %s", taker->name, taker->tenant,
                       is_lower ? "its priority is higher" : "its tenant uses less of its quota");
        resize_give(s, victim, k, text, fx);
        return;
    }
    (void)snprintf(text, sizeof(text), "by %s of %s: %s", taker->name, taker->tenant,
                   victim->move ? "it gets whole nodes, this goes on elsewhere"
                   : is_lower   ? "its priority is higher"
                                : "its tenant uses less of its quota");
    (void)job_move(s, victim,
                   &(struct job_step){.event = JOB_EV_PREEMPT,
                                      .code = victim->move ? "Moved"
                                              : is_lower   ? "PreemptedByPriority"
                                                           : "Reclaimed",
                                      .text = text},
                   fx);
}

void claim_apply(struct state *s, struct event *ev, struct effects *fx)
{
    struct job *taker = state_job(s, ev->u.claim.taker); /* the first member of u.claimed too */

    if (ev->kind == EV_GANG_CLAIMED) {
        make(s, &ev->u.claimed, fx);
    } else if (ev->kind == EV_GANG_PREEMPTED) {
        tell(s, state_job(s, ev->u.claim.victim), taker, fx);
    } else if (ev->u.claim.is_ready) {
        s->n_decisions++;
        leave(s, taker);
        job_place(s, taker, fx);
        backfill_claimed(s);
    } else {
        claim_drop(s, taker);
        job_save(s, taker, fx);
    }
}
