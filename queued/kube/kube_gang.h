/* SPDX-License-Identifier: Apache-2.0 */
/* kube_gang.h - gangs on their way in and out: service, creates, binds; or deletes.
 *
 * One run per job does what was asked last. Each pod and the service is a task with a step; every
 * answer that is not clear is resolved by reading the object back. Events for the core wait in a
 * queue of their own when the inbox is full. A run that is through is forgotten.
 */
#ifndef QUEUED_KUBE_KUBE_GANG_H
#define QUEUED_KUBE_KUBE_GANG_H

#include "port/inbox.h"
#include "kube/kube_api.h"
#include "kube/kube_event.h"
#include "kube/kube_http.h"
#include "kube/kube_store.h"
#include "port/cluster_port.h"

struct kube_gangs;

/* Borrows all. */
struct kube_gangs *kube_gangs_create(struct kube_http *http, struct api_pace *pace);
void kube_gangs_destroy(struct kube_gangs *g);
/* is_direct: a pod is created with its node named. events: told of each bound pod; NULL: none. */
void kube_gangs_set_modes(struct kube_gangs *g, bool is_direct, struct kube_events *events);

/* The calls of cluster_port.h. */
void kube_gangs_start(struct kube_gangs *g, const struct gang *gang);
void kube_gangs_stop(struct kube_gangs *g, const struct gang *gang);
void kube_gangs_delete_pod(struct kube_gangs *g, const char *ns, const char *name, const char *uid);
/* The watch saw this pod go (and tells the core itself). */
void kube_gangs_gone(struct kube_gangs *g, const struct store_gone *gone);

/* The server answers again after it did not: what waits for that need not wait much longer. */
void kube_gangs_hurry(struct kube_gangs *g);

/* Do what is due. now: http_now(). */
void kube_gangs_tick(struct kube_gangs *g, usec_t now);
usec_t kube_gangs_wake(const struct kube_gangs *g);
/* Move events into the inbox; true: none is left. */
bool kube_gangs_flush(struct kube_gangs *g, struct inbox *inbox);

#endif
