/* SPDX-License-Identifier: Apache-2.0 */
/* estimate.c - a state of its own with copies of the gangs, on a fork of the cluster, stepped from
 * end to end: what cycle_next() decides there at a step, it will decide here at that time.
 *
 * Shared with the original, and only read: texts of jobs, keys and constraints of demands, facts of
 * nodes.
 */
#include "view/estimate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/backfill.h"
#include "core/claim.h"
#include "core/elastic.h"
#include "core/cycle.h"
#include "core/order.h"
#include "core/preempt.h"
#include "core/relax.h"
#include "core/window.h"
#include "life/depend.h"
#include "life/job_life.h"
#include "life/state_apply.h"
#include "spec/week.h"
#include "util/str.h"

struct planned {
    struct job_id job;
    enum estimate_kind kind;
    usec_t at;
};

struct estimates {
    uint64_t turn;
    usec_t made_at;
    VEC(struct planned) of; /* ascending id */
};

struct plan {
    struct state *s;      /* the copy */
    struct cluster *fork; /* NULL: the copy has a cluster of its own */
    VEC(struct job *) waiting;
    struct estimates *to;
    struct effects fx; /* nobody runs them */
    struct job *tried; /* not a copy; NULL none */
    struct job wish;   /* what it waits for, while it is none yet */
    uint32_t looks;    /* left */
    usec_t until;      /* by then the windows of tenants have all been tried on what is left */
};

struct estimates *estimates_create(void)
{
    return xcalloc(1, sizeof(struct estimates));
}

void estimates_destroy(struct estimates *e)
{
    if (!e)
        return;
    vec_fini(&e->of);
    free(e);
}

static bool is_stopping(const struct job *j)
{
    return j->state > JOB_RUNNING;
}

static usec_t expected_end(const struct job *j)
{
    usec_t end;

    if (is_stopping(j))
        return j->state_since + (job_has_saved(j) ? 0 : j->grace_us);
    end = (j->running_at ? j->running_at : j->attempt_at) + j->max_runtime_us;
    return j->deadline_at && j->deadline_at < end ? j->deadline_at : end;
}

static struct planned *planned_of(const struct estimates *e, struct job_id id)
{
    size_t lo = 0, hi = e->of.n;

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;

        if (e->of.v[mid].job.v < id.v)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < e->of.n && e->of.v[lo].job.v == id.v ? &e->of.v[lo] : NULL;
}

static struct demand *copy_demand(struct plan *p, const struct demand *from)
{
    struct demand *d = NULL;

    HASH_FIND_STR(p->s->demands, from->key, d);
    if (d)
        return d;
    d = xmalloc(sizeof(*d));
    *d = *from; /* with its verdict, which goes its own way */
    for (uint32_t r = 0; r < d->n_roles; r++) {
        d->roles[r].spread.group = NULL;
        if (!p->fork)
            d->roles[r].constraint =
                constraint_copy(&p->s->cluster.constraints, from->roles[r].constraint);
    }
    HASH_ADD_KEYPTR(hh, p->s->demands, d->key, strlen(d->key), d);
    return d;
}

static struct job *copy_job(struct plan *p, const struct job *from)
{
    struct job *j = xmalloc(sizeof(*j));

    *j = *from; /* texts are the original's */
    j->texts = j->reason.text = NULL;
    j->demand = copy_demand(p, from->demand);
    j->other = from->other ? copy_demand(p, from->other) : NULL;
    memset(&j->waits, 0, sizeof(j->waits));
    j->bucket = NULL;
    j->failure = NULL;
    j->array = NULL;
    j->prev = j->next = NULL;
    j->timer_ix = SIZE_MAX;
    j->timer_at = 0;
    j->saved_turn = j->moved_turn = 0;
    j->members = NULL;
    if (from->n_members) {
        j->members = xcalloc(from->n_members, sizeof(*j->members));
        memcpy(j->members, from->members, from->n_members * sizeof(*j->members));
    }
    if (from->claim)
        j->claim = claim_copy(from->claim);
    if (from->move) {
        j->move = xmalloc(sizeof(*j->move));
        *j->move = *from->move;
        j->move->members = xcalloc(j->move->n, sizeof(*j->move->members));
        memcpy(j->move->members, from->move->members, j->move->n * sizeof(*j->move->members));
    }
    *vec_push(&p->s->by_id) = j;
    *vec_push(&p->s->ids) = j->id.v;
    return j;
}

