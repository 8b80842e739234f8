/* SPDX-License-Identifier: Apache-2.0 */
/* big_site.c - gangs by formula, their records and their pods. */
#include "big_site.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gang.h"
#include "kube/kube_pod.h"
#include "life/state_apply.h"
#include "util/mem.h"
#include "util/str.h"

enum { GANGS_A_COMMIT = 64, AGE_S = 7200 };

/* What a server keeps of who wrote which field; we read none of it. */
#define MANAGED                                                                                    \
    "\"managedFields\":[{\"manager\":\"queued\",\"operation\":\"Update\",\"apiVersion\":\"v1\","   \
    "\"time\":\"2026-01-01T00:00:00Z\",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{\"f:metadata\":{" \
    "\"f:annotations\":{\".\":{},\"f:gang.queued/placement\":{},\"f:gang.queued/rank\":{},"        \
    "\"f:gang.queued/size\":{}},\"f:labels\":{\".\":{},\"f:app.kubernetes.io/managed-by\":{},"     \
    "\"f:gang.queued/attempt\":{},\"f:gang.queued/index\":{},\"f:gang.queued/job\":{},"            \
    "\"f:gang.queued/job-id\":{},\"f:gang.queued/role\":{},\"f:gang.queued/tenant\":{}}},"         \
    "\"f:spec\":{\"f:containers\":{\"k:{\\\"name\\\":\\\"main\\\"}\":{\".\":{},\"f:command\":{},"  \
    "\"f:env\":{\".\":{},\"k:{\\\"name\\\":\\\"MASTER_ADDR\\\"}\":{\".\":{},\"f:name\":{},"        \
    "\"f:value\":{}},\"k:{\\\"name\\\":\\\"NODE_RANK\\\"}\":{\".\":{},\"f:name\":{},\"f:value\":{" \
    "}}},\"f:image\":{},\"f:imagePullPolicy\":{},\"f:name\":{},\"f:resources\":{\".\":{},"         \
    "\"f:limits\":{},\"f:requests\":{}},\"f:terminationMessagePath\":{},"                          \
    "\"f:terminationMessagePolicy\":{}}},\"f:dnsPolicy\":{},\"f:enableServiceLinks\":{},"          \
    "\"f:hostname\":{},\"f:restartPolicy\":{},\"f:schedulerName\":{},\"f:securityContext\":{},"    \
    "\"f:subdomain\":{},\"f:terminationGracePeriodSeconds\":{}}}}]"

/* ---- records */

static void add_role(struct spec *s, const char *name, uint32_t replicas, uint32_t gpus)
{
    struct spec_role *r = &s->roles[s->n_roles++];
    static const char *const command[] = {"torchrun", "train.py", "--epochs", "90"};

    r->name = name;
    r->replicas = replicas;
    r->gpus = gpus;
    r->cpu_milli = gpus ? 4000 : 2000;
    r->memory_bytes = INT64_C(8) << 30;
    r->shm_bytes = -1;
    r->image = "registry.example/train:24.10";
    r->command.n = ARRAY_LEN(command);
    r->command.v = arena_alloc(&s->arena, sizeof(command));
    memcpy(r->command.v, command, sizeof(command));
}

static struct spec *make_spec(void)
{
    struct spec *s = spec_create();

    s->name = "train";
    s->tenant = s->ns = "vision";
    s->priority_class = "normal";
    s->priority = 500;
    s->max_runtime_us = 30 * 86400 * USEC_PER_SEC;
    s->start_timeout_us = 600 * USEC_PER_SEC;
    s->checkpoint_grace_us = 30 * USEC_PER_SEC;
    s->roles = arena_alloc(&s->arena, 2 * sizeof(*s->roles));
    memset(s->roles, 0, 2 * sizeof(*s->roles));
    add_role(s, "worker", BIG_GANG_HOSTS * BIG_WORKERS, 1);
    add_role(s, "feeder", BIG_GANG_HOSTS * BIG_FEEDERS, 0);
    s->submit_key = "";
    return s;
}

static const char *host_name(char buf[16], const struct big_site *b, uint32_t i)
{
    int digits = 3;

    for (uint32_t limit = 1000; b->n_hosts > limit; limit *= 10)
        digits++;
    (void)snprintf(buf, 16, "node-%0*u", digits, i);
    return buf;
}

