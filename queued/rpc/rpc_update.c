/* SPDX-License-Identifier: Apache-2.0 */
/* rpc_update.c - a waiting job asks for something else: its stored spec with the changes becomes
 * an event.
 *
 * The whole new spec passes the checks of a submission, so that no change leads where none could
 * have been submitted.
 */
#include <stdio.h>
#include <string.h>

#include "core/array.h"
#include "rpc/rpc_call.h"
#include "util/parse.h"
#include "util/mem.h"
#include "util/str.h"

/* One field: what is new is told, as "tenant a -> b". */
static void change(struct str *told, const char *what, const char *from, const char *to)
{
    if (strcmp(from, to) != 0)
        str_addf(told, "%s%s %s -> %s", told->len ? ", " : "", what, from, to);
}

enum { TOPOLOGY_TEXT = 2 * LABEL_MAX + 32 };

static const char *topology_text(char buf[TOPOLOGY_TEXT], const struct spec *s)
{
    const char *required = s->topology_required, *preferred = s->topology_preferred;
    bool prefers = preferred && strcmp(preferred, "any") != 0;

    (void)snprintf(buf, TOPOLOGY_TEXT, "%s%s%s%s%s", required ? "required:" : "",
                   required ? required : "", required && prefers ? " " : "",
                   prefers ? "preferred:" : "", prefers ? preferred : "");
    if (*buf == '\0')
        (void)str_copy(buf, TOPOLOGY_TEXT, "any"); /* fits */
    return buf;
}

/* Put the new wishes in; those of another tenant lie in its namespaces. */
static int apply(const struct rpc_call *c, struct spec *s, struct err *err)
{
    const struct settings *settings = c->state->settings;
    const char *class = c->req->u.update.priority_class, *tenant = c->req->u.update.tenant;
    const char *required = c->req->u.update.required, *preferred = c->req->u.update.preferred;

    if (*class)
        s->priority_class = arena_strdup(&s->arena, class);
    if (c->req->u.update.max_runtime_us)
        s->max_runtime_us = c->req->u.update.max_runtime_us;
    if (*required || *preferred) {
        s->topology_required = *required ? arena_strdup(&s->arena, required) : NULL;
        s->topology_preferred = *preferred ? arena_strdup(&s->arena, preferred) : NULL;
        s->max_wait_us = *required ? s->max_wait_us : 0;
    }
    if (*tenant) {
        uint32_t t = settings_tenant(settings, tenant);

        if (rpc_auth_tenant(c->who, settings, tenant, &tenant, err))
            return -1;
        s->tenant = arena_strdup(&s->arena, tenant);
        if (t != IX_NONE && !settings_has_namespace(settings, t, s->ns))
            s->ns = NULL;
    }
    return spec_check(s, settings, err);
}

/* Read, change and check the spec of a job; *told says what is new. */
static int make_spec(struct rpc_call *c, const struct job *j, struct spec **ret, struct str *told,
                     struct err *err)
{
    char topology[2][TOPOLOGY_TEXT], time[2][FORMAT_MAX];
    struct spec *s = NULL;

    c->work += 20;
    if (c->setup->store.read_spec(c->setup->store.ctx, job_spec_id(j), &s, NULL))
        return err_set(err, ERR_INTERNAL,
                       "the stored spec of job %s cannot be read; the daemon's log says why",
                       j->name);
    (void)topology_text(topology[0], s);
    if (apply(c, s, err)) {
        spec_destroy(s);
        return -1;
    }
    change(told, "class", j->priority_class, s->priority_class);
    change(told, "tenant", j->tenant, s->tenant);
    change(told, "maxRuntime", format_duration_exact(time[0], j->max_runtime_us),
           format_duration_exact(time[1], s->max_runtime_us));
    change(told, "topology", topology[0], topology_text(topology[1], s));
    *ret = s;
    return 0;
}

/* An index is changed in its array, which has the spec. */
static int find(struct rpc_call *c, struct ev_update *u, const struct job **ret, struct err *err)
{
    const struct job *parent;

    if (rpc_job_find_part(c, c->req->job, ret, &u->part, err))
        return -1;
    parent = array_parent(c->state, *ret);
    if (parent) {
        (void)indices_add(&u->part, (*ret)->array_index);
        *ret = parent;
    }
    u->has_class = *c->req->u.update.priority_class;
    u->has_runtime = c->req->u.update.max_runtime_us;
    if (u->part.n &&
        (*c->req->u.update.tenant || *c->req->u.update.required || *c->req->u.update.preferred))
        return err_set(err, ERR_INVALID,
                       "tenant and topology are those of the whole array: change %s, and with it "
                       "all that wait",
                       (*ret)->name);
    return 0;
}

int rpc_job_update(struct rpc_call *c, struct err *err)
{
    struct rpc_pending p = rpc_job_pending(c);
    struct event ev = {.kind = EV_JOB_UPDATE};
    struct ev_update *update = &ev.u.update;
    const char *reason = c->req->u.update.reason;
    struct str told = {0};
    const struct job *j;

    if (find(c, update, &j, err) || rpc_auth_change(c->who, j, "change", err) ||
        make_spec(c, j, &update->spec, &told, err)) {
        str_fini(&told);
        event_fini(&ev);
        return -1;
    }
    rpc_job_part_text(&update->part, &p);
    if (told.len == 0)
        str_add(&told, "nothing new");
    if (*reason)
        str_addf(&told, "; %s", reason);
    update->why = str_take(&told);
    update->caller = c->who->caller;
    update->job = j->id;
    update->n_updates = j->n_updates;
    if (rpc_job_post(c, &ev, &update->ref, &p, err)) {
        event_fini(&ev);
        return -1;
    }
    return 0;
}
