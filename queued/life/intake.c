/* SPDX-License-Identifier: Apache-2.0 */
/* intake.c - submit and cancel.
 *
 * Two keys guard against doubles: the request id (a retry of one call) and the submit key (the
 * user's own). Both are stored in the transaction of the job, so either all of it is known after
 * a crash or nothing.
 */
#include "life/intake.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/array.h"
#include "life/array_life.h"
#include "life/depend.h"
#include "spec/failure.h"
#include "cluster/hardware.h"
#include "life/job_life.h"
#include "core/order.h"
#include "life/orphan.h"
#include "life/timers.h"
#include "core/relax.h"
#include "util/str.h"

enum { PENDING_MAX_DEFAULT = 10000, NAME_ROUNDS_MAX = 1000 };

static struct remembered *find_answer(const struct state *s, const struct request_ref *ref)
{
    struct remembered_key key;
    struct remembered *r = NULL;

    memset(&key, 0, sizeof(key)); /* the padding is part of the hash */
    key.uid = ref->uid;
    memcpy(key.request_id, ref->request_id, sizeof(key.request_id));
    HASH_FIND(hh, s->answers, &key, sizeof(key), r);
    return r;
}

static void remember(struct state *s, const struct answer *a)
{
    struct remembered *r = xcalloc(1, sizeof(*r));

    r->key.uid = a->uid;
    memcpy(r->key.request_id, a->request_id, sizeof(r->key.request_id));
    r->at = a->at;
    r->job = a->job;
    r->is_again = a->is_again;
    r->text = a->text ? xstrdup(a->text) : NULL;
    HASH_ADD(hh, s->answers, key, sizeof(r->key), r);
}

void intake_remember(struct state *s, const struct answer *a)
{
    struct request_ref ref = {.uid = a->uid};

    memcpy(ref.request_id, a->request_id, sizeof(ref.request_id));
    if (!find_answer(s, &ref))
        remember(s, a);
}

struct answer intake_answer(const struct state *s, const struct request_ref *ref,
                            enum err_code code, struct job_id job)
{
    struct answer a = {.uid = ref->uid, .at = s->now, .job = job, .code = code};

    memcpy(a.request_id, ref->request_id, sizeof(a.request_id));
    return a;
}

void intake_reply(const struct request_ref *ref, const struct answer *a, struct effects *fx)
{
    struct reply *r;

    if (!ref->reply_token)
        return;
    r = arena_alloc(&fx->arena, sizeof(*r));
    r->token = ref->reply_token;
    r->answer = *a;
    effects_add(fx, EFFECT_REPLY, a->job)->u.reply = r;
}

void intake_conclude(struct state *s, const struct request_ref *ref, const struct answer *a,
                     struct effects *fx)
{
    struct answer *copy = arena_alloc(&fx->arena, sizeof(*copy));

    *copy = *a;
    remember(s, a); /* it was asked for the first time: intake_answered() */
    effects_add(fx, EFFECT_SAVE_REQUEST, a->job)->u.answer = copy;
    intake_reply(ref, a, fx);
}

bool intake_refuse(const struct state *s, const struct request_ref *ref, struct effects *fx,
                   const struct err *why)
{
    struct answer a = intake_answer(s, ref, why->code, (struct job_id){0});

    a.text = arena_strdup(&fx->arena, why->text);
    intake_reply(ref, &a, fx);
    return false;
}

bool intake_answered(const struct state *s, const struct request_ref *ref, struct effects *fx)
{
    const struct remembered *r = find_answer(s, ref);
    struct answer a;

    if (!r)
        return false;
    a = intake_answer(s, ref, ERR_OK, r->job);
    a.is_again = r->is_again;
    a.text = r->text;
    intake_reply(ref, &a, fx);
    return true;
}

