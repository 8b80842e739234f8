/* SPDX-License-Identifier: Apache-2.0 */
/* estimate.c - a state of its own with copies of the gangs, on a fork of the cluster, stepped from
 * end to end: what cycle_next() decides there at a step, it will decide here at that time.
 */
#include "view/estimate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/array.h"
#include "core/backfill.h"
#include "core/elastic.h"
#include "core/cycle.h"
#include "core/order.h"
#include "core/preempt.h"
#include "core/relax.h"
#include "core/window.h"
#include "life/claimed.h"
#include "life/depend.h"
#include "life/job_life.h"
#include "life/state_apply.h"
#include "spec/week.h"
#include "util/str.h"
#include "view/estimate_plan.h"

struct estimates *estimates_create(void)
{
    return xcalloc(1, sizeof(struct estimates));
}

static void forget_usual(struct estimates *e)
{
    if (e->usual)
        vec_fini(&e->usual->of);
    free(e->usual);
    e->usual = NULL;
}

void estimates_destroy(struct estimates *e)
{
    if (!e)
        return;
    forget_usual(e);
    vec_fini(&e->of);
    free(e);
}

static void end_due(struct plan *p, usec_t now)
{
    struct state *s = p->s;

    for (size_t i = s->active.n; i-- > 0;) {
        struct job *j = s->active.v[i];

        if (plan_expected_end(p, j) > now)
            continue;
        job_leave(s, j, &p->fx);
        if (j->state == JOB_PENDING) /* it had to make room */
            *vec_push(&p->waiting) = j;
    }
}

/* What became of an index, for its array. */
static void settle_array(struct plan *p, const struct job *j, enum estimate_kind kind, usec_t now)
{
    struct job *parent = array_parent(p->s, j);
    struct planned *to = parent ? plan_entry(p->to, parent->id) : NULL;

    if (!to || to->kind != ESTIMATE_NEVER)
        return;
    if (kind == ESTIMATE_TIMES_OUT) { /* that ends the wait of all */
        to->kind = kind;
        to->at = now;
        return;
    }
    to->first_at = to->first_at ? to->first_at : now;
    to->last_at = now;
    plan_ends_by(to, plan_expected_end(p, j));
    if (!parent->array->waiting.n && !parent->array->next)
        to->kind = ESTIMATE_START;
}

/* Indices that began with the last decision. */
static void take_begun(struct plan *p, size_t n_before)
{
    for (size_t i = n_before; i < p->s->by_id.n; i++) {
        struct job *j = p->s->by_id.v[i];

        *vec_push(&p->begun) = j;
        *vec_push(&p->waiting) = j;
        *vec_push(&p->to->of) = (struct planned){.job = j->id, .kind = ESTIMATE_NEVER};
    }
    if (p->begun.n > ESTIMATE_GANGS_MAX)
        p->looks = 0;
}

/* It leaves the queue of the plan: started, or its time to wait is over. */
static void settle(struct plan *p, size_t at, enum estimate_kind kind, usec_t now)
{
    struct job *j = p->waiting.v[at];
    struct planned *to = plan_entry(p->to, j->id);

    vec_remove(&p->waiting, at);
    if (to && to->kind == ESTIMATE_NEVER)
        *to = (struct planned){.job = to->job, .kind = kind, .at = now};
    settle_array(p, j, kind, now);
}

static usec_t gives_up_at(const struct job *j)
{
    usec_t at = j->max_queue_us ? j->queued_at + j->max_queue_us : INT64_MAX;

    return j->deadline_at && j->deadline_at < at ? j->deadline_at : at;
}

static void give_up_due(struct plan *p, usec_t now)
{
    for (size_t i = p->waiting.n; i-- > 0;) {
        struct job *j = p->waiting.v[i];

        if (!j->claim && !j->waits.n)
            relax_look(p->s, j, now);
        if (gives_up_at(j) > now)
            continue;
        if (j->claim)
            claim_drop(p->s, j);
        order_remove(p->s, j);
        j->state = JOB_TIMED_OUT;
        settle(p, i, ESTIMATE_TIMES_OUT, now);
    }
}

