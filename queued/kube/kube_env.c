/* SPDX-License-Identifier: Apache-2.0 */
/* kube_env.c - the environment of a gang's containers: rendezvous and QUEUED_* variables
 * (jobs.md), then the user's.
 *
 * A name that the user set is left to the user. Ours come first, so that the user's values may
 * refer to them as $(NAME).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kube/kube_pod.h"
#include "util/mem.h"

enum { TORCH_PORT = 29500, HOST_TEXT = 256 };
/* One variable may have 128 KiB for the kernel; a host list above this is left out. */
enum { HOSTS_BYTES_MAX = 96 * 1024 };

struct env_list {
    struct str *out;
    const struct spec_pairs *user;
    bool is_first;
};

static void add_json_pair(struct env_list *e, const char *name, const char *value)
{
    str_add(e->out, e->is_first ? "{\"name\":" : ",{\"name\":");
    str_add_json(e->out, name);
    str_add(e->out, ",\"value\":");
    str_add_json(e->out, value);
    str_add(e->out, "}");
    e->is_first = false;
}

/* Did the user set this name? */
static bool is_taken(const struct env_list *e, const char *name)
{
    for (uint32_t i = 0; i < e->user->n; i++)
        if (!strcmp(e->user->v[i].key, name))
            return true;
    return false;
}

static void add_text(struct env_list *e, const char *name, const char *value)
{
    if (!is_taken(e, name))
        add_json_pair(e, name, value);
}

static void add_number(struct env_list *e, const char *name, uint64_t value)
{
    char text[24];

    (void)snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
    add_text(e, name, text);
}

/* The name under which the other pods find this one. */
static const char *host_of(char buf[HOST_TEXT], const struct gang *g, const struct gang_pod *p)
{
    if (g->has_service)
        (void)snprintf(buf, HOST_TEXT, "%s-%s-%u.%s.%s.svc", g->job_name, g->role_names[p->role],
                       kube_pod_index(g, p), g->job_name, g->ns);
    else
        (void)snprintf(buf, HOST_TEXT, "%s-%s-%u", g->job_name, g->role_names[p->role],
                       kube_pod_index(g, p));
    return buf;
}

static uint32_t gpus_of(const struct gang *g, const struct gang_pod *p)
{
    return g->spec->roles[p->role].gpus;
}

/* What torch sees: only the pods with GPUs, numbered in the order of their ranks. */
struct kube_env {
    const struct gang *gang;
    uint32_t nodes;                /* pods with GPUs */
    uint32_t least, most;          /* of them, that the gang may have */
    uint64_t gpus;                 /* in all */
    const struct gang_pod *master; /* lowest rank with GPUs */
    const struct gang_pod *first;  /* lowest rank of all; NULL: no pod */
    uint32_t *torch_rank;          /* by rank; ranks are below gang->size */
    char *hosts;                   /* host names in the order of ranks, as JSON; NULL: too long */
};

/* All host names in the order of the ranks, with commas, as a JSON text. */
static char *list_hosts(const struct gang *g, const struct gang_pod *const *by_rank)
{
    struct str hosts = {0}, json = {0};
    char host[HOST_TEXT];

    for (uint32_t i = 0; i < g->size && hosts.len <= HOSTS_BYTES_MAX; i++) {
        if (!by_rank[i])
            continue;
        str_add(&hosts, hosts.len ? "," : "");
        str_add(&hosts, host_of(host, g, by_rank[i]));
    }
    if (hosts.len <= HOSTS_BYTES_MAX)
        str_add_json(&json, str_text(&hosts));
    str_fini(&hosts);
    return json.s;
}

struct kube_env *kube_env_create(const struct gang *g)
{
    struct kube_env *e = xcalloc(1, sizeof(*e));
    const struct gang_pod **by_rank = xcalloc(g->size + 1, sizeof(*by_rank));

    e->gang = g;
    e->torch_rank = xcalloc(g->size + 1, sizeof(*e->torch_rank));
    for (uint32_t i = 0; i < g->n_pods; i++)
        if (g->pods[i].rank < g->size)
            by_rank[g->pods[i].rank] = &g->pods[i];
    for (uint32_t i = 0; i < g->size; i++) {
        if (!by_rank[i])
            continue;
        if (!e->first)
            e->first = by_rank[i];
        e->torch_rank[i] = e->nodes;
        if (!gpus_of(g, by_rank[i]))
            continue;
        e->nodes++;
        e->gpus += gpus_of(g, by_rank[i]);
        if (!e->master)
            e->master = by_rank[i];
    }
    for (uint32_t i = 0; i < g->spec->n_roles; i++) {
        e->least += g->spec->roles[i].gpus ? spec_role_min(&g->spec->roles[i]) : 0;
        e->most += g->spec->roles[i].gpus ? g->spec->roles[i].replicas : 0;
    }
    e->hosts = list_hosts(g, by_rank);
    free(by_rank);
    return e;
}

void kube_env_destroy(struct kube_env *e)
{
    if (!e)
        return;
    free(e->torch_rank);
    free(e->hosts);
    free(e);
}

const struct gang *kube_env_gang(const struct kube_env *e)
{
    return e->gang;
}

/* The number of nodes; of an elastic gang how few and how many, and where torchrun meets. */
static void add_size(struct env_list *l, const struct kube_env *e)
{
    const struct gang *g = e->gang;
    char text[HOST_TEXT + 16], host[HOST_TEXT], id[JOB_ID_TEXT + 1];

    if (e->least == e->most) {
        add_number(l, "PET_NNODES", e->nodes);
        return;
    }
    (void)snprintf(text, sizeof(text), "%u:%u", e->least, e->most);
    add_text(l, "PET_NNODES", text);
    add_text(l, "PET_RDZV_BACKEND", "c10d");
    (void)snprintf(text, sizeof(text), "%s:%d", host_of(host, g, e->master), TORCH_PORT);
    add_text(l, "PET_RDZV_ENDPOINT", text);
    (void)snprintf(text, sizeof(text), "%s-%u", job_id_format(id, g->job), g->attempt);
    add_text(l, "PET_RDZV_ID", text);
    add_number(l, "PET_MAX_RESTARTS", g->spec->max_restarts);
}