/* Nodes make a look dear: fewer of them on a big cluster. */
static uint32_t looks_for(const struct state *s)
{
    size_t nodes = s->cluster.nodes.n > 1000 ? s->cluster.nodes.n : 1000;

    return (uint32_t)(ESTIMATE_LOOKS_MAX * (size_t)1000 / nodes) + 1;
}

/* Is it too much to plan the first `share` of each tenant? A step looks at each bucket. */
static bool is_too_much(const struct state *s, uint32_t share)
{
    uint32_t gangs = 0, buckets = 0;

    for (const struct bucket *b = s->buckets; b; b = b->hh.next) {
        uint32_t room = b->head->position <= share ? share - b->head->position + 1 : 0;

        gangs += b->n < room ? b->n : room;
        buckets += room > 0;
    }
    return gangs > ESTIMATE_GANGS_MAX || buckets > looks_for(s) / 32;
}

/* How many of each tenant are in the plan. */
static uint32_t share_of_tenant(const struct state *s, uint32_t n_waiting)
{
    uint32_t share = n_waiting;

    while (share > 1 && is_too_much(s, share))
        share /= 2;
    return share;
}

static bool is_waited_for(const struct plan *p, const struct job *j)
{
    for (size_t i = 0; i < p->wish.waits.n; i++)
        if (p->wish.waits.v[i].on.v == j->id.v)
            return true;
    return false;
}

static void copy_jobs(struct plan *p, const struct state *s)
{
    uint32_t share = share_of_tenant(s, order_number(s));

    for (size_t i = 0; i < s->by_id.n; i++) {
        const struct job *j = s->by_id.v[i];

        if (job_state_is_active(j->state)) {
            (void)copy_job(p, j);
        } else if (j->claim || (j->bucket && j->position <= share)) {
            *vec_push(&p->waiting) = copy_job(p, j);
            *vec_push(&p->to->of) = (struct planned){.job = j->id, .kind = ESTIMATE_NEVER};
        } else if (is_waited_for(p, j)) {
            (void)copy_job(p, j);
        }
    }
    for (size_t i = 0; i < s->active.n; i++)
        *vec_push(&p->s->active) = state_job(p->s, s->active.v[i]->id);
    for (size_t i = 0; i < s->claims.n; i++)
        *vec_push(&p->s->claims) = state_job(p->s, s->claims.v[i]->id);
    for (size_t i = 0; i < p->waiting.n; i++)
        if (!p->waiting.v[i]->claim)
            order_add(p->s, p->waiting.v[i]);
    for (size_t i = 0; i < p->waiting.n; i++) /* what sleeps goes on sleeping */
        if (p->waiting.v[i]->bucket && p->fork)
            order_copy_verdict(p->waiting.v[i]->bucket, state_job(s, p->waiting.v[i]->id)->bucket);
    p->s->is_quiet = s->is_quiet && p->fork;
}

/* In the plan no pod outlives its place, and one that was told to go has gone. */
static void end_pods(struct plan *p, const struct state *s)
{
    for (size_t i = 0; i < p->s->active.n; i++) {
        struct job *j = p->s->active.v[i];

        elastic_end_going(j, &s->cluster, &p->s->cluster);
        for (uint32_t k = 0; k < j->n_members; k++) {
            job_member_went(p->s, j, &j->members[k], &p->fx);
            j->members[k].uid[0] = '\0';
        }
    }
}

