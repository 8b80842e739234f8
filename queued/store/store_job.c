/* SPDX-License-Identifier: Apache-2.0 */
/* store_job.c - jobs between memory and record.
 *
 * Members keep their host by name and their rank; phases and uids are learned again from the
 * cluster. A run of members on one host names it once.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "store/store_pack.h"
#include "util/mem.h"

typedef Queued__Record__JobRecord job_record;

static char *model_name(const struct settings *settings, uint8_t model)
{
    return model < settings->n_models ? store_text(settings->models[model].name) : NULL;
}

/* ---- to the record */

static void make_roles(job_record *r, const struct job *j, const struct settings *settings,
                       struct arena *a)
{
    const struct demand *d = j->demand;

    if (!d)
        return;
    r->n_roles = d->n_roles;
    r->roles = arena_alloc(a, d->n_roles * sizeof(*r->roles));
    for (uint32_t i = 0; i < d->n_roles; i++) {
        Queued__Record__JobRoleRecord *role = arena_alloc(a, sizeof(*role));

        queued__record__job_role_record__init(role);
        role->name = store_text(d->roles[i].name);
        PACK(role, replicas, d->roles[i].most);
        PACK(role, gpus, (uint32_t)d->roles[i].each.amount[RES_GPUS]);
        PACK_ALWAYS(role, fixed_cpu_milli, j->fixed_cpu_milli[i]);
        PACK_ALWAYS(role, fixed_memory_bytes, j->fixed_memory_bytes[i]);
        role->model = model_name(settings, j->models[i]);
        r->roles[i] = role;
    }
}

static void make_members(job_record *r, const struct job *j, const struct cluster *c,
                         struct arena *a)
{
    uint32_t last = IX_NONE;

    if (j->n_members == 0)
        return;
    r->n_member_node = r->n_member_rank = j->n_members;
    r->member_node = arena_alloc(a, j->n_members * sizeof(*r->member_node));
    r->member_rank = arena_alloc(a, j->n_members * sizeof(*r->member_rank));
    r->nodes = arena_alloc(a, j->n_members * sizeof(*r->nodes));
    for (uint32_t i = 0; i < j->n_members; i++) {
        const struct member *m = &j->members[i];
        const struct node *node = cluster_node(c, m->node_ix);

        r->member_rank[i] = m->rank;
        if (!node) {
            r->member_node[i] = j->n_members; /* past the end of any list of hosts */
            continue;
        }
        if (m->node_ix != last)
            r->nodes[r->n_nodes++] = node->name;
        last = m->node_ix;
        r->member_node[i] = (uint32_t)r->n_nodes - 1;
    }
}

/* Positions of the members in a phase. */
static uint32_t *list_ended(const struct job *j, enum member_phase phase, size_t *ret_n,
                            struct arena *a)
{
    uint32_t *v = arena_alloc(a, j->n_members * sizeof(*v));

    for (uint32_t i = 0; i < j->n_members; i++)
        if (j->members[i].phase == phase)
            v[(*ret_n)++] = i;
    return v;
}

/* Positions of the members that have joined, or are going. */
static void make_new(job_record *r, const struct job *j, struct arena *a)
{
    r->member_new = arena_alloc(a, j->n_members * sizeof(*r->member_new));
    r->member_going = arena_alloc(a, j->n_absent * sizeof(*r->member_going));
    for (uint32_t i = 0; i < j->n_members; i++) {
        if (j->members[i].is_new)
            r->member_new[r->n_member_new++] = i;
        if (j->members[i].is_going)
            r->member_going[r->n_member_going++] = i;
    }
}

/* How often each was made again, and what it lacks; nothing for a gang that lost none. */
static void make_mended(job_record *r, const struct job *j, struct arena *a)
{
    uint32_t any = 0;

    r->member_mend = arena_alloc(a, j->n_members * sizeof(*r->member_mend));
    for (uint32_t i = 0; i < j->n_members; i++) {
        r->member_mend[i] = j->members[i].run * 4U + j->members[i].mend;
        any |= r->member_mend[i];
    }
    r->n_member_mend = any ? j->n_members : 0;
}

