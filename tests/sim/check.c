/* SPDX-License-Identifier: Apache-2.0 */
/* check.c - what must hold in every run: between turns, when an effect is carried out, at rest.
 *
 * state_check() knows the daemon's own rules; here its promises are held against the world.
 */
#include "../fake/core_names.h"
#include "sim.h"

#include <stdio.h>

#include "core/backfill.h"
#include "core/licence.h"
#include "core/cycle.h"
#include "view/explain.h"
#include "../fake/invariant.h"
#include "core/place.h"
#include "core/window.h"
#include "spec/week.h"

enum { DEAR_CHECK_TURNS = 16, RECORD_HOURS = 72 };

#define HOUR_US (3600 * USEC_PER_SEC)

static int broken(struct sim *s, const char *what, const struct job *j)
{
    return err_set(&s->err, ERR_INTERNAL, "%s: job %llx %s, %s, attempt %u (%s)", what,
                   (unsigned long long)j->id.v, j->name, job_state_name(j->state),
                   (unsigned)j->attempt, j->reason.code);
}

/* ---- effects */

static void count_row(struct sim *s, const struct job_note *note)
{
    unsigned n;
    const struct job_fsm_row *rows = job_fsm_rows(&n);

    if (!note->event && note->from == note->to &&
        (!strcmp(note->reason, "NoDisruptionBudget") || !strcmp(note->reason, "CheckpointAsked")))
        return; /* a remark */
    for (unsigned i = 0; i < n; i++) {
        bool is_to = rows[i].to == note->to ||
                     (rows[i].to == JOB_OUTCOME &&
                      (job_state_is_terminal(note->to) || note->to == JOB_PENDING ||
                       note->event == JOB_EV_NO_INDEX_RUNS));

        if (rows[i].from == note->from && rows[i].event == note->event && is_to) {
            s->rows[i]++;
            return;
        }
    }
    s->failed =
        err_set(&s->err, ERR_INTERNAL, "job %s went from %s to %s by %s: no row of the table",
                note->job_name, job_state_name(note->from), job_state_name(note->to),
                job_event_name(note->event));
}

/* The claim that a victim leaves for. */
static const struct job *taker_of(const struct state *s, struct job_id victim)
{
    for (size_t i = 0; i < s->claims.n; i++)
        for (uint32_t k = 0; k < s->claims.v[i]->claim->n_victims; k++)
            if (s->claims.v[i]->claim->victims[k].job.v == victim.v)
                return s->claims.v[i];
    return NULL;
}

/* Who is moved opted in, has a place to go to, and leaves for a gang that gets its nodes. */
static void check_moved(struct sim *s, const struct job_note *note)
{
    const struct job *j = state_job(s->state, note->job);

    if (note->to != JOB_PREEMPTING || strcmp(note->reason, "Moved") != 0)
        return;
    s->n_moved++;
    if (!j || !j->is_movable || !j->demand->is_preemptible || !taker_of(s->state, note->job) ||
        (j->state == JOB_PREEMPTING && !j->move))
        s->failed = err_set(&s->err, ERR_INTERNAL, "job %s is moved for nobody, or to nowhere",
                            note->job_name);
}

static void check_note(struct sim *s, const struct job_note *note)
{
    if (s->is_verbose)
        printf("%lld %s %s -> %s attempt %u: %s %s\n", (long long)note->at, note->job_name,
               job_state_name(note->from), job_state_name(note->to), (unsigned)note->attempt,
               note->reason, note->text);
    sim_note(s, note->seq);
    sim_note(s, (uint64_t)note->from << 32 | (uint64_t)note->to << 16 | note->attempt);
    if (note->from)
        count_row(s, note);
    check_moved(s, note);
    sim_met(s, note->reason, 1);
    check_taken(s, note);
    if (!job_state_is_terminal(note->to))
        return;
    s->n_jobs_ended++;
    for (size_t i = 0; i < s->client.promises.n; i++)
        if (s->client.promises.v[i].job.v == note->job.v)
            s->client.promises.v[i].is_over = true;
}

