/* SPDX-License-Identifier: Apache-2.0 */
/* fake_core.c - the core driven event by event. */
#include "fake_core.h"

#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "invariant.h"
#include "core/cycle.h"
#include "life/job_life.h"
#include "life/state_apply.h"
#include "util/mem.h"

void core_init(struct core *c)
{
    *c = (struct core){.now = INT64_C(1790000000) * USEC_PER_SEC};
    site_settings_init(&c->settings);
    (void)site_tenant(&c->settings, "t");
    c->state = state_create(&c->settings);
}

void core_fini(struct core *c)
{
    effects_fini(&c->fx);
    state_destroy(c->state);
    site_settings_fini(&c->settings);
}

bool core_apply(struct core *c, struct event *ev)
{
    bool is_admitted;

    ev->at = c->now;
    is_admitted = state_admit(c->state, ev, &c->fx);
    if (is_admitted)
        state_apply(c->state, ev, &c->fx);
    event_fini(ev);
    return is_admitted;
}

void core_up(struct core *c)
{
    struct event up = {.kind = EV_CLUSTER, .u.cluster.is_up = true};
    struct event synced = {.kind = EV_SYNCED, .u.cluster_uid = "cluster-1"};

    (void)core_apply(c, &up);
    (void)core_apply(c, &synced);
}

void core_node(struct core *c, struct node_fact *fact)
{
    struct event ev = {.kind = EV_NODE_SEEN, .u.node = fact};

    (void)core_apply(c, &ev);
}

void core_nodes(struct core *c, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        char name[16], block[16], rack[16];

        (void)snprintf(name, sizeof(name), "n%u", (unsigned)i);
        (void)snprintf(block, sizeof(block), "b%u", (unsigned)(i / 4));
        (void)snprintf(rack, sizeof(rack), "r%u", (unsigned)(i / 2 % 2));
        core_node(c, site_node(name, block, rack, SITE_H100, 8));
    }
}

static void sink(void *ctx, const void *p, size_t len)
{
    uint64_t *h = ctx;

    for (size_t i = 0; i < len; i++)
        *h = (*h ^ ((const unsigned char *)p)[i]) * UINT64_C(0x100000001b3);
}

struct answer core_ask(struct core *c, struct event *ev)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    const struct effect *reply;

    spec_feed(ev->u.submit.spec, sink, &h);
    memcpy(ev->u.submit.digest, &h, sizeof(h));
    ev->kind = EV_JOB_SUBMIT;
    ev->u.submit.ref.reply_token = 1;
    (void)core_apply(c, ev);
    reply = core_last(c, EFFECT_REPLY);
    return reply ? reply->u.reply->answer : (struct answer){.code = ERR_INTERNAL};
}

struct answer core_submit(struct core *c, struct spec *spec)
{
    struct event ev = {.u.submit = {.spec = spec}};

    c->n_requests++;
    memcpy(ev.u.submit.ref.request_id, &c->n_requests, sizeof(c->n_requests));
    return core_ask(c, &ev);
}

struct answer core_verb(struct core *c, struct job_id id, enum job_verb verb)
{
    struct event ev = {
        .kind = EV_JOB_VERB,
        .u.verb = {.job = id, .verb = verb, .ref.reply_token = 1, .caller.user = "alice"}};

    c->n_requests++;
    memcpy(ev.u.verb.ref.request_id, &c->n_requests, sizeof(c->n_requests));
    (void)core_apply(c, &ev);
    return core_last(c, EFFECT_REPLY)->u.reply->answer;
}

struct answer core_cancel(struct core *c, struct job_id id)
{
    return core_verb(c, id, VERB_CANCEL);
}

struct job *core_job(struct core *c, struct answer a)
{
    return state_job(c->state, a.job);
}

int core_cycle(struct core *c)
{
    struct event ev;
    int n = 0;

    while (cycle_next(c->state, c->now, &ev)) {
        state_apply(c->state, &ev, &c->fx);
        event_fini(&ev);
        n++;
    }
    return n;
}

void core_pass(struct core *c, usec_t by)
{
    c->now += by;
    state_tick(c->state, c->now, &c->fx);
}

static void name_pod(const struct job *j, uint32_t member, char *ret, size_t size)
{
    char name[POD_NAME_TEXT];

    (void)snprintf(ret, size, "%s", job_pod_name(name, j, &j->members[member]));
}

