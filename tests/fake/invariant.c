/* SPDX-License-Identifier: Apache-2.0 */
/* invariant.c - a recount of everything that is kept up to date step by step. */
#include "invariant.h"

#include <stdlib.h>
#include <string.h>

#include "core/array.h"
#include "core/order.h"
#include "core/window.h"
#include "life/job_life.h"

static int broken(struct err *err, const char *what, const char *name)
{
    return err_set(err, ERR_INTERNAL, "invariant: %s (%s)", what, name);
}

/* Something is left to do for its array, with the next decisions. */
static bool is_due(const struct state *s, const struct job *j)
{
    const struct job *parent = array_parent(s, j);

    return parent && parent->array->is_due;
}

static int check_members(const struct job *j, struct err *err)
{
    uint32_t bound = 0, running = 0, done = 0, gone = 0, absent = 0, spare = 0, waiting = 0;

    for (uint32_t i = 0; i < j->n_members; i++) {
        waiting += j->members[i].waits;
        switch ((enum member_phase)j->members[i].phase) {
        case MEMBER_PLACED:
            break;
        case MEMBER_SPARE:
            spare++;
            break;
        case MEMBER_RUNNING:
            running++;
            bound++;
            break;
        case MEMBER_BOUND:
            bound++;
            break;
        case MEMBER_SUCCEEDED:
        case MEMBER_FAILED:
            bound++;
            done++;
            break;
        case MEMBER_KEPT:
        case MEMBER_GONE:
            gone++;
            break;
        case MEMBER_ABSENT:
            absent++;
            break;
        }
    }
    if (bound != j->n_bound || running != j->n_running || done != j->n_done || gone != j->n_gone ||
        absent != j->n_absent || spare != j->n_spare || waiting != j->n_waiting)
        return broken(err, "counts of members are off", j->name);
    return 0;
}

/* Nodes of an exclusive pool hold members of its tenants only, but for what was decided under other
 * settings. */
static int check_pools(const struct state *s, const struct job *j, struct err *err)
{
    uint64_t closed = settings_closed_pools(s->settings, j->tenant_ix);

    if (j->tenant_ix == IX_NONE || j->config_generation != s->meta.config_generation)
        return 0;
    for (uint32_t i = 0; i < j->n_members && closed; i++) {
        const struct node *n = cluster_node(&s->cluster, j->members[i].node_ix);

        if (n && n->is_known && n->pool != IX_NONE && (closed >> n->pool & 1))
            return broken(err, "a member in a pool of others", j->name);
    }
    return 0;
}

/* An elastic gang has what each role needs, and no more than it may; what it is charged is what its
 * members and those that are going make. */
static bool check_sizes(const struct job *j)
{
    uint32_t size[JOB_ROLES_MAX] = {0}, going[JOB_ROLES_MAX] = {0};
    uint64_t parts = 0;

    for (uint32_t i = 0; i < j->n_members; i++) {
        size[j->members[i].role] += j->members[i].phase != MEMBER_ABSENT;
        going[j->members[i].role] += j->members[i].is_going;
        if (j->members[i].is_going && j->members[i].phase != MEMBER_ABSENT)
            return true;
    }
    for (uint32_t r = 0; r < j->demand->n_roles && j->n_members; r++) {
        if (size[r] != j->size[r] ||
            size[r] + j->demand->roles[r].spares < j->demand->roles[r].replicas ||
            size[r] > j->demand->roles[r].most || going[r] != j->going[r])
            return true;
        parts += j->models[r] == MODELS_MAX
                     ? 0
                     : (uint64_t)(size[r] + going[r]) * j->demand->roles[r].parts[j->models[r]];
    }
    return j->charged_parts && j->charged_parts != parts;
}

