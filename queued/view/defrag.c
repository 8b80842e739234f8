/* SPDX-License-Identifier: Apache-2.0 */
/* defrag.c - moves that give a fragmented gang its nodes, found on a fork.
 *
 * Candidates are hosts that movers alone keep from having room for a pod. In a domain of the
 * taker's required level (none: in the cluster) hosts are cleared, those with the fewest movers
 * first, until the taker fits; then each mover is given back, the dearest first, if it still fits;
 * then the movers are placed, the largest first; when one finds no place the largest are given back
 * first, and after that hosts are cleared from the next one on. Of the domains the plan with the
 * fewest moves wins, then the cheapest.
 */
#include "view/defrag.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/backfill.h"
#include "core/claim.h"
#include "core/cycle.h"
#include "core/future.h"
#include "core/opening.h"
#include "core/order.h"
#include "core/preempt.h"
#include "core/rights.h"
#include "core/window.h"
#include "view/explain_say.h"

enum { TAKERS_MAX = 8, DOMAINS_MAX = 16 /* looked at for one taker */, STARTS_MAX = 8 };

struct mover {
    const struct job *job;
    uint64_t lost;
    bool is_out; /* gone from the fork */
};

/* A pod of a mover. */
struct part {
    uint32_t node, mover;
    int64_t gpus;
};

/* A host that may be cleared, and who must leave it. */
struct host {
    uint32_t domain, node;
    uint32_t slots;  /* pods of the taker that its domain has room for now */
    uint32_t movers; /* on it */
    uint64_t lost;   /* by them */
    size_t from, to; /* of the parts */
};

struct search {
    const struct state *s;
    struct state shadow;  /* s, for what a try notes */
    struct job taker;     /* a copy for the same reason, */
    struct bucket bucket; /* and its bucket */
    uint32_t model;
    uint64_t gpus[MODELS_MAX]; /* that the taker would be charged */
    usec_t now;
    uint64_t most, lost; /* that may be lost; by those who are out */
    struct cluster *fork;
    uint64_t *closed; /* nodes that are reserved for gangs before the taker, or in a window */
    VEC(struct mover) movers;
    VEC(struct part) parts; /* by node, then mover */
    VEC(struct host) hosts;
    VEC(struct mover *) out;
    struct event found;
    struct defrag_plan best;
    const struct job *named; /* the taker itself */
};

/* ---- who may move */

static bool may_ask(const struct search *f, const struct job *v)
{
    struct reclaim_of of = {&f->taker, f->gpus, v};
    enum reclaim r = rights_reclaims(&f->s->tenants, &of, f->model, 0);

    return r == RECLAIM_BY_PRIORITY ? v->priority <= f->taker.priority : r == RECLAIM_YES;
}

static bool may_move(const struct search *f, const struct job *v)
{
    bool is_of_model = false;

    if (v->state != JOB_RUNNING || !v->is_movable || !v->demand->is_preemptible || v->is_leaving ||
        v->tenant_ix == IX_NONE || v->n_members != v->demand->pods || v->n_running < v->n_members ||
        v->running_at + f->s->settings->min_runtime_us > f->now ||
        !opening_has_room(f->s, v, f->now + v->grace_us,
                          backfill_end_from(v, f->now + v->grace_us))) /* it has to start again */
        return false;
    for (uint32_t r = 0; r < v->demand->n_roles; r++)
        is_of_model = is_of_model || v->models[r] == f->model;
    return is_of_model && may_ask(f, v);
}

static void list_movers(struct search *f)
{
    for (size_t i = 0; i < f->s->active.n; i++) {
        const struct job *v = f->s->active.v[i];

        if (may_move(f, v))
            *vec_push(&f->movers) = (struct mover){v, preempt_loss(v, f->now), false};
    }
}

/* ---- which hosts to clear */

/* GPUs of the taker's smallest pod that has some. */
static int64_t smallest_pod(const struct demand *d)
{
    int64_t least = INT64_MAX;

    for (uint32_t r = 0; r < d->n_roles; r++) {
        int64_t gpus = d->roles[r].each.amount[RES_GPUS];

        least = gpus && gpus < least ? gpus : least;
    }
    return least;
}

static uint32_t domain_of(const struct search *f, const struct node *n)
{
    const struct demand *d = f->taker.demand;

    if (d->required == IX_NONE)
        return 0;
    if (d->required >= f->s->settings->hierarchies[d->hierarchy].n_levels)
        return n->ix;
    return topology_domain_at(&f->s->cluster.topology, n, d->hierarchy, d->required);
}

