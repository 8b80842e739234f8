/* SPDX-License-Identifier: Apache-2.0 */
/* kube_fields_proto.c - the fields of nodes and pods out of protobuf messages. Judges nothing.
 *
 * One object is unpacked into the arena of the caller, who resets it for the next. What the schema
 * does not know is skipped.
 */
#include <string.h>

#include "kube.pb-c.h"
#include "kube/kube_fields.h"
#include "kube/kube_unpack.h"
#include "util/str.h"

#define YEAR_10000_S INT64_C(253402300800)

static void *unpack(struct arena *a, const ProtobufCMessageDescriptor *what, const void *bytes,
                    size_t len)
{
    return kube_unpack(a, what, (struct proto_span){bytes, len}, FIELDS_UNPACK_MAX);
}

/* Length of the UTF-8 character at p; 0: there is none. */
static size_t character(const char *p, size_t left)
{
    for (size_t n = 1; n <= 4 && n <= left; n++)
        if (str_is_clean_utf8(p, n))
            return n;
    return 0;
}

static const char *repair(struct arena *a, const char *p, size_t len)
{
    char *text = arena_alloc(a, len * 3 + 1), *to = text;

    while (len) {
        size_t n = character(p, len);

        memcpy(to, n ? p : "\xef\xbf\xbd", n ? n : 3);
        to += n ? n : 3;
        p += n ? n : 1;
        len -= n ? n : 1;
    }
    return text;
}

static const char *text(struct arena *a, const ProtobufCBinaryData *b)
{
    if (!b->len)
        return "";
    return str_is_clean_utf8((const char *)b->data, b->len)
               ? (const char *)b->data
               : repair(a, (const char *)b->data, b->len);
}

static void *room(struct arena *a, size_t n, size_t size)
{
    return n ? arena_alloc(a, n * size) : NULL;
}

/* 0 when it is absent, or no time that RFC 3339 can write. */
static usec_t read_time(const Queued__Kube__Time *t)
{
    if (!t || t->seconds < 0 || t->seconds >= YEAR_10000_S || t->nanos < 0 || t->nanos > 999999999)
        return 0;
    return t->seconds * USEC_PER_SEC + t->nanos / 1000;
}

static struct field_pairs read_amounts(struct arena *a, Queued__Kube__Amount *const *v, size_t n)
{
    struct field_pairs p = {.v = room(a, n, sizeof(*p.v))};

    for (size_t i = 0; i < n; i++)
        p.v[p.n++] = (struct field_pair){text(a, &v[i]->key),
                                         v[i]->value ? text(a, &v[i]->value->text) : ""};
    return p;
}

static struct meta_fields read_meta(struct arena *a, const Queued__Kube__ObjectMeta *m)
{
    struct meta_fields f = {.ns = "", .name = "", .uid = "", .rv = "", .controller = ""};

    if (!m)
        return f;
    f = (struct meta_fields){.ns = text(a, &m->namespace_),
                             .name = text(a, &m->name),
                             .uid = text(a, &m->uid),
                             .rv = text(a, &m->resource_version),
                             .labels = {.v = room(a, m->n_labels, sizeof(*f.labels.v))},
                             /* an empty Time is null in JSON */
                             .is_deleting =
                                 m->deletion_timestamp && m->deletion_timestamp->has_seconds,
                             .controller = ""};
    for (size_t i = m->n_owner_references; i-- > 0;)
        if (m->owner_references[i]->controller)
            f.controller = text(a, &m->owner_references[i]->kind);
    for (size_t i = 0; i < m->n_labels; i++)
        f.labels.v[f.labels.n++] =
            (struct field_pair){text(a, &m->labels[i]->key), text(a, &m->labels[i]->value)};
    return f;
}

static struct conditions read_conditions(struct arena *a, Queued__Kube__Condition *const *v,
                                         size_t n)
{
    struct conditions all = {.v = room(a, n, sizeof(*all.v))};

    for (size_t i = 0; i < n; i++)
        all.v[all.n++] = (struct condition_fields){.type = text(a, &v[i]->type),
                                                   .status = text(a, &v[i]->status),
                                                   .since = read_time(v[i]->last_transition_time)};
    return all;
}

static void read_node_spec(struct arena *a, const Queued__Kube__NodeSpec *spec,
                           struct node_fields *n)
{
    n->is_cordoned = spec->unschedulable;
    n->taints = room(a, spec->n_taints, sizeof(*n->taints));
    for (size_t i = 0; i < spec->n_taints; i++) {
        const Queued__Kube__Taint *t = spec->taints[i];

        n->taints[n->n_taints++] =
            (struct taint_fields){text(a, &t->key), text(a, &t->value), text(a, &t->effect)};
    }
}