/* Only a running gang lacks members that are made again, and it knows since when. */
static bool check_mends(const struct job *j)
{
    uint32_t missing = 0;

    for (uint32_t i = 0; i < j->n_members && j->state == JOB_RUNNING; i++) {
        const struct member *m = &j->members[i];

        if (m->mend == MEND_STARTING   ? m->phase > MEMBER_BOUND
            : m->mend == MEND_RECALLED ? m->phase > MEMBER_RUNNING
            : m->mend == MEND_HOSTLESS ? m->phase != MEMBER_GONE && m->phase != MEMBER_KEPT
                                       : m->phase == MEMBER_GONE || m->phase == MEMBER_FAILED)
            return true;
        missing += m->mend != MEND_NONE;
    }
    for (uint32_t i = 0; i < j->n_members; i++)
        if (j->members[i].phase == MEMBER_KEPT && !(j->keeps && j->state == JOB_RESTARTING) &&
            !(j->state == JOB_RUNNING && j->members[i].mend == MEND_HOSTLESS))
            return true;
    return j->state == JOB_RUNNING && (missing > 0) != (j->lost_at > 0);
}

/* A pod of a role that starts after another is asked for when all of that one run, not before. */
static bool check_later(const struct job *j)
{
    bool runs[JOB_ROLES_MAX];

    if (j->state != JOB_BINDING && j->state != JOB_STARTING)
        return false;
    memset(runs, true, sizeof(runs));
    for (uint32_t i = 0; i < j->n_members; i++) {
        uint8_t phase = j->members[i].phase;

        runs[j->members[i].role] &= phase == MEMBER_RUNNING || phase == MEMBER_SUCCEEDED ||
                                    phase == MEMBER_SPARE || phase == MEMBER_ABSENT;
    }
    for (uint32_t i = 0; i < j->n_members && j->is_resumed; i++) {
        const struct member *m = &j->members[i];
        uint32_t after = j->demand->roles[m->role].after;

        if (m->waits && (!after || m->phase != MEMBER_PLACED || m->uid[0]))
            return true;
        if (after && m->phase != MEMBER_ABSENT && m->phase != MEMBER_SPARE &&
            m->waits == runs[after - 1])
            return true;
    }
    return false;
}

static int check_job(const struct state *s, const struct job *j, struct err *err)
{
    bool is_active = false;

    for (size_t i = 0; i < s->active.n; i++)
        is_active |= s->active.v[i] == j;
    if (is_active != job_state_is_active(j->state))
        return broken(err, "active list and state differ", j->name);
    if (j->restarts > j->max_restarts)
        return broken(err, "it restarted more often than it may", j->name);
    if (j->claim && j->state != JOB_PENDING)
        return broken(err, "a claim of a job that does not wait", j->name);
    if (!is_due(s, j) && (j->bucket != NULL) != (j->state == JOB_PENDING && !j->waits.n &&
                                                 !j->claim && !j->array && !array_keeps_back(s, j)))
        return broken(err, "bucket and state differ", j->name);
    if (j->bucket && (j->bucket->key.tenant_ix != j->tenant_ix ||
                      j->bucket->key.priority != j->priority || j->bucket->key.demand != j->demand))
        return broken(err, "it waits in a bucket of other jobs", j->name);
    if (j->move && (!job_state_is_active(j->state) || !j->is_movable))
        return broken(err, "a place is held for a job that does not move", j->name);
    if (j->state == JOB_PENDING &&
        ((j->n_members && !j->claim) || j->charged_parts || j->has_budget))
        return broken(err, "a pending job holds something", j->name);
    if (job_state_is_terminal(j->state) && (j->charged_parts || j->has_service || j->has_budget))
        return broken(err, "a finished job holds something", j->name);
    if (j->n_members && j->n_members != j->demand->most)
        return broken(err, "a partial placement", j->name);
    if (j->state == JOB_RUNNING && j->ends_with_leader && job_leader(j) &&
        job_leader(j)->phase == MEMBER_SUCCEEDED)
        return broken(err, "it runs on behind the end of its leader", j->name);
    if (check_mends(j))
        return broken(err, "a running gang and what it lacks differ", j->name);
    if (check_later(j))
        return broken(err, "a role is started before the one that it waits for", j->name);
    if (check_sizes(j))
        return broken(err, "an elastic gang of a size that it may not have", j->name);
    if ((j->state == JOB_BINDING || j->state == JOB_STARTING || j->state == JOB_RUNNING) &&
        j->n_members == 0)
        return broken(err, "an active job without members", j->name);
    if ((j->state == JOB_STOPPING) != (j->outcome != 0))
        return broken(err, "outcome and state differ", j->name);
    if ((j->state == JOB_BINDING || j->state == JOB_STARTING || j->state == JOB_RUNNING ||
         job_state_is_terminal(j->state)) &&
        j->timer_at == 0)
        return broken(err, "a state without a way out in time", j->name);
    return check_members(j, err);
}