static void make_ended(job_record *r, const struct job *j, struct arena *a)
{
    make_new(r, j, a);
    make_mended(r, j, a);
    if (j->n_absent)
        r->member_absent = list_ended(j, MEMBER_ABSENT, &r->n_member_absent, a);
    if (j->n_done == 0)
        return;
    r->member_succeeded = list_ended(j, MEMBER_SUCCEEDED, &r->n_member_succeeded, a);
    r->member_failed = list_ended(j, MEMBER_FAILED, &r->n_member_failed, a);
}

static void make_waits(job_record *r, const struct job *j, struct arena *a)
{
    r->n_waits_for = r->n_waits_until = j->waits.n;
    r->waits_for = arena_alloc(a, j->waits.n * sizeof(*r->waits_for));
    r->waits_until = arena_alloc(a, j->waits.n * sizeof(*r->waits_until));
    for (size_t i = 0; i < j->waits.n; i++) {
        r->waits_for[i] = j->waits.v[i].on.v;
        r->waits_until[i] = j->waits.v[i].condition;
    }
}

static void make_claim(job_record *r, const struct claim *k, struct arena *a)
{
    if (!k)
        return;
    PACK(r, claim_until, k->until);
    r->n_claim_victims = r->n_claim_attempts = k->n_victims;
    r->claim_victims = arena_alloc(a, k->n_victims * sizeof(*r->claim_victims));
    r->claim_attempts = arena_alloc(a, k->n_victims * sizeof(*r->claim_attempts));
    for (uint32_t i = 0; i < k->n_victims; i++) {
        r->claim_victims[i] = k->victims[i].job.v;
        r->claim_attempts[i] = k->victims[i].attempt;
        r->n_claim_pods = k->victims[i].pod ? k->n_victims : r->n_claim_pods;
    }
    r->claim_pods = arena_alloc(a, r->n_claim_pods * sizeof(*r->claim_pods));
    for (size_t i = 0; i < r->n_claim_pods; i++)
        r->claim_pods[i] = k->victims[i].pod;
}

static void make_move(job_record *r, const struct job *j, const struct cluster *c, struct arena *a)
{
    const struct ev_placed *to = j->move;

    if (!to)
        return;
    r->n_move_node = r->n_move_rank = to->n;
    r->move_node = arena_alloc(a, to->n * sizeof(*r->move_node));
    r->move_rank = arena_alloc(a, to->n * sizeof(*r->move_rank));
    r->move_nodes = arena_alloc(a, to->n * sizeof(*r->move_nodes));
    for (uint32_t i = 0; i < to->n; i++) {
        if (i == 0 || to->members[i].node_ix != to->members[i - 1].node_ix)
            r->move_nodes[r->n_move_nodes++] = cluster_node(c, to->members[i].node_ix)->name;
        r->move_node[i] = (uint32_t)r->n_move_nodes - 1;
        r->move_rank[i] = to->members[i].rank;
    }
    r->n_move_cpu_milli = r->n_move_memory_bytes = j->demand->n_roles;
    r->move_cpu_milli = arena_alloc(a, j->demand->n_roles * sizeof(*r->move_cpu_milli));
    r->move_memory_bytes = arena_alloc(a, j->demand->n_roles * sizeof(*r->move_memory_bytes));
    for (uint32_t i = 0; i < j->demand->n_roles; i++) {
        r->move_cpu_milli[i] = to->fixed_cpu_milli[i];
        r->move_memory_bytes[i] = to->fixed_memory_bytes[i];
    }
}

static void make_times(job_record *r, const struct job *j)
{
    PACK(r, submitted_at, j->submitted_at);
    PACK(r, max_runtime_us, j->max_runtime_us);
    PACK(r, max_queue_us, j->max_queue_us);
    PACK(r, start_timeout_us, j->start_timeout_us);
    PACK(r, grace_us, j->grace_us);
    PACK(r, state_since, j->state_since);
    PACK(r, queued_at, j->queued_at);
    PACK(r, not_before, j->not_before);
    PACK(r, attempt_at, j->attempt_at);
    PACK(r, running_at, j->running_at);
    PACK(r, resized_at, j->resized_at);
    PACK(r, lost_at, j->lost_at);
    PACK(r, run_until, j->run_until);
    PACK(r, ended_at, j->ended_at);
}