static uint32_t slots_of(const struct search *f, uint32_t domain)
{
    const struct demand *d = f->taker.demand;
    const struct free_histogram *h;

    if (d->required == IX_NONE || d->required >= f->s->settings->hierarchies[d->hierarchy].n_levels)
        return 0;
    h = f->s->cluster.topology.domains.v[domain]->by_model[f->model];
    return h ? (uint32_t)histogram_slots(h, (uint32_t)smallest_pod(d)) : 0;
}

static int by_domain(const void *a, const void *b)
{
    const struct host *x = a, *y = b;

    if (x->slots != y->slots)
        return x->slots > y->slots ? -1 : 1;
    if (x->domain != y->domain)
        return x->domain < y->domain ? -1 : 1;
    if (x->movers != y->movers)
        return x->movers < y->movers ? -1 : 1;
    if (x->lost != y->lost)
        return x->lost < y->lost ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

static int by_node(const void *a, const void *b)
{
    const struct part *x = a, *y = b;

    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    return x->mover < y->mover ? -1 : x->mover > y->mover;
}

/* What the movers hold, host by host: of those hosts that the taker may have. */
static void list_parts(struct search *f)
{
    for (size_t i = 0; i < f->movers.n; i++) {
        const struct job *v = f->movers.v[i].job;

        for (uint32_t k = 0; k < v->n_members; k++) {
            uint32_t ix = v->members[k].node_ix;
            const struct node *n = cluster_node(&f->s->cluster, ix);

            if (n && n->is_counted && n->model == f->model && !window_has(f->closed, ix))
                *vec_push(&f->parts) = (struct part){
                    ix, (uint32_t)i, v->demand->roles[v->members[k].role].each.amount[RES_GPUS]};
        }
    }
    if (f->parts.n)
        qsort(f->parts.v, f->parts.n, sizeof(f->parts.v[0]), by_node);
}

/* The host of these parts. */
static void add_host(struct search *f, size_t from, size_t to)
{
    const struct node *n = cluster_node(&f->s->cluster, f->parts.v[from].node);
    struct host h = {.domain = domain_of(f, n), .node = n->ix, .from = from, .to = to};
    int64_t gain = 0;

    for (size_t i = from; i < to; i++) {
        gain += f->parts.v[i].gpus;
        if (i > from && f->parts.v[i].mover == f->parts.v[i - 1].mover)
            continue;
        h.movers++;
        h.lost += f->movers.v[f->parts.v[i].mover].lost;
    }
    if (h.domain == IX_NONE || n->counted_free + gain < smallest_pod(f->taker.demand))
        return;
    h.slots = slots_of(f, h.domain);
    *vec_push(&f->hosts) = h;
}

static void list_hosts(struct search *f)
{
    size_t to;

    list_parts(f);
    for (size_t from = 0; from < f->parts.n; from = to) {
        for (to = from; to < f->parts.n && f->parts.v[to].node == f->parts.v[from].node;)
            to++;
        add_host(f, from, to);
    }
    if (f->hosts.n)
        qsort(f->hosts.v, f->hosts.n, sizeof(f->hosts.v[0]), by_domain);
}

/* ---- a plan */

static bool fits(struct search *f)
{
    struct cluster_room room = {.on = f->fork, .closed = f->closed};
    struct event ev;

    if (!cycle_try(&f->shadow, &f->taker, &room, &ev))
        return false;
    event_fini(&f->found);
    f->found = ev;
    return true;
}

static void take(struct search *f, struct mover *m)
{
    future_release(f->fork, m->job);
    m->is_out = true;
    f->lost += m->lost;
}

static void give(struct search *f, struct mover *m)
{
    future_hold(f->fork, m->job);
    m->is_out = false;
    f->lost -= m->lost;
}

/* Clear a host, if that is not too much. */
static bool clear(struct search *f, const struct host *h)
{
    size_t before = f->out.n;

    for (size_t i = h->from; i < h->to; i++) {
        struct mover *m = &f->movers.v[f->parts.v[i].mover];

        if (m->is_out)
            continue;
        take(f, m);
        *vec_push(&f->out) = m;
    }
    if (f->out.n <= DEFRAG_MOVES_MAX && f->lost <= f->most)
        return f->out.n > before;
    while (f->out.n > before)
        give(f, f->out.v[--f->out.n]);
    return false;
}

static int dearest_first(const void *a, const void *b)
{
    const struct mover *x = *(struct mover *const *)a, *y = *(struct mover *const *)b;

    if (x->lost != y->lost)
        return x->lost > y->lost ? -1 : 1;
    return x->job->id.v < y->job->id.v ? -1 : x->job->id.v > y->job->id.v;
}

static int largest_first(const void *a, const void *b)
{
    const struct mover *x = *(struct mover *const *)a, *y = *(struct mover *const *)b;

    if (x->job->charged_parts != y->job->charged_parts)
        return x->job->charged_parts > y->job->charged_parts ? -1 : 1;
    return x->job->id.v < y->job->id.v ? -1 : x->job->id.v > y->job->id.v;
}

static void give_back(struct search *f, int (*order)(const void *, const void *))
{
    size_t kept = 0;

    qsort(f->out.v, f->out.n, sizeof(f->out.v[0]), order);
    for (size_t i = 0; i < f->out.n; i++) {
        give(f, f->out.v[i]);
        if (fits(f))
            continue;
        take(f, f->out.v[i]);
        f->out.v[kept++] = f->out.v[i];
    }
    f->out.n = kept;
}

/* A place for a gang that has left its own, on the models that it is charged for. */
static bool place(struct search *f, const struct job *v, struct ev_placed *ret)
{
    struct place_wish wish = {
        .demand = v->demand, .models = v->models, .excluded = v->excluded, .closed = f->closed};
    struct place_result r;

    cycle_refresh_shares(f->s, v->demand);
    if (!place_gang(f->fork, &wish, &r))
        return false;
    *ret = (struct ev_placed){.job = v->id, .n = v->demand->pods, .members = r.members};
    memcpy(ret->models, v->models, sizeof(ret->models));
    memcpy(ret->fixed_cpu_milli, r.fixed_cpu_milli, sizeof(ret->fixed_cpu_milli));
    memcpy(ret->fixed_memory_bytes, r.fixed_memory_bytes, sizeof(ret->fixed_memory_bytes));
    return true;
}

static bool is_better(const struct search *f, const struct defrag_plan *p)
{
    if (!f->best.taker)
        return true;
    return p->n_moves != f->best.n_moves ? p->n_moves < f->best.n_moves : p->lost < f->best.lost;
}

/* The taker has the place that was found: one for each of those who are out. */
static bool place_all(struct search *f, struct defrag_plan *ret)
{
    const struct demand *d = f->taker.demand;
    bool is_whole = f->out.n > 0;

    *ret = (struct defrag_plan){.taker = f->named, .place = f->found.u.placed, .lost = f->lost};
    f->found = (struct event){.kind = EV_NONE};
    qsort(f->out.v, f->out.n, sizeof(f->out.v[0]), largest_first);
    future_put(f->fork, d, &ret->place, cluster_hold);
    for (size_t i = 0; i < f->out.n && is_whole; i++) {
        struct defrag_move *m = &ret->moves[ret->n_moves];

        *m = (struct defrag_move){.job = f->out.v[i]->job, .lost = f->out.v[i]->lost};
        is_whole = place(f, m->job, &m->to);
        if (!is_whole)
            break;
        future_put(f->fork, m->job->demand, &m->to, cluster_hold);
        ret->n_moves++;
    }
    for (uint32_t i = 0; i < ret->n_moves; i++)
        future_put(f->fork, ret->moves[i].job->demand, &ret->moves[i].to, cluster_release);
    future_put(f->fork, d, &ret->place, cluster_release);
    return is_whole;
}

/* On the models that the search was for, and beside what others do not lend. */
static bool is_legal(const struct search *f)
{
    const uint8_t *models = f->found.u.placed.models;

    for (uint32_t r = 0; r < f->taker.demand->n_roles; r++)
        if (models[r] != f->model && models[r] != MODELS_MAX)
            return false;
    return cycle_leaves_unlent(f->s, &f->s->cluster, &f->taker, models);
}

/* Clear hosts from one on; movers are given back in an order. true: that gave a plan. */
static bool try_from(struct search *f, const struct host *first, const struct host *end,
                     int (*order)(const void *, const void *))
{
    struct defrag_plan plan = {0};
    bool is_found = false;

    for (const struct host *h = first; h < end && !is_found; h++)
        is_found = clear(f, h) && fits(f);
    if (is_found)
        give_back(f, order);
    is_found = is_found && is_legal(f) && place_all(f, &plan);
    if (is_found && is_better(f, &plan)) {
        struct defrag_plan worse = f->best;

        f->best = plan;
        plan = worse;
    }
    defrag_plan_fini(&plan);
    while (f->out.n)
        give(f, f->out.v[--f->out.n]);
    return is_found;
}

/* The cheapest may have no place to go to, then the smallest may; else those on the next host. */
static void try_domain(struct search *f, const struct host *first, const struct host *end)
{
    bool is_found = false;

    for (int n = 0; n < STARTS_MAX && first < end && !is_found; n++, first++)
        is_found = try_from(f, first, end, dearest_first) || try_from(f, first, end, largest_first);
}

static void try_domains(struct search *f)
{
    const struct host *end = f->hosts.v + f->hosts.n, *next;
    int n = 0;

    for (const struct host *h = f->hosts.v; h < end && n < DOMAINS_MAX; h = next, n++) {
        for (next = h; next < end && next->domain == h->domain;)
            next++;
        try_domain(f, h, next);
    }
}

/* Does it fit as it is, or once those have left who leave anyway? */
static bool fits_anyway(struct search *f)
{
    bool is_fit;

    for (size_t i = 0; i < f->s->active.n; i++)
        if (f->s->active.v[i]->is_leaving || f->s->active.v[i]->state > JOB_RUNNING)
            future_release(f->fork, f->s->active.v[i]);
    is_fit = fits(f);
    for (size_t i = 0; i < f->s->active.n; i++)
        if (f->s->active.v[i]->is_leaving || f->s->active.v[i]->state > JOB_RUNNING)
            future_hold(f->fork, f->s->active.v[i]);
    return is_fit;
}

static void search(struct search *f)
{
    const struct state *s = f->s;

    list_movers(f);
    if (!f->movers.n)
        return;
    f->fork = cluster_fork(&s->cluster);
    f->closed = xcalloc(s->cluster.nodes.n / 64 + 1, sizeof(*f->closed));
    backfill_close(s, f->named, f->closed);
    windows_close_all(s, f->closed); /* neither it nor who moves goes where an operator reserved */
    if (!fits_anyway(f)) {
        list_hosts(f);
        try_domains(f);
    }
    event_fini(&f->found);
    cluster_fork_free(f->fork);
    free(f->closed);
    vec_fini(&f->parts);
    vec_fini(&f->hosts);
    vec_fini(&f->out);
}

/* Could all its pods with GPUs be on this model, and are enough of them free? */
static bool has_enough(const struct state *s, const struct demand *d, uint32_t model)
{
    const struct free_histogram *h = s->cluster.topology.all[model];

    for (uint32_t r = 0; r < d->n_roles; r++)
        if (d->roles[r].each.amount[RES_GPUS] && d->roles[r].n_models &&
            !memchr(d->roles[r].models, (int)model, d->roles[r].n_models))
            return false;
    return h && h->free_gpus >= d->gpus;
}

bool defrag_plan_for(const struct state *s, const struct job *taker, usec_t now, uint64_t most,
                     struct defrag_plan *ret)
{
    *ret = (struct defrag_plan){.taker = NULL};
    if (taker->state != JOB_PENDING || !taker->bucket || taker->claim || !taker->demand->gpus ||
        taker->tenant_ix == IX_NONE || taker->not_before > now || !s->is_synced ||
        !opening_admits(s, taker, now + s->settings->grace_cap_us))
        return false;
    for (uint32_t m = 0; m < s->settings->n_models && !ret->taker; m++) {
        struct search f = {.s = s, .model = m, .now = now, .most = most, .named = taker};

        if (!has_enough(s, taker->demand, m))
            continue;
        f.gpus[m] = taker->demand->gpus * GPU_PARTS;
        f.shadow = *s;
        f.shadow.now = now;
        f.taker = *taker;
        f.bucket = *taker->bucket;
        f.taker.bucket = &f.bucket;
        search(&f);
        vec_fini(&f.movers);
        *ret = f.best;
    }
    return ret->taker != NULL;
}

static bool is_any_movable(const struct state *s)
{
    for (size_t i = 0; i < s->active.n; i++)
        if (s->active.v[i]->is_movable)
            return true;
    return false;
}

bool defrag_plan_next(const struct state *s, usec_t now, uint64_t most, struct defrag_plan *ret)
{
    int n = 0;

    *ret = (struct defrag_plan){.taker = NULL};
    if (!is_any_movable(s))
        return false;
    (void)order_number(s);
    for (size_t i = 0; i < s->positions->order.n && n < TAKERS_MAX; i++) {
        const struct job *j = s->positions->order.v[i];
        bool has_room = false;

        if (!j->bucket || j->bucket->head != j) /* who stands behind another waits for the same */
            continue;
        for (uint32_t m = 0; m < s->settings->n_models; m++)
            has_room = has_room || has_enough(s, j->demand, m);
        n += has_room;
        if (has_room && defrag_plan_for(s, j, now, most, ret))
            return true;
    }
    return false;
}

bool defrag_next(const struct state *s, usec_t now, struct event *ev)
{
    uint64_t left = claim_moves_left(s, now);
    struct ev_claimed *e = &ev->u.claimed;
    struct defrag_plan p;

    if (!left || s->settings->is_defrag_dry || s->claims.n || !s->is_cluster_up ||
        !defrag_plan_next(s, now, left, &p))
        return false;
    *ev = (struct event){.kind = EV_GANG_CLAIMED, .at = now};
    e->placed = p.place;
    e->lost = p.lost;
    e->n_victims = p.n_moves;
    e->victims = xcalloc(p.n_moves, sizeof(*e->victims));
    e->moves = xcalloc(p.n_moves, sizeof(*e->moves));
    for (uint32_t i = 0; i < p.n_moves; i++) {
        const struct job *v = p.moves[i].job;

        e->victims[i] = (struct victim){v->id, v->attempt, 0};
        e->moves[i] = p.moves[i].to;
        e->until = e->until < now + v->grace_us ? now + v->grace_us : e->until;
    }
    return true;
}

void defrag_plan_fini(struct defrag_plan *p)
{
    free(p->place.members);
    for (uint32_t i = 0; i < p->n_moves; i++)
        free(p->moves[i].to.members);
    *p = (struct defrag_plan){.taker = NULL};
}

const char *defrag_text(char buf[DEFRAG_TEXT_MAX], const struct state *s,
                        const struct defrag_plan *p)
{
    const struct demand *d = p->taker->demand;
    const struct node *n = cluster_node(&s->cluster, p->place.members[0].node_ix);
    unsigned long long tenths = p->lost / (UINT64_C(360) * USEC_PER_SEC);
    const struct hierarchy_setting *h = &s->settings->hierarchies[d->hierarchy];
    char what[NODE_NAME_MAX + 1];

    if (d->required < h->n_levels) {
        uint32_t ix = topology_domain_at(&s->cluster.topology, n, d->hierarchy, d->required);

        (void)snprintf(what, sizeof(what), "%s %.63s", h->levels[d->required].name,
                       s->cluster.topology.domains.v[ix]->name);
    } else {
        (void)snprintf(what, sizeof(what), "nodes for its %u pods", d->pods);
    }
    (void)snprintf(buf, DEFRAG_TEXT_MAX, "free %.80s by moving %u gang%s (%llu.%llu GPU-hours)",
                   what, p->n_moves, p->n_moves == 1 ? "" : "s", tenths / 10, tenths % 10);
    return buf;
}

void defrag_explain(const struct state *s, const struct job *j, usec_t now, struct explain *x)
{
    bool is_on = s->settings->defrag_gpu_us && !s->settings->is_defrag_dry;
    char text[DEFRAG_TEXT_MAX];
    struct defrag_plan p;

    if (strcmp(x->code, "NeedsWholeNodes") != 0 && strcmp(x->code, "TopologyUnavailable") != 0)
        return;
    if (!defrag_plan_for(s, j, now, UINT64_MAX, &p))
        return;
    (void)snprintf(x->next_step, sizeof(x->next_step), "defragmentation would %s%s",
                   defrag_text(text, s, &p),
                   !is_on                              ? "; it is off"
                   : p.lost > claim_moves_left(s, now) ? "; today's budget has less left"
                                                       : "");
    number(x, "defrag_moves", p.n_moves);
    number(x, "defrag_gpu_s", p.lost / USEC_PER_SEC);
    defrag_plan_fini(&p);
}