/* What the members of a job hold. */
static void count_members(const struct job *j, struct resources *used, uint32_t *gangs)
{
    for (uint32_t k = 0; k < j->n_members; k++) {
        struct resources asks;

        if (j->members[k].phase > MEMBER_RUNNING)
            continue;
        state_pod_asks(j, j->members[k].role, &asks);
        resources_add(&used[j->members[k].node_ix], &asks);
        gangs[j->members[k].node_ix]++;
    }
}

/* What is held for an active job that goes on elsewhere. */
static void count_move(const struct job *j, struct resources *used, uint32_t *gangs)
{
    uint32_t at = 0;

    for (uint32_t r = 0; r < j->demand->n_roles && j->move; r++) {
        struct resources asks;

        role_asks(&j->demand->roles[r], j->move->fixed_cpu_milli[r], j->move->fixed_memory_bytes[r],
                  &asks);
        for (uint32_t i = 0; i < j->demand->roles[r].replicas; i++, at++) {
            resources_add(&used[j->move->members[at].node_ix], &asks);
            gangs[j->move->members[at].node_ix]++;
        }
    }
}

/* A member that is to be alone shares its node with no other. Of a gang that stops, some may be
 * gone that a daemon that was started anew still counts. */
static int check_alone(const struct state *s, uint32_t *members, struct err *err)
{
    struct resources *used = xcalloc(s->cluster.nodes.n + 1, sizeof(*used));
    const struct job *bad = NULL;

    for (size_t i = 0; i < s->active.n; i++)
        if (s->active.v[i]->state <= JOB_RUNNING)
            count_members(s->active.v[i], used, members);
    for (size_t i = 0; i < s->active.n; i++) {
        const struct job *j = s->active.v[i];

        for (uint32_t k = 0; k < j->n_members && j->state <= JOB_RUNNING; k++)
            if (j->demand->roles[j->members[k].role].is_alone &&
                j->members[k].phase <= MEMBER_RUNNING && members[j->members[k].node_ix] > 1)
                bad = j;
    }
    free(used);
    return bad ? broken(err, "a member shares the node that it has to itself", bad->name) : 0;
}

/* What all active jobs, claims and counted pods hold, per node. */
static int check_nodes(const struct state *s, struct err *err)
{
    const struct cluster *c = &s->cluster;
    struct resources *used = xcalloc(c->nodes.n + 1, sizeof(*used));
    uint32_t *gangs = xcalloc(c->nodes.n + 1, sizeof(*gangs));
    const struct counted_pod *p;
    int rc = check_alone(s, gangs, err);

    memset(gangs, 0, (c->nodes.n + 1) * sizeof(*gangs));
    for (size_t i = 0; i < s->active.n; i++)
        count_members(s->active.v[i], used, gangs);
    for (size_t i = 0; i < s->active.n; i++)
        count_move(s->active.v[i], used, gangs);
    for (size_t i = 0; i < s->claims.n; i++)
        count_members(s->claims.v[i], used, gangs);
    for (p = c->pods; p; p = p->hh.next)
        resources_add(&used[p->node_ix], &p->asks);
    for (size_t i = 0; i < c->nodes.n && rc == 0; i++) {
        const struct node *n = c->nodes.v[i];

        if (!n)
            rc = gangs[i] ? broken(err, "a member on a forgotten node", "?") : 0;
        else if (memcmp(&used[i], &n->used, sizeof(used[i])) != 0 || gangs[i] != n->n_gangs)
            rc = broken(err, "what a node holds differs from the recount", n->name);
        else if (n->drain != cluster_drained(c, n->name) || (n->drain && n->is_usable))
            rc = broken(err, "a drained node that does not know it", n->name);
        else if (n->is_counted && n->counted_free != node_free_gpus(n))
            rc = broken(err, "a node is counted with another number of free GPUs", n->name);
        else if (n->is_counted != (n->is_usable && n->model < MODELS_MAX))
            rc = broken(err, "a node is counted that should not be, or not", n->name);
    }
    free(used);
    free(gangs);
    return rc;
}

