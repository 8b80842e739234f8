/* SPDX-License-Identifier: Apache-2.0 */
/* kube_socks.h - which of curl's descriptors wait in the epoll set; inside of kube_http.h.
 *
 * curl may close a descriptor without telling the socket callback, and the number may come back
 * for another connection: every registration carries a generation, and events of an older one are
 * no events.
 */
#ifndef QUEUED_KUBE_KUBE_SOCKS_H
#define QUEUED_KUBE_KUBE_SOCKS_H

#include <stdint.h>
#include <sys/epoll.h>

#include "util/vec.h"

struct sock {
    uint32_t generation;
    int lane; /* -1: not registered */
};

struct socks {
    int epoll_fd;
    VEC(struct sock) v; /* by descriptor */
};

/* Wait for events (0: none) of a descriptor. -1 with errno. */
int socks_set(struct socks *s, int fd, int lane, uint32_t events);
void socks_forget(struct socks *s, int fd);
/* Lane and descriptor that an event is for; -1: for none any more. */
int socks_lane(const struct socks *s, const struct epoll_event *ev, int *ret_fd);

#endif
