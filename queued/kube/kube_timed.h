/* SPDX-License-Identifier: Apache-2.0 */
/* kube_timed.h - kube_create() with other times for the watches, so that tests need not wait. */
#ifndef QUEUED_KUBE_KUBE_TIMED_H
#define QUEUED_KUBE_KUBE_TIMED_H

#include "kube/kube.h"
#include "kube/kube_watch.h"

int kube_create_timed(struct kube **ret, const char *kubeconfig, struct inbox *inbox,
                      const struct kube_watch_times *times, struct err *err);

#endif