void store_make_job(job_record *r, const struct job *j, const struct state *s, struct arena *a)
{
    r->name = store_text(j->name);
    r->namespace_ = store_text(j->ns);
    r->tenant = store_text(j->tenant);
    r->user = store_text(j->user);
    PACK(r, uid, j->uid);
    r->priority_class = store_text(j->priority_class);
    PACK(r, priority, j->priority);
    PACK(r, max_restarts, j->max_restarts);
    r->submit_key = (char *)(uintptr_t)j->submit_key; /* packing does not write to it */
    r->has_digest = 1;
    r->digest.data = (uint8_t *)(uintptr_t)j->digest; /* packing does not write to it */
    r->digest.len = sizeof(j->digest);
    PACK(r, state, j->state);
    PACK(r, outcome, j->outcome);
    r->reason_code = store_text(j->reason.code);
    r->reason_text = j->reason.text;
    PACK(r, attempt, j->attempt);
    PACK(r, restarts, j->restarts);
    PACK(r, config_generation, j->config_generation);
    PACK(r, checkpointed_at, j->checkpointed_at);
    PACK(r, stop_grace_us, j->stop_grace_us);
    PACK(r, refusals, j->refusals);
    PACK_ALWAYS(r, exit_code, j->exit_code);
    PACK(r, has_service, j->has_service);
    PACK(r, has_budget, j->has_budget);
    PACK(r, has_pods, j->has_pods);
    PACK(r, keeps, j->keeps);
    PACK(r, is_told, j->is_told);
    PACK(r, charged_gpus, (uint32_t)(j->charged_parts / GPU_PARTS));
    if (j->charged_parts % GPU_PARTS)
        PACK(r, charged_parts, (uint32_t)(j->charged_parts % GPU_PARTS));
    make_times(r, j);
    make_roles(r, j, s->settings, a);
    make_members(r, j, &s->cluster, a);
    make_ended(r, j, a);
    make_waits(r, j, a);
    make_claim(r, j->claim, a);
    make_move(r, j, &s->cluster, a);
    store_make_array(r, j, a);
}

/* ---- from the record */

/* A job with the texts of its record. */
static int make_job_of(const job_record *r, struct job **ret, struct err *err)
{
    char name[JOB_SHOWN_MAX + 1], ns[LABEL_MAX + 1], tenant[TENANT_PATH_MAX + 1];
    char user[USER_NAME_MAX + 1], class[CLASS_NAME_MAX + 1], key[SUBMIT_KEY_MAX + 1];
    char code[sizeof((*ret)->reason.code)], text[REASON_TEXT_MAX + 1];
    const struct {
        char *dst;
        size_t size;
        const char *src;
        const char *what;
    } rows[] = {
        {name, sizeof(name), r->name, "name"},
        {ns, sizeof(ns), r->namespace_, "namespace"},
        {tenant, sizeof(tenant), r->tenant, "tenant"},
        {user, sizeof(user), r->user, "user"},
        {class, sizeof(class), r->priority_class, "priority class"},
        {key, sizeof(key), r->submit_key, "submit key"},
        {code, sizeof(code), r->reason_code, "reason"},
        {text, sizeof(text), r->reason_text, "reason text"},
    };
    struct job_texts texts = {name, ns, tenant, user, class, NULL};

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (store_take_text(rows[i].dst, rows[i].size, rows[i].src, rows[i].what, err) < 0)
            return -1;
    if (!*name || !*ns || !*tenant)
        return err_set(err, ERR_INVALID, "job without name, namespace or tenant");
    if (r->digest.len != sizeof((*ret)->digest))
        return err_set(err, ERR_INVALID, "digest of %zu bytes", r->digest.len);
    texts.submit_key = *key ? key : NULL;
    *ret = job_create(&texts);
    job_set_reason(*ret, code, text);
    memcpy((*ret)->digest, r->digest.data, sizeof((*ret)->digest));
    return 0;
}

