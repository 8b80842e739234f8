/* SPDX-License-Identifier: Apache-2.0 */
/* kube_pod.c - the JSON of a gang's pods, bindings and headless service.
 *
 * Names are deterministic, so that a repeated create meets itself. The node selector stays off the
 * pod: the binding decides. Memory has a limit, which guards the neighbours; CPU has none.
 */
#include "kube/kube_pod.h"

#include <stdio.h>
#include <string.h>

#include "util/mem.h"

#define GIB        (INT64_C(1) << 30)
#define MANAGED_BY "app.kubernetes.io/managed-by"

uint32_t kube_pod_index(const struct gang *g, const struct gang_pod *p)
{
    return g->first_index[p->role] + p->index;
}

const char *kube_pod_name(char buf[POD_JSON_NAME], const struct gang *g, const struct gang_pod *p)
{
    int len = snprintf(buf, POD_JSON_NAME, "%s-%s-%u-%u", g->job_name, g->role_names[p->role],
                       kube_pod_index(g, p), g->attempt);

    if (p->run && len < POD_JSON_NAME)
        (void)snprintf(buf + len, (size_t)(POD_JSON_NAME - len), "-%u", p->run);
    return buf;
}

/* ,"key":"value" */
static void add_pair(struct str *out, const char *key, const char *value)
{
    str_add(out, ",");
    str_add_json(out, key);
    str_add(out, ":");
    str_add_json(out, value);
}

static void add_pairs(struct str *out, const struct spec_pairs *pairs)
{
    for (uint32_t i = 0; i < pairs->n; i++)
        if (strcmp(pairs->v[i].key, MANAGED_BY) != 0) /* ours; a key may be there once only */
            add_pair(out, pairs->v[i].key, pairs->v[i].value);
}

/* Labels that pods and service share, as the first members of an object. */
static void add_job_labels(struct str *out, const struct gang *g, struct job_id job)
{
    char id[JOB_ID_TEXT + 1], tenant[TENANT_PATH_MAX + 1];

    (void)str_copy(tenant, sizeof(tenant), g->tenant); /* the same size */
    for (char *c = tenant; *c; c++)
        if (*c == '/')
            *c = '.';
    str_add(out, "\"" MANAGED_BY "\":\"queued\"");
    add_pair(out, LABEL_PREFIX "job", g->job_name);
    add_pair(out, LABEL_PREFIX "job-id", job_id_format(id, job));
    add_pair(out, LABEL_PREFIX "tenant", tenant);
}

/* Up to the value of the index, which each pod has of its own. */
static void write_meta(struct str *out, const struct gang *g, uint32_t role)
{
    add_pair(out, "namespace", g->ns);
    str_add(out, ",\"labels\":{");
    add_job_labels(out, g, g->job);
    add_pair(out, LABEL_PREFIX "role", g->role_names[role]);
    str_addf(out, ",\"" LABEL_PREFIX "attempt\":\"%u\"", g->attempt);
    add_pairs(out, &g->spec->labels);
    str_add(out, ",\"" LABEL_PREFIX "index\":\"");
}

static void write_notes(struct str *out, const struct gang *g, const char *hostfile)
{
    str_addf(out, ",\"" LABEL_PREFIX "size\":\"%u\"", g->size);
    if (hostfile)
        add_pair(out, LABEL_PREFIX "hostfile", hostfile);
    add_pairs(out, &g->spec->annotations);
    str_add(out, "}}");
}

static void add_strings(struct str *out, const char *key, const struct spec_strings *list)
{
    if (!list->n)
        return;
    str_addf(out, ",\"%s\":[", key);
    for (uint32_t i = 0; i < list->n; i++) {
        str_add(out, i ? "," : "");
        str_add_json(out, list->v[i]);
    }
    str_add(out, "]");
}

