/* SPDX-License-Identifier: Apache-2.0 */
/* fake_watch.c - what the daemon is told of the simulated world, and when. */
#include "fake_watch.h"

#include <stdio.h>
#include <stdlib.h>

enum tell_kind { TELL_OBJECT, TELL_UP, TELL_DOWN, TELL_SYNCED };

/* Something to be told; `up`, `down` and `synced` are told when all before them was. */
struct tell {
    enum tell_kind kind;
    usec_t due;
    struct w_change what;
};

struct fake_watch {
    struct world *w;
    bool is_up;
    usec_t up_at; /* while down */
    VEC(struct tell) tells;
    VEC(struct w_change) known; /* what the reflector has told as existing */
};

static bool same_key(const struct w_change *a, const struct w_change *b)
{
    return a->is_pod == b->is_pod && strcmp(a->name, b->name) == 0 && strcmp(a->ns, b->ns) == 0;
}

static void add_tell(struct fake_watch *fw, enum tell_kind kind)
{
    struct tell *t = vec_push(&fw->tells);

    t->kind = kind;
    t->due = fw->w->now;
}

static bool exists(const struct world *w, const struct w_change *c)
{
    uint32_t ix;

    if (c->is_pod)
        return world_pod(w, c->ns, c->name) != NULL;
    ix = world_node_named(w, c->name);
    return ix != IX_NONE && w->nodes[ix].exists;
}

/* One object of a list, in random order: swap it with an earlier one of the same list. */
static void list_object(struct fake_watch *fw, const struct w_change *c, size_t list_begin)
{
    struct tell *t = vec_push(&fw->tells);
    size_t other = list_begin + rng_below(fw->w->rng, (uint32_t)(fw->tells.n - list_begin));
    struct tell swap;

    *t = (struct tell){.kind = TELL_OBJECT, .due = fw->w->now, .what = *c};
    swap = *t;
    *t = fw->tells.v[other];
    fw->tells.v[other] = swap;
}

static void list_nodes(struct fake_watch *fw)
{
    struct world *w = fw->w;
    size_t begin = fw->tells.n;

    for (uint32_t i = 0; i < w->n_nodes; i++) {
        struct w_change c = {0};

        (void)snprintf(c.name, sizeof(c.name), "%s", w->nodes[i].name);
        if (w->nodes[i].exists)
            list_object(fw, &c, begin);
    }
}

static void list_pods(struct fake_watch *fw)
{
    struct world *w = fw->w;
    size_t begin = fw->tells.n;

    for (size_t i = 0; i < w->pods.n; i++) {
        const struct w_pod *p = &w->pods.v[i];
        struct w_change c = {.is_pod = true, .job = p->job, .attempt = p->attempt};

        memcpy(c.ns, p->ns, sizeof(c.ns));
        memcpy(c.name, p->name, sizeof(c.name));
        memcpy(c.uid, p->uid, sizeof(c.uid));
        list_object(fw, &c, begin);
    }
}

/* Everything that is there, then the end of what was known and is no more, then `synced`. */
static void list_all(struct fake_watch *fw)
{
    fw->tells.n = 0;
    fw->w->changes.n = 0; /* the list shows what they said */
    add_tell(fw, TELL_UP);
    if (rng_one_in(fw->w->rng, 2)) {
        list_nodes(fw);
        list_pods(fw);
    } else {
        list_pods(fw);
        list_nodes(fw);
    }
    for (size_t i = 0; i < fw->known.n; i++) {
        if (exists(fw->w, &fw->known.v[i]))
            continue;
        add_tell(fw, TELL_OBJECT);
        fw->tells.v[fw->tells.n - 1].what = fw->known.v[i];
        fw->tells.v[fw->tells.n - 1].what.is_gone = true;
    }
    add_tell(fw, TELL_SYNCED);
}

struct fake_watch *fake_watch_create(struct world *w)
{
    struct fake_watch *fw = xcalloc(1, sizeof(*fw));

    fw->w = w;
    if (fault_hits(w->faults, FAULT_API_DOWN, 500)) {
        fw->up_at = w->now + rng_between(w->rng, 1, 60) * USEC_PER_SEC;
        add_tell(fw, TELL_DOWN);
    } else {
        fw->is_up = true;
        list_all(fw);
    }
    return fw;
}

void fake_watch_destroy(struct fake_watch *fw)
{
    if (!fw)
        return;
    vec_fini(&fw->tells);
    vec_fini(&fw->known);
    free(fw);
}

void fake_watch_cut(struct fake_watch *fw, usec_t how_long_us)
{
    if (!fw->is_up)
        return;
    fw->is_up = false;
    fw->up_at = fw->w->now + how_long_us;
    fw->tells.n = 0;
    add_tell(fw, TELL_DOWN);
}

void fake_watch_relist(struct fake_watch *fw)
{
    if (fw->is_up)
        list_all(fw);
}

bool fake_watch_is_up(const struct fake_watch *fw)
{
    return fw->is_up;
}

bool fake_watch_is_idle(const struct fake_watch *fw)
{
    return fw->is_up && fw->tells.n == 0 && fw->w->changes.n == 0;
}

/* Facts of one object keep their order. */
static usec_t not_before_others(const struct fake_watch *fw, const struct w_change *c, usec_t due)
{
    for (size_t i = 0; i < fw->tells.n; i++)
        if (fw->tells.v[i].due > due && same_key(&fw->tells.v[i].what, c))
            due = fw->tells.v[i].due;
    return due;
}

