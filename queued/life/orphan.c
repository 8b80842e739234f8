/* SPDX-License-Identifier: Apache-2.0 */
/* orphan.c - the table of orphans, oldest first, and which ids this store can have given. */
#include "life/orphan.h"

#include <stdlib.h>
#include <string.h>

#include "util/str.h"

enum { ORPHAN_KEY = LABEL_MAX + 1 + NODE_NAME_MAX + 1, ORPHANS_TOLD_MAX = 100 };

/* Remembered in the meta record, which goes with every commit and so with the first new id. */
static void remember_foreign(struct state *s, struct job_id id)
{
    struct store_meta *m = &s->meta;

    if (!m->foreign_from.v || id.v < m->foreign_from.v)
        m->foreign_from = id;
    if (id.v > m->foreign_to.v)
        m->foreign_to = id;
}

void orphans_new_id(struct state *s, struct job_id id)
{
    uint64_t last = s->meta.last_id.v;

    if (s->first_id.v)
        return;
    s->last_before.v = last;
    s->first_id = id;
    if (s->is_synced || id.v == last + 1)
        return;
    /* no pod was seen yet, and the next process will not know what this one skipped */
    remember_foreign(s, (struct job_id){last + 1});
    remember_foreign(s, (struct job_id){id.v - 1});
}

void orphans_synced(struct state *s)
{
    if (!s->n_held_orphans)
        s->meta.foreign_from = s->meta.foreign_to = (struct job_id){0};
}

/* Ids between the last one that was stored at the start and the first one given since are those of
 * another store; so are the ones that an earlier process found to be. */
static bool is_foreign_id(const struct state *s, struct job_id id)
{
    const struct store_meta *m = &s->meta;

    if (m->foreign_to.v && id.v >= m->foreign_from.v && id.v <= m->foreign_to.v)
        return true;
    if (!s->first_id.v)
        return id.v > m->last_id.v;
    return id.v > s->last_before.v && id.v < s->first_id.v;
}

static struct orphan *find(const struct state *s, const char *ns, const char *name)
{
    char key[ORPHAN_KEY];
    struct orphan *o = NULL;

    (void)str_join(key, sizeof(key), ns, '/', name); /* bounded */
    HASH_FIND_STR(s->orphans, key, o);
    return o;
}

/* The first hundred; with another store in its place there may be any number. */
static void tell(const struct state *s, const struct pod_fact *pod, bool is_held,
                 struct effects *fx)
{
    struct ev_pod_gone *p;

    if (HASH_COUNT(s->orphans) > ORPHANS_TOLD_MAX)
        return;
    p = arena_alloc(&fx->arena, sizeof(*p));
    memcpy(p->ns, pod->ns, sizeof(p->ns));
    memcpy(p->name, pod->name, sizeof(p->name));
    memcpy(p->uid, pod->uid, sizeof(p->uid));
    p->job = pod->job;
    effects_add(fx, is_held ? EFFECT_ORPHAN_HELD : EFFECT_ORPHAN_FOUND, pod->job)->u.pod = p;
}

void orphan_seen(struct state *s, const struct pod_fact *pod, struct effects *fx)
{
    struct orphan *o = find(s, pod->ns, pod->name);

    if (o) {
        memcpy(o->uid, pod->uid, sizeof(o->uid));
        return;
    }
    o = xcalloc(1, sizeof(*o));
    o->key = xcalloc(1, ORPHAN_KEY);
    (void)str_join(o->key, ORPHAN_KEY, pod->ns, '/', pod->name); /* bounded */
    memcpy(o->uid, pod->uid, sizeof(o->uid));
    o->seen_at = s->now;
    o->is_held = is_foreign_id(s, pod->job);
    HASH_ADD_KEYPTR(hh, s->orphans, o->key, strlen(o->key), o);
    s->n_held_orphans += o->is_held;
    if (o->is_held)
        remember_foreign(s, pod->job);
    tell(s, pod, o->is_held, fx);
}

static void forget(struct state *s, struct orphan *o)
{
    HASH_DELETE(hh, s->orphans, o);
    s->n_held_orphans -= o->is_held;
    if (o->is_held && s->is_synced)
        orphans_synced(s); /* the last of them: no riddle is left */
    free(o->key);
    free(o);
}

void orphan_gone(struct state *s, const char *ns, const char *name)
{
    struct orphan *o = find(s, ns, name);

    if (o)
        forget(s, o);
}

void orphans_check(struct state *s, struct effects *fx)
{
    struct orphan *o, *next;

    if (!s->is_synced) /* it may be another cluster than the store's, and its pods another daemon's
                        */
        return;
    if (s->n_held_orphans)
        return;
    HASH_ITER(hh, s->orphans, o, next)
    {
        char *slash = strchr(o->key, '/');

        if (o->seen_at + ORPHAN_KEEP_S * USEC_PER_SEC > s->now)
            return; /* the others are younger */
        if (!effects_have_room(fx))
            return;
        *slash = '\0';
        effects_delete_pod(fx, o->key, slash + 1, o->uid);
        *slash = '/';
        forget(s, o);
    }
}