/* Is the submit key taken? Answers then: the same job for the same spec, else CONFLICT. */
static bool key_is_taken(const struct state *s, const struct ev_submit *ev, struct effects *fx)
{
    const struct submit_key *k =
        ev->spec->submit_key ? state_key(s, ev->spec->tenant, ev->spec->submit_key) : NULL;
    char id[JOB_ID_TEXT + 1], text[100];
    struct answer a;
    struct err why;

    if (!k)
        return false;
    if (memcmp(k->digest, ev->digest, sizeof(k->digest)) != 0) {
        (void)err_set(&why, ERR_CONFLICT,
                      "spec.submitKey: '%s' was used for job %s with another spec; change the key, "
                      "or submit the same spec",
                      ev->spec->submit_key, job_id_format(id, k->job));
        (void)intake_refuse(s, &ev->ref, fx, &why);
        return true;
    }
    a = intake_answer(s, &ev->ref, ERR_OK, k->job);
    a.is_again = true;
    if (!state_job(s, k->job)) {
        (void)snprintf(text, sizeof(text), "this key was used for job %s, whose record has expired",
                       job_id_format(id, k->job));
        a.text = arena_strdup(&fx->arena, text);
    }
    intake_reply(&ev->ref, &a, fx);
    return true;
}

/* Tenant on the path where the user has as many waiting jobs as one may have; IX_NONE. */
static uint32_t crowded_at(const struct state *s, struct account_key who, uint32_t n)
{
    uint32_t otherwise = PENDING_MAX_DEFAULT;

    for (; who.tenant != IX_NONE; who.tenant = s->settings->tenants[who.tenant].parent) {
        uint32_t max = s->settings->tenants[who.tenant].max_pending;
        const struct account *a = tenant_account(&s->tenants, who);

        if ((a ? a->pending : 0) + (uint64_t)n > (max ? max : otherwise))
            return who.tenant;
        otherwise = UINT32_MAX;
    }
    return IX_NONE;
}

int intake_check_room(const struct state *s, const char *tenant, uint32_t uid, uint32_t n,
                      struct err *err)
{
    uint32_t t = settings_tenant(s->settings, tenant);
    const struct account *a;
    uint32_t full;

    if (t == IX_NONE)
        return err_set(err, ERR_REFUSED, "spec.tenant: no tenant '%s' in the configuration",
                       tenant);
    if (s->is_store_low)
        return err_set(err, ERR_EXHAUSTED,
                       "the store has no space left for new jobs; cancels and ends still work; "
                       "ask the operator to free disk space");
    full = crowded_at(s, (struct account_key){t, uid}, n);
    a = full != IX_NONE ? tenant_account(&s->tenants, (struct account_key){full, uid}) : NULL;
    if (full != IX_NONE)
        return err_set(err, ERR_EXHAUSTED,
                       "the user has %u waiting jobs in tenant %s, %s; wait or cancel some",
                       a ? a->pending : 0, s->settings->tenants[full].path,
                       n == 1 ? "the most one may have"
                              : "and with these indices more than one may have");
    if (s->by_id.n >= JOBS_MAX || HASH_COUNT(s->answers) >= REQUESTS_MAX)
        return err_set(err, ERR_EXHAUSTED, "the daemon keeps as many jobs as it may; try later");
    return 0;
}

/* Extended resources that no node has are named by jobs alone; they must not use up the table. */
static int check_names(struct state *s, const struct spec *spec, struct err *err)
{
    const char *unknown[JOB_ROLES_MAX * ROLE_EXTENDED_MAX];
    uint32_t n = 0;

    for (uint32_t r = 0; r < spec->n_roles; r++) {
        for (uint32_t i = 0; i < spec->roles[r].n_extended; i++) {
            const char *name = spec->roles[r].extended[i].name;
            uint32_t k = 0;

            while (k < n && strcmp(unknown[k], name) != 0)
                k++;
            if (k == n && resource_index(&s->cluster.names, name, false) < 0)
                unknown[n++] = name;
        }
    }
    if (n == 0 || s->cluster.names.n + n <= RESOURCES_MAX - RESOURCES_SPARE)
        return 0;
    return err_set(err, ERR_EXHAUSTED,
                   "spec.roles: resources.extended: no node has %.100s, and no more names of "
                   "resources that no node has can be counted; check how it is spelled",
                   unknown[0]);
}

