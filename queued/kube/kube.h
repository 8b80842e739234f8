/* SPDX-License-Identifier: Apache-2.0 */
/* kube.h - the Kubernetes adapter: facts of nodes and pods into the inbox, gangs out.
 *
 * Never blocks. It owns one epoll descriptor for its sockets; the loop waits on kube_fd() until
 * kube_wake() and then calls kube_ready(). The newest fact per object waits in a dirty map until
 * the inbox has room. Behind the port: cluster_port.h.
 */
#ifndef QUEUED_KUBE_KUBE_H
#define QUEUED_KUBE_KUBE_H

#include <stdbool.h>

#include "port/inbox.h"
#include "port/cluster_port.h"
#include "util/err.h"
#include "util/parse.h"

struct kube;

/* What the configuration chooses of the ways to write. */
struct kube_modes {
    bool is_direct;  /* pods are created with their node named; else all are created, then bound */
    bool has_events; /* GangPlaced on each pod */
};

/* kubeconfig "": the account of the pod that we run in. An API server that does not answer is no
 * error (EV_CLUSTER says so later); -1 INVALID is a kubeconfig that cannot be used. */
int kube_create(struct kube **ret, const char *kubeconfig, struct inbox *inbox, struct err *err);
void kube_destroy(struct kube *k);
/* Before the first gang; without this call all is off. */
void kube_set_modes(struct kube *k, const struct kube_modes *modes);
int kube_fd(const struct kube *k);
/* When kube_ready() must be called at the latest. */
usec_t kube_wake(const struct kube *k, usec_t now);
/* Carry on with whatever is possible now. now: the calendar. */
void kube_ready(struct kube *k, usec_t now);
struct cluster_port kube_port(struct kube *k);

#endif