static const char *read_gpu_topology(struct arena *a, const void *bytes, size_t len)
{
    const Queued__Kube__NodeAnnotations *m =
        unpack(a, &queued__kube__node_annotations__descriptor, bytes, len);

    for (size_t i = 0; m && m->metadata && i < m->metadata->n_annotations; i++)
        if (strcmp(text(a, &m->metadata->annotations[i]->key), GPU_TOPOLOGY_KEY) == 0)
            return text(a, &m->metadata->annotations[i]->value);
    return "";
}

bool node_fields_proto(struct arena *a, const void *bytes, size_t len, struct object_fields *ret)
{
    const Queued__Kube__Node *m = unpack(a, &queued__kube__node__descriptor, bytes, len);
    struct node_fields n = {.boot_id = "", .gpu_topology = read_gpu_topology(a, bytes, len)};

    if (!m)
        return false;
    if (m->spec)
        read_node_spec(a, m->spec, &n);
    if (m->status) {
        const Queued__Kube__NodeStatus *s = m->status;

        n.boot_id = s->node_info ? text(a, &s->node_info->boot_id) : "";
        n.capacity = read_amounts(a, s->capacity, s->n_capacity);
        n.allocatable = read_amounts(a, s->allocatable, s->n_allocatable);
        n.conditions = read_conditions(a, s->conditions, s->n_conditions);
    }
    *ret = (struct object_fields){.meta = read_meta(a, m->metadata), .u.node = n};
    return true;
}

static struct containers read_containers(struct arena *a, Queued__Kube__Container *const *v,
                                         size_t n)
{
    struct containers all = {.v = room(a, n, sizeof(*all.v))};

    for (size_t i = 0; i < n; i++) {
        const Queued__Kube__Resources *r = v[i]->resources;
        struct container_fields *c = &all.v[all.n++];

        c->name = text(a, &v[i]->name);
        c->restart_policy = text(a, &v[i]->restart_policy);
        if (!r)
            continue;
        c->requests = read_amounts(a, r->requests, r->n_requests);
        c->limits = read_amounts(a, r->limits, r->n_limits);
    }
    return all;
}

static void read_pod_spec(struct arena *a, const Queued__Kube__PodSpec *spec, struct pod_fields *p)
{
    p->node = text(a, &spec->node_name);
    p->containers = read_containers(a, spec->containers, spec->n_containers);
    p->init_containers = read_containers(a, spec->init_containers, spec->n_init_containers);
    p->overhead = read_amounts(a, spec->overhead, spec->n_overhead);
    if (spec->resources)
        p->requests = read_amounts(a, spec->resources->requests, spec->resources->n_requests);
}

static void read_pod_status(struct arena *a, const Queued__Kube__PodStatus *s, struct pod_fields *p)
{
    p->phase = text(a, &s->phase);
    p->reason = text(a, &s->reason);
    p->conditions = read_conditions(a, s->conditions, s->n_conditions);
    p->statuses = room(a, s->n_container_statuses, sizeof(*p->statuses));
    for (size_t i = 0; i < s->n_container_statuses; i++) {
        const Queued__Kube__ContainerStatus *from = s->container_statuses[i];
        const Queued__Kube__StateTerminated *ended = from->state ? from->state->terminated : NULL;
        const Queued__Kube__StateWaiting *waiting = from->state ? from->state->waiting : NULL;

        p->statuses[p->n_statuses++] = (struct container_status_fields){
            .name = text(a, &from->name),
            .ended_reason = ended ? text(a, &ended->reason) : "",
            .waiting_reason = waiting ? text(a, &waiting->reason) : "",
            .exit_code = ended && ended->has_exit_code ? ended->exit_code : -1};
    }
}

bool pod_fields_proto(struct arena *a, const void *bytes, size_t len, struct object_fields *ret)
{
    const Queued__Kube__Pod *m = unpack(a, &queued__kube__pod__descriptor, bytes, len);
    struct pod_fields p = {.node = "", .phase = "", .reason = ""};

    if (!m)
        return false;
    if (m->spec)
        read_pod_spec(a, m->spec, &p);
    if (m->status)
        read_pod_status(a, m->status, &p);
    *ret = (struct object_fields){.meta = read_meta(a, m->metadata), .u.pod = p};
    return true;
}

bool status_fields_proto(struct arena *a, const void *bytes, size_t len, struct status_fields *ret)
{
    const Queued__Kube__Status *m = unpack(a, &queued__kube__status__descriptor, bytes, len);
    const Queued__Kube__StatusDetails *d = m ? m->details : NULL;

    if (!m)
        return false;
    *ret = (struct status_fields){.reason = text(a, &m->reason),
                                  .kind = d ? text(a, &d->kind) : "",
                                  .cause = d && d->n_causes ? text(a, &d->causes[0]->reason) : "",
                                  .message = text(a, &m->message),
                                  .code = m->code,
                                  .retry_after_s = d ? d->retry_after_seconds : 0};
    return true;
}