/* Its pods run at once, which moves its latest end earlier. */
static void run_placed(struct plan *p, usec_t now)
{
    for (size_t i = p->waiting.n; i-- > 0;) {
        struct job *j = p->waiting.v[i];

        if (!job_state_is_active(j->state))
            continue;
        j->running_at = now;
        j->state = JOB_RUNNING;
        backfill_runs(p->s, j);
        preempt_matures(p->s, j);
        settle(p, i, ESTIMATE_START, now);
    }
}

/* All that the cycle starts at this instant. false: it has looked often enough. */
static bool start_all(struct plan *p, usec_t now)
{
    struct event ev;
    bool is_decided = true;
    size_t n_jobs;

    while (is_decided && p->looks) {
        p->s->turn_evaluations = 0;
        p->s->turn++;
        is_decided = cycle_next(p->s, now, &ev);
        p->looks -= p->s->turn_evaluations < p->looks ? p->s->turn_evaluations : p->looks;
        n_jobs = p->s->by_id.n;
        if (is_decided) {
            state_apply(p->s, &ev, &p->fx);
            event_fini(&ev);
        }
        take_begun(p, n_jobs);
        is_decided |= p->s->turn_evaluations >= TURN_EVALUATIONS_MAX;
        effects_clear(&p->fx);
    }
    run_placed(p, now);
    return p->looks > 0;
}

static void earlier(usec_t *at, usec_t other, usec_t now)
{
    if (other > now && other < *at)
        *at = other;
}

/* When something that may start a gang is next; INT64_MAX: never. */
static usec_t next_instant(struct plan *p, usec_t now)
{
    usec_t at = INT64_MAX;

    earlier(&at, p->s->mature_at, now);
    earlier(&at, p->s->windows->next, now);
    for (size_t i = 0; i < p->s->active.n; i++)
        earlier(&at, plan_expected_end(p, p->s->active.v[i]), now);
    for (size_t i = 0; i < p->waiting.n; i++) {
        earlier(&at, p->waiting.v[i]->not_before, now);
        earlier(&at, gives_up_at(p->waiting.v[i]), now);
        earlier(&at, relax_at(p->waiting.v[i]), now);
    }
    if (at < INT64_MAX)
        p->until = at + WEEK_US;
    if (p->s->tenants.changes_at <= p->until)
        earlier(&at, p->s->tenants.changes_at, now);
    return at;
}

/* Will something start, or may it? */
static bool goes_on(const struct plan *p)
{
    for (size_t i = 0; i < p->arrays.n; i++)
        if (p->arrays.v[i]->array->waiting.n)
            return true;
    return p->waiting.n > 0;
}

static void play(struct plan *p, usec_t now)
{
    int steps = ESTIMATE_STEPS_MAX;
    bool is_whole = true;
    usec_t at = now;

    p->until = now + WEEK_US;
    while (is_whole && goes_on(p) && at < INT64_MAX && steps--) {
        p->s->now = at;
        end_due(p, at);
        give_up_due(p, at);
        is_whole = start_all(p, at);
        now = at;
        at = next_instant(p, at);
        p->s->is_quiet = false;
    }
    for (size_t i = 0; i < p->to->of.n && goes_on(p) && (at < INT64_MAX || !is_whole); i++) {
        struct planned *to = &p->to->of.v[i];

        if (to->kind != ESTIMATE_NEVER)
            continue;
        to->kind = ESTIMATE_CUT;
        to->at = now;
    }
}

static void make_one(struct estimates *e, const struct state *s, usec_t now, bool with_usual)
{
    struct plan p = {.to = e, .looks = plan_looks(s)};

    e->of.n = 0;
    e->turn = s->turn;
    e->made_at = now;
    plan_init(&p, s, now, PLAN_FORK, with_usual);
    play(&p, now);
    plan_fini(&p);
}

