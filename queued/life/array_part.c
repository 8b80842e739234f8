/* SPDX-License-Identifier: Apache-2.0 */
/* array_part.c - sets of indices go from one place to another; each index is in one of them. */
#include "life/array_part.h"

#include <stdio.h>
#include <string.h>

#include "core/array.h"
#include "life/intake.h"
#include "life/job_life.h"
#include "life/verbs.h"
#include "util/str.h"

enum { RANGES_TOLD = 8 };

bool array_part_is_meant(const struct job *j, const struct ev_verb *ev)
{
    bool is_theirs = ev->verb == VERB_REQUEUE || ev->verb == VERB_PREEMPT ||
                     (ev->verb == VERB_RELEASE && j->state == JOB_PENDING);

    return j->array && job_state_is_waiting(j->state) && (ev->part.n || is_theirs);
}

static const struct indices *set_of(const struct job *j, const struct ev_verb *ev)
{
    return ev->part.n ? &ev->part : &j->array->all;
}

static void take_away(struct indices *from, const struct indices *what)
{
    struct indices left;

    indices_select(&left, from, what, false);
    indices_fini(from);
    *from = left;
}

static void drop_empty(struct job_array *a)
{
    for (size_t i = a->parts.n; i-- > 0;) {
        if (a->parts.v[i].set.n)
            continue;
        indices_fini(&a->parts.v[i].set);
        vec_remove(&a->parts, i);
    }
}

static void take_from_parts(struct job_array *a, enum array_part_kind kind,
                            const struct indices *what)
{
    for (size_t i = 0; i < a->parts.n; i++)
        if (a->parts.v[i].kind == kind)
            take_away(&a->parts.v[i].set, what);
    drop_empty(a);
}

/* Into the part that is like it, or a new one. */
static void put(struct job_array *a, const struct array_part *like, const struct indices *what)
{
    struct array_part *p;

    if (!what->n)
        return;
    for (size_t i = 0; i < a->parts.n; i++) {
        p = &a->parts.v[i];
        if (p->kind == like->kind && p->verb == like->verb && strcmp(p->text, like->text) == 0 &&
            strcmp(p->priority_class, like->priority_class) == 0 &&
            p->max_runtime_us == like->max_runtime_us) {
            indices_join(&p->set, what);
            return;
        }
    }
    p = vec_push(&a->parts);
    *p = *like;
    indices_copy(&p->set, what);
}

static void held_of(const struct job_array *a, struct indices *ret)
{
    *ret = (struct indices){.n = 0};
    for (size_t i = 0; i < a->parts.n; i++)
        if (a->parts.v[i].kind == PART_HELD)
            indices_join(ret, &a->parts.v[i].set);
}

/* What a verb does to a set: to those that wait, at once; to those with a job, by steps. */
struct plan {
    struct indices waiting, live;
    bool is_done; /* of some, before */
};

static void plan_fini(struct plan *p)
{
    indices_fini(&p->waiting);
    indices_fini(&p->live);
}

static void plan_waiting(const struct job_array *a, const struct indices *set, enum job_verb verb,
                         struct plan *p)
{
    struct indices held, from = {.n = 0}, there = {.n = 0};

    held_of(a, &held);
    if (verb == VERB_CANCEL || verb == VERB_RELEASE)
        indices_join(&from, &held);
    if (verb == VERB_CANCEL || verb == VERB_HOLD)
        indices_join(&from, &a->waiting);
    if (verb == VERB_HOLD || verb == VERB_RELEASE)
        indices_select(&there, verb == VERB_HOLD ? &held : &a->waiting, set, true);
    p->is_done = verb == VERB_CANCEL || there.n;
    indices_select(&p->waiting, &from, set, true);
    indices_fini(&held);
    indices_fini(&from);
    indices_fini(&there);
}

static bool is_to_do(const struct job_array *a, const struct job *j, enum job_verb verb,
                     bool *ret_done)
{
    const struct array_part *before = array_part_of(a, PART_VERB, j->array_index);

    if (before)
        return before->verb != VERB_CANCEL;
    if (verb_is_done(verb, j))
        *ret_done = true;
    return !verb_is_done(verb, j) && verb_fits(verb, j);
}