static void plan_init(struct plan *p, const struct state *s, usec_t now, bool is_clone)
{
    p->s = state_create(s->settings);
    if (is_clone) {
        cluster_clone(&p->s->cluster, &s->cluster);
    } else {
        p->fork = cluster_fork(&s->cluster);
        p->s->cluster = *p->fork;
        p->s->cluster.constraints = NULL; /* those of a job that is tried are its own */
    }
    p->s->meta = s->meta;
    p->s->is_synced = p->s->is_cluster_up = true;
    p->s->now = now;
    p->s->turn = s->turn + 1;
    p->s->pass_gen = s->pass_gen;
    p->s->mature_at = s->mature_at;
    p->s->mature_gen = s->mature_gen;
    p->s->checkpoint_gen = s->checkpoint_gen;
    p->s->licence_gen = s->licence_gen;
    tenants_copy(&p->s->tenants, &s->tenants);
    copy_jobs(p, s);
    end_pods(p, s);
    backfill_copy(p->s, s);
    windows_borrow(p->s, s);
}

static void plan_fini(struct plan *p)
{
    struct state *s = p->s;
    struct demand *d, *next;

    if (p->tried)
        relax_fini(s, p->tried);
    HASH_CLEAR(hh_name, s->jobs_by_name); /* before its first element goes */
    for (size_t i = 0; i < s->by_id.n; i++)
        job_destroy(s->by_id.v[i]);
    s->by_id.n = 0;
    HASH_ITER(hh, s->demands, d, next)
    {
        HASH_DELETE(hh, s->demands, d);
        for (uint32_t r = 0; r < d->n_roles; r++)
            free(d->roles[r].spread.group);
        free(d);
    }
    if (p->fork)
        cluster_init(&s->cluster, s->settings); /* all of it is the fork's */
    cluster_fork_free(p->fork);
    state_destroy(s);
    vec_fini(&p->waiting);
    vec_fini(&p->wish.waits);
    effects_fini(&p->fx);
}

static void end_due(struct plan *p, usec_t now)
{
    struct state *s = p->s;

    for (size_t i = s->active.n; i-- > 0;) {
        struct job *j = s->active.v[i];

        if (expected_end(j) > now)
            continue;
        job_leave(s, j, &p->fx);
        if (j->state == JOB_PENDING) /* it had to make room */
            *vec_push(&p->waiting) = j;
    }
}