static void add_torch(struct env_list *l, const struct kube_env *e, const struct gang_pod *p)
{
    const struct gang *g = e->gang;
    uint32_t rank = e->torch_rank[p->rank];
    char host[HOST_TEXT];

    host_of(host, g, e->master);
    add_text(l, "MASTER_ADDR", host);
    add_number(l, "MASTER_PORT", TORCH_PORT);
    add_size(l, e);
    add_number(l, "PET_NPROC_PER_NODE", gpus_of(g, p));
    add_number(l, "PET_NODE_RANK", rank);
    add_text(l, "PET_MASTER_ADDR", host);
    add_number(l, "PET_MASTER_PORT", TORCH_PORT);
    add_number(l, "NNODES", e->nodes);
    add_number(l, "NODE_RANK", rank);
    add_number(l, "NPROC_PER_NODE", gpus_of(g, p));
}

static void add_ours(struct env_list *l, const struct kube_env *e, const struct gang_pod *p)
{
    const struct gang *g = e->gang;
    char id[JOB_ID_TEXT + 1], text[FORMAT_MAX], host[HOST_TEXT];

    add_text(l, "QUEUED_JOB_ID", job_id_format(id, g->job));
    add_text(l, "QUEUED_JOB_NAME", g->job_name);
    add_text(l, "QUEUED_TENANT", g->tenant);
    add_text(l, "QUEUED_ROLE", g->role_names[p->role]);
    add_number(l, "QUEUED_POD_INDEX", p->index);
    add_number(l, "QUEUED_ATTEMPT", g->attempt);
    if (g->array.v) {
        add_text(l, "QUEUED_ARRAY_ID", job_id_format(id, g->array));
        add_number(l, "QUEUED_ARRAY_INDEX", g->array_index);
    }
    add_number(l, "QUEUED_NODES", g->n_pods);
    add_number(l, "QUEUED_WORLD_SIZE", e->gpus ? e->gpus : g->n_pods);
    add_number(l, "QUEUED_GPUS_PER_POD", gpus_of(g, p));
    add_text(l, "QUEUED_MASTER_ADDR", host_of(host, g, e->first));
    add_text(l, "QUEUED_END_TIME", format_time(text, g->latest_end_us));
    if (e->hosts && !is_taken(l, "QUEUED_HOSTS")) { /* long, and the same in each pod */
        str_add(l->out, ",{\"name\":\"QUEUED_HOSTS\",\"value\":");
        str_add(l->out, e->hosts);
        str_add(l->out, "}");
    }
}

/* "key":"value", of an object */
static void add_member(struct str *out, const char *comma, const char *key, const char *value)
{
    str_addf(out, "%s\"%s\":", comma, key);
    str_add_json(out, value);
}

/* A variable from elsewhere; it never comes first. */
static void add_ref(struct str *out, const struct spec_env_ref *ref)
{
    static const char *const words[SPEC_REFS] = {[SPEC_REF_CONFIG_MAP] = "configMapKeyRef",
                                                 [SPEC_REF_SECRET] = "secretKeyRef",
                                                 [SPEC_REF_FIELD] = "fieldRef"};

    add_member(out, ",{", "name", ref->env);
    str_addf(out, ",\"valueFrom\":{\"%s\":{", words[ref->kind]);
    if (ref->source)
        add_member(out, "", "name", ref->source);
    add_member(out, ref->source ? "," : "", ref->source ? "key" : "fieldPath", ref->key);
    str_add(out, ref->may_lack ? ",\"optional\":true}}}" : "}}}");
}

static void add_env_from(struct str *out, const struct spec_role *role)
{
    const char *comma = ",\"envFrom\":[";

    for (uint32_t i = 0; i < role->n_env_refs; i++) {
        const struct spec_env_ref *ref = &role->env_refs[i];

        if (ref->env)
            continue;
        str_addf(out, "%s{\"%s\":{", comma,
                 ref->kind == SPEC_REF_SECRET ? "secretRef" : "configMapRef");
        add_member(out, "", "name", ref->source);
        str_add(out, ref->may_lack ? ",\"optional\":true}" : "}");
        if (ref->prefix)
            add_member(out, ",", "prefix", ref->prefix);
        str_add(out, "}");
        comma = ",";
    }
    str_add(out, *comma == ',' && comma[1] == '\0' ? "]" : "");
}

void kube_env_json(struct str *out, const struct kube_env *e, const struct gang_pod *p)
{
    const struct spec_role *role = &e->gang->spec->roles[p->role];
    const struct spec_pairs *user = &role->env;
    struct env_list l = {.out = out, .user = user, .is_first = true};

    str_add(out, ",\"env\":[");
    if ((e->nodes > 1 || e->most > e->least) && gpus_of(e->gang, p))
        add_torch(&l, e, p);
    add_ours(&l, e, p);
    for (uint32_t i = 0; i < role->n_env_refs; i++) /* first, for $(NAME) of those that follow */
        if (role->env_refs[i].env)
            add_ref(out, &role->env_refs[i]);
    for (uint32_t i = 0; i < user->n; i++)
        add_json_pair(&l, user->v[i].key, user->v[i].value);
    str_add(out, "]");
    add_env_from(out, role);
}