static void check_reply(struct sim *s, const struct reply *r)
{
    const struct job *j = state_job(s->state, r->answer.job);
    struct spec *spec = NULL;
    struct err err;

    sim_note(s, r->token << 8 | (uint64_t)r->answer.code);
    sim_note(s, r->answer.job.v);
    if (r->answer.code != ERR_OK || r->answer.job.v == 0)
        return;
    if (!j)
        return; /* its record has expired, its key or the answer has not */
    if (s->inner.read_spec(s->inner.ctx, job_spec_id(j), &spec, &err))
        s->failed = err_set(&s->err, ERR_INTERNAL, "answered for job %llx before it was stored: %s",
                            (unsigned long long)r->answer.job.v, err.text);
    spec_destroy(spec);
}

void check_effect(struct sim *s, const struct effect *fx)
{
    sim_note(s, (uint64_t)fx->kind << 56 ^ fx->job.v);
    if (s->is_verbose && (fx->kind == EFFECT_GANG_START || fx->kind == EFFECT_GANG_STOP))
        printf("%lld %s %llx\n", (long long)s->now, effect_name(fx->kind),
               (unsigned long long)fx->job.v);
    if (s->is_verbose && fx->kind == EFFECT_POD_DELETE)
        printf("%lld pod-delete %s\n", (long long)s->now, fx->u.pod->name);
    if (fx->kind == EFFECT_SAVE_EVENT)
        check_note(s, fx->u.note);
    else if (fx->kind == EFFECT_REPLY)
        check_reply(s, fx->u.reply);
}

/* ---- after each turn */

static void count_held(struct job *const *jobs, size_t n_jobs, int dim, int64_t held[SIM_NODES_MAX])
{
    for (size_t i = 0; i < n_jobs; i++) {
        const struct job *j = jobs[i];

        for (uint32_t k = 0; k < j->n_members; k++) {
            const struct member *m = &j->members[k];

            if (m->phase <= MEMBER_RUNNING && m->node_ix < SIM_NODES_MAX)
                held[m->node_ix] += j->demand->roles[m->role].each.amount[dim];
        }
    }
}

static void count_moves(const struct state *s, int dim, int64_t held[SIM_NODES_MAX])
{
    for (size_t i = 0; i < s->active.n; i++) {
        const struct job *j = s->active.v[i];

        for (uint32_t k = 0; j->move && k < j->n_members; k++)
            if (j->move->members[k].node_ix < SIM_NODES_MAX)
                held[j->move->members[k].node_ix] +=
                    j->demand->roles[j->members[k].role].each.amount[dim];
    }
}

/* A node on which our gangs hold more of a resource than before has room for all that is on it; a
 * claim holds there, beside them, what its victims have still to leave. */
static int check_promises_of(struct sim *s, int dim, int64_t before[SIM_NODES_MAX])
{
    int64_t ours[SIM_NODES_MAX] = {0}, claimed[SIM_NODES_MAX] = {0};

    count_held(s->state->active.v, s->state->active.n, dim, ours);
    count_held(s->state->claims.v, s->state->claims.n, dim, claimed);
    count_moves(s->state, dim, claimed);
    for (uint32_t ix = 0; ix < s->state->cluster.nodes.n && ix < SIM_NODES_MAX; ix++) {
        const struct node *n = cluster_node(&s->state->cluster, ix);

        if (n && s->was_synced && ours[ix] > before[ix] &&
            n->used.amount[dim] - claimed[ix] > n->total.amount[dim])
            return err_set(&s->err, ERR_INTERNAL,
                           "node %s: %lld of %lld %s are promised after a placement", n->name,
                           (long long)n->used.amount[dim], (long long)n->total.amount[dim],
                           s->state->cluster.names.name[dim]);
    }
    memcpy(before, ours, sizeof(ours));
    return 0;
}