static void take_times(struct job *j, const job_record *r)
{
    j->submitted_at = r->submitted_at;
    j->max_runtime_us = r->max_runtime_us;
    j->max_queue_us = r->max_queue_us;
    j->start_timeout_us = r->start_timeout_us;
    j->grace_us = r->grace_us;
    j->state_since = r->state_since;
    j->queued_at = r->queued_at;
    j->not_before = r->not_before;
    j->attempt_at = r->attempt_at;
    j->running_at = r->running_at;
    j->resized_at = r->resized_at;
    j->lost_at = r->lost_at;
    j->run_until = r->run_until;
    j->ended_at = r->ended_at;
}

static int take_state(struct job *j, const job_record *r, struct err *err)
{
    if (r->state == 0 || r->state >= JOB_OUTCOME || r->outcome >= JOB_OUTCOME)
        return err_set(err, ERR_INVALID, "no such state: %u, outcome %u", r->state, r->outcome);
    j->uid = r->uid;
    j->priority = r->priority;
    j->max_restarts = r->max_restarts;
    j->state = (enum job_state)r->state;
    j->outcome = (enum job_state)r->outcome;
    j->attempt = r->attempt;
    j->restarts = r->restarts;
    j->config_generation = r->config_generation;
    j->checkpointed_at = r->checkpointed_at;
    j->stop_grace_us = r->stop_grace_us;
    j->refusals = r->refusals;
    j->exit_code = r->has_exit_code ? r->exit_code : -1;
    j->has_service = r->has_service;
    j->has_budget = r->has_budget;
    j->has_pods = r->has_pods;
    j->keeps = r->keeps;
    j->is_told = r->is_told;
    j->charged_parts = (uint64_t)r->charged_gpus * GPU_PARTS + r->charged_parts;
    return 0;
}

static uint8_t model_index(const struct settings *settings, const char *name)
{
    uint32_t ix = name ? settings_model(settings, name) : IX_NONE;

    return (uint8_t)(ix == IX_NONE ? MODELS_MAX : ix); /* one that left the configuration: none */
}

/* What was fixed for each role, and the pods of all. */
static int take_roles(struct job *j, const job_record *r, const struct settings *settings,
                      uint32_t *ret_pods, struct err *err)
{
    uint64_t pods = 0;

    if (r->n_roles > JOB_ROLES_MAX)
        return err_set(err, ERR_INVALID, "%zu roles", r->n_roles);
    for (size_t i = 0; i < r->n_roles; i++) {
        const Queued__Record__JobRoleRecord *role = r->roles[i];

        if (role->has_fixed_cpu_milli)
            j->fixed_cpu_milli[i] = role->fixed_cpu_milli;
        if (role->has_fixed_memory_bytes)
            j->fixed_memory_bytes[i] = role->fixed_memory_bytes;
        j->models[i] = model_index(settings, role->model);
        pods += role->replicas;
    }
    if (pods > JOB_PODS_MAX)
        return err_set(err, ERR_INVALID, "%" PRIu64 " pods", pods);
    *ret_pods = (uint32_t)pods;
    return 0;
}

static int take_members(struct job *j, const job_record *r, uint32_t pods, struct cluster *c,
                        struct err *err)
{
    uint32_t i = 0;
    size_t n_absent = 0;

    if (r->n_member_node == 0 && r->n_member_rank == 0)
        return 0;
    if (r->n_member_node != pods || r->n_member_rank != pods)
        return err_set(err, ERR_INVALID, "%zu hosts and %zu ranks of %u pods", r->n_member_node,
                       r->n_member_rank, pods);
    for (size_t n = 0; n < r->n_nodes; n++)
        if (strlen(r->nodes[n]) > NODE_NAME_MAX || !*r->nodes[n])
            return err_set(err, ERR_INVALID, "a node name of %zu bytes", strlen(r->nodes[n]));
    j->n_members = pods;
    j->members = xcalloc(pods, sizeof(*j->members));
    for (size_t role = 0; role < r->n_roles; role++) {
        j->size[role] = r->roles[role]->replicas;
        for (uint32_t index = 0; index < r->roles[role]->replicas; index++, i++) {
            uint32_t at = r->member_node[i];
            bool is_absent = n_absent < r->n_member_absent && r->member_absent[n_absent] == i;

            if (at >= r->n_nodes && job_state_is_active(j->state) && !is_absent)
                return err_set(err, ERR_INVALID, "pod %u of an active job has no host", i);
            j->members[i] = (struct member){
                .node_ix =
                    at < r->n_nodes && !is_absent ? cluster_node_named(c, r->nodes[at]) : IX_NONE,
                .rank = r->member_rank[i],
                .index = (uint16_t)index,
                .role = (uint8_t)role,
                .phase = MEMBER_PLACED,
                .exit_code = -1,
            };
            if (is_absent)
                job_set_phase(j, &j->members[i], MEMBER_ABSENT);
            n_absent += is_absent;
        }
    }
    if (n_absent != r->n_member_absent)
        return err_set(err, ERR_INVALID, "%zu of %zu absent pods are none of its pods",
                       r->n_member_absent - n_absent, r->n_member_absent);
    return 0;
}

