/* SPDX-License-Identifier: Apache-2.0 */
/* loop.c - one thread, one turn: read clients, read the cluster, decide, store, act.
 *
 * While a commit is in flight no request is taken and no turn begins, so that reads show only what
 * is stored; the cluster's sockets are served all the time.
 */
#include "loop.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <zmq.h>

#include "util/log.h"

enum { SPACE_EVERY_US = 1000000 };

enum { POLL_RPC, POLL_KUBE, POLL_SIGNAL, POLL_N };

/* When the parts wish to be called again; the loop sleeps until the first of them. */
struct wishes {
    usec_t engine, kube, rpc, space;
    bool at_once; /* something is left over from this turn */
};

static usec_t earlier(usec_t a, usec_t b)
{
    return a < b ? a : b;
}

static long wait_msec(const struct loop *l, const struct wishes *w)
{
    usec_t now = l->engine->clock.now(l->engine->clock.ctx);
    usec_t wake = earlier(earlier(w->engine, w->kube), earlier(w->rpc, w->space));

    if (w->at_once || wake <= now)
        return 0;
    return (long)((wake - now + USEC_PER_MSEC - 1) / USEC_PER_MSEC);
}

/* Sleep until a descriptor is ready or a wish is due. true: there is a signal. */
static bool wait_for_work(const struct loop *l, const struct wishes *w)
{
    zmq_pollitem_t items[POLL_N] = {
        [POLL_RPC] = {.socket = rpc_server_socket(l->rpc), .events = ZMQ_POLLIN},
        [POLL_KUBE] = {.fd = kube_fd(l->kube), .events = ZMQ_POLLIN},
        [POLL_SIGNAL] = {.fd = l->signal_fd, .events = ZMQ_POLLIN},
    };
    /* A commit in flight: requests stay in the socket and must not wake us. */
    int first = l->engine->in_flight ? POLL_KUBE : POLL_RPC;

    if (zmq_poll(items + first, POLL_N - first, wait_msec(l, w)) < 0 && errno != EINTR)
        log_warn("poll failed, going on", "err=\"%s\"", zmq_strerror(errno));
    return items[POLL_SIGNAL].revents & ZMQ_POLLIN;
}

/* true: end. */
static bool take_signal(const struct loop *l)
{
    struct signalfd_siginfo info;

    if (read(l->signal_fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
        return false;
    if (info.ssi_signo == SIGHUP) {
        l->look_at_config(l->config_ctx, true);
        return false;
    }
    log_info("ending", "signal=%s", sigabbrev_np((int)info.ssi_signo));
    return true;
}

/* Once a second: is there another configuration? And tell the core when the store runs out of
 * space, and when there is room again. */
static usec_t watch_files(const struct loop *l, usec_t now, usec_t due)
{
    struct event ev = {.kind = EV_STORE_LOW, .at = now};
    bool is_low;

    if (now < due)
        return due;
    l->look_at_config(l->config_ctx, false);
    is_low = l->is_low(l->is_low_ctx);
    ev.u.is_low = is_low;
    if (is_low != l->engine->state->is_store_low && inbox_push(l->engine->inbox, &ev))
        log_warn(is_low ? "the store is nearly full: submissions are refused; free space"
                        : "the store has room again: submissions are taken",
                 "low=%d", is_low);
    return now + SPACE_EVERY_US;
}

int loop_run(struct loop *l, struct err *err)
{
    struct engine *e = l->engine;
    struct wishes w = {.at_once = true};

    for (;;) {
        usec_t now;

        if (wait_for_work(l, &w) && take_signal(l))
            return 0;
        now = e->clock.now(e->clock.ctx);
        w = (struct wishes){.engine = INT64_MAX, .rpc = INT64_MAX, .space = w.space};
        if (!e->in_flight) {
            w.at_once = rpc_server_read(l->rpc, now);
            kube_ready(l->kube, now);
            w.space = watch_files(l, now, w.space);
            if (engine_turn(e, &w.engine, err))
                return -1;
        } else {
            kube_ready(l->kube, now);
        }
        if (e->in_flight && e->store.is_acked(e->store.ctx))
            engine_acked(e);
        w.rpc = rpc_server_tick(l->rpc, now);
        w.kube = kube_wake(l->kube, now);
        w.at_once = w.at_once || (!e->in_flight && inbox_count(e->inbox) > 0);
    }
}