void core_see(struct core *c, const struct job *j, uint32_t member, enum pod_phase phase,
              int16_t exit_code)
{
    struct event ev = {.kind = EV_POD_SEEN, .u.pod = xcalloc(1, sizeof(struct pod_fact))};
    const struct member *m = &j->members[member];
    struct pod_fact *p = ev.u.pod;

    (void)snprintf(p->ns, sizeof(p->ns), "%s", j->ns);
    name_pod(j, member, p->name, sizeof(p->name));
    (void)snprintf(p->uid, sizeof(p->uid), m->run ? "uid-%u-%u-%u" : "uid-%u-%u",
                   (unsigned)j->attempt, (unsigned)member, (unsigned)m->run);
    (void)snprintf(
        p->node, sizeof(p->node), "%s",
        cluster_node(&c->state->cluster, m->is_going ? job_member_node(c->state, j, m) : m->node_ix)
            ->name);
    p->phase = phase;
    p->exit_code = exit_code;
    p->job = j->id;
    memcpy(p->role, j->demand->roles[m->role].name, sizeof(p->role));
    p->index = job_pod_index(j, m);
    p->attempt = j->attempt;
    (void)core_apply(c, &ev);
}

void core_see_all(struct core *c, struct job_id id, enum pod_phase phase)
{
    const struct job *j = state_job(c->state, id);

    for (uint32_t i = 0; i < j->n_members; i++)
        if (j->members[i].phase != MEMBER_ABSENT)
            core_see(c, j, i, phase, phase == POD_SUCCEEDED ? 0 : -1);
}

void core_gone(struct core *c, const struct job *j, uint32_t member)
{
    struct job_id id = j->id;
    struct event ev = {.kind = EV_POD_GONE, .u.pod_gone = xcalloc(1, sizeof(struct ev_pod_gone))};

    (void)snprintf(ev.u.pod_gone->ns, sizeof(ev.u.pod_gone->ns), "%s", j->ns);
    name_pod(j, member, ev.u.pod_gone->name, sizeof(ev.u.pod_gone->name));
    ev.u.pod_gone->job = j->id;
    ev.u.pod_gone->attempt = j->attempt;
    ev.u.pod_gone->member = member;
    (void)core_apply(c, &ev);
    if (!c->keeps_budgets)
        core_budget_gone(c, id);
}

void core_gone_all(struct core *c, struct job_id id)
{
    const struct job *j = state_job(c->state, id);

    for (uint32_t i = 0; i < j->n_members; i++)
        if (j->members[i].is_going)
            core_gone(c, j, i);
    for (uint32_t i = 0; i < j->n_members; i++) /* none is left once the gang is requeued */
        core_gone(c, j, i);
}

void core_refuse(struct core *c, const struct job *j, uint32_t member, enum refusal_kind kind)
{
    struct event ev = {.kind = EV_POD_REFUSED,
                       .u.answer = xcalloc(1, sizeof(struct ev_pod_answer))};

    ev.u.answer->job = j->id;
    ev.u.answer->attempt = j->attempt;
    ev.u.answer->member = member;
    ev.u.answer->run = member < j->n_members ? j->members[member].run : 0;
    ev.u.answer->refusal = kind;
    (void)core_apply(c, &ev);
}

void core_service_gone(struct core *c, struct job_id id)
{
    struct event ev = {.kind = EV_SERVICE_GONE, .u.service_job = id};

    (void)core_apply(c, &ev);
    if (!c->keeps_budgets)
        core_budget_gone(c, id);
}

void core_budget_gone(struct core *c, struct job_id id)
{
    const struct job *j = state_job(c->state, id);
    struct event ev = {.kind = EV_BUDGET, .u.budget.job = id};

    if (!j)
        return;
    ev.u.budget.attempt = j->attempt;
    (void)core_apply(c, &ev);
}

unsigned core_count(const struct core *c, enum effect_kind kind)
{
    unsigned n = 0;

    for (size_t i = 0; i < c->fx.list.n; i++)
        n += c->fx.list.v[i].kind == kind;
    return n;
}

const struct effect *core_last(const struct core *c, enum effect_kind kind)
{
    for (size_t i = c->fx.list.n; i-- > 0;)
        if (c->fx.list.v[i].kind == kind)
            return &c->fx.list.v[i];
    return NULL;
}

void core_forget(struct core *c)
{
    effects_clear(&c->fx);
    c->state->turn++;
}

int core_set_up(void **state)
{
    struct core *c = xcalloc(1, sizeof(*c));

    core_init(c);
    core_nodes(c, 4);
    core_up(c);
    *state = c;
    return 0;
}

int core_tear_down(void **state)
{
    struct core *c = *state;
    struct err err = {0};
    int rc = state_check(c->state, &err);

    core_fini(c);
    free(c);
    if (rc)
        (void)fprintf(stderr, "%s\n", err.text);
    return rc;
}

struct estimate core_estimate(const struct core *c, const struct job *j)
{
    struct estimates *e = estimates_create();
    struct estimate ret;

    estimate_of(e, c->state, j, c->now, &ret);
    estimates_destroy(e);
    return ret;
}
