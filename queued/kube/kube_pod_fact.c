/* SPDX-License-Identifier: Apache-2.0 */
/* kube_pod_fact.c - a Pod object of the API server as a fact of the core.
 *
 * The effective request is what the kubelet and kube-scheduler count: the larger of the
 * containers with all sidecars, and the largest init step with the sidecars started before it,
 * plus the overhead; requests of the whole pod replace those of its containers.
 */
#include <stdlib.h>
#include <string.h>

#include "kube/kube_json.h"
#include "kube/kube_node.h"
#include "kube/kube_pod.h"
#include "util/mem.h"

struct amounts {
    uint32_t n;
    struct resource_amount v[OBJECT_AMOUNTS_MAX];
};

static struct resource_amount *amount_of(struct amounts *a, const char *name)
{
    for (uint32_t i = 0; i < a->n; i++)
        if (!strcmp(a->v[i].name, name))
            return &a->v[i];
    if (a->n == OBJECT_AMOUNTS_MAX)
        return NULL;
    (void)str_copy(a->v[a->n].name, sizeof(a->v[0].name), name); /* came out of the same type */
    a->v[a->n].amount = 0;
    return &a->v[a->n++];
}

static int64_t add_capped(int64_t a, int64_t b)
{
    return a > RESOURCE_AMOUNT_MAX - b ? RESOURCE_AMOUNT_MAX : a + b;
}

static void amounts_add(struct amounts *a, const struct amounts *b)
{
    for (uint32_t i = 0; i < b->n; i++) {
        struct resource_amount *to = amount_of(a, b->v[i].name);

        if (to)
            to->amount = add_capped(to->amount, b->v[i].amount);
    }
}

static void amounts_max(struct amounts *a, const struct amounts *b)
{
    for (uint32_t i = 0; i < b->n; i++) {
        struct resource_amount *to = amount_of(a, b->v[i].name);

        if (to && to->amount < b->v[i].amount)
            to->amount = b->v[i].amount;
    }
}

/* Requests of one container; a limit without a request is a request. */
static void container_amounts(const cJSON *container, struct amounts *ret)
{
    struct amounts limits;

    ret->n = kube_amounts(json_path(container, "resources.requests"), ret->v);
    limits.n = kube_amounts(json_path(container, "resources.limits"), limits.v);
    for (uint32_t i = 0; i < limits.n; i++) {
        uint32_t before = ret->n;
        struct resource_amount *to = amount_of(ret, limits.v[i].name);

        if (to && ret->n > before)
            to->amount = limits.v[i].amount;
    }
}

static void effective_request(const cJSON *spec, struct amounts *total)
{
    struct amounts sidecars = {0}, init = {0}, one, whole;
    const cJSON *c;

    cJSON_ArrayForEach(c, json_get(spec, "initContainers"))
    {
        container_amounts(c, &one);
        if (!strcmp(json_text(c, "restartPolicy"), "Always")) {
            amounts_add(&sidecars, &one);
            continue;
        }
        amounts_add(&one, &sidecars);
        amounts_max(&init, &one);
    }
    cJSON_ArrayForEach(c, json_get(spec, "containers"))
    {
        container_amounts(c, &one);
        amounts_add(total, &one);
    }
    amounts_add(total, &sidecars);
    amounts_max(total, &init);
    whole.n = kube_amounts(json_path(spec, "resources.requests"), whole.v);
    for (uint32_t i = 0; i < whole.n; i++) {
        struct resource_amount *to = amount_of(total, whole.v[i].name);

        if (to)
            to->amount = whole.v[i].amount;
    }
    whole.n = kube_amounts(json_get(spec, "overhead"), whole.v);
    amounts_add(total, &whole);
}

static enum pod_phase read_phase(const char *word)
{
    static const struct {
        const char *word;
        enum pod_phase phase;
    } phases[] = {{"Pending", POD_PENDING},
                  {"Running", POD_RUNNING},
                  {"Succeeded", POD_SUCCEEDED},
                  {"Failed", POD_FAILED},
                  {"", POD_PENDING}};