static int check_promises_of_nodes(struct sim *s)
{
    for (uint32_t k = 0; k < MIG_KINDS; k++) {
        int dim = resource_index(&s->state->cluster.names, world_mig_name(k), false);

        if (dim >= 0 && check_promises_of(s, dim, s->our_mig[k]))
            return -1;
    }
    if (check_promises_of(s, RES_GPU_BYTES, s->our_bytes))
        return -1;
    return check_promises_of(s, RES_GPUS, s->ours);
}

/* No state is kept longer than its own limit allows. */
static int check_times(struct sim *s)
{
    for (size_t i = 0; i < s->state->active.n; i++) {
        const struct job *j = s->state->active.v[i];
        bool is_early = j->state == JOB_BINDING || j->state == JOB_STARTING;

        if (is_early && s->now > j->attempt_at + j->start_timeout_us)
            return broken(s, "is past its start timeout", j);
        if (j->state == JOB_RUNNING && s->now > j->running_at + j->max_runtime_us)
            return broken(s, "is past its maxRuntime", j);
    }
    for (size_t i = 0; i < s->state->claims.n; i++) {
        const struct job *j = s->state->claims.v[i];

        if (s->now > j->claim->until + s->settings->node_lost_us)
            return broken(s, "holds nodes for victims that never leave", j);
    }
    return 0;
}

static int check_pods(struct sim *s)
{
    const struct world *w = &s->world;

    for (size_t i = 0; i < w->pods.n; i++) {
        const struct w_pod *p = &w->pods.v[i];

        if (p->is_foreign || p->is_orphan || p->node_ix == IX_NONE || world_pod_is_terminal(p))
            continue;
        for (size_t k = 0; k < i; k++) {
            const struct w_pod *q = &w->pods.v[k];

            if (q->job.v == p->job.v && q->index == p->index && !q->is_orphan &&
                q->node_ix != IX_NONE && !world_pod_is_terminal(q) && strcmp(q->role, p->role) == 0)
                return err_set(&s->err, ERR_INTERNAL, "two live pods of one member: %s and %s",
                               q->name, p->name);
        }
    }
    return 0;
}

/* Our own pods alone never ask more of a node than it ever had. */
static int check_gpus_of_world(struct sim *s)
{
    for (uint32_t ix = 0; ix < s->world.n_nodes; ix++) {
        const struct w_node *n = &s->world.nodes[ix];
        int64_t ours = world_gpus_used(&s->world, ix, true);

        if (ours > n->gpus_most)
            return err_set(&s->err, ERR_INTERNAL, "node %s: our pods ask %lld of %lld GPUs",
                           n->name, (long long)ours, (long long)n->gpus_most);
    }
    return 0;
}

static int check_promises(struct sim *s)
{
    for (size_t i = 0; i < s->client.promises.n; i++) {
        struct promise *p = &s->client.promises.v[i];
        const struct job *j = p->is_over ? NULL : state_job(s->state, p->job);

        if (p->is_over)
            continue;
        /* a key tells of an old job: its age is in its id */
        if (!j && s->now - (usec_t)(p->job.v >> 12) * USEC_PER_MSEC < RECORD_HOURS * HOUR_US)
            return err_set(&s->err, ERR_INTERNAL, "job %llx was accepted and is lost",
                           (unsigned long long)p->job.v);
        p->is_over = !j || job_state_is_terminal(j->state); /* its end may fall into a crash */
    }
    for (size_t i = 0; i < s->state->by_id.n; i++) {
        const struct job *j = s->state->by_id.v[i];
        const struct submit_key *k;

        if (!j->submit_key)
            continue;
        k = state_key(s->state, j->tenant, j->submit_key);
        for (k = k && k->job.v == j->id.v ? k : s->state->keys; k && k->job.v != j->id.v;)
            k = k->hh.next; /* it was moved: the key stays with its first tenant */
        if (!k || k->drop_at)
            return broken(s, "its submit key means another job, or is to go", j);
    }
    return 0;
}