static void plan_of(const struct job_array *a, const struct indices *set, enum job_verb verb,
                    struct plan *ret)
{
    plan_waiting(a, set, verb, ret);
    ret->live = (struct indices){.n = 0};
    for (size_t i = 0; i < a->live.n; i++)
        if (indices_has(set, a->live.v[i]->array_index) &&
            is_to_do(a, a->live.v[i], verb, &ret->is_done))
            (void)indices_add(&ret->live, a->live.v[i]->array_index);
}

static void name_set(struct str *out, const struct job *j, const struct indices *set)
{
    str_addf(out, "%s[", j->name);
    indices_format(out, set, RANGES_TOLD);
    str_add(out, "]");
}

static int check_room(const struct job *j, size_t more, struct err *err)
{
    if (j->array->parts.n + more <= ARRAY_PARTS_MAX)
        return 0;
    return err_set(err, ERR_EXHAUSTED,
                   "indices of %s are held or changed in %zu different ways: release some, or "
                   "change the whole array",
                   j->name, j->array->parts.n);
}

static int check(const struct job *j, const struct ev_verb *ev, const struct plan *p,
                 struct err *err)
{
    const struct indices *set = set_of(j, ev);
    struct str name = {0};

    if (p->waiting.n || p->live.n)
        return check_room(j, 2, err);
    if (p->is_done)
        return 0;
    name_set(&name, j, set);
    (void)err_set(err, ERR_CONFLICT, "%s: %s", str_text(&name), verb_advice(ev->verb));
    str_fini(&name);
    return -1;
}

bool array_part_admit(struct state *s, const struct ev_verb *ev, struct effects *fx)
{
    const struct job *j = state_job(s, ev->job);
    struct answer a;
    struct plan p;
    struct err why;
    bool is_some;
    int rc;

    plan_of(j->array, set_of(j, ev), ev->verb, &p);
    rc = check(j, ev, &p, &why);
    is_some = p.waiting.n || p.live.n;
    plan_fini(&p);
    if (rc)
        return intake_refuse(s, &ev->ref, fx, &why);
    if (is_some)
        return true;
    a = intake_answer(s, &ev->ref, ERR_OK, ev->job);
    a.is_again = true;
    intake_reply(&ev->ref, &a, fx);
    return false;
}

static void change_waiting(struct state *s, struct job *j, const struct array_part *held,
                           enum job_verb verb, const struct indices *what)
{
    struct job_array *a = j->array;

    if (verb == VERB_RELEASE) {
        take_from_parts(a, PART_HELD, what);
        indices_join(&a->waiting, what);
        return;
    }
    take_away(&a->waiting, what);
    if (verb == VERB_HOLD) {
        put(a, held, what);
        return;
    }
    take_from_parts(a, PART_HELD, what);
    take_from_parts(a, PART_TERMS, what);
    a->n_cancelled += what->n;
    if (j->tenant_ix != IX_NONE)
        tenant_wait(&s->tenants, job_account(j), -(int)what->n);
}

static void tell(struct state *s, struct job *j, const struct ev_verb *ev,
                 const struct array_part *part, struct effects *fx)
{
    struct job_note *note = job_note(s, j, j->state, JOB_EV_UPDATE, fx);
    struct str name = {0};

    if (ev->part.n)
        name_set(&name, j, &ev->part);
    (void)str_copy(note->reason, sizeof(note->reason), verb_code(ev->verb));
    (void)snprintf(note->text, sizeof(note->text), "%.100s %.150s",
                   ev->part.n ? str_text(&name) : "all indices", part->text);
    str_make_line(note->text);
    str_fini(&name);
}

