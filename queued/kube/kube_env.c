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

enum { HOST_TEXT = 256 };
/* Each pod has the list, so what the cluster stores of a gang grows with its square: a list above
 * this is left out, which keeps it at some 30 MB. */
enum { HOSTS_BYTES_MAX = 32 * 1024 };

struct env_list {
    struct str *out;
    const struct spec_pairs *user;
};

static bool is_first(const struct str *out)
{
    return !out->len || out->s[out->len - 1] == '[';
}

static void add_json_pair(struct env_list *e, const char *name, const char *value)
{
    str_add(e->out, is_first(e->out) ? "{\"name\":" : ",{\"name\":");
    str_add_json(e->out, name);
    str_add(e->out, ",\"value\":");
    str_add_json(e->out, value);
    str_add(e->out, "}");
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

/* Text that the kubelet leaves as it is: "$(" would begin the name of another variable. */
static void add_literal(struct env_list *e, const char *name, const char *value)
{
    struct str escaped = {0};

    for (const char *at = value; *at; at++) {
        if (at[0] == '$' && (at[1] == '(' || at[1] == '$'))
            str_add(&escaped, "$");
        str_addf(&escaped, "%c", *at);
    }
    add_text(e, name, str_text(&escaped));
    str_fini(&escaped);
}

static void add_number(struct env_list *e, const char *name, uint64_t value)
{
    if (is_taken(e, name))
        return;
    str_add(e->out, is_first(e->out) ? "{\"name\":\"" : ",{\"name\":\"");
    str_add(e->out, name);
    str_add(e->out, "\",\"value\":\"");
    str_add_u64(e->out, value);
    str_add(e->out, "\"}");
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

static uint32_t gpus_of(const struct gang *g, uint32_t role)
{
    return g->spec->roles[role].gpus;
}

/* What the rendezvous sees: the pods with slots, numbered in the order of their ranks. */
struct kube_env {
    const struct gang *gang; /* may be gone before the environment is freed */
    uint32_t n_roles;
    enum spec_rendezvous rendezvous;
    uint32_t port;
    uint32_t nodes;                /* pods with slots: those with GPUs, if there are any */
    uint32_t least, most;          /* of them, that the gang may have */
    uint64_t slots;                /* in all */
    const struct gang_pod *master; /* lowest rank with slots */
    const struct gang_pod *first;  /* lowest rank of all; NULL: no pod */
    uint32_t *torch_rank;          /* by rank; ranks are below gang->size */
    char *hosts;                   /* host names in the order of ranks, as JSON; NULL: too long */
    char *hostfile;                /* of mpi; NULL: another rendezvous */
    struct kube_role_text *texts;  /* by role */
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

/* A line for each host: its name and the processes that it takes. */
static char *list_slots(const struct gang *g, const struct gang_pod *const *by_rank)
{
    struct str out = {0};
    char host[HOST_TEXT];

    for (uint32_t i = 0; i < g->size; i++)
        if (by_rank[i] && spec_slots(g->spec, by_rank[i]->role))
            str_addf(&out, "%s slots=%u\n", host_of(host, g, by_rank[i]),
                     spec_slots(g->spec, by_rank[i]->role));
    return str_take(&out);
}

struct kube_env *kube_env_create(const struct gang *g)
{
    struct kube_env *e = xcalloc(1, sizeof(*e));
    const struct gang_pod **by_rank = xcalloc(g->size + 1, sizeof(*by_rank));

    e->gang = g;
    e->rendezvous = spec_rendezvous(g->spec);
    e->port = g->spec->rendezvous_port    ? g->spec->rendezvous_port
              : e->rendezvous == SPEC_RAY ? RAY_PORT
                                          : RENDEZVOUS_PORT;
    e->torch_rank = xcalloc(g->size + 1, sizeof(*e->torch_rank));
    e->n_roles = g->spec->n_roles;
    e->texts = xcalloc(e->n_roles, sizeof(*e->texts));
    for (uint32_t i = 0; i < g->n_pods; i++)
        if (g->pods[i].rank < g->size)
            by_rank[g->pods[i].rank] = &g->pods[i];
    for (uint32_t i = 0; i < g->size; i++) {
        if (!by_rank[i])
            continue;
        if (!e->first)
            e->first = by_rank[i];
        e->torch_rank[i] = e->nodes;
        if (!spec_slots(g->spec, by_rank[i]->role))
            continue;
        e->nodes++;
        e->slots += spec_slots(g->spec, by_rank[i]->role);
        if (!e->master)
            e->master = by_rank[i];
    }
    for (uint32_t i = 0; i < g->spec->n_roles; i++) {
        e->least += spec_slots(g->spec, i) ? spec_role_min(&g->spec->roles[i]) : 0;
        e->most += spec_slots(g->spec, i) ? g->spec->roles[i].replicas : 0;
    }
    if (e->rendezvous == SPEC_MPI)
        e->hostfile = list_slots(g, by_rank);
    e->hosts = list_hosts(g, by_rank);
    free(by_rank);
    return e;
}

void kube_env_destroy(struct kube_env *e)
{
    if (!e)
        return;
    for (uint32_t i = 0; i < e->n_roles; i++) {
        str_fini(&e->texts[i].meta);
        str_fini(&e->texts[i].notes);
        str_fini(&e->texts[i].head);
        str_fini(&e->texts[i].tail);
    }
    free(e->texts);
    free(e->torch_rank);
    free(e->hosts);
    free(e->hostfile);
    free(e);
}

const struct gang *kube_env_gang(const struct kube_env *e)
{
    return e->gang;
}

struct kube_role_text *kube_env_text(struct kube_env *e, uint32_t role)
{
    return &e->texts[role];
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
    (void)snprintf(text, sizeof(text), "%s:%u", host_of(host, g, e->master), e->port);
    add_text(l, "PET_RDZV_ENDPOINT", text);
    (void)snprintf(text, sizeof(text), "%s-%u", job_id_format(id, g->job), g->attempt);
    add_text(l, "PET_RDZV_ID", text);
    add_number(l, "PET_MAX_RESTARTS", g->spec->max_restarts);
}

static bool has_torch(const struct kube_env *e, uint32_t role)
{
    return e->rendezvous == SPEC_TORCH && e->master && spec_slots(e->gang->spec, role);
}

/* One process a pod, so that its rank is known. */
static bool is_single(const struct kube_env *e)
{
    return e->slots == e->nodes && e->least == e->most;
}

static bool has_world(const struct kube_env *e)
{
    return is_single(e) || (e->gang->spec->is_world_of_nodes && e->least == e->most);
}

static void add_torch(struct env_list *l, const struct kube_env *e, uint32_t role)
{
    const struct gang *g = e->gang;
    char host[HOST_TEXT];

    host_of(host, g, e->master);
    add_text(l, "MASTER_ADDR", host);
    add_number(l, "MASTER_PORT", e->port);
    add_size(l, e);
    add_number(l, "PET_NPROC_PER_NODE", spec_slots(g->spec, role));
    add_text(l, "PET_MASTER_ADDR", host);
    add_number(l, "PET_MASTER_PORT", e->port);
    add_number(l, "NNODES", e->nodes);
    add_number(l, "NPROC_PER_NODE", spec_slots(g->spec, role));
    if (has_world(e))
        add_number(l, "WORLD_SIZE", e->nodes);
    if (is_single(e))
        add_number(l, "LOCAL_WORLD_SIZE", 1);
}

/* Where ray listens: the first pod of the leading role. */
static void add_ray(struct env_list *l, const struct kube_env *e)
{
    const struct gang *g = e->gang;
    char host[HOST_TEXT], text[HOST_TEXT + 16];

    for (uint32_t i = 0; i < g->n_pods; i++) {
        if (g->pods[i].role != spec_leading(g->spec) || g->pods[i].index)
            continue;
        (void)snprintf(text, sizeof(text), "%s:%u", host_of(host, g, &g->pods[i]), e->port);
        add_text(l, "RAY_ADDRESS", text);
    }
}

const char *kube_env_hostfile(const struct kube_env *e, uint32_t role)
{
    return role == spec_leading(e->gang->spec) ? e->hostfile : NULL;
}

void kube_env_shared(struct str *out, const struct kube_env *e, uint32_t role)
{
    const struct gang *g = e->gang;
    struct env_list l = {.out = out, .user = &g->spec->roles[role].env};
    char id[JOB_ID_TEXT + 1], text[FORMAT_MAX], host[HOST_TEXT];

    if (has_torch(e, role))
        add_torch(&l, e, role);
    if (e->rendezvous == SPEC_RAY)
        add_ray(&l, e);
    if (kube_env_hostfile(e, role)) {
        add_text(&l, "OMPI_MCA_orte_default_hostfile", HOSTFILE);
        add_text(&l, "QUEUED_HOSTFILE", HOSTFILE);
    }
    add_text(&l, "QUEUED_JOB_ID", job_id_format(id, g->job));
    add_text(&l, "QUEUED_JOB_NAME", g->job_name);
    add_text(&l, "QUEUED_TENANT", g->tenant);
    add_text(&l, "QUEUED_ROLE", g->role_names[role]);
    add_number(&l, "QUEUED_ATTEMPT", g->attempt);
    if (g->array.v) {
        add_text(&l, "QUEUED_ARRAY_ID", job_id_format(id, g->array));
        add_number(&l, "QUEUED_ARRAY_INDEX", g->array_index);
        if (g->array_index < g->spec->array_params.n)
            add_literal(&l, "QUEUED_ARRAY_PARAMS", g->spec->array_params.v[g->array_index]);
    }
    add_number(&l, "QUEUED_NODES", g->n_pods);
    add_number(&l, "QUEUED_WORLD_SIZE", e->slots ? e->slots : g->n_pods);
    add_number(&l, "QUEUED_GPUS_PER_POD", gpus_of(g, role));
    add_text(&l, "QUEUED_MASTER_ADDR", host_of(host, g, e->first));
    add_text(&l, "QUEUED_END_TIME", format_time(text, g->latest_end_us));
    if (g->spec->checkpoint_path)
        add_literal(&l, "QUEUED_CHECKPOINT_DIR", g->spec->checkpoint_path);
    if (g->spec->checkpoint_signal)
        add_text(&l, "QUEUED_CHECKPOINT_FILE", REQUESTS_DIR "/" REQUEST_FILE);
    if (e->hosts && !is_taken(&l, "QUEUED_HOSTS")) { /* long, and JSON already */
        str_add(out, is_first(out) ? "{" : ",{");
        str_add(out, "\"name\":\"QUEUED_HOSTS\",\"value\":");
        str_add(out, e->hosts);
        str_add(out, "}");
    }
}

/* "key":"value", of an object */
static void add_member(struct str *out, const char *comma, const char *key, const char *value)
{
    str_addf(out, "%s\"%s\":", comma, key);
    str_add_json(out, value);
}

/* A variable from elsewhere. */
static void add_ref(struct str *out, const struct spec_env_ref *ref)
{
    static const char *const words[SPEC_REFS] = {[SPEC_REF_CONFIG_MAP] = "configMapKeyRef",
                                                 [SPEC_REF_SECRET] = "secretKeyRef",
                                                 [SPEC_REF_FIELD] = "fieldRef"};

    add_member(out, is_first(out) ? "{" : ",{", "name", ref->env);
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

/* Does the user give variables? */
static bool has_given(const struct spec_role *role)
{
    bool has = role->env.n > 0;

    for (uint32_t i = 0; i < role->n_env_refs; i++)
        has |= role->env_refs[i].env != NULL;
    return has;
}

void kube_env_own(struct str *out, const struct kube_env *e, const struct gang_pod *p)
{
    const struct spec_role *role = &e->gang->spec->roles[p->role];
    struct env_list l = {.out = out, .user = &role->env};

    if (has_torch(e, p->role)) {
        add_number(&l, "PET_NODE_RANK", e->torch_rank[p->rank]);
        add_number(&l, "NODE_RANK", e->torch_rank[p->rank]);
        if (has_world(e))
            add_number(&l, "RANK", e->torch_rank[p->rank]);
        if (is_single(e))
            add_number(&l, "LOCAL_RANK", 0);
    }
    add_number(&l, "QUEUED_POD_INDEX", p->index);
    if (e->gang->spec->checkpoint_signal && spec_gets_signal(e->gang->spec, p->role, p->index))
        add_text(&l, "QUEUED_CHECKPOINT_SIGNAL", e->gang->spec->checkpoint_signal);
    if (has_given(role) && !is_first(out))
        str_add(out, ",");
}

void kube_env_user(struct str *out, const struct kube_env *e, uint32_t role_ix)
{
    const struct spec_role *role = &e->gang->spec->roles[role_ix];
    const struct spec_pairs *user = &role->env;
    struct env_list l = {.out = out, .user = user};

    for (uint32_t i = 0; i < role->n_env_refs; i++) /* first, for $(NAME) of those that follow */
        if (role->env_refs[i].env)
            add_ref(out, &role->env_refs[i]);
    for (uint32_t i = 0; i < user->n; i++)
        add_json_pair(&l, user->v[i].key, user->v[i].value);
    str_add(out, "]");
    add_env_from(out, role);
}