/* Would a sleeper fit? Tries each model for all roles with GPUs. */
static bool would_fit(const struct sim *s, const struct job *j)
{
    const struct demand *d = j->demand;
    uint8_t models[JOB_ROLES_MAX];
    struct place_wish wish = {.demand = d, .models = models, .excluded = j->excluded};
    struct place_result r;

    wish.n_beside = backfill_beside(
        s->state, backfill_ahead_of(s->state, j, backfill_end(j, s->now)), &wish.beside);
    wish.closed = window_closed(s->state, j, s->now);
    if (!licence_admits(s->state, j, NULL))
        return false;
    for (uint32_t m = 0; m < s->settings->n_models; m++) {
        bool is_wanted = true;

        for (uint32_t i = 0; i < d->n_roles; i++) {
            const struct demand_role *role = &d->roles[i];
            bool is_listed = role->n_models == 0;

            models[i] = MODELS_MAX;
            if (!role->takes_gpus)
                continue;
            for (uint32_t k = 0; k < role->n_models; k++)
                is_listed |= role->models[k] == m;
            models[i] = (uint8_t)m;
            is_wanted &= is_listed;
        }
        if (!is_wanted ||
            !tenant_admits(&s->state->tenants, j->tenant_ix, m, demand_parts(d, m), NULL) ||
            !tenant_admits_user(&s->state->tenants, job_account(j), m, demand_parts(d, m), NULL) ||
            !cycle_leaves_unlent(s->state, &s->state->cluster, j, models) ||
            (!d->is_preemptible && d->takes_gpus &&
             !tenant_in_quota(&s->state->tenants, j->tenant_ix, m, demand_parts(d, m))))
            continue;
        if (place_gang(&s->state->cluster, &wish, &r)) {
            free(r.members);
            return true;
        }
    }
    return false;
}

static int check_sleepers(struct sim *s)
{
    if (!s->state->is_synced || !s->state->is_cluster_up || s->wake <= s->now)
        return 0;
    for (size_t i = 0; i < s->state->by_id.n; i++) {
        const struct job *j = s->state->by_id.v[i];

        if (j->bucket && j->tenant_ix != IX_NONE &&
            tenant_stopped(&s->state->tenants, j->tenant_ix) == IX_NONE &&
            week_next(s->settings, j->tenant_ix, s->now, backfill_end_from(j, s->now) - s->now) ==
                s->now &&
            j->not_before <= s->now && would_fit(s, j))
            return broken(s, "sleeps and would fit", j);
    }
    return 0;
}

/* The daemon counts on a node at least what runs there. */
static int check_counted(struct sim *s, uint32_t ix, const char *resource, int64_t there)
{
    const struct node *n = cluster_find(&s->state->cluster, s->world.nodes[ix].name);
    int dim = resource_index(&s->state->cluster.names, resource, false);
    int64_t counted = n && dim >= 0 ? n->used.amount[dim] : 0;

    if (counted < there)
        return err_set(&s->err, ERR_INTERNAL, "node %s: pods ask %lld %s, %lld are counted",
                       s->world.nodes[ix].name, (long long)there, resource, (long long)counted);
    return 0;
}

/* When all was told. */
static int check_knowledge(struct sim *s)
{
    for (uint32_t ix = 0; ix < s->world.n_nodes; ix++) {
        if (check_counted(s, ix, "nvidia.com/gpu", world_gpus_used(&s->world, ix, false)))
            return -1;
        for (uint32_t k = 0; k < MIG_KINDS; k++)
            if (check_counted(s, ix, world_mig_name(k), world_mig_used(&s->world, ix, k, false)))
                return -1;
    }
    for (size_t i = 0; i < s->state->active.n; i++) {
        const struct job *j = s->state->active.v[i];

        if ((j->state == JOB_BINDING ||
             (j->state == JOB_STARTING && j->n_bound + j->n_waiting < job_size(j))) &&
            j->attempt_at < s->now && !fake_cluster_works_on(s->cluster, j->id))
            return broken(s, "nobody binds its pods", j);
    }
    return 0;
}

/* Placed in this turn, and not in another of the same instant after which nodes have changed, nor
 * before a crash, after which they are not known yet. */