void array_part_apply(struct state *s, const struct ev_verb *ev, struct effects *fx)
{
    struct job *j = state_job(s, ev->job);
    struct array_part like = {.kind = PART_HELD};
    struct plan p;

    plan_of(j->array, set_of(j, ev), ev->verb, &p);
    intake_text(like.text, &ev->caller, ev->why);
    change_waiting(s, j, &like, ev->verb, &p.waiting);
    take_from_parts(j->array, PART_VERB, &p.live);
    like.kind = PART_VERB;
    like.verb = ev->verb;
    put(j->array, &like, &p.live);
    plan_fini(&p);
    tell(s, j, ev, &like, fx);
    array_due(s, j);
    job_save(s, j, fx);
}

void array_part_step(struct state *s, struct job *parent, struct job *one, struct effects *fx)
{
    struct array_part *part = array_part_of(parent->array, PART_VERB, one->array_index);
    enum job_verb verb = part->verb;
    char text[REASON_TEXT_MAX + 1];

    (void)str_copy(text, sizeof(text), part->text);
    (void)indices_remove(&part->set, one->array_index);
    drop_empty(parent->array);
    job_save(s, parent, fx);
    if (!verb_is_done(verb, one) && verb_fits(verb, one))
        verb_do(s, one, verb, text, fx);
}

void array_part_ended(struct job_array *a, uint32_t index)
{
    for (size_t i = 0; i < a->parts.n; i++)
        (void)indices_remove(&a->parts.v[i].set, index);
    drop_empty(a);
}

/* Of part, those that still wait for nodes. */
static void waiting_of(const struct job_array *a, const struct indices *part, struct indices *ret)
{
    struct indices all;

    held_of(a, &all);
    indices_join(&all, &a->waiting);
    for (size_t i = 0; i < a->live.n; i++)
        if (job_state_is_waiting(a->live.v[i]->state))
            (void)indices_add(&all, a->live.v[i]->array_index);
    indices_select(ret, &all, part, true);
    indices_fini(&all);
}

int array_terms_check(const struct job *j, const struct ev_update *ev, struct err *err)
{
    struct indices set;
    size_t n_terms = 1;
    uint32_t n;

    waiting_of(j->array, &ev->part, &set);
    n = set.n;
    indices_fini(&set);
    for (size_t i = 0; i < j->array->parts.n; i++)
        n_terms += j->array->parts.v[i].kind == PART_TERMS;
    if (n == 0)
        return err_set(err, ERR_CONFLICT,
                       "%s: none of these indices waits, and only waiting ones are changed: "
                       "requeue a running one first",
                       j->name);
    return check_room(j, n_terms, err);
}

static void put_terms(struct job_array *a, struct array_part like, const struct ev_update *ev,
                      const struct indices *set)
{
    if (ev->has_class) {
        (void)str_copy(like.priority_class, sizeof(like.priority_class), ev->spec->priority_class);
        like.priority = ev->spec->priority;
    }
    if (ev->has_runtime)
        like.max_runtime_us = ev->spec->max_runtime_us;
    put(a, &like, set);
}

void array_terms_set(struct job *j, const struct ev_update *ev)
{
    struct job_array *a = j->array;
    struct indices set, some;
    size_t n = a->parts.n;

    waiting_of(a, &ev->part, &set);
    for (size_t i = 0; i < n; i++) {
        struct array_part like = a->parts.v[i];

        indices_select(&some, &like.set, &set, true);
        if (like.kind == PART_TERMS && some.n) {
            take_away(&a->parts.v[i].set, &some);
            take_away(&set, &some);
            put_terms(a, like, ev, &some);
        }
        indices_fini(&some);
    }
    put_terms(a, (struct array_part){.kind = PART_TERMS}, ev, &set);
    indices_fini(&set);
    drop_empty(a);
}

void array_terms_reset(struct job_array *a, bool has_class, bool has_runtime)
{
    for (size_t i = a->parts.n; i-- > 0;) {
        struct array_part *p = &a->parts.v[i];

        if (p->kind != PART_TERMS)
            continue;
        if (has_class)
            *p->priority_class = '\0';
        if (has_runtime)
            p->max_runtime_us = 0;
        if (*p->priority_class || p->max_runtime_us)
            continue;
        indices_fini(&p->set);
        vec_remove(&a->parts, i);
    }
}
