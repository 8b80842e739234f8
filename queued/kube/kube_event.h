/* SPDX-License-Identifier: Apache-2.0 */
/* kube_event.h - Events on pods: GangPlaced, with the terms of the placement's score.
 *
 * Events are for people; nothing hangs on them. They wait in a bounded queue, go out in a lane of
 * their own once nothing else waits (kube_http.h), and are asked for at most EVENT_TRIES times.
 * What is lost is counted and said in the log, at most once a minute.
 */
#ifndef QUEUED_KUBE_KUBE_EVENT_H
#define QUEUED_KUBE_KUBE_EVENT_H

#include "kube/kube_api.h"
#include "port/cluster_port.h"

enum { EVENTS_WAITING_MAX = 16384, EVENT_TRIES = 3 };

struct kube_events;

struct kube_event_counts {
    uint64_t sent; /* the API server has them */
    uint64_t lost;
    size_t waiting;
};

/* Borrows both. */
struct kube_events *kube_events_create(struct kube_http *http, struct api_pace *pace);
void kube_events_destroy(struct kube_events *e);
/* This pod of a gang was bound just now. */
void kube_events_placed(struct kube_events *e, const struct gang *g, const struct gang_pod *p,
                        const char *uid);
/* Hand over what there is room for. now: http_now(). */
void kube_events_tick(struct kube_events *e, usec_t now);
usec_t kube_events_wake(const struct kube_events *e);
struct kube_event_counts kube_events_counts(const struct kube_events *e);

#endif
