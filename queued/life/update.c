/* SPDX-License-Identifier: Apache-2.0 */
/* update.c - a waiting job takes another spec and another place in the order.
 *
 * Its name never changes, so another namespace is open only to a job that never had pods or a
 * service in the old one.
 */
#include "life/verbs.h"

#include <string.h>

#include "core/array.h"
#include "core/backfill.h"
#include "core/claim.h"
#include "core/order.h"
#include "core/relax.h"
#include "life/array_part.h"
#include "life/claimed.h"
#include "life/intake.h"
#include "life/job_life.h"
#include "util/str.h"

static int check_job(const struct state *s, const struct ev_update *ev, const struct job *j,
                     struct err *err)
{
    const char *ns = ev->spec->ns;
    bool is_begun = j->array && j->array->n_kept;
    /* a claim counts as an attempt, without pods; indices of an array may have come and gone */
    bool had_pods = j->attempt > (j->claim ? 1u : 0u) || j->has_service;
    enum job_state to;

    if (!job_fsm_next(j->state, JOB_EV_UPDATE, 0, &to))
        return err_set(err, ERR_CONFLICT,
                       "job %s is %s: only a waiting job is changed; requeue a running one first",
                       j->name, job_state_name(j->state));
    if (j->array_id.v)
        return err_set(err, ERR_CONFLICT, "%s is an index: change %s, and with it all that wait",
                       j->name, j->base);
    if (j->n_updates != ev->n_updates)
        return err_set(err, ERR_CONFLICT, "job %s was changed meanwhile: look at it and try again",
                       j->name);
    if (ev->part.n)
        return array_terms_check(j, ev, err);
    if (is_begun && strcmp(ev->spec->tenant, j->tenant) != 0)
        return err_set(
            err, ERR_CONFLICT,
            "spec.tenant: indices of %s have begun: cancel it and submit the others to %s", j->name,
            ev->spec->tenant);
    if (strcmp(ns, j->ns) != 0 && (had_pods || intake_name_is_taken(s, ns, j->name)))
        return err_set(err, ERR_CONFLICT,
                       "spec.tenant: job %s %s and its name cannot change: submit it anew to %s",
                       j->name, had_pods ? "has had pods in its namespace" : "has a namesake",
                       ev->spec->tenant);
    return strcmp(ev->spec->tenant, j->tenant)
               ? intake_check_room(s, ev->spec->tenant, j->uid, array_weight(j), err)
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

static void take_texts(struct state *s, struct job *j, const char *ns, const char *tenant,
                       const char *priority_class)
{
    HASH_DELETE(hh_name, s->jobs_by_name, j);
    job_set_texts(j, &(struct job_texts){.name = j->name,
                                         .ns = ns,
                                         .tenant = tenant,
                                         .user = j->user,
                                         .priority_class = priority_class,
                                         .submit_key = j->submit_key});
    HASH_ADD_KEYPTR(hh_name, s->jobs_by_name, j->ns_name, strlen(j->ns_name), j);
}

static void take_spec(struct state *s, struct job *j, const struct spec *spec)
{
    struct job old = *j;

    pending_add(s, j, -(int)array_weight(j));
    take_texts(s, j, spec->ns, spec->tenant, spec->priority_class);
    j->tenant_ix = settings_tenant(s->settings, spec->tenant);
    j->priority = spec->priority;
    j->max_runtime_us = spec->max_runtime_us;
    relax_init(s, j, spec);
    relax_fini(s, &old);
    relax_look(s, j, s->now);
    pending_add(s, j, (int)array_weight(j));
}

/* Out of the queue, without nodes that are held for it. Was it in it? Not while it waits for other
 * jobs, or is held. */
static bool leave_queue(struct state *s, struct job *j)
{
    bool is_ordered;

    if (j->claim)
        claim_drop(s, j);
    backfill_forget(s, j);
    is_ordered = j->bucket != NULL;
    if (is_ordered)
        order_remove(s, j);
    return is_ordered;
}

static void tell(struct state *s, struct job *j, const char *text, struct effects *fx)
{
    /* the job keeps the reason it waits for */
    struct job_note *note = job_note(s, j, j->state, JOB_EV_UPDATE, fx);

    (void)str_copy(note->reason, sizeof(note->reason), "Updated");
    (void)str_copy(note->text, sizeof(note->text), text);
    job_save(s, j, fx);
}

void update_index(struct state *s, struct job *j, const struct job *parent, struct effects *fx)
{
    struct array_terms terms = array_terms(parent, j->array_index);
    bool is_ordered = leave_queue(s, j);

    take_texts(s, j, j->ns, j->tenant, terms.priority_class);
    j->priority = terms.priority;
    j->max_runtime_us = terms.max_runtime_us;
    relax_fini(s, j);
    relax_share(j, parent);
    relax_look(s, j, s->now);
    if (is_ordered)
        order_add(s, j);
    array_look(parent->array);
    job_set_timer(s, j);
    tell(s, j, "with its array", fx);
}

/* The spec is that of the array, which stays. */
static void update_part(struct state *s, const struct ev_update *ev, struct effects *fx)
{
    struct job *j = state_job(s, ev->job);
    struct answer a = intake_answer(s, &ev->ref, ERR_OK, ev->job);
    char text[REASON_TEXT_MAX + 1];

    array_terms_set(j, ev);
    j->n_updates++;
    intake_text(text, &ev->caller, ev->why);
    tell(s, j, text, fx);
    array_due(s, j);
    intake_conclude(s, &ev->ref, &a, fx);
}

void update_apply(struct state *s, struct ev_update *ev, struct effects *fx)
{
    struct job *j = state_job(s, ev->job);
    struct answer a = intake_answer(s, &ev->ref, ERR_OK, ev->job);
    char text[REASON_TEXT_MAX + 1];
    bool is_ordered;

    if (ev->part.n) {
        update_part(s, ev, fx);
        return;
    }
    is_ordered = leave_queue(s, j);
    if (j->array)
        array_terms_reset(j->array, strcmp(j->priority_class, ev->spec->priority_class) != 0,
                          j->max_runtime_us != ev->spec->max_runtime_us);
    take_spec(s, j, ev->spec);
    if (is_ordered)
        order_add(s, j);
    job_set_timer(s, j);
    j->n_updates++;
    intake_text(text, &ev->caller, ev->why);
    tell(s, j, text, fx);
    if (j->array)
        array_due(s, j);
    effects_add(fx, EFFECT_SAVE_SPEC, j->id)->u.spec = ev->spec;
    ev->spec = NULL;
    intake_conclude(s, &ev->ref, &a, fx);
}
