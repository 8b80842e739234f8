/* SPDX-License-Identifier: Apache-2.0 */
/* kube_socks.c - registrations of descriptors with generations.
 *
 * The table is indexed by descriptor and only grows; a number that was given back keeps its
 * generation, so that a late event of its former connection is known as one.
 */
#include "kube/kube_socks.h"

static struct sock *sock_of(struct socks *s, int fd)
{
    while (s->v.n <= (size_t)fd) {
        struct sock *k = vec_push(&s->v);

        k->lane = -1;
    }
    return &s->v.v[fd];
}

void socks_forget(struct socks *s, int fd)
{
    struct sock *k = sock_of(s, fd);

    if (k->lane < 0)
        return;
    k->lane = -1;
    k->generation++;
    /* curl may have closed it already (ENOENT, EBADF) */
    (void)epoll_ctl(s->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}

int socks_set(struct socks *s, int fd, int lane, uint32_t events)
{
    struct epoll_event ev = {.events = events};
    struct sock *k;

    socks_forget(s, fd);
    k = sock_of(s, fd);
    ev.data.u64 = (uint64_t)k->generation << 32 | (uint32_t)fd;
    if (epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, fd, &ev))
        return -1;
    k->lane = lane;
    return 0;
}

int socks_lane(const struct socks *s, const struct epoll_event *ev, int *ret_fd)
{
    uint32_t fd = (uint32_t)ev->data.u64;

    *ret_fd = (int)fd;
    if (fd >= s->v.n || s->v.v[fd].generation != (uint32_t)(ev->data.u64 >> 32))
        return -1;
    return s->v.v[fd].lane;
}