static void add_counts(struct str *out, const struct spec_role *r)
{
    if (r->gpus)
        str_addf(out, ",\"nvidia.com/gpu\":\"%u\"", r->gpus);
    for (uint32_t i = 0; i < r->n_extended; i++) {
        char number[24];

        (void)snprintf(number, sizeof(number), "%lld", (long long)r->extended[i].amount);
        add_pair(out, r->extended[i].name, number);
    }
}

/* limits and requests; a leading member of no meaning would be refused, so the comma is cut. */
static void add_resources(struct str *out, const struct gang *g, uint32_t role)
{
    struct str limits = {0};
    char text[FORMAT_MAX];

    if (g->memory_bytes[role] > 0)
        str_addf(&limits, ",\"memory\":\"%s\"", format_bytes(text, g->memory_bytes[role]));
    add_counts(&limits, &g->spec->roles[role]);
    str_addf(out, ",\"resources\":{\"limits\":{%s},\"requests\":{", limits.len ? limits.s + 1 : "");
    if (g->cpu_milli[role] > 0)
        str_addf(out, "\"cpu\":\"%s\"%s", format_cpu(text, g->cpu_milli[role]), str_text(&limits));
    else
        str_add(out, limits.len ? limits.s + 1 : "");
    str_add(out, "}}");
    str_fini(&limits);
}

/* Size of /dev/shm in bytes; 0: none of ours. */
static int64_t shm_bytes(const struct gang *g, uint32_t role)
{
    const struct spec_role *r = &g->spec->roles[role];
    int64_t size = g->memory_bytes[role] / 4;

    for (uint32_t i = 0; i < r->n_volumes; i++)
        if (!strcmp(r->volumes[i].mount_path, "/dev/shm"))
            return 0;
    if (r->shm_bytes >= 0)
        return r->shm_bytes;
    return r->gpus && size < GIB ? GIB : size;
}

/* What a pod is told in files. */
struct told {
    bool is_asked; /* a request, that the kubelet writes anew when the annotation comes */
    bool has_hosts;
};

static void add_mounts(struct str *out, const struct spec_role *r, int64_t shm,
                       const struct told *told)
{
    const char *comma = "";

    if (!r->n_volumes && !shm && !told->is_asked && !told->has_hosts)
        return;
    str_add(out, ",\"volumeMounts\":[");
    if (shm) {
        str_add(out, "{\"name\":\"queued-shm\",\"mountPath\":\"/dev/shm\"}");
        comma = ",";
    }
    if (told->has_hosts) {
        str_addf(out,
                 "%s{\"name\":\"queued-hosts\",\"mountPath\":\"" HOSTFILE
                 "\",\"subPath\":\"hostfile\",\"readOnly\":true}",
                 comma);
        comma = ",";
    }
    if (told->is_asked) {
        str_addf(out,
                 "%s{\"name\":\"queued-requests\",\"mountPath\":\"" REQUESTS_DIR
                 "\",\"readOnly\":true}",
                 comma);
        comma = ",";
    }
    for (uint32_t i = 0; i < r->n_volumes; i++) {
        str_addf(out, "%s{\"name\":", comma);
        str_add_json(out, r->volumes[i].name);
        add_pair(out, "mountPath", r->volumes[i].mount_path);
        if (r->volumes[i].sub_path)
            add_pair(out, "subPath", r->volumes[i].sub_path);
        str_addf(out, "%s}", r->volumes[i].read_only ? ",\"readOnly\":true" : "");
        comma = ",";
    }
    str_add(out, "]");
}