static void make(struct estimates *e, const struct state *s, usec_t now)
{
    forget_usual(e);
    make_one(e, s, now, false);
    if (!plan_has_usual(s))
        return;
    e->usual = estimates_create();
    make_one(e->usual, s, now, true);
}

/* A plan is kept for a while, in which it may be asked for any number of times; for a shorter one
 * by a job that came after it. */
static bool is_old(const struct state *s, const struct estimates *e, usec_t now, bool is_after)
{
    usec_t keep = USEC_PER_SEC * (1 + (usec_t)s->cluster.nodes.n / 1000);

    return now < e->made_at || now - e->made_at >= (is_after ? keep / 10 : keep);
}

static void tell(const struct estimates *e, struct job_id job, struct estimate *ret)
{
    const struct planned *p = plan_entry(e, job);

    *ret = (struct estimate){.kind = ESTIMATE_LEFT_OUT, .made_at = e->made_at};
    if (!p)
        return;
    ret->kind = p->kind;
    ret->at = p->at;
    if (p->first_at) {
        ret->kind = ESTIMATE_START;
        ret->at = p->first_at;
    }
    if (p->kind == ESTIMATE_START) {
        ret->last_at = p->last_at;
        ret->end_at = p->end_at;
    }
}

static void tell_usual(const struct state *s, const struct estimate *usual, const struct job *j,
                       struct estimate *ret)
{
    ret->usual_at = usual->kind == ESTIMATE_START ? usual->at : 0;
    ret->usual_part = j->tenant_ix == IX_NONE ? 0 : tenant_usual(&s->tenants, j->tenant_ix);
}

static bool is_foreseeable(const struct state *s, const struct job *j)
{
    bool is_array = plan_plays_on(j) && (j->array->waiting.n || j->array->next);

    return (j->bucket || j->claim || is_array) && s->is_synced && s->is_cluster_up;
}

void estimate_of(struct estimates *e, const struct state *s, const struct job *j, usec_t now,
                 struct estimate *ret)
{
    struct estimate usual;

    *ret = (struct estimate){.kind = ESTIMATE_NONE, .made_at = now};
    if (!is_foreseeable(s, j))
        return;
    if (e->turn != s->turn &&
        is_old(s, e, now, j->queued_at >= e->made_at && !plan_entry(e, j->id)))
        make(e, s, now);
    tell(e, j->id, ret);
    if (!e->usual)
        return;
    tell(e->usual, j->id, &usual);
    tell_usual(s, &usual, j, ret);
}

/* The first index of it, so that there is one to tell of. */
static void begin_first(struct plan *p, usec_t now)
{
    struct event ev;
    size_t n = p->s->by_id.n;

    *vec_push(&p->arrays) = p->tried;
    *vec_push(&p->to->of) = (struct planned){.job = p->tried->id, .kind = ESTIMATE_NEVER};
    while (p->s->by_id.n == n && array_next(p->s, now, &ev))
        state_apply(p->s, &ev, &p->fx);
    take_begun(p, n);
    effects_clear(&p->fx);
}

/* The spec, which would be stored. */
static struct spec *take_back(struct effects *fx)
{
    struct spec *spec = NULL;

    for (size_t i = 0; i < fx->list.n; i++) {
        if (fx->list.v[i].kind != EFFECT_SAVE_SPEC)
            continue;
        spec = fx->list.v[i].u.spec;
        fx->list.v[i].u.spec = NULL;
    }
    return spec;
}

