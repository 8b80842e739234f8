/* SPDX-License-Identifier: Apache-2.0 */
/* store_fixture.c - jobs by formula. */
#include "store_fixture.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/window.h"
#include "life/state_apply.h"
#include "util/mem.h"
#include "util/str.h"

enum { N_TENANTS = 2 };

static void unset(struct model_amounts *m)
{
    for (uint32_t i = 0; i < MODELS_MAX; i++)
        m->gpus[i] = -1;
}

static void add_tenant(struct store_fixture *f, const char *path)
{
    struct tenant_setting *t = &f->tenants[f->settings.n_tenants++];

    (void)str_copy(t->path, sizeof(t->path), path);
    t->parent = IX_NONE;
    t->weight = 1;
    t->n_namespaces = 1;
    (void)str_copy(t->namespaces[0], sizeof(t->namespaces[0]), path);
    unset(&t->quota);
    unset(&t->limit);
}

void store_fixture_init(struct store_fixture *f)
{
    memset(f, 0, sizeof(*f));
    settings_defaults(&f->settings);
    f->settings.tenants = f->tenants;
    f->settings.n_tenants = 0;
    add_tenant(f, "vision");
    add_tenant(f, "foundation");
    f->state = state_create(&f->settings);
    f->state->now = FIXTURE_EPOCH;
    f->state->meta.next_seq = 1;
    f->state->meta.oldest_seq = 1;
    (void)str_copy(f->state->meta.cluster_uid, sizeof(f->state->meta.cluster_uid),
                   "6f1c6bd1-94a4-4c63-8e54-0e5a7a4f8d11");
}

void store_fixture_fini(struct store_fixture *f)
{
    effects_fini(&f->fx);
    state_destroy(f->state);
}

struct state *store_fixture_empty(struct store_fixture *f)
{
    return state_create(&f->settings);
}

struct job_id store_fixture_id(uint32_t n)
{
    return (struct job_id){((uint64_t)(FIXTURE_EPOCH / USEC_PER_MSEC) + UINT64_C(1000) * n) << 12};
}

/* ---- specs */

static void add_strings(struct arena *a, struct spec_strings *s, const char *first,
                        const char *second)
{
    s->n = 2;
    s->v = arena_alloc(a, 2 * sizeof(*s->v));
    s->v[0] = arena_strdup(a, first);
    s->v[1] = arena_strdup(a, second);
}

static void add_pair(struct arena *a, struct spec_pairs *p, const char *key, const char *value)
{
    p->n = 1;
    p->v = arena_alloc(a, sizeof(*p->v));
    p->v[0] = (struct spec_pair){arena_strdup(a, key), arena_strdup(a, value)};
}

static void base_spec(struct spec *s, const char *name)
{
    struct arena *a = &s->arena;

    s->name = arena_strdup(a, name);
    s->tenant = arena_strdup(a, "vision");
    s->ns = arena_strdup(a, "vision");
    s->priority_class = arena_strdup(a, "normal");
    s->priority = 500;
    s->max_runtime_us = 7200 * USEC_PER_SEC;
    s->start_timeout_us = 600 * USEC_PER_SEC;
    s->checkpoint_grace_us = 30 * USEC_PER_SEC;
    s->n_roles = 1;
    s->roles = arena_alloc(a, 2 * sizeof(*s->roles));
}

static void base_role(struct spec *s, struct spec_role *r, const char *name, uint32_t replicas,
                      uint32_t gpus)
{
    r->name = arena_strdup(&s->arena, name);
    r->replicas = replicas;
    r->gpus = gpus;
    r->cpu_milli = r->memory_bytes = r->shm_bytes = -1;
    r->image = arena_strdup(&s->arena, "registry.example/train:24.10");
    add_strings(&s->arena, &r->command, "torchrun", "train.py");
}

struct spec *store_fixture_plain_spec(uint32_t n)
{
    struct spec *s = spec_create();
    char name[JOB_BASE_NAME_MAX + 1];

    (void)snprintf(name, sizeof(name), "train-%u", n);
    base_spec(s, name);
    base_role(s, &s->roles[0], "worker", 4, 8);
    (void)snprintf(name, sizeof(name), "key-%u", n);
    s->submit_key = arena_strdup(&s->arena, name);
    return s;
}

static void full_volumes(struct spec *s, struct spec_role *r)
{
    struct arena *a = &s->arena;

    r->n_volumes = 2;
    r->volumes = arena_alloc(a, 2 * sizeof(*r->volumes));
    r->volumes[0] = (struct spec_volume){
        .name = arena_strdup(a, "data"),
        .kind = SPEC_VOLUME_NFS,
        .source = arena_strdup(a, "nfs.example"),
        .path = arena_strdup(a, "/export/data"),
        .mount_path = arena_strdup(a, "/data"),
        .size_bytes = -1,
        .read_only = true,
    };
    r->volumes[1] = (struct spec_volume){
        .name = arena_strdup(a, "scratch"),
        .kind = SPEC_VOLUME_EMPTY_DIR,
        .mount_path = arena_strdup(a, "/scratch"),
        .size_bytes = INT64_C(1) << 40,
    };
}