static void take_changes(struct fake_watch *fw)
{
    struct world *w = fw->w;

    for (size_t i = 0; fw->is_up && i < w->changes.n; i++) {
        usec_t due = w->now + rng_between(w->rng, 0, 300) * USEC_PER_MSEC;
        uint32_t times = 1;

        if (fault_hits(w->faults, FAULT_WATCH_DELAYED, 200))
            due += rng_between(w->rng, 1, 60) * USEC_PER_SEC;
        if (fault_hits(w->faults, FAULT_WATCH_DOUBLED, 200))
            times = 2;
        due = not_before_others(fw, &w->changes.v[i], due);
        while (times-- > 0)
            *vec_push(&fw->tells) =
                (struct tell){.kind = TELL_OBJECT, .due = due, .what = w->changes.v[i]};
    }
    w->changes.n = 0;
}

static void know(struct fake_watch *fw, const struct w_change *c, const char *uid)
{
    size_t i = 0;

    while (i < fw->known.n && !same_key(&fw->known.v[i], c))
        i++;
    if (uid) {
        if (i == fw->known.n)
            *vec_push(&fw->known) = *c;
        (void)snprintf(fw->known.v[i].uid, sizeof(fw->known.v[i].uid), "%s", uid);
    } else if (i < fw->known.n) {
        vec_remove(&fw->known, i);
    }
}

static void tell_gone(struct fake_watch *fw, const struct w_change *c, struct inbox *inbox)
{
    struct event ev = {.kind = EV_NODE_GONE};

    if (exists(fw->w, c)) {
        /* the name is there again: the reflector keeps one entry a name, the newest */
        fw->w->faults->count[FAULT_WATCH_MERGED]++;
        return;
    }
    know(fw, c, NULL);
    if (c->is_pod) {
        struct ev_pod_gone *g = xcalloc(1, sizeof(*g));

        memcpy(g->ns, c->ns, sizeof(g->ns));
        memcpy(g->name, c->name, sizeof(c->name));
        memcpy(g->uid, c->uid, sizeof(g->uid));
        g->job = c->job;
        g->attempt = c->attempt;
        g->member = IX_NONE;
        ev = (struct event){.kind = EV_POD_GONE, .u.pod_gone = g};
    } else {
        ev.u.node_name = xstrdup(c->name);
    }
    (void)inbox_push(inbox, &ev);
}

static void tell_seen(struct fake_watch *fw, const struct w_change *c, struct inbox *inbox)
{
    struct event ev = {0};

    if (!exists(fw->w, c))
        return; /* its end is told next */
    if (c->is_pod) {
        const struct w_pod *p = world_pod(fw->w, c->ns, c->name);

        know(fw, c, p->uid);
        ev = (struct event){.kind = EV_POD_SEEN, .u.pod = world_pod_fact(fw->w, p)};
    } else {
        uint32_t ix = world_node_named(fw->w, c->name);

        know(fw, c, "");
        ev = (struct event){.kind = EV_NODE_SEEN, .u.node = world_node_fact(fw->w, ix)};
    }
    (void)inbox_push(inbox, &ev);
}

static void tell_other(struct fake_watch *fw, enum tell_kind kind, struct inbox *inbox)
{
    struct event ev = {.kind = EV_CLUSTER};

    (void)fw;
    if (kind == TELL_SYNCED) {
        ev.kind = EV_SYNCED;
        (void)snprintf(ev.u.cluster_uid, sizeof(ev.u.cluster_uid), "cluster-1");
    } else {
        ev.u.cluster.is_up = kind == TELL_UP;
        if (kind == TELL_DOWN)
            ev.u.cluster.text = xstrdup("connection refused");
    }
    (void)inbox_push(inbox, &ev);
}

/* May tell i be told before those ahead of it that are not due? */
static bool is_next(const struct fake_watch *fw, size_t i)
{
    const struct tell *t = &fw->tells.v[i];

    if (t->due > fw->w->now)
        return false;
    for (size_t k = 0; k < i; k++) {
        const struct tell *before = &fw->tells.v[k];

        if (t->kind != TELL_OBJECT || before->kind != TELL_OBJECT)
            return false;
        if (same_key(&before->what, &t->what))
            return false;
    }
    return true;
}

void fake_watch_step(struct fake_watch *fw, struct inbox *inbox)
{
    if (!fw->is_up && fw->w->now >= fw->up_at) {
        fw->is_up = true;
        list_all(fw);
    }
    take_changes(fw);
    for (size_t i = 0; i < fw->tells.n && inbox_room(inbox) > 0;) {
        struct tell t = fw->tells.v[i];

        if (!is_next(fw, i)) {
            i++;
            continue;
        }
        vec_remove(&fw->tells, i);
        if (t.kind != TELL_OBJECT)
            tell_other(fw, t.kind, inbox);
        else if (t.what.is_gone)
            tell_gone(fw, &t.what, inbox);
        else
            tell_seen(fw, &t.what, inbox);
    }
}

usec_t fake_watch_next(const struct fake_watch *fw)
{
    usec_t next = fw->is_up ? INT64_MAX : fw->up_at;

    if (fw->is_up && fw->w->changes.n)
        return fw->w->now;
    for (size_t i = 0; i < fw->tells.n; i++)
        if (fw->tells.v[i].due < next)
            next = fw->tells.v[i].due;
    return next;
}