static bool is_below(const char *path, const char *tenant)
{
    size_t len = strlen(tenant);

    return len && strncmp(path, tenant, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

static bool has_member_on(const struct job *j, const uint32_t *nodes, size_t n)
{
    for (uint32_t k = 0; k < j->n_members; k++)
        for (size_t i = 0; i < n; i++)
            if (nodes[i] == j->members[k].node_ix)
                return true;
    return false;
}

/* No gang that was decided after a window was made goes on into it, but for its tenant's. Once it
 * runs its latest end is known, and it grows by that one. */
static int check_windows(const struct state *s, const struct job *j, struct err *err)
{
    usec_t decided = j->resized_at > j->attempt_at ? j->resized_at : j->attempt_at;

    for (size_t i = 0; i < s->windows->v.n; i++) {
        const struct window *w = s->windows->v.v[i];
        usec_t late = j->running_at ? j->running_at : j->attempt_at + j->start_timeout_us;
        usec_t end = late + j->max_runtime_us;

        if (j->run_until && j->run_until < end)
            end = j->run_until > late ? j->run_until : late;
        if (j->deadline_at && j->deadline_at < end)
            end = j->deadline_at > late ? j->deadline_at : late;
        end += j->grace_us;
        if (j->claim || j->attempt_at <= w->made_at || decided >= w->to || end <= w->from ||
            (decided >= w->from && is_below(j->tenant, w->tenant)) || j->n_replaced)
            continue;
        if (has_member_on(j, w->nodes.v, w->nodes.n))
            return broken(err, "a gang on nodes that are reserved", j->name);
    }
    return 0;
}

static int check_tenants(const struct state *s, struct err *err)
{
    struct tenants t;
    int rc = 0;

    tenants_init(&t, s->settings);
    for (size_t i = 0; i < s->by_id.n; i++) {
        const struct job *j = s->by_id.v[i];
        uint64_t gpus[MODELS_MAX];

        if (j->tenant_ix == IX_NONE)
            continue;
        if (j->state == JOB_PENDING || j->state == JOB_HELD)
            tenant_wait(&t, job_account(j), (int)array_weight(j));
        t.v[j->tenant_ix].active += job_state_is_active(j->state);
        if (j->charged_parts)
            job_count_gpus(&t, j, tenant_charge);
        job_count_going(&t, j, tenant_charge);
        job_count_going(&t, j, tenant_spare);
        job_all_gpus(j, gpus);
        for (uint32_t m = 0; m < MODELS_MAX && (j->charged_parts || j->claim); m++)
            tenant_charge_user(&t, job_account(j), m, (int64_t)gpus[m]);
        for (uint32_t m = 0; m < MODELS_MAX && j->charged_parts && s->settings->shares_users; m++)
            tenant_user(&t, job_account(j))->own[m] += gpus[m];
        if (j->claim)
            job_count_gpus(&t, j, tenant_expect);
        if (j->is_leaving && !j->move)
            job_count_gpus(&t, j, tenant_spare);
    }
    for (const struct account *a = s->tenants.accounts; a && rc == 0; a = a->hh.next) {
        const struct account *b = tenant_account(&t, a->key);
        static const struct account none;
        static const struct user_share nothing;

        b = b ? b : &none;
        if (a->pending != b->pending || memcmp(a->used, b->used, sizeof(a->used)) != 0)
            rc = broken(err, "what a user holds in a tenant differs from the recount",
                        s->settings->tenants[a->key.tenant].path);
        else if (a->share && memcmp(a->share->own, b->share ? b->share->own : nothing.own,
                                    sizeof(nothing.own)) != 0)
            rc = broken(err, "a user's share in a tenant differs from the recount",
                        s->settings->tenants[a->key.tenant].path);
    }
    for (uint32_t i = 0; i < s->settings->n_tenants && rc == 0; i++)
        if (t.v[i].pending != s->tenants.v[i].pending || t.v[i].active != s->tenants.v[i].active ||
            memcmp(t.v[i].used, s->tenants.v[i].used, sizeof(t.v[i].used)) != 0 ||
            memcmp(t.v[i].own, s->tenants.v[i].own, sizeof(t.v[i].own)) != 0 ||
            memcmp(t.v[i].coming, s->tenants.v[i].coming, sizeof(t.v[i].coming)) != 0)
            rc = broken(err, "charges or counts of a tenant differ from the recount",
                        s->settings->tenants[i].path);
    tenants_fini(&t);
    return rc;
}

/* The list of dependents, and what each job counts of them. */
static int check_dependents(const struct state *s, struct err *err)
{
    uint64_t waiters = 0, waits = 0;
    size_t n = 0;

    for (size_t i = 0; i < s->by_id.n; i++) {
        const struct job *j = s->by_id.v[i];

        if (j->waits.n && j->state != JOB_PENDING && j->state != JOB_HELD)
            return broken(err, "waits for others and does not wait", j->name);
        n += j->waits.n > 0;
        waiters += j->n_waiters;
        for (size_t k = 0; k < j->waits.n; k++)
            waits += state_job(s, j->waits.v[k].on) != NULL;
    }
    if (n != s->dependents.n || waiters != waits)
        return broken(err, "dependents differ from the recount", "all");
    return 0;
}

/* Histograms of every domain against a recount from the nodes. */
static int check_domain(const struct state *s, const struct domain *d, struct err *err)
{
    const struct cluster *c = &s->cluster;
    uint32_t n_models = s->settings->n_models;
    struct free_histogram *all = xcalloc(n_models + 1, sizeof(*all));
    uint64_t free_gpus = 0;
    int rc = 0;

    for (size_t i = 0; i < c->by_name.n; i++) {
        const struct node *n = c->nodes.v[c->by_name.v[i]];
        struct free_histogram *h;

        if (!n->is_counted || topology_domain_at(&c->topology, n, d->hierarchy, d->level) != d->ix)
            continue;
        h = &all[n->model];
        h->nodes++;
        h->free_gpus += (uint64_t)n->counted_free;
        h->count[n->counted_free]++;
        h->most = n->counted_free > h->most ? (uint32_t)n->counted_free : h->most;
    }
    for (uint32_t m = 0; m < n_models && rc == 0; m++)
        if (d->by_model[m] ? memcmp(&all[m], d->by_model[m], sizeof(*all)) != 0 : all[m].nodes != 0)
            rc = broken(err, "a histogram differs from the recount", d->path);
    for (uint32_t m = 0; m < n_models; m++)
        free_gpus += all[m].free_gpus;
    if (rc == 0 && free_gpus != c->topology.free_of.v[d->ix])
        rc = broken(err, "free GPUs of a domain differ from the recount", d->path);
    free(all);
    return rc;
}

/* Free GPUs by node and by number, as placement reads them. */
static int check_free(const struct cluster *c, struct err *err)
{
    uint32_t n_free[NODE_GPUS_MAX + 1] = {0};

    for (size_t i = 0; i < c->nodes.n; i++) {
        const struct node *n = c->nodes.v[i];
        int64_t f = n && n->is_usable ? node_free_gpus(n) : FREE_NONE;

        if (c->free_of.v[i] != f)
            return broken(err, "free GPUs of a node differ", n ? n->name : "?");
        if (f != FREE_NONE)
            n_free[f]++;
    }
    if (memcmp(n_free, c->n_free, sizeof(n_free)) != 0)
        return broken(err, "nodes by free GPUs differ from the recount", "all");
    return 0;
}

/* Counted from all jobs; a site may have fewer now than gangs took under other settings. */
static int check_licences(const struct state *s, struct err *err)
{
    for (uint32_t l = 0; l < s->settings->n_licences; l++) {
        uint64_t held = 0;
        bool is_older = false;

        for (size_t i = 0; i < s->by_id.n; i++) {
            const struct job *j = s->by_id.v[i];

            if (!j->claim && (!job_state_is_active(j->state) || !j->n_members))
                continue;
            held += j->demand->licences[l];
            is_older |= j->demand->licences[l] && j->config_generation != s->meta.config_generation;
        }
        if (!is_older && held > s->settings->licences[l].count)
            return broken(err, "more licences are held than there are",
                          s->settings->licences[l].name);
    }
    return 0;
}

static bool is_live(const struct job_array *a, uint32_t index)
{
    for (size_t i = 0; i < a->live.n; i++)
        if (a->live.v[i]->array_index == index)
            return true;
    return false;
}

/* Each index is in one part of a kind at the most, and there is something left to it. */
static int check_parts(const struct job *parent, struct err *err)
{
    const struct job_array *a = parent->array;

    for (size_t i = 0; i < a->parts.n; i++) {
        const struct array_part *p = &a->parts.v[i];

        if (!p->set.n)
            return broken(err, "an array keeps a part without indices", parent->name);
        for (uint32_t x = p->set.ranges.v[0].from; x < ARRAY_INDICES_MAX; x++) {
            bool waits = indices_has(&a->waiting, x), lives = is_live(a, x);

            if (!indices_has(&p->set, x))
                continue;
            if (array_part_of(a, p->kind, x) != p || !indices_has(&a->all, x))
                return broken(err, "an index is in two parts of a kind", parent->name);
            if (p->kind == PART_HELD ? waits || lives
                                     : !lives && (p->kind == PART_VERB ||
                                                  !(waits || array_part_of(a, PART_HELD, x))))
                return broken(err, "a part of an array has an index that it cannot", parent->name);
        }
    }
    if (a->parts.n > ARRAY_PARTS_MAX)
        return broken(err, "an array has too many parts", parent->name);
    return 0;
}

/* An array against a recount of its indices: each is in one place. */
static int check_array(const struct state *s, const struct job *parent, struct err *err)
{
    const struct job_array *a = parent->array;
    uint32_t kept = 0, live = 0, running = 0;

    for (size_t i = 0; i < s->by_id.n; i++) {
        const struct job *j = s->by_id.v[i];
        bool is_live = !job_state_is_terminal(j->state);

        if (j->array_id.v != parent->id.v)
            continue;
        kept++;
        live += is_live;
        running += j->state == JOB_RUNNING;
        if (indices_has(&a->waiting, j->array_index) || array_part_of(a, PART_HELD, j->array_index))
            return broken(err, "an index waits and has begun", j->name);
        if ((indices_has(&a->succeeded, j->array_index)) != (j->state == JOB_SUCCEEDED) ||
            (indices_has(&a->failed, j->array_index)) !=
                (!is_live && j->state != JOB_SUCCEEDED && j->state != JOB_CANCELLED))
            return broken(err, "an index has ended otherwise than its array knows", j->name);
    }
    if (kept != a->n_kept || live != a->live.n || running != a->n_running)
        return broken(err, "an array's counts differ from the recount", parent->name);
    if (live > a->parallel)
        return broken(err, "more indices of an array than maxParallel", parent->name);
    if (live + array_weight(parent) + a->succeeded.n + a->failed.n + a->n_cancelled != a->n)
        return broken(err, "indices of an array are lost or twice there", parent->name);
    if (job_state_is_terminal(parent->state) && (live || array_weight(parent) || a->parts.n))
        return broken(err, "an array has ended before its indices", parent->name);
    return check_parts(parent, err);
}

static int check_arrays(const struct state *s, struct err *err)
{
    for (size_t i = 0; i < s->by_id.n; i++)
        if (s->by_id.v[i]->array && check_array(s, s->by_id.v[i], err))
            return -1;
    return 0;
}

int state_check(const struct state *s, struct err *err)
{
    if (s->ids.n != s->by_id.n || HASH_CNT(hh_name, s->jobs_by_name) != s->by_id.n)
        return broken(err, "tables of jobs differ in size", "all");
    for (size_t i = 0; i < s->by_id.n; i++) {
        if (s->ids.v[i] != s->by_id.v[i]->id.v)
            return broken(err, "another id than its job", s->by_id.v[i]->name);
        if (i && s->by_id.v[i]->id.v <= s->by_id.v[i - 1]->id.v)
            return broken(err, "jobs are out of order", s->by_id.v[i]->name);
        if (check_job(s, s->by_id.v[i], err) || check_pools(s, s->by_id.v[i], err) ||
            check_windows(s, s->by_id.v[i], err))
            return -1;
    }
    for (size_t i = 0; i < s->cluster.topology.domains.n; i++)
        if (s->cluster.topology.domains.v[i] &&
            check_domain(s, s->cluster.topology.domains.v[i], err))
            return -1;
    return check_free(&s->cluster, err) || check_nodes(s, err) || check_licences(s, err) ||
                   check_dependents(s, err) || check_arrays(s, err)
               ? -1
               : check_tenants(s, err);
}