static void full_role(struct spec *s, struct spec_role *r)
{
    struct arena *a = &s->arena;

    base_role(s, r, "worker", 3, 8);
    r->cpu_milli = 96000;
    r->memory_bytes = INT64_C(1500) << 30;
    r->shm_bytes = INT64_C(64) << 30;
    add_strings(a, &r->gpu_models, "H100", "A100");
    add_strings(a, &r->args, "--epochs", "");
    r->working_dir = arena_strdup(a, "/workspace");
    add_pair(a, &r->env, "NCCL_DEBUG", "");
    add_pair(a, &r->node_selector, "pool", "\xc3\xbc");
    full_volumes(s, r);
    r->n_extended = 1;
    r->extended = arena_alloc(a, sizeof(*r->extended));
    r->extended[0] = (struct spec_extended){arena_strdup(a, "rdma/hca"), 4};
    r->n_tolerations = 1;
    r->tolerations = arena_alloc(a, sizeof(*r->tolerations));
    r->tolerations[0] = (struct spec_toleration){
        .key = arena_strdup(a, "dedicated"),
        .value = arena_strdup(a, "gang"),
        .effect = arena_strdup(a, "NoSchedule"),
    };
}

struct spec *store_fixture_full_spec(void)
{
    struct spec *s = spec_create();
    struct arena *a = &s->arena;

    base_spec(s, "pretrain");
    s->submit_key = arena_strdup(a, "nightly 1");
    s->max_queue_us = 86400 * USEC_PER_SEC;
    s->topology_required = arena_strdup(a, "block");
    s->topology_preferred = arena_strdup(a, "rack");
    s->max_restarts = 3;
    add_pair(a, &s->labels, "project", "llm");
    add_pair(a, &s->annotations, "note", "two\nlines");
    s->n_roles = 2;
    full_role(s, &s->roles[0]);
    base_role(s, &s->roles[1], "head", 1, 0);
    return s;
}

/* ---- jobs */

static struct job *base_job(const struct store_fixture *f, uint32_t n, const struct spec *spec)
{
    char name[JOB_NAME_MAX + 1];
    struct job *j;

    (void)snprintf(name, sizeof(name), "%s-%04x", spec->name, n & 0xffff);
    j = job_create(&(struct job_texts){.name = name,
                                       .ns = spec->ns,
                                       .tenant = spec->tenant,
                                       .user = "alice",
                                       .priority_class = spec->priority_class,
                                       .submit_key = spec->submit_key});
    j->id = store_fixture_id(n);
    j->tenant_ix = settings_tenant(&f->settings, j->tenant);
    j->uid = 1000;
    j->priority = spec->priority;
    j->submitted_at = j->queued_at = j->state_since = FIXTURE_EPOCH + n * USEC_PER_SEC;
    j->max_runtime_us = spec->max_runtime_us;
    j->max_queue_us = spec->max_queue_us;
    j->start_timeout_us = spec->start_timeout_us;
    j->grace_us = spec->checkpoint_grace_us;
    j->max_restarts = spec->max_restarts;
    for (size_t i = 0; i < sizeof(j->digest); i++)
        j->digest[i] = (uint8_t)(n * 31 + i * 7);
    j->state = JOB_PENDING;
    return j;
}

static void save_note(struct store_fixture *f, const struct job *j)
{
    struct job_note *n = arena_alloc(&f->fx.arena, sizeof(*n));

    n->seq = f->state->meta.next_seq++;
    n->at = j->submitted_at;
    n->job = j->id;
    (void)str_copy(n->job_name, sizeof(n->job_name), j->name);
    (void)str_copy(n->tenant, sizeof(n->tenant), j->tenant);
    n->uid = j->uid;
    n->to = j->state;
    n->attempt = j->attempt;
    (void)str_copy(n->reason, sizeof(n->reason), j->reason.code);
    (void)str_copy(n->text, sizeof(n->text), job_reason_text(j));
    effects_add(&f->fx, EFFECT_SAVE_EVENT, j->id)->u.note = n;
}

static void save_answer(struct store_fixture *f, const struct job *j, uint32_t n)
{
    struct answer *a = arena_alloc(&f->fx.arena, sizeof(*a));

    a->uid = j->uid;
    a->at = j->submitted_at;
    a->job = j->id;
    for (size_t i = 0; i < sizeof(a->request_id); i++)
        a->request_id[i] = (uint8_t)(n >> 8 * (i % 4) ^ i);
    effects_add(&f->fx, EFFECT_SAVE_REQUEST, j->id)->u.answer = a;
}

