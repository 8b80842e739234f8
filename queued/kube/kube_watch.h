/* SPDX-License-Identifier: Apache-2.0 */
/* kube_watch.h - one list and watch kept up for ever: the reflector's state machine.
 *
 * List in pages with no version, watch from its version with bookmarks, resume by the last version
 * after a clean end, list again after 410. Before a watch resumes, one small list asks whether the
 * server knows that version at all (a restored etcd would be silent). What it learns goes to its
 * kube_store; who runs it calls kube_watch_tick() and keeps kube_watch_wake().
 */
#ifndef QUEUED_KUBE_KUBE_WATCH_H
#define QUEUED_KUBE_KUBE_WATCH_H

#include "kube/kube_http.h"
#include "kube/kube_store.h"

struct kube_watch;

/* Zeroed fields mean the defaults; tests shorten them. */
struct kube_watch_times {
    usec_t timeout_min_us, timeout_max_us; /* timeoutSeconds; 300..600 s */
    usec_t guard_us;                       /* silence above the timeout: 30 s */
    usec_t relist_us;                      /* a full list when resuming after this long: 1 h */
};

/* Borrows all but times. */
struct kube_watch *kube_watch_create(const struct store_kind *kind, struct kube_http *http,
                                     const struct kube_watch_times *times, struct api_pace *pace);
void kube_watch_destroy(struct kube_watch *w);
struct kube_store *kube_watch_store(struct kube_watch *w);
/* Do what is due. now: http_now(). */
void kube_watch_tick(struct kube_watch *w, usec_t now);
usec_t kube_watch_wake(const struct kube_watch *w);
/* Number of complete lists so far. */
uint64_t kube_watch_lists(const struct kube_watch *w);

#endif