/* A warning in text when no node of the cluster could ever take the gang. */
static bool is_feasible(struct state *s, const struct spec *spec, char *text, size_t size)
{
    struct demand *d;
    bool found;

    if (!s->is_synced)
        return true; /* nothing is known yet */
    d = demand_of(&s->cluster, &s->demands, spec);
    found = hardware_exists(&s->cluster, d, text, size);
    demand_release(&s->cluster, &s->demands, d);
    return found;
}

static int check_deadline(const struct state *s, const struct spec *spec, struct err *why)
{
    char at[FORMAT_MAX];

    if (!spec->deadline_us || spec->deadline_us > s->now)
        return 0;
    return err_set(why, ERR_INVALID, "spec.deadline: %s is past",
                   format_time(at, spec->deadline_us));
}

/* Jobs that it counts for. */
static uint32_t weight_of(const struct spec *spec)
{
    struct job_array *a = array_of(spec);
    uint32_t n = a ? a->n : 1;

    array_destroy(a);
    return n;
}

bool intake_admit_submit(struct state *s, const struct ev_submit *ev, struct effects *fx)
{
    char warning[REASON_TEXT_MAX + 1] = "";
    struct err why;
    struct answer a;

    if (intake_answered(s, &ev->ref, fx) || key_is_taken(s, ev, fx))
        return false;
    if (check_deadline(s, ev->spec, &why) ||
        intake_check_room(s, ev->spec->tenant, ev->caller.uid, weight_of(ev->spec), &why) ||
        check_names(s, ev->spec, &why) || depend_resolve(s, ev->spec, NULL, &why))
        return intake_refuse(s, &ev->ref, fx, &why);
    if (!ev->require_feasible && !ev->is_dry_run)
        return true;
    if (!is_feasible(s, ev->spec, warning, sizeof(warning)) && ev->require_feasible) {
        (void)err_set(&why, ERR_REFUSED, "NoSuchHardware: %s", warning);
        return intake_refuse(s, &ev->ref, fx, &why);
    }
    if (!ev->is_dry_run)
        return true;
    a = intake_answer(s, &ev->ref, ERR_OK, (struct job_id){0});
    a.text = *warning ? arena_strdup(&fx->arena, warning) : NULL;
    intake_reply(&ev->ref, &a, fx);
    return false;
}

void intake_add_job(struct state *s, struct job *j)
{
    HASH_ADD_KEYPTR(hh_name, s->jobs_by_name, j->ns_name, strlen(j->ns_name), j);
    *vec_push(&s->by_id) = j;
    *vec_push(&s->ids) = j->id.v;
}

void intake_drop_job(struct state *s, struct job *j)
{
    size_t at = state_jobs_after(s, (struct job_id){j->id.v - 1});

    assert(at < s->by_id.n && s->by_id.v[at] == j);
    vec_remove(&s->by_id, at);
    vec_remove(&s->ids, at);
    timer_set(s, j, 0);
    HASH_DELETE(hh_name, s->jobs_by_name, j);
    relax_fini(s, j);
    job_drop_members(s, j);
    array_forget(s, j);
    job_destroy(j);
}

bool intake_name_is_taken(const struct state *s, const char *ns, const char *name)
{
    char key[LABEL_MAX + 1 + JOB_NAME_MAX + 1];
    struct job *j = NULL;

    (void)str_join(key, sizeof(key), ns, '/', name); /* bounded */
    HASH_FIND(hh_name, s->jobs_by_name, key, strlen(key), j);
    return j != NULL;
}

/* A name that is free in the namespace. */
static void find_name(const struct state *s, const struct spec *spec, struct job_id id,
                      char name[JOB_NAME_MAX + 1])
{
    char suffix[5];
    uint32_t round = 0;

    do {
        assert(round < NAME_ROUNDS_MAX); /* a million names for one base would be needed */
        job_name_suffix(suffix, id, round++);
        (void)str_join(name, JOB_NAME_MAX + 1, spec->name, '-', suffix); /* checked length */
    } while (intake_name_is_taken(s, spec->ns, name));
}

