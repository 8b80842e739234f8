/* SPDX-License-Identifier: Apache-2.0 */
/* kube_lane.c - a curl multi handle: its sockets and its timer, told to the epoll set; renewal. */
#include "kube/kube_lane.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "kube/kube_http.h"
#include "util/log.h"

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *ctx, void *unused)
{
    struct kube_lane *l = ctx;
    uint32_t events = (what & CURL_POLL_IN ? (uint32_t)EPOLLIN : 0) |
                      (what & CURL_POLL_OUT ? (uint32_t)EPOLLOUT : 0);

    (void)easy;
    (void)unused;
    if (what == CURL_POLL_REMOVE) {
        socks_forget(l->socks, fd);
        return 0;
    }
    if (!socks_set(l->socks, fd, l->index, events))
        return 0;
    log_error("cannot wait for a socket of the API server", "err=\"%s\"", strerror(errno));
    return -1;
}

static int on_close(void *ctx, curl_socket_t fd)
{
    socks_forget(ctx, fd);
    return close(fd);
}

static int on_timer(CURLM *multi, long timeout_ms, void *ctx)
{
    struct kube_lane *l = ctx;

    (void)multi;
    l->timeout_at = timeout_ms < 0 ? INT64_MAX : http_now() + timeout_ms * USEC_PER_MSEC;
    return 0;
}

void lane_own_sockets(CURL *easy, struct socks *socks)
{
    curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, on_close);
    curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, socks);
}

static void open_multi(struct kube_lane *l)
{
    l->multi = curl_multi_init();
    assert(l->multi);
    l->timeout_at = INT64_MAX;
    l->is_in_doubt = false;
    curl_multi_setopt(l->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl_multi_setopt(l->multi, CURLMOPT_SOCKETDATA, l);
    curl_multi_setopt(l->multi, CURLMOPT_TIMERFUNCTION, on_timer);
    curl_multi_setopt(l->multi, CURLMOPT_TIMERDATA, l);
    curl_multi_setopt(l->multi, CURLMOPT_MAX_HOST_CONNECTIONS, l->most);
}

void lane_init(struct kube_lane *l, struct socks *socks, int index, long most)
{
    *l = (struct kube_lane){.socks = socks, .index = index, .most = most};
    open_multi(l);
}

void lane_fini(struct kube_lane *l)
{
    (void)curl_multi_cleanup(l->multi); /* nothing could be done about an error */
}

void lane_rebuild(struct kube_lane *l)
{
    assert(!l->n_flying);
    (void)curl_multi_cleanup(l->multi); /* as above */
    open_multi(l);
}

CURLMcode lane_add(struct kube_lane *l, CURL *easy)
{
    if (l->is_in_doubt && !l->n_flying)
        lane_rebuild(l);
    l->n_flying++;
    return curl_multi_add_handle(l->multi, easy);
}

void lane_remove(struct kube_lane *l, CURL *easy)
{
    (void)curl_multi_remove_handle(l->multi, easy); /* a broken multi handle is rebuilt */
    l->n_flying--;
}

CURLMcode lane_act(struct kube_lane *l, curl_socket_t fd, int mask)
{
    int running = 0;

    if (fd == CURL_SOCKET_TIMEOUT)
        l->timeout_at = INT64_MAX;
    return curl_multi_socket_action(l->multi, fd, mask, &running);
}