static void add_members(const struct big_site *b, struct job *j, uint32_t n)
{
    uint32_t rank = 0;
    char host[16];

    j->n_members = BIG_GANG_PODS;
    j->members = xcalloc(j->n_members, sizeof(*j->members));
    for (uint32_t role = 0; role < 2; role++) {
        uint32_t a_host = role ? BIG_FEEDERS : BIG_WORKERS;

        j->size[role] = BIG_GANG_HOSTS * a_host;
        for (uint32_t i = 0; i < BIG_GANG_HOSTS * a_host; i++) {
            struct member *m = &j->members[rank];

            (void)host_name(host, b, n * BIG_GANG_HOSTS + i / a_host);
            m->node_ix = cluster_node_named(&b->state->cluster, host);
            m->rank = rank++;
            m->role = (uint8_t)role;
            m->index = (uint16_t)i;
            m->exit_code = -1;
        }
    }
}

static struct job_id job_id(const struct big_site *b, uint32_t n)
{
    return (struct job_id){((uint64_t)b->first_s * 1000 + n) << 12};
}

static struct job *make_job(const struct big_site *b, uint32_t n, const struct spec *spec)
{
    const struct settings *settings = &b->config->settings;
    char name[JOB_NAME_MAX + 1];
    struct job *j;

    (void)snprintf(name, sizeof(name), "%s-%04x", spec->name, n & 0xffff);
    j = job_create(&(struct job_texts){.name = name,
                                       .ns = spec->ns,
                                       .tenant = spec->tenant,
                                       .user = "alice",
                                       .priority_class = spec->priority_class});
    j->id = job_id(b, n);
    j->tenant_ix = settings_tenant(settings, j->tenant);
    j->priority = spec->priority;
    j->submitted_at = j->queued_at = j->attempt_at = b->first_s * USEC_PER_SEC + n;
    j->state_since = j->running_at = j->attempt_at;
    j->max_runtime_us = spec->max_runtime_us;
    j->start_timeout_us = spec->start_timeout_us;
    j->grace_us = spec->checkpoint_grace_us;
    j->state = JOB_RUNNING;
    j->attempt = 1;
    j->has_service = j->has_pods = true;
    j->models[0] = (uint8_t)settings_model(settings, "H100");
    j->charged_parts = BIG_GANG_HOSTS * BIG_WORKERS * GPU_PARTS;
    add_members(b, j, n);
    return j;
}

static int store_gangs(struct big_site *b, struct store_port *port, const struct spec *spec,
                       struct err *err)
{
    struct effects fx = {0};
    int rc = 0;

    for (uint32_t n = 0; n < b->n_gangs && !rc; n++) {
        struct job *j = make_job(b, n, spec);

        rc = state_load_job(b->state, j, spec, err);
        if (rc)
            break;
        b->state->meta.last_id = j->id;
        (void)effects_add(&fx, EFFECT_SAVE_JOB, j->id);
        effects_add(&fx, EFFECT_SAVE_SPEC, j->id)->u.spec = spec_copy(spec);
        if ((n + 1) % GANGS_A_COMMIT && n + 1 < b->n_gangs)
            continue;
        rc = port->commit_begin(port->ctx, b->state, &fx, err);
        effects_clear(&fx);
    }
    effects_fini(&fx);
    return rc;
}

int big_site_create(struct big_site *b, const char *config, const char *cluster_uid,
                    struct err *err)
{
    struct store_lmdb *store = NULL;
    struct store_port port;
    struct spec *spec;
    int rc;

    if (config_load(&b->config, config, err))
        return -1;
    b->first_s = time(NULL) - AGE_S;
    b->state = state_create(&b->config->settings);
    rc = store_lmdb_open(&store, b->config->store_dir, err);
    if (rc)
        return -1;
    port = store_lmdb_port(store);
    rc = port.load(port.ctx, b->state, err); /* an empty one, which gets its head so */
    (void)str_copy(b->state->meta.cluster_uid, sizeof(b->state->meta.cluster_uid), cluster_uid);
    spec = make_spec();
    if (!rc)
        rc = store_gangs(b, &port, spec, err);
    spec_destroy(spec);
    store_lmdb_close(store);
    return rc;
}

void big_site_destroy(struct big_site *b)
{
    state_destroy(b->state);
    config_destroy(b->config);
    *b = (struct big_site){0};
}