static void add_source(struct str *out, const struct spec_volume *v)
{
    const char *only = v->read_only ? ",\"readOnly\":true" : "";
    char text[FORMAT_MAX];

    switch (v->kind) {
    case SPEC_VOLUME_PVC:
        str_add(out, "\"persistentVolumeClaim\":{\"claimName\":");
        str_add_json(out, v->source);
        str_addf(out, "%s}", only);
        break;
    case SPEC_VOLUME_CONFIG_MAP:
        str_add(out, "\"configMap\":{\"name\":");
        str_add_json(out, v->source);
        str_add(out, "}");
        break;
    case SPEC_VOLUME_SECRET:
        str_add(out, "\"secret\":{\"secretName\":");
        str_add_json(out, v->source);
        str_add(out, "}");
        break;
    case SPEC_VOLUME_EMPTY_DIR:
        str_add(out, "\"emptyDir\":{");
        str_add(out, v->in_memory ? "\"medium\":\"Memory\"" : "");
        if (v->size_bytes >= 0)
            str_addf(out, "%s\"sizeLimit\":\"%s\"", v->in_memory ? "," : "",
                     format_bytes(text, v->size_bytes));
        str_add(out, "}");
        break;
    case SPEC_VOLUME_NFS:
        str_add(out, "\"nfs\":{\"server\":");
        str_add_json(out, v->source);
        add_pair(out, "path", v->path);
        str_addf(out, "%s}", only);
        break;
    }
}

/* A file of one annotation of the pod. */
static void add_told(struct str *out, const char **comma, const char *volume, const char *file,
                     const char *note)
{
    str_addf(out,
             "%s{\"name\":\"%s\",\"downwardAPI\":{\"items\":[{\"path\":\"%s\",\"fieldRef\":{"
             "\"fieldPath\":\"metadata.annotations['" LABEL_PREFIX "%s']\"}}]}}",
             *comma, volume, file, note);
    *comma = ",";
}

static void add_volumes(struct str *out, const struct spec_role *r, int64_t shm,
                        const struct told *told)
{
    const char *comma = "";
    char text[FORMAT_MAX];

    if (!r->n_volumes && !shm && !told->is_asked && !told->has_hosts)
        return;
    str_add(out, ",\"volumes\":[");
    if (shm) {
        str_addf(
            out,
            "{\"name\":\"queued-shm\",\"emptyDir\":{\"medium\":\"Memory\",\"sizeLimit\":\"%s\"}}",
            format_bytes(text, shm));
        comma = ",";
    }
    if (told->has_hosts)
        add_told(out, &comma, "queued-hosts", "hostfile", "hostfile");
    if (told->is_asked)
        add_told(out, &comma, "queued-requests", REQUEST_FILE, "checkpoint-request");
    for (uint32_t i = 0; i < r->n_volumes; i++) {
        str_addf(out, "%s{\"name\":", comma);
        str_add_json(out, r->volumes[i].name);
        str_add(out, ",");
        add_source(out, &r->volumes[i]);
        str_add(out, "}");
        comma = ",";
    }
    str_add(out, "]");
}

static void add_pull_secrets(struct str *out, const struct spec_role *r)
{
    if (!r->pull_secrets.n)
        return;
    str_add(out, ",\"imagePullSecrets\":[");
    for (uint32_t i = 0; i < r->pull_secrets.n; i++) {
        str_add(out, i ? ",{\"name\":" : "{\"name\":");
        str_add_json(out, r->pull_secrets.v[i]);
        str_add(out, "}");
    }
    str_add(out, "]");
}

static void add_tolerations(struct str *out, const struct spec_role *r)
{
    if (!r->n_tolerations)
        return;
    str_add(out, ",\"tolerations\":[");
    for (uint32_t i = 0; i < r->n_tolerations; i++) {
        const struct spec_toleration *t = &r->tolerations[i];

        str_addf(out, "%s{\"operator\":\"%s\"", i ? "," : "", t->exists ? "Exists" : "Equal");
        if (t->key)
            add_pair(out, "key", t->key);
        if (!t->exists)
            add_pair(out, "value", t->value ? t->value : "");
        if (t->effect)
            add_pair(out, "effect", t->effect);
        if (t->is_limited)
            str_addf(out, ",\"tolerationSeconds\":%llu", (unsigned long long)t->seconds);
        str_add(out, "}");
    }
    str_add(out, "]");
}