static bool is_new(const struct sim *s, const struct job *j)
{
    return s->state->is_synced && j->attempt_at == s->state->now && s->judged_at != s->state->now;
}

/* A gang that was placed in this turn has one driver. */
static int check_drivers(struct sim *s)
{
    for (size_t i = 0; i < s->state->active.n; i++) {
        const struct job *j = s->state->active.v[i];
        uint32_t driver = IX_NONE;

        for (uint32_t m = 0; m < j->n_members && is_new(s, j); m++) {
            const struct node *n = cluster_node(&s->state->cluster, j->members[m].node_ix);

            if (!n || !j->demand->roles[j->members[m].role].same_driver)
                continue;
            if (driver != IX_NONE && n->driver != driver)
                return broken(s, "has hosts of two drivers", j);
            driver = n->driver;
        }
    }
    return 0;
}

/* Slices of a gang that was placed in this turn stand in one domain each; spares are in none. */
static int check_slices(struct sim *s)
{
    for (size_t i = 0; i < s->state->active.n; i++) {
        const struct job *j = s->state->active.v[i];
        const struct demand *d = j->demand;
        const struct topology *t = &s->state->cluster.topology;

        for (uint32_t m = 1; m < j->n_members && d->slice_size && is_new(s, j); m++) {
            const struct member *a = &j->members[m - 1], *b = &j->members[m];
            const struct node *x = cluster_node(&s->state->cluster, a->node_ix),
                              *y = cluster_node(&s->state->cluster, b->node_ix);

            if (a->role != b->role || b->index % d->slice_size == 0 || job_is_spare(j, b) || !x ||
                !y || !d->roles[b->role].each.amount[RES_GPUS])
                continue;
            if (topology_domain_at(t, x, d->hierarchy, d->slice_level) !=
                topology_domain_at(t, y, d->hierarchy, d->slice_level))
                return broken(s, "has a slice in two domains", j);
        }
    }
    return 0;
}

/* A role of a gang that was placed in this turn keeps its skew inside the required domain. */
static int check_role_spread(struct sim *s, const struct job *j, uint32_t role)
{
    const struct cluster *c = &s->state->cluster;
    const struct demand *d = j->demand;
    const struct spread *groups = spread_groups(c, &d->roles[role]);
    struct spread_scope scope = {&d->roles[role], j->models[role], IX_NONE, IX_NONE};
    uint32_t *pods = xcalloc(groups->n_groups + 1, sizeof(*pods)), skew;
    bool is_grouped = true;

    for (uint32_t m = 0; m < j->n_members; m++) {
        const struct node *n = cluster_node(c, j->members[m].node_ix);

        if (!n || j->members[m].role != role)
            continue;
        is_grouped = is_grouped && spread_group(groups, n->ix) != IX_NONE;
        if (is_grouped)
            pods[spread_group(groups, n->ix)]++;
        scope.driver = n->driver;
        if (d->required < c->settings->hierarchies[d->hierarchy].n_levels)
            scope.home = topology_domain_at(&c->topology, n, d->hierarchy, d->required);
    }
    skew = spread_skew(pods, groups->n_groups, spread_count(c, &scope));
    free(pods);
    if ((skew > d->roles[role].spread.max_skew || !is_grouped) &&
        d->required != c->settings->hierarchies[d->hierarchy].n_levels) /* one host for all */
        return broken(s, "is not spread as it asked", j);
    return 0;
}

static int check_spread(struct sim *s)
{
    for (size_t i = 0; i < s->state->active.n; i++) {
        const struct job *j = s->state->active.v[i];

        if (sim_had_claim(s, j->id))
            continue; /* it was placed when it took its nodes */
        for (uint32_t r = 0; r < j->demand->n_roles && is_new(s, j); r++)
            if (j->demand->roles[r].spread.key && !j->demand->roles[r].spread.is_soft &&
                check_role_spread(s, j, r))
                return -1;
    }
    return 0;
}