    for (size_t i = 0; i < ARRAY_LEN(phases); i++)
        if (!strcmp(word, phases[i].word))
            return phases[i].phase;
    return POD_UNKNOWN;
}

/* Status of the first container of the spec, whatever the order of the statuses. */
static const cJSON *first_status(const cJSON *pod)
{
    const cJSON *containers = json_path(pod, "spec.containers");
    const char *name = json_text(cJSON_GetArrayItem(containers, 0), "name");
    const cJSON *s;

    cJSON_ArrayForEach(s, json_path(pod, "status.containerStatuses"))
    {
        if (!strcmp(json_text(s, "name"), name))
            return s;
    }
    return NULL;
}

static void read_end(const cJSON *pod, struct pod_fact *p)
{
    const cJSON *status = first_status(pod);
    int code = json_int(status, "state.terminated.exitCode", -1);
    const char *reason = json_text(pod, "status.reason");

    p->exit_code = code >= 0 && code <= INT16_MAX ? (int16_t)code : -1;
    if (!reason[0])
        reason = json_text(status, "state.terminated.reason");
    if (!reason[0])
        reason = json_text(status, "state.waiting.reason");
    (void)str_copy(p->reason, sizeof(p->reason), reason); /* a cut reason still tells */
}

static bool read_ready(const cJSON *pod)
{
    const cJSON *c;

    cJSON_ArrayForEach(c, json_path(pod, "status.conditions"))
    {
        if (!strcmp(json_text(c, "type"), "Ready"))
            return !strcmp(json_text(c, "status"), "True");
    }
    return false;
}

static const char *our_label(const cJSON *pod, const char *name)
{
    const cJSON *l = json_get(json_path(pod, "metadata.labels"), name);

    return cJSON_IsString(l) ? l->valuestring : "";
}

static bool read_number(const char *text, uint32_t *ret)
{
    uint64_t v;

    if (parse_u64(text, 0, UINT32_MAX, &v, NULL))
        return false;
    *ret = (uint32_t)v;
    return true;
}

bool kube_pod_owner(const cJSON *pod, struct job_id *ret_job, uint32_t *ret_attempt)
{
    struct job_id job = {0};
    uint32_t attempt = 0;
    bool ok = !job_id_parse(our_label(pod, LABEL_PREFIX "job-id"), &job) &&
              read_number(our_label(pod, LABEL_PREFIX "attempt"), &attempt);

    *ret_job = ok ? job : (struct job_id){0};
    *ret_attempt = ok ? attempt : 0;
    return ok && job.v;
}

static void read_owner(const cJSON *pod, struct pod_fact *p)
{
    const char *role = our_label(pod, LABEL_PREFIX "role");

    if (!kube_pod_owner(pod, &p->job, &p->attempt) || !str_copy(p->role, sizeof(p->role), role) ||
        !role[0] || !read_number(our_label(pod, LABEL_PREFIX "index"), &p->index))
        p->job = (struct job_id){0};
}

struct pod_fact *kube_pod_fact(const cJSON *pod)
{
    struct pod_fact *p = xcalloc(1, sizeof(*p));
    struct amounts total = {0};

    if (!str_copy(p->name, sizeof(p->name), json_text(pod, "metadata.name")) || !p->name[0] ||
        !str_copy(p->ns, sizeof(p->ns), json_text(pod, "metadata.namespace")) || !p->ns[0] ||
        !str_copy(p->uid, sizeof(p->uid), json_text(pod, "metadata.uid")) || !p->uid[0] ||
        !str_copy(p->node, sizeof(p->node), json_text(pod, "spec.nodeName"))) {
        free(p);
        return NULL;
    }
    p->phase = read_phase(json_text(pod, "status.phase"));
    p->is_deleting = json_text(pod, "metadata.deletionTimestamp")[0] != '\0';
    p->is_ready = read_ready(pod);
    read_end(pod, p);
    read_owner(pod, p);
    effective_request(json_get(pod, "spec"), &total);
    p->n_requests = total.n;
    if (total.n)
        p->requests = xmemdup(total.v, total.n * sizeof(total.v[0]));
    return p;
}