/* Other schedulers bring nothing to its node but pods of DaemonSets, which have the label. */
static void add_aversion(struct str *out, const struct spec_role *r)
{
    if (r->is_exclusive)
        str_add(out, ",\"affinity\":{\"podAntiAffinity\":{"
                     "\"requiredDuringSchedulingIgnoredDuringExecution\":[{"
                     "\"topologyKey\":\"kubernetes.io/hostname\",\"namespaceSelector\":{},"
                     "\"labelSelector\":{\"matchExpressions\":[{\"key\":"
                     "\"pod-template-generation\",\"operator\":\"DoesNotExist\"}]}}]}}");
}

static void write_head(struct str *out, const struct kube_env *env, uint32_t role)
{
    const struct gang *g = kube_env_gang(env);
    const struct spec_role *r = &g->spec->roles[role];

    str_add(out, ",\"schedulerName\":\"queued\",\"restartPolicy\":\"Never\"");
    if (g->has_service)
        add_pair(out, "subdomain", g->job_name);
    str_addf(out, ",\"terminationGracePeriodSeconds\":%lld,\"enableServiceLinks\":false",
             (long long)((g->grace_us + USEC_PER_SEC - 1) / USEC_PER_SEC));
    if (g->kubernetes_class && g->kubernetes_class[0])
        add_pair(out, "priorityClassName", g->kubernetes_class);
    if (r->service_account)
        add_pair(out, "serviceAccountName", r->service_account);
    add_pull_secrets(out, r);
    add_tolerations(out, r);
    add_aversion(out, r);
    str_add(out, ",\"containers\":[{\"name\":\"main\"");
    add_pair(out, "image", r->image);
    if (r->pull_policy)
        add_pair(out, "imagePullPolicy", r->pull_policy);
    add_strings(out, "command", &r->command);
    add_strings(out, "args", &r->args);
    if (r->working_dir)
        add_pair(out, "workingDir", r->working_dir);
    str_add(out, ",\"env\":[");
    kube_env_shared(out, env, role);
}

static void write_tail(struct str *out, const struct kube_env *env, uint32_t role)
{
    const struct gang *g = kube_env_gang(env);
    const struct spec_role *r = &g->spec->roles[role];
    int64_t shm = shm_bytes(g, role);
    const struct told told = {g->spec->checkpoint_signal != NULL,
                              kube_env_hostfile(env, role) != NULL};

    kube_env_user(out, env, role);
    add_resources(out, g, role);
    add_mounts(out, r, shm, &told);
    str_add(out, "}]");
    add_volumes(out, r, shm, &told);
    str_add(out, "}}");
}

static const struct kube_role_text *role_text(struct kube_env *env, uint32_t role)
{
    const struct gang *g = kube_env_gang(env);
    struct kube_role_text *text = kube_env_text(env, role);

    if (text->meta.len)
        return text;
    write_meta(&text->meta, g, role);
    write_notes(&text->notes, g, kube_env_hostfile(env, role));
    write_head(&text->head, env, role);
    write_tail(&text->tail, env, role);
    return text;
}

static void add_text(struct str *out, const struct str *text)
{
    str_add_bytes(out, text->s, text->len);
}

