/* SPDX-License-Identifier: Apache-2.0 */
/* update.c - a waiting job takes another spec and another place in the order.
 *
 * Its name never changes, so another namespace is open only to a job that never had pods or a
 * service in the old one.
 */
#include "life/verbs.h"

#include <string.h>

#include "core/backfill.h"
#include "core/claim.h"
#include "core/order.h"
#include "core/relax.h"
#include "life/claimed.h"
#include "life/intake.h"
#include "life/job_life.h"
#include "util/str.h"

static int check_job(const struct state *s, const struct ev_update *ev, const struct job *j,
                     struct err *err)
{
    const char *ns = ev->spec->ns;
    bool had_pods = j->attempt > (j->claim ? 1u : 0u); /* a claim counts as an attempt, without */
    enum job_state to;

    if (!job_fsm_next(j->state, JOB_EV_UPDATE, 0, &to))
        return err_set(err, ERR_CONFLICT,
                       "job %s is %s: only a waiting job is changed; requeue a running one first",
                       j->name, job_state_name(j->state));
    if (j->array || j->array_id.v)
        return err_set(
            err, ERR_CONFLICT,
            "job %s is %s: this version does not change it; cancel it and submit it anew", j->name,
            j->array ? "a job array" : "an index of a job array");
    if (j->n_updates != ev->n_updates)
        return err_set(err, ERR_CONFLICT, "job %s was changed meanwhile: look at it and try again",
                       j->name);
    if (strcmp(ns, j->ns) != 0 && (had_pods || intake_name_is_taken(s, ns, j->name)))
        return err_set(err, ERR_CONFLICT,
                       "spec.tenant: job %s %s and its name cannot change: submit it anew to %s",
                       j->name, had_pods ? "has had pods in its namespace" : "has a namesake",
                       ev->spec->tenant);
    return strcmp(ev->spec->tenant, j->tenant)
               ? intake_check_room(s, ev->spec->tenant, j->uid, 1, err)
               : 0;
}

bool update_admit(struct state *s, const struct ev_update *ev, struct effects *fx)
{
    const struct job *j = state_job(s, ev->job);
    struct err why;

    if (intake_answered(s, &ev->ref, fx))
        return false;
    if (j && check_job(s, ev, j, &why) == 0)
        return true;
    if (!j)
        (void)err_set(&why, ERR_NOT_FOUND, "no such job");
    return intake_refuse(s, &ev->ref, fx, &why);
}

static void pending_add(struct state *s, const struct job *j, int n)
{
    if (j->tenant_ix != IX_NONE)
        tenant_wait(&s->tenants, job_account(j), n);
}

static void take_spec(struct state *s, struct job *j, const struct spec *spec)
{
    struct job old = *j;

    pending_add(s, j, -1);
    HASH_DELETE(hh_name, s->jobs_by_name, j);
    job_set_texts(j, &(struct job_texts){.name = j->name,
                                         .ns = spec->ns,
                                         .tenant = spec->tenant,
                                         .user = j->user,
                                         .priority_class = spec->priority_class,
                                         .submit_key = j->submit_key});
    HASH_ADD_KEYPTR(hh_name, s->jobs_by_name, j->ns_name, strlen(j->ns_name), j);
    j->tenant_ix = settings_tenant(s->settings, spec->tenant);
    j->priority = spec->priority;
    j->max_runtime_us = spec->max_runtime_us;
    relax_init(s, j, spec);
    relax_fini(s, &old);
    relax_look(s, j, s->now);
    pending_add(s, j, 1);
}

void update_apply(struct state *s, struct ev_update *ev, struct effects *fx)
{
    struct job *j = state_job(s, ev->job);
    struct answer a = intake_answer(s, &ev->ref, ERR_OK, ev->job);
    char text[REASON_TEXT_MAX + 1];
    struct job_note *note;
    bool is_ordered;

    if (j->claim)
        claim_drop(s, j);
    backfill_forget(s, j);
    is_ordered = j->bucket != NULL; /* not while it waits for other jobs, or is held */
    if (is_ordered)
        order_remove(s, j);
    take_spec(s, j, ev->spec);
    if (is_ordered)
        order_add(s, j);
    job_set_timer(s, j);
    j->n_updates++;
    intake_text(text, &ev->caller, ev->why);
    note = job_note(s, j, j->state, JOB_EV_UPDATE, fx); /* the job keeps the reason it waits for */
    (void)str_copy(note->reason, sizeof(note->reason), "Updated");
    (void)str_copy(note->text, sizeof(note->text), text);
    job_save(s, j, fx);
    effects_add(fx, EFFECT_SAVE_SPEC, j->id)->u.spec = ev->spec;
    ev->spec = NULL;
    intake_conclude(s, &ev->ref, &a, fx);
}