/* ---- objects */

static void add_status(FILE *out, const char *image, uint32_t serial)
{
    static const char *const types[] = {"PodReadyToStartContainers", "Initialized", "Ready",
                                        "ContainersReady", "PodScheduled"};

    (void)fputs("\"status\":{\"phase\":\"Running\",\"conditions\":[", out);
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        (void)fprintf(out,
                      "%s{\"type\":\"%s\",\"status\":\"True\",\"lastProbeTime\":null,"
                      "\"lastTransitionTime\":\"2026-01-01T00:00:0%zuZ\"}",
                      i ? "," : "", types[i], i);
    (void)fprintf(out,
                  "],\"hostIP\":\"10.20.%u.%u\",\"podIP\":\"10.64.%u.%u\",\"startTime\":"
                  "\"2026-01-01T00:00:01Z\",\"qosClass\":\"Burstable\",\"containerStatuses\":[{"
                  "\"name\":\"main\",\"state\":{\"running\":{\"startedAt\":"
                  "\"2026-01-01T00:00:02Z\"}},\"ready\":true,\"restartCount\":0,\"image\":\"%s\","
                  "\"imageID\":\"registry.example/train@sha256:0000000000000000000000000000000000"
                  "0000000000000000000000%08x\",\"containerID\":\"containerd://00000000000000000000"
                  "00000000000000000000000000000000000%08x\",\"started\":true}]}",
                  serial / 250 % 250, serial % 250, serial / 250 % 250, serial % 250, image, serial,
                  serial);
}

static void add_uid(FILE *out, uint32_t serial)
{
    (void)fprintf(out,
                  "\"uid\":\"%08x-1111-4222-8333-444444444444\",\"creationTimestamp\":"
                  "\"2026-01-01T00:00:00Z\"," MANAGED ",",
                  serial);
}

/* The pod as it is made, with what a server and a kubelet have added since. */
static void write_pod(FILE *out, const struct gang *g, const struct gang_pod *p, uint32_t serial)
{
    static const char meta[] = "\"metadata\":{";
    struct str made = {0};
    const char *at;

    kube_pod_json_placed(&made, g, p);
    at = strstr(made.s, meta) + strlen(meta);
    (void)fwrite(made.s, 1, (size_t)(at - made.s), out);
    add_uid(out, serial);
    (void)fwrite(at, 1, strlen(at) - 1, out); /* without the last brace */
    (void)fputc(',', out);
    add_status(out, g->spec->roles[p->role].image, serial);
    (void)fputs("}\n", out);
    str_fini(&made);
}

static void write_foreign(const struct big_site *b, uint32_t i, FILE *out)
{
    char host[16];

    (void)fputs("{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{", out);
    add_uid(out, UINT32_C(0x80000000) | i);
    (void)fprintf(out,
                  "\"name\":\"node-agent-%05u\",\"namespace\":\"kube-system\",\"labels\":{\"app\":"
                  "\"node-agent\"},\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":"
                  "\"DaemonSet\",\"name\":\"node-agent\",\"uid\":"
                  "\"99999999-1111-4222-8333-444444444444\",\"controller\":true}]},\"spec\":{"
                  "\"nodeName\":\"%s\",\"schedulerName\":\"default-scheduler\",\"containers\":[{"
                  "\"name\":\"main\",\"image\":\"registry.example/agent:1\",\"resources\":{"
                  "\"requests\":{\"cpu\":\"100m\",\"memory\":\"256Mi\"}}}]},",
                  i, host_name(host, b, i % b->n_hosts));
    add_status(out, "registry.example/agent:1", i);
    (void)fputs("}\n", out);
}

void big_site_write_objects(const struct big_site *b, uint32_t n_foreign, FILE *out)
{
    struct spec *spec = make_spec();
    uint32_t serial = 0;

    for (uint32_t i = 0; i < n_foreign; i++)
        write_foreign(b, i, out);
    for (uint32_t n = 0; n < b->n_gangs; n++) {
        const struct job *j = state_job(b->state, job_id(b, n));
        struct gang g;

        gang_init(&g, b->state, j, spec, false);
        for (uint32_t i = 0; i < g.n_pods; i++)
            write_pod(out, &g, &g.pods[i], serial++);
        gang_fini(&g);
    }
    spec_destroy(spec);
}