/* Submit it to the copy, where nothing is answered or stored; the spec comes back. */
static void submit(struct plan *p, const struct estimate_wish *wish, usec_t now)
{
    struct event ev = {
        .kind = EV_JOB_SUBMIT, .at = now, .u.submit = {.spec = wish->spec, .caller = wish->caller}};

    state_apply(p->s, &ev, &p->fx);
    event_fini(&ev);
    (void)take_back(&p->fx);
    effects_clear(&p->fx);
    p->tried = p->s->by_id.v[p->s->by_id.n - 1];
    if (p->wish.waits.n && p->tried->bucket)
        order_remove(p->s, p->tried);
    p->tried->waits = p->wish.waits;
    memset(&p->wish.waits, 0, sizeof(p->wish.waits));
    depend_add(p->s, p->tried);
    if (plan_plays_on(p->tried))
        begin_first(p, now);
    if (!p->tried->bucket)
        return;
    *vec_push(&p->waiting) = p->tried;
    *vec_push(&p->to->of) = (struct planned){.job = p->tried->id, .kind = ESTIMATE_NEVER};
}

/* Play it once. Its dependencies are resolved into `waits`, and taken from there. */
static void try_once(const struct state *s, const struct estimate_wish *wish, usec_t now,
                     bool with_usual, struct estimate_try *ret)
{
    struct plan *p = ret->plan;

    p->to = estimates_create();
    p->looks = plan_looks(s);
    p->to->made_at = now;
    ret->eta = (struct estimate){.made_at = now};
    plan_init(p, s, now, wish->more.n > 0 ? PLAN_CLONE : PLAN_FORK, with_usual);
    p->s->is_synced = s->is_synced;
    p->s->is_cluster_up = s->is_cluster_up;
    (void)str_copy(p->s->cluster_trouble, sizeof(p->s->cluster_trouble), s->cluster_trouble);
    for (uint32_t i = 0; i < wish->n_without; i++)
        if (cluster_find(&s->cluster, wish->without[i]))
            cluster_fork_close(&p->s->cluster, cluster_find(&s->cluster, wish->without[i])->ix);
    submit(p, wish, now);
    estimate_grow(&p->s->cluster, &wish->more, p->tried->demand);
    explain_job(p->s, p->tried, now, &ret->why);
    ret->job = *p->tried; /* as it is before anything happens */
    ret->work += s->by_id.n / 16 + s->cluster.nodes.n * (p->fork ? 1 : 8);
    if (!is_foreseeable(p->s, p->tried))
        return;
    play(p, now);
    ret->work += (plan_looks(s) - p->looks) * (s->cluster.nodes.n / 16 + 1);
    tell(p->to, ret->job.id, &ret->eta);
}

/* The plan that it will be tried on, which knows what it waits for. NULL: that is not there. */
static struct plan *plan_for(const struct state *s, const struct spec *spec, struct err *err)
{
    struct plan *p = xcalloc(1, sizeof(*p));

    if (depend_resolve(s, spec, &p->wish, err) == 0)
        return p;
    vec_fini(&p->wish.waits);
    free(p);
    return NULL;
}

int estimate_try(const struct state *s, const struct estimate_wish *wish, usec_t now,
                 struct estimate_try *ret, struct err *err)
{
    struct estimate_try usual = {.plan = NULL};
    struct plan *plan;

    if (estimate_growth_check(&s->cluster, &wish->more, err))
        return -1;
    plan = plan_for(s, wish->spec, err);
    if (!plan)
        return -1;
    if (plan_has_usual(s))
        usual.plan = plan_for(s, wish->spec, NULL);
    wish->spec->depends_on.n = 0; /* that is known now; not all of these jobs are in the plan */
    *ret = (struct estimate_try){.plan = plan};
    if (usual.plan)
        try_once(s, wish, now, true, &usual);
    try_once(s, wish, now, false, ret);
    spec_destroy(wish->spec);
    if (usual.plan) {
        ret->work += usual.work;
        tell_usual(s, &usual.eta, &ret->job, &ret->eta);
        estimate_try_fini(&usual);
    }
    return 0;
}

void estimate_try_fini(struct estimate_try *t)
{
    estimates_destroy(t->plan->to);
    plan_fini(t->plan);
    free(t->plan);
}
