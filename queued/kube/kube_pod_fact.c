/* SPDX-License-Identifier: Apache-2.0 */
/* kube_pod_fact.c - what the fields of a pod mean: its fact for the core.
 *
 * The effective request is what the kubelet and kube-scheduler count: the larger of the
 * containers with all sidecars, and the largest init step with the sidecars started before it,
 * plus the overhead; requests of the whole pod replace those of its containers.
 */
#include <stdlib.h>
#include <string.h>

#include "kube/kube_node.h"
#include "kube/kube_pod.h"
#include "util/mem.h"
#include "util/str.h"

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
static void container_amounts(const char *name, const struct container_fields *container,
                              struct amounts *ret)
{
    struct amounts limits;

    ret->n = kube_amounts(name, &container->requests, ret->v);
    limits.n = kube_amounts(name, &container->limits, limits.v);
    for (uint32_t i = 0; i < limits.n; i++) {
        uint32_t before = ret->n;
        struct resource_amount *to = amount_of(ret, limits.v[i].name);

        if (to && ret->n > before)
            to->amount = limits.v[i].amount;
    }
}

static void effective_request(const char *name, const struct pod_fields *pod, struct amounts *total)
{
    struct amounts sidecars, init, one, whole; /* large: only the part in use is set */

    total->n = sidecars.n = init.n = 0;
    for (uint32_t i = 0; i < pod->init_containers.n; i++) {
        const struct container_fields *c = &pod->init_containers.v[i];

        container_amounts(name, c, &one);
        if (!strcmp(c->restart_policy, "Always")) {
            amounts_add(&sidecars, &one);
            continue;
        }
        amounts_add(&one, &sidecars);
        amounts_max(&init, &one);
    }
    for (uint32_t i = 0; i < pod->containers.n; i++) {
        container_amounts(name, &pod->containers.v[i], &one);
        amounts_add(total, &one);
    }
    amounts_add(total, &sidecars);
    amounts_max(total, &init);
    whole.n = kube_amounts(name, &pod->requests, whole.v);
    for (uint32_t i = 0; i < whole.n; i++) {
        struct resource_amount *to = amount_of(total, whole.v[i].name);

        if (to)
            to->amount = whole.v[i].amount;
    }
    whole.n = kube_amounts(name, &pod->overhead, whole.v);
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
static struct container_status_fields first_status(const struct pod_fields *pod)
{
    const char *name = pod->containers.n ? pod->containers.v[0].name : "";

    for (uint32_t i = 0; i < pod->n_statuses; i++)
        if (!strcmp(pod->statuses[i].name, name))
            return pod->statuses[i];
    return (struct container_status_fields){
        .name = "", .ended_reason = "", .waiting_reason = "", .exit_code = -1};
}

static bool is_true(const struct conditions *all, const char *type)
{
    for (uint32_t i = 0; i < all->n; i++)
        if (!strcmp(all->v[i].type, type))
            return !strcmp(all->v[i].status, "True");
    return false;
}

static void take_end(const struct pod_fields *pod, struct pod_fact *p)
{
    const struct container_status_fields status = first_status(pod);
    const char *reason = pod->reason;

    p->exit_code =
        status.exit_code >= 0 && status.exit_code <= INT16_MAX ? (int16_t)status.exit_code : -1;
    /* drained, or collected after its node was deleted: its containers' end is no fault of theirs
     */
    if (!reason[0] && is_true(&pod->conditions, "DisruptionTarget"))
        reason = "DisruptionTarget";
    if (!reason[0])
        reason = status.ended_reason;
    if (!reason[0])
        reason = status.waiting_reason;
    (void)str_copy(p->reason, sizeof(p->reason), reason); /* a cut reason still tells */
}

static const char *our_label(const struct field_pairs *labels, const char *name)
{
    for (uint32_t i = 0; i < labels->n; i++)
        if (!strcmp(labels->v[i].key, name))
            return labels->v[i].value;
    return "";
}

static bool read_number(const char *text, uint32_t *ret)
{
    uint64_t v;

    if (parse_u64(text, 0, UINT32_MAX, &v, NULL))
        return false;
    *ret = (uint32_t)v;
    return true;
}

bool kube_pod_owner(const struct field_pairs *labels, struct job_id *ret_job, uint32_t *ret_attempt)
{
    struct job_id job = {0};
    uint32_t attempt = 0;
    bool ok = !job_id_parse(our_label(labels, LABEL_PREFIX "job-id"), &job) &&
              read_number(our_label(labels, LABEL_PREFIX "attempt"), &attempt);

    *ret_job = ok ? job : (struct job_id){0};
    *ret_attempt = ok ? attempt : 0;
    return ok && job.v;
}

static void take_owner(const struct field_pairs *labels, struct pod_fact *p)
{
    const char *role = our_label(labels, LABEL_PREFIX "role");

    if (!kube_pod_owner(labels, &p->job, &p->attempt) ||
        !str_copy(p->role, sizeof(p->role), role) || !role[0] ||
        !read_number(our_label(labels, LABEL_PREFIX "index"), &p->index))
        p->job = (struct job_id){0};
}

struct pod_fact *kube_pod_fact(const struct object_fields *pod)
{
    const struct meta_fields *meta = &pod->meta;
    const struct pod_fields *f = &pod->u.pod;
    struct pod_fact *p = xcalloc(1, sizeof(*p));
    struct amounts total;

    if (!str_copy(p->name, sizeof(p->name), meta->name) || !p->name[0] ||
        !str_copy(p->ns, sizeof(p->ns), meta->ns) || !p->ns[0] ||
        !str_copy(p->uid, sizeof(p->uid), meta->uid) || !p->uid[0] ||
        !str_copy(p->node, sizeof(p->node), f->node)) {
        free(p);
        return NULL;
    }
    p->phase = read_phase(f->phase);
    p->is_deleting = meta->is_deleting;
    p->is_ready = is_true(&f->conditions, "Ready");
    p->is_daemon = !strcmp(meta->controller, "DaemonSet") || !strcmp(meta->controller, "Node");
    take_end(f, p);
    take_owner(&meta->labels, p);
    effective_request(p->name, f, &total);
    p->n_requests = total.n;
    if (total.n)
        p->requests = xmemdup(total.v, total.n * sizeof(total.v[0]));
    return p;
}
