/* SPDX-License-Identifier: Apache-2.0 */
/* kube_lane.h - one curl multi handle with its connections; inside of kube_http.h.
 *
 * All lanes go to one server over one network. Where an established connection of any of them has
 * broken, those that lie idle are of no more use than that one was: a lane in doubt closes them
 * before its next transfer, when none is under way, so that it connects anew and hears soon of a
 * server that is gone.
 */
#ifndef QUEUED_KUBE_KUBE_LANE_H
#define QUEUED_KUBE_KUBE_LANE_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>

#include "kube/kube_socks.h"
#include "util/parse.h"

struct kube_lane {
    CURLM *multi;
    struct socks *socks; /* borrowed */
    int index;           /* that the sockets are registered with */
    long most;           /* connections; 0: no limit */
    usec_t timeout_at;   /* curl's timer, by http_now(); INT64_MAX none */
    size_t n_flying;
    bool is_in_doubt;
};

void lane_init(struct kube_lane *l, struct socks *socks, int index, long most);
void lane_fini(struct kube_lane *l);
/* The sockets of this handle are taken out of the epoll set when curl closes them. */
void lane_own_sockets(CURL *easy, struct socks *socks);
/* Begin a transfer. An error, as one of lane_act(), leaves the multi handle unusable. */
CURLMcode lane_add(struct kube_lane *l, CURL *easy);
void lane_remove(struct kube_lane *l, CURL *easy);
/* A socket is ready, or (CURL_SOCKET_TIMEOUT) the timer has run out. */
CURLMcode lane_act(struct kube_lane *l, curl_socket_t fd, int mask);
/* A new multi handle without connections; all transfers were removed. Not inside of a callback. */
void lane_rebuild(struct kube_lane *l);

#endif