void kube_pod_write(struct str *out, struct kube_env *env, const struct gang_pod *p, bool with_node)
{
    const struct gang *g = kube_env_gang(env);
    const struct kube_role_text *text = role_text(env, p->role);
    char name[POD_JSON_NAME];

    str_add(out, "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":");
    str_add_json(out, kube_pod_name(name, g, p));
    add_text(out, &text->meta);
    str_add_u64(out, kube_pod_index(g, p));
    str_add(out, "\"},\"annotations\":{\"" LABEL_PREFIX "rank\":\"");
    str_add_u64(out, p->rank);
    str_add(out, "\",\"" LABEL_PREFIX "score\":\"");
    str_add_u64(out, g->score);
    str_add(out, "\"");
    add_pair(out, LABEL_PREFIX "placement", p->node);
    add_text(out, &text->notes);
    str_addf(out, ",\"spec\":{\"hostname\":\"%s-%s-%u\"", g->job_name, g->role_names[p->role],
             kube_pod_index(g, p));
    if (with_node)
        add_pair(out, "nodeName", p->node);
    add_text(out, &text->head);
    kube_env_own(out, env, p);
    add_text(out, &text->tail);
}

static void write_one(struct str *out, const struct gang *g, const struct gang_pod *p,
                      bool with_node)
{
    struct kube_env *env = kube_env_create(g);

    kube_pod_write(out, env, p, with_node);
    kube_env_destroy(env);
}

void kube_pod_json(struct str *out, const struct gang *g, const struct gang_pod *p)
{
    write_one(out, g, p, false);
}

void kube_pod_json_placed(struct str *out, const struct gang *g, const struct gang_pod *p)
{
    write_one(out, g, p, true);
}

void kube_request_json(struct str *out, const char *uid, usec_t asked, bool is_early)
{
    char text[FORMAT_MAX];

    str_add(out, "{\"metadata\":{\"uid\":");
    str_add_json(out, uid);
    str_addf(out, ",\"annotations\":{\"" LABEL_PREFIX "checkpoint-request\":\"%s%s\"}}}",
             format_time(text, asked), is_early ? " " REQUEST_EARLY : "");
}

/* The indices of an array share its service. */
void kube_service_json(struct str *out, const struct gang *g)
{
    bool is_shared = g->array.v > 0;
    char id[JOB_ID_TEXT + 1];

    str_add(out, "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":");
    str_add_json(out, g->job_name);
    add_pair(out, "namespace", g->ns);
    str_add(out, ",\"labels\":{");
    add_job_labels(out, g, is_shared ? g->array : g->job);
    str_addf(out,
             "}},\"spec\":{\"clusterIP\":\"None\",\"publishNotReadyAddresses\":true,"
             "\"selector\":{\"" LABEL_PREFIX "%s\":\"%s\"}}}",
             is_shared ? "job" : "job-id", is_shared ? g->job_name : job_id_format(id, g->job));
}

/* An integer: percentages and maxUnavailable are not for pods without a controller. */
void kube_budget_json(struct str *out, const struct gang *g, const char *name)
{
    char id[JOB_ID_TEXT + 1];

    str_add(out, "{\"apiVersion\":\"policy/v1\",\"kind\":\"PodDisruptionBudget\","
                 "\"metadata\":{\"name\":");
    str_add_json(out, name);
    add_pair(out, "namespace", g->ns);
    str_add(out, ",\"labels\":{");
    add_job_labels(out, g, g->job);
    str_addf(out,
             "}},\"spec\":{\"minAvailable\":%u,\"selector\":{\"matchLabels\":"
             "{\"" LABEL_PREFIX "job-id\":\"%s\"}}}}",
             g->min_available, job_id_format(id, g->job));
}

void kube_binding_json(struct str *out, const struct gang *g, const struct gang_pod *p,
                       const char *uid)
{
    char name[POD_JSON_NAME];

    str_add(out, "{\"apiVersion\":\"v1\",\"kind\":\"Binding\",\"metadata\":{\"name\":");
    str_add_json(out, kube_pod_name(name, g, p));
    add_pair(out, "namespace", g->ns);
    add_pair(out, "uid", uid);
    /* merged into the pod's: the host may be another than when the pod was made */
    str_add(out, ",\"annotations\":{\"" LABEL_PREFIX "placement\":");
    str_add_json(out, p->node);
    str_add(out, "}},\"target\":{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"name\":");
    str_add_json(out, p->node);
    str_add(out, "}}");
}