/* It leaves the queue of the plan: started, or its time to wait is over. */
static void settle(struct plan *p, size_t at, enum estimate_kind kind, usec_t now)
{
    struct planned *to = planned_of(p->to, p->waiting.v[at]->id);

    vec_remove(&p->waiting, at);
    if (to && to->kind == ESTIMATE_NEVER)
        *to = (struct planned){to->job, kind, now};
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
            continue; /* it will not be long */
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

    while (is_decided && p->looks) {
        p->s->turn_evaluations = 0;
        p->s->turn++;
        is_decided = cycle_next(p->s, now, &ev);
        p->looks -= p->s->turn_evaluations < p->looks ? p->s->turn_evaluations : p->looks;
        if (is_decided) {
            state_apply(p->s, &ev, &p->fx);
            event_fini(&ev);
        }
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
        earlier(&at, expected_end(p->s->active.v[i]), now);
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

static void play(struct plan *p, usec_t now)
{
    int steps = ESTIMATE_STEPS_MAX;
    bool is_whole = true;
    usec_t at = now;

    p->until = now + WEEK_US;
    while (is_whole && p->waiting.n && at < INT64_MAX && steps--) {
        p->s->now = at;
        end_due(p, at);
        give_up_due(p, at);
        is_whole = start_all(p, at);
        now = at;
        at = next_instant(p, at);
        p->s->is_quiet = false;
    }
    for (size_t i = 0; i < p->to->of.n && p->waiting.n && (at < INT64_MAX || !is_whole); i++) {
        struct planned *to = &p->to->of.v[i];

        if (to->kind == ESTIMATE_NEVER)
            *to = (struct planned){.job = to->job, .kind = ESTIMATE_CUT, .at = now};
    }
}

static void make(struct estimates *e, const struct state *s, usec_t now)
{
    struct plan p = {.to = e, .looks = looks_for(s)};

    e->of.n = 0;
    e->turn = s->turn;
    e->made_at = now;
    plan_init(&p, s, now, false);
    play(&p, now);
    plan_fini(&p);
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
    const struct planned *p = planned_of(e, job);

    *ret = (struct estimate){.kind = ESTIMATE_LEFT_OUT, .made_at = e->made_at};
    if (p) {
        ret->kind = p->kind;
        ret->at = p->at;
    }
}

static bool is_foreseeable(const struct state *s, const struct job *j)
{
    return (j->bucket || j->claim) && s->is_synced && s->is_cluster_up;
}

void estimate_of(struct estimates *e, const struct state *s, const struct job *j, usec_t now,
                 struct estimate *ret)
{
    *ret = (struct estimate){.kind = ESTIMATE_NONE, .made_at = now};
    if (!is_foreseeable(s, j))
        return;
    if (e->turn != s->turn &&
        is_old(s, e, now, j->queued_at >= e->made_at && !planned_of(e, j->id)))
        make(e, s, now);
    tell(e, j->id, ret);
}

/* Submit it to the copy, where nothing is answered or stored. */
static void submit(struct plan *p, const struct estimate_wish *wish, usec_t now)
{
    struct event ev = {
        .kind = EV_JOB_SUBMIT, .at = now, .u.submit = {.spec = wish->spec, .caller = wish->caller}};

    state_apply(p->s, &ev, &p->fx);
    event_fini(&ev);
    effects_clear(&p->fx);
    p->tried = p->s->by_id.v[p->s->by_id.n - 1];
    if (p->wish.waits.n && p->tried->bucket)
        order_remove(p->s, p->tried);
    p->tried->waits = p->wish.waits;
    memset(&p->wish.waits, 0, sizeof(p->wish.waits));
    depend_add(p->s, p->tried);
    if (!p->tried->bucket)
        return;
    *vec_push(&p->waiting) = p->tried;
    *vec_push(&p->to->of) = (struct planned){.job = p->tried->id, .kind = ESTIMATE_NEVER};
}

int estimate_try(const struct state *s, const struct estimate_wish *wish, usec_t now,
                 struct estimate_try *ret, struct err *err)
{
    struct plan *p = xcalloc(1, sizeof(*p));

    if (estimate_growth_check(&s->cluster, &wish->more, err) ||
        depend_resolve(s, wish->spec, &p->wish, err)) {
        vec_fini(&p->wish.waits);
        free(p);
        return -1;
    }
    wish->spec->depends_on.n = 0; /* that is known now; not all of these jobs are in the plan */
    p->to = estimates_create();
    p->looks = looks_for(s);
    p->to->made_at = now;
    *ret = (struct estimate_try){.plan = p, .eta.made_at = now};
    plan_init(p, s, now, wish->more.n > 0);
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
    ret->work = s->by_id.n / 16 + s->cluster.nodes.n * (p->fork ? 1 : 8);
    if (!is_foreseeable(p->s, p->tried))
        return 0;
    play(p, now);
    ret->work += (looks_for(s) - p->looks) * (s->cluster.nodes.n / 16 + 1);
    tell(p->to, ret->job.id, &ret->eta);
    return 0;
}

void estimate_try_fini(struct estimate_try *t)
{
    estimates_destroy(t->plan->to);
    plan_fini(t->plan);
    free(t->plan);
}

const char *estimate_text(char buf[ESTIMATE_TEXT_MAX], const struct estimate *e)
{
    char at[FORMAT_MAX] = "";

    if (e->at)
        (void)format_time(at, e->at);
    switch (e->kind) {
    case ESTIMATE_NONE:
        return "";
    case ESTIMATE_START:
        return "if gangs run until their maxRuntime and nothing new arrives";
    case ESTIMATE_TIMES_OUT:
        (void)snprintf(buf, ESTIMATE_TEXT_MAX,
                       "unknown: its maxQueueTime or deadline is over first, at %s", at);
        return buf;
    case ESTIMATE_NEVER:
        return "unknown: the ends of all gangs do not suffice";
    case ESTIMATE_CUT:
        (void)snprintf(buf, ESTIMATE_TEXT_MAX, "unknown: not before %s, where the plan was cut",
                       at);
        return buf;
    case ESTIMATE_LEFT_OUT:
        return "unknown: too many wait before it to be planned";
    }
    return "";
}