/* Takes both. */
static void save_all(struct store_fixture *f, struct job *j, struct spec *spec, uint32_t n)
{
    char key[TENANT_PATH_MAX + 1 + SUBMIT_KEY_MAX + 1];
    struct err err;
    int rc;

    (void)snprintf(key, sizeof(key), "%s\n%s", j->tenant, j->submit_key);
    state_load_key(f->state, key, j->id, j->digest, 0);
    rc = state_load_job(f->state, j, spec, &err);
    assert(rc == 0);
    (void)rc;
    f->state->meta.last_id = j->id;
    (void)effects_add(&f->fx, EFFECT_SAVE_JOB, j->id);
    effects_add(&f->fx, EFFECT_SAVE_SPEC, j->id)->u.spec = spec;
    (void)effects_add(&f->fx, EFFECT_SAVE_KEY, j->id);
    save_note(f, j);
    save_answer(f, j, n);
}

void store_fixture_submit(struct store_fixture *f, uint32_t n)
{
    struct spec *spec = store_fixture_plain_spec(n);

    save_all(f, base_job(f, n, spec), spec, n);
}

static void add_members(struct store_fixture *f, struct job *j)
{
    static const char *const hosts[] = {"gpu-a1", "gpu-a2", "gpu-b1", "gpu-a1"};

    j->n_members = ARRAY_LEN(hosts);
    j->members = xcalloc(j->n_members, sizeof(*j->members));
    for (uint32_t i = 0; i < j->n_members; i++) {
        j->members[i].node_ix = cluster_node_named(&f->state->cluster, hosts[i]);
        j->members[i].rank = (i + 2) % 4;
        j->members[i].role = (uint8_t)(i / 3);
        j->members[i].index = (uint16_t)(i % 3);
        j->members[i].exit_code = -1;
        j->size[i / 3]++;
    }
    j->models[0] = (uint8_t)settings_model(&f->settings, "H100");
    j->fixed_cpu_milli[1] = 1000;
    j->fixed_memory_bytes[1] = INT64_C(4) << 30;
    j->charged_parts = 24 * GPU_PARTS + 120;
}

static void save_attempt(struct store_fixture *f, const struct job *j)
{
    struct attempt_row *row = arena_alloc(&f->fx.arena, sizeof(*row));

    row->job = j->id;
    row->attempt = j->attempt - 1;
    (void)str_copy(row->name, sizeof(row->name), j->name);
    (void)str_copy(row->tenant, sizeof(row->tenant), j->tenant);
    (void)str_copy(row->user, sizeof(row->user), j->user);
    (void)str_copy(row->model, sizeof(row->model), "H100");
    (void)str_copy(row->reason, sizeof(row->reason), "ExitCode");
    row->pods = 4;
    row->nodes = 3;
    row->gpus = 24;
    row->decided_at = j->submitted_at + 1;
    row->running_at = j->submitted_at + 2;
    row->ended_at = j->submitted_at + 3;
    row->state = JOB_PENDING;
    row->exit_code = 137;
    effects_add(&f->fx, EFFECT_SAVE_ATTEMPT, j->id)->u.attempt = row;
}

void store_fixture_run(struct store_fixture *f, uint32_t n)
{
    struct spec *spec = store_fixture_full_spec();
    struct job *j = base_job(f, n, spec);
    struct tenant *t;

    j->state = JOB_STOPPING;
    j->outcome = JOB_FAILED;
    job_set_reason(j, "ExitCode", "worker-2 ended with exit code 137");
    j->attempt = 2;
    j->restarts = 1;
    j->refusals = 1;
    j->not_before = j->submitted_at + 10;
    j->attempt_at = j->submitted_at + 20;
    j->running_at = j->submitted_at + 30;
    j->exit_code = 137;
    j->has_service = j->has_pods = true;
    add_members(f, j);
    save_attempt(f, j);
    cluster_drain(&f->state->cluster, "gpu-a1", "by alice: disk swap", j->submitted_at);
    effects_add(&f->fx, EFFECT_SAVE_DRAIN, (struct job_id){0})->u.key = "gpu-a1";
    window_make(f->state,
                &(struct window){.name = "power",
                                 .tenant = "vision",
                                 .text = "by alice: new cables",
                                 .from = j->submitted_at + 100,
                                 .to = j->submitted_at + 200,
                                 .made_at = j->submitted_at},
                "gpu-a1\n");
    effects_add(&f->fx, EFFECT_SAVE_WINDOW, (struct job_id){0})->u.key = "power";
    save_all(f, j, spec, n);
    t = &f->state->tenants.v[j->tenant_ix];
    t->past[j->models[0]].value = UINT64_C(0x380000001); /* 3.5 GPUs and a bit */
    t->stopped_at = j->submitted_at;
    (void)str_copy(t->stopped_why, sizeof(t->stopped_why), "by root: moving house");
}