static int take_new(struct job *j, const job_record *r, struct err *err)
{
    for (size_t i = 0; i < r->n_member_new; i++) {
        if (r->member_new[i] >= j->n_members)
            return err_set(err, ERR_INVALID, "pod %" PRIu32 " of %" PRIu32 " has joined",
                           r->member_new[i], j->n_members);
        j->members[r->member_new[i]].is_new = true;
    }
    for (size_t i = 0; i < r->n_member_going; i++) {
        uint32_t at = r->member_going[i];
        struct member *m = at < j->n_members ? &j->members[at] : NULL;

        if (!m || m->phase != MEMBER_ABSENT || m->is_going)
            return err_set(err, ERR_INVALID, "pod %" PRIu32 " of %" PRIu32 " is going", at,
                           j->n_members);
        m->is_going = true;
        j->going[m->role]++;
    }
    return 0;
}

static int take_mended(struct job *j, const job_record *r, struct err *err)
{
    if (r->n_member_mend && r->n_member_mend != j->n_members)
        return err_set(err, ERR_INVALID, "%zu of %" PRIu32 " pods were made again",
                       r->n_member_mend, j->n_members);
    for (size_t i = 0; i < r->n_member_mend; i++) {
        struct member *m = &j->members[i];

        m->run = (uint16_t)(r->member_mend[i] / 4);
        m->mend = (uint8_t)(r->member_mend[i] % 4);
        if (r->member_mend[i] / 4 > UINT16_MAX || (m->mend && m->phase != MEMBER_PLACED))
            return err_set(err, ERR_INVALID, "pod %zu cannot be made again: %" PRIu32, i,
                           r->member_mend[i]);
        if (m->mend == MEND_HOSTLESS)
            job_set_phase(j, m, MEMBER_GONE);
    }
    return 0;
}

static int take_ended(struct job *j, const uint32_t *v, size_t n, enum member_phase phase,
                      struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        if (v[i] >= j->n_members || j->members[v[i]].phase != MEMBER_PLACED)
            return err_set(err, ERR_INVALID,
                           "pod %" PRIu32 " of %" PRIu32 " has ended twice, or "
                           "is none",
                           v[i], j->n_members);
        job_set_phase(j, &j->members[v[i]], phase);
    }
    return 0;
}

static int take_waits(struct job *j, const job_record *r, struct err *err)
{
    if (r->n_waits_for != r->n_waits_until || r->n_waits_for > JOB_DEPENDS_MAX)
        return err_set(err, ERR_INVALID, "waits for %zu jobs until %zu", r->n_waits_for,
                       r->n_waits_until);
    if (r->n_waits_for && j->state != JOB_PENDING && j->state != JOB_HELD)
        return err_set(err, ERR_INVALID, "is %s and waits for jobs", job_state_name(j->state));
    for (size_t i = 0; i < r->n_waits_for; i++) {
        if (r->waits_until[i] >= SPEC_CONDITIONS || r->waits_for[i] >= j->id.v)
            return err_set(err, ERR_INVALID, "no such condition, or a job that came later");
        *vec_push(&j->waits) = (struct dependency){{r->waits_for[i]}, (uint8_t)r->waits_until[i]};
    }
    return 0;
}

