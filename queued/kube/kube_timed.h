/* SPDX-License-Identifier: Apache-2.0 */
/* kube_timed.h - kube_create() with other times, so that tests need not wait. */
#ifndef QUEUED_KUBE_KUBE_TIMED_H
#define QUEUED_KUBE_KUBE_TIMED_H

#include "kube/kube.h"
#include "kube/kube_watch.h"

/* Zeroed fields mean the defaults. */
struct kube_times {
    struct kube_watch_times watch;
    usec_t backoff_base_us; /* of everything that is asked again */
};

int kube_create_timed(struct kube **ret, const char *kubeconfig, struct inbox *inbox,
                      const struct kube_times *times, struct err *err);

#endif
