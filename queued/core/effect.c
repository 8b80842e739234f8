/* SPDX-License-Identifier: Apache-2.0 */
/* effect.c - the list of intentions of one turn. */
#include "core/effect.h"

#include <stdlib.h>

#include "core/limits.h"
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
    struct ev_pod_gone *p = xcalloc(1, sizeof(*p));

    (void)str_copy(p->ns, sizeof(p->ns), ns);
    (void)str_copy(p->name, sizeof(p->name), name);
    (void)str_copy(p->uid, sizeof(p->uid), uid);
    effects_add(e, EFFECT_POD_DELETE, (struct job_id){0})->u.pod = p;
}

static void effect_fini(struct effect *f)
{
    switch (f->kind) {
    case EFFECT_SAVE_SPEC:
        spec_destroy(f->u.spec);
        break;
    case EFFECT_SAVE_REQUEST:
    case EFFECT_DROP_REQUEST:
        free(f->u.answer);
        break;
    case EFFECT_SAVE_EVENT:
        free(f->u.note);
        break;
    case EFFECT_REPLY:
        free(f->u.reply);
        break;
    case EFFECT_POD_DELETE:
    case EFFECT_ORPHAN_FOUND:
    case EFFECT_ORPHAN_HELD:
        free(f->u.pod);
        break;
    case EFFECT_SAVE_KEY:
    case EFFECT_DROP_KEY:
        free(f->u.key);
        break;
    case EFFECT_SAVE_ATTEMPT:
        free(f->u.attempt);
        break;
    case EFFECT_SAVE_JOB:
    case EFFECT_DROP_JOB:
    case EFFECT_DROP_EVENTS:
    case EFFECT_GANG_START:
    case EFFECT_GANG_STOP:
    case EFFECT_KINDS:
        break;
    }
}

void effects_clear(struct effects *e)
{
    for (size_t i = 0; i < e->list.n; i++)
        effect_fini(&e->list.v[i]);
    e->list.n = 0;
}

void effects_fini(struct effects *e)
{
    effects_clear(e);
    vec_fini(&e->list);
}

const char *effect_name(enum effect_kind kind)
{
    static const char *const names[EFFECT_KINDS] = {
        [EFFECT_SAVE_JOB] = "save-job",
        [EFFECT_SAVE_SPEC] = "save-spec",
        [EFFECT_SAVE_KEY] = "save-key",
        [EFFECT_SAVE_REQUEST] = "save-request",
        [EFFECT_SAVE_EVENT] = "save-event",
        [EFFECT_SAVE_ATTEMPT] = "save-attempt",
        [EFFECT_DROP_JOB] = "drop-job",
        [EFFECT_DROP_KEY] = "drop-key",
        [EFFECT_DROP_REQUEST] = "drop-request",
        [EFFECT_DROP_EVENTS] = "drop-events",
        [EFFECT_REPLY] = "reply",
        [EFFECT_GANG_START] = "gang-start",
        [EFFECT_GANG_STOP] = "gang-stop",
        [EFFECT_POD_DELETE] = "pod-delete",
        [EFFECT_ORPHAN_FOUND] = "orphan-found",
        [EFFECT_ORPHAN_HELD] = "orphan-held",
    };

    return (unsigned)kind < EFFECT_KINDS ? names[kind] : "unknown";
}
