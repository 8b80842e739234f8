/* SPDX-License-Identifier: Apache-2.0 */
/* effect.c - the list of intentions of one turn. */
#include "core/effect.h"

#include "spec/limits.h"
#include "util/str.h"

bool effects_have_room(const struct effects *e)
{
    return e->list.n + EFFECTS_SPARE <= EFFECTS_MAX;
}

struct effect *effects_add(struct effects *e, enum effect_kind kind, struct job_id job)
{
    struct effect *f = vec_push(&e->list);

    f->kind = kind;
    f->job = job;
    return f;
}

void effects_delete_pod(struct effects *e, const char *ns, const char *name, const char *uid)
{
    struct ev_pod_gone *p = arena_alloc(&e->arena, sizeof(*p));

    (void)str_copy(p->ns, sizeof(p->ns), ns);
    (void)str_copy(p->name, sizeof(p->name), name);
    (void)str_copy(p->uid, sizeof(p->uid), uid);
    effects_add(e, EFFECT_POD_DELETE, (struct job_id){0})->u.pod = p;
}

void effects_clear(struct effects *e)
{
    for (size_t i = 0; i < e->list.n; i++)
        if (e->list.v[i].kind == EFFECT_SAVE_SPEC)
            spec_destroy(e->list.v[i].u.spec);
    e->list.n = 0;
    arena_reset(&e->arena);
}

void effects_fini(struct effects *e)
{
    effects_clear(e);
    arena_fini(&e->arena);
    vec_fini(&e->list);
}