static int take_claim(struct job *j, const job_record *r, struct err *err)
{
    if ((r->claim_until != 0) != (j->state == JOB_PENDING && j->n_members) ||
        r->n_claim_victims != r->n_claim_attempts ||
        (r->n_claim_pods && r->n_claim_pods != r->n_claim_victims))
        return err_set(err, ERR_INVALID, "%zu victims in %zu attempts, of a claim for %u pods",
                       r->n_claim_victims, r->n_claim_attempts, j->n_members);
    if (!r->claim_until)
        return 0;
    j->claim = xcalloc(1, sizeof(*j->claim));
    j->claim->until = r->claim_until;
    j->claim->n_victims = (uint32_t)r->n_claim_victims;
    j->claim->victims = xcalloc(r->n_claim_victims, sizeof(*j->claim->victims));
    for (size_t i = 0; i < r->n_claim_victims; i++)
        j->claim->victims[i] = (struct victim){
            {r->claim_victims[i]}, r->claim_attempts[i], r->n_claim_pods ? r->claim_pods[i] : 0};
    return 0;
}

/* On the models that it has. */
static int take_move(struct job *j, const job_record *r, struct cluster *c, struct err *err)
{
    size_t n = r->n_move_node;

    if (n != r->n_move_rank ||
        (n && (n != j->n_members || !job_state_is_active(j->state) ||
               r->n_move_cpu_milli != r->n_roles || r->n_move_memory_bytes != r->n_roles)))
        return err_set(err, ERR_INVALID, "is %s and moves %zu of %u pods", job_state_name(j->state),
                       n, j->n_members);
    for (size_t i = 0; i < n; i++)
        if (r->move_node[i] >= r->n_move_nodes || !*r->move_nodes[r->move_node[i]] ||
            strlen(r->move_nodes[r->move_node[i]]) > NODE_NAME_MAX)
            return err_set(err, ERR_INVALID, "pod %zu of a job that moves has no host there", i);
    if (n == 0)
        return 0;
    j->move = xcalloc(1, sizeof(*j->move));
    j->move->job = j->id;
    j->move->n = (uint32_t)n;
    j->move->members = xcalloc(n, sizeof(*j->move->members));
    memcpy(j->move->models, j->models, sizeof(j->move->models));
    for (size_t i = 0; i < n; i++)
        j->move->members[i] = (struct placement_member){
            cluster_node_named(c, r->move_nodes[r->move_node[i]]), r->move_rank[i]};
    for (size_t i = 0; i < r->n_roles; i++) {
        j->move->fixed_cpu_milli[i] = r->move_cpu_milli[i];
        j->move->fixed_memory_bytes[i] = r->move_memory_bytes[i];
    }
    return 0;
}

int store_decode_job(struct store_bytes key, struct store_bytes value, struct state *s,
                     struct job **ret, struct err *err)
{
    ProtobufCMessage *m =
        store_unpack(STORE_JOBS, key, value, &queued__record__job_record__descriptor, err);
    const job_record *r = (const job_record *)m;
    struct job *j = NULL;
    uint32_t pods = 0;
    int rc = -1;

    if (!m)
        return -1;
    if (key.len != 8 || store_key_number(key, 0, 8) == 0) {
        (void)err_set(err, ERR_INVALID, "a key of %zu bytes is no job id", key.len);
        goto out;
    }
    if (make_job_of(r, &j, err) < 0)
        goto out;
    j->id.v = store_key_number(key, 0, 8);
    j->tenant_ix = settings_tenant(s->settings, j->tenant);
    take_times(j, r);
    if (take_state(j, r, err) < 0 || take_roles(j, r, s->settings, &pods, err) < 0 ||
        take_members(j, r, pods, &s->cluster, err) < 0 || take_waits(j, r, err) < 0 ||
        take_new(j, r, err) < 0 ||
        take_ended(j, r->member_succeeded, r->n_member_succeeded, MEMBER_SUCCEEDED, err) < 0 ||
        take_ended(j, r->member_failed, r->n_member_failed, MEMBER_FAILED, err) < 0 ||
        take_mended(j, r, err) < 0 || take_claim(j, r, err) < 0 ||
        take_move(j, r, &s->cluster, err) < 0 || store_take_array(j, r, err) < 0)
        goto out;
    *ret = j;
    j = NULL;
    rc = 0;
out:
    job_destroy(j);
    protobuf_c_message_free_unpacked(m, NULL);
    return rc;
}
