/* SPDX-License-Identifier: Apache-2.0 */
/* kube_pod.h - pods in both directions: what a seen Pod means for the core, and the JSON of the
 * pods and the headless service of a gang (contracts.md 6). Plain conversion.
 */
#ifndef QUEUED_KUBE_KUBE_POD_H
#define QUEUED_KUBE_KUBE_POD_H

#include "core/event.h"
#include "kube/kube_fields.h"
#include "port/cluster_port.h"
#include "util/str.h"

#define LABEL_PREFIX "gang.queued/"
/* Where a pod reads what is asked of it. */
#define REQUESTS_DIR "/etc/queued/requests"
#define REQUEST_FILE "checkpoint"
/* What mpirun reads, in the pods of the leading role. */
#define HOSTFILE "/etc/queued/hostfile"
/* Behind the time of a request: the pod may run on, its end comes later. */
#define REQUEST_EARLY "early"

enum { POD_JSON_NAME = POD_NAME_MAX + 28 };

/* NULL: no name, namespace or uid, or longer than limits.h allows. Requests are those of the
 * containers (the pod slot itself is not among them). Freed with pod_fact_destroy(). */
struct pod_fact *kube_pod_fact(const struct object_fields *pod);
/* Whose pod it is, by our labels; false: nobody's, the outputs are then 0. */
bool kube_pod_owner(const struct field_pairs *labels, struct job_id *ret_job,
                    uint32_t *ret_attempt);

/* Of a pod in its names, where those of an array follow each other. */
uint32_t kube_pod_index(const struct gang *g, const struct gang_pod *p);
/* <job>-<role>-<index>-<attempt>. Returns buf. */
const char *kube_pod_name(char buf[POD_JSON_NAME], const struct gang *g, const struct gang_pod *p);
/* What all pods of a gang share: made once, as it looks at every pod. Borrows g, which must have
 * its spec and all its pods; their hosts, and the score, may change between two writes. */
struct kube_env *kube_env_create(const struct gang *g);
void kube_env_destroy(struct kube_env *env);
/* The Pod object of one member. with_node: it names its node already, so that it is never bound. */
void kube_pod_write(struct str *out, struct kube_env *env, const struct gang_pod *p,
                    bool with_node);
/* The same for a single pod, for those that make few: unbound, or with its node. */
void kube_pod_json(struct str *out, const struct gang *g, const struct gang_pod *p);
void kube_pod_json_placed(struct str *out, const struct gang *g, const struct gang_pod *p);
/* Its PodDisruptionBudget. */
void kube_budget_json(struct str *out, const struct gang *g, const char *name);
/* A merge patch that asks the pod of this uid for a checkpoint; early: it is not stopped then. */
void kube_request_json(struct str *out, const char *uid, usec_t asked, bool is_early);
void kube_service_json(struct str *out, const struct gang *g);
void kube_binding_json(struct str *out, const struct gang *g, const struct gang_pod *p,
                       const char *uid);

/* Parts of kube_pod_write(), in kube_env.c. Of the pods of a role only a few places differ: the
 * text between those, empty until the first of these pods is written. */
struct kube_role_text {
    struct str meta, notes; /* in the metadata: up to the index, and behind the placement */
    struct str head, tail;  /* in the spec: before and behind the pod's own variables */
};
struct kube_role_text *kube_env_text(struct kube_env *e, uint32_t role);
const struct gang *kube_env_gang(const struct kube_env *e);
/* The elements of "env": what is the same for all pods of a role, then the pod's own with a comma
 * for what follows, then what the user gives, up to the end of "envFrom". */
/* The hosts and slots of an mpi job, for a role that has the file; NULL otherwise. */
const char *kube_env_hostfile(const struct kube_env *e, uint32_t role);
void kube_env_shared(struct str *out, const struct kube_env *e, uint32_t role);
void kube_env_own(struct str *out, const struct kube_env *e, const struct gang_pod *p);
void kube_env_user(struct str *out, const struct kube_env *e, uint32_t role_ix);

#endif