struct job_id intake_new_id(struct state *s)
{
    uint64_t floor = (uint64_t)(s->now / USEC_PER_MSEC) << 12;
    struct job_id id = {s->meta.last_id.v + 1 > floor ? s->meta.last_id.v + 1 : floor};

    orphans_new_id(s, id);
    s->meta.last_id = id;
    return id;
}

static struct job *job_from(struct state *s, const struct ev_submit *ev)
{
    const struct spec *spec = ev->spec;
    char name[JOB_NAME_MAX + 1], text[REASON_TEXT_MAX + 1];
    struct job_id id = intake_new_id(s);
    struct job *j;

    find_name(s, spec, id, name);
    j = job_create(&(struct job_texts){.name = name,
                                       .ns = spec->ns,
                                       .tenant = spec->tenant,
                                       .user = ev->caller.user,
                                       .priority_class = spec->priority_class,
                                       .submit_key = spec->submit_key});
    j->id = id;
    j->tenant_ix = settings_tenant(s->settings, spec->tenant);
    j->uid = ev->caller.uid;
    j->priority = spec->priority;
    j->submitted_at = j->queued_at = j->state_since = s->now;
    j->max_runtime_us = spec->max_runtime_us;
    j->max_queue_us = spec->max_queue_us;
    j->start_timeout_us = spec->start_timeout_us;
    j->grace_us = spec->checkpoint_grace_us;
    j->max_restarts = spec->max_restarts;
    job_set_terms(j, spec);
    j->array = array_of(spec);
    memcpy(j->digest, ev->digest, sizeof(j->digest));
    j->state = spec->is_held ? JOB_HELD : JOB_PENDING;
    *text = '\0';
    if (spec->is_held)
        intake_text(text, &ev->caller, "submitted so");
    job_set_reason(j, spec->is_held ? "Held" : "NotEvaluated", text);
    j->is_resumed = true;
    (void)depend_resolve(s, spec, j, NULL); /* it was asked before: intake_admit_submit() */
    relax_init(s, j, spec);
    return j;
}

void intake_submit(struct state *s, struct ev_submit *ev, struct effects *fx)
{
    struct job *j = job_from(s, ev);
    struct answer a = intake_answer(s, &ev->ref, ERR_OK, j->id);
    char key[TENANT_PATH_MAX + SUBMIT_KEY_MAX + 2];
    char warning[REASON_TEXT_MAX + 1], text[ERR_TEXT_MAX];

    intake_add_job(s, j);
    tenant_wait(&s->tenants, job_account(j), (int)array_weight(j));
    depend_add(s, j);
    if (j->state == JOB_PENDING)
        order_add(s, j);
    job_set_timer(s, j);
    job_save(s, j, fx);
    effects_add(fx, EFFECT_SAVE_SPEC, j->id)->u.spec = ev->spec;
    if (j->submit_key) {
        (void)str_join(key, sizeof(key), j->tenant, '\n', j->submit_key); /* bounded */
        state_add_key(s, key, j->id, j->digest, 0);
        (void)effects_add(fx, EFFECT_SAVE_KEY, j->id);
    }
    if (s->is_synced && !hardware_exists(&s->cluster, j->demand, warning, sizeof(warning))) {
        (void)snprintf(text, sizeof(text), "NoSuchHardware: %s; the job waits for it", warning);
        a.text = arena_strdup(&fx->arena, text);
    }
    ev->spec = NULL;
    (void)job_note(s, j, 0, 0, fx);
    intake_conclude(s, &ev->ref, &a, fx);
}

void intake_text(char buf[REASON_TEXT_MAX + 1], const struct caller *who, const char *why)
{
    (void)snprintf(buf, REASON_TEXT_MAX + 1, "by %s%s%s", who->user, why ? ": " : "",
                   why ? why : "");
    str_make_line(buf); /* half a character */
}