int check_turn(struct sim *s)
{
    if (state_check(s->state, &s->err))
        return err_wrap(&s->err, "state_check");
    if (s->state->meta.moves_lost > s->settings->defrag_gpu_us)
        return err_set(&s->err, ERR_INTERNAL, "moves cost more than the budget of a day");
    if (check_promises_of_nodes(s) || check_times(s) || check_drivers(s) || check_slices(s) ||
        check_rights(s) || check_windows(s) || check_spread(s))
        return -1;
    s->judged_at = s->state->now;
    if (s->was_synced && inbox_count(s->inbox) == 0 && fake_cluster_is_told(s->cluster) &&
        check_knowledge(s))
        return -1;
    sim_met_claims(s);
    if (s->n_turns % DEAR_CHECK_TURNS)
        return 0;
    sim_note(s, fake_store_hash(s->store));
    if (check_pods(s) || check_gpus_of_world(s) || check_promises(s) || check_takers(s))
        return -1;
    return check_sleepers(s);
}

/* ---- at rest */

static int check_pending(struct sim *s, const struct job *j)
{
    struct explain why;

    explain_job(s->state, j, s->now, &why);
    if (!why.code[0] || !why.text[0])
        return broken(s, "waits without a reason", j);
    if (strcmp(why.code, "NotEvaluated") == 0)
        return broken(s, "was never looked at", j);
    sim_note(s, (uint64_t)(unsigned char)why.code[0] << 8 | (unsigned char)why.code[1]);
    return 0;
}

int check_rest(struct sim *s)
{
    if (check_turn(s) || check_pods(s) || check_promises(s) || check_sleepers(s))
        return -1;
    for (size_t i = 0; i < s->state->by_id.n; i++) {
        const struct job *j = s->state->by_id.v[i];

        if (job_state_is_terminal(j->state))
            continue;
        if (j->state == JOB_HELD)
            continue; /* until a user releases it */
        if (j->state != JOB_PENDING)
            return broken(s, "has not ended", j);
        if (check_pending(s, j))
            return -1;
    }
    for (size_t i = 0; i < s->world.pods.n; i++) {
        const struct w_pod *p = &s->world.pods.v[i];

        if (!p->is_foreign && !world_pod_is_terminal(p))
            return err_set(&s->err, ERR_INTERNAL, "pod %s still lives", p->name);
    }
    if (s->state->claims.n)
        return broken(s, "still holds nodes while it waits", s->state->claims.v[0]);
    for (uint32_t t = 0; t < s->settings->n_tenants; t++)
        for (uint32_t m = 0; m < MODELS_MAX; m++)
            if (s->state->tenants.v[t].used[m] || s->state->tenants.v[t].coming[m])
                return err_set(&s->err, ERR_INTERNAL, "tenant %s is still charged",
                               s->settings->tenants[t].path);
    for (size_t i = 0; i < s->state->cluster.nodes.n; i++) {
        const struct node *n = s->state->cluster.nodes.v[i];

        if (n && (n->n_gangs || n->used.amount[RES_GPUS]))
            return err_set(&s->err, ERR_INTERNAL, "node %s is still held", n->name);
    }
    return 0;
}

int check_empty(struct sim *s)
{
    if (check_rest(s))
        return -1;
    if (s->world.pods.n)
        return err_set(&s->err, ERR_INTERNAL, "pod %s was never removed", s->world.pods.v[0].name);
    if (s->world.services.n)
        return err_set(&s->err, ERR_INTERNAL, "service %s is leaked", s->world.services.v[0].name);
    if (s->world.budgets.n)
        return err_set(&s->err, ERR_INTERNAL, "budget %s is leaked", s->world.budgets.v[0].name);
    if (s->state->by_id.n || s->state->demands || s->state->buckets)
        return err_set(&s->err, ERR_INTERNAL, "%zu job records are never dropped",
                       s->state->by_id.n);
    if (s->state->keys || s->state->answers)
        return err_set(&s->err, ERR_INTERNAL, "keys or answers are never dropped");
    return 0;
}
