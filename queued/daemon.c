/* SPDX-License-Identifier: Apache-2.0 */
/* daemon.c - builds the parts in order, destroys them in reverse, and carries out effects.
 *
 * Effects come here after their turn is stored. Each names a job; what is done is read from the
 * state as it is now, so that doing it again does no harm.
 */
#include "daemon.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "engine.h"
#include "gang.h"
#include "kube/kube.h"
#include "life/reload.h"
#include "loop.h"
#include "notify.h"
#include "reconfig.h"
#include "rpc/rpc_server.h"
#include "store/store_lmdb.h"
#include "util/log.h"
#include "util/mem.h"

struct daemon {
    struct reconfig config;
    int signal_fd;
    struct store_lmdb *store;
    struct store_port store_port;
    struct state *state;
    struct inbox *inbox;
    struct kube *kube;
    struct cluster_port cluster;
    struct rpc_server *rpc;
    struct engine engine;
    usec_t clock_offset_us;                /* of the time that we tell to CLOCK_BOOTTIME */
    const char *user_tenants[TENANTS_MAX]; /* scratch of find_user() */
};

/* ---- time */

static usec_t read_clock(clockid_t id)
{
    struct timespec ts;

    (void)clock_gettime(id, &ts); /* cannot fail for these clocks */
    return ts.tv_sec * USEC_PER_SEC + ts.tv_nsec / 1000;
}

/* Wall time that follows corrections forward; on one backward it goes on counting from where it is,
 * so that it never goes back and never stands still. */
static usec_t clock_now(void *ctx)
{
    struct daemon *d = ctx;
    usec_t passed = read_clock(CLOCK_BOOTTIME);
    usec_t wall = read_clock(CLOCK_REALTIME);

    if (wall - passed > d->clock_offset_us)
        d->clock_offset_us = wall - passed;
    return passed + d->clock_offset_us;
}

/* ---- effects */

static void tell_change(struct daemon *d, const struct job_note *n)
{
    rpc_server_note(d->rpc, n);
    log_info("job changed state",
             "job=%s tenant=%s from=%s to=%s attempt=%" PRIu32 " reason=%s%s%s%s", n->job_name,
             n->tenant, n->from ? job_state_name(n->from) : "none", job_state_name(n->to),
             n->attempt, *n->reason ? n->reason : "none", *n->text ? " text=\"" : "", n->text,
             *n->text ? "\"" : "");
}

static void start_gang(struct daemon *d, struct job_id id)
{
    const struct job *j = state_job(d->state, id);
    struct spec *spec = NULL;
    struct gang gang;
    struct err err;

    if (!j || !gang_is_wanted(j, false))
        return;
    if (d->store_port.read_spec(d->store_port.ctx, job_spec_id(j), &spec, &err)) {
        log_error("cannot read a job's spec, it will not start; cancel it and submit it again",
                  "job=%s err=\"%s\"", j->name, err.text);
        return;
    }
    gang_init(&gang, d->state, j, spec, false);
    d->cluster.gang_start(d->cluster.ctx, &gang);
    gang_fini(&gang);
    spec_destroy(spec);
}

static void stop_gang(struct daemon *d, const struct effect *e)
{
    const struct job *j = state_job(d->state, e->job);
    struct gang gang;

    if (!j || !gang_is_wanted(j, true))
        return;
    gang_init(&gang, d->state, j, NULL, true);
    gang.has_service = e->u.with_service;
    d->cluster.gang_stop(d->cluster.ctx, &gang);
    gang_fini(&gang);
}

static void tell_orphan(const struct effect *e)
{
    char id[JOB_ID_TEXT + 1];

    if (e->kind == EFFECT_ORPHAN_HELD)
        log_error("a pod has our label and a job id that this store never gave: was an older store "
                  "put back? Stray pods are not deleted while it is there; look at it, then delete "
                  "it or put the right store back",
                  "pod=%s/%s job=%s", e->u.pod->ns, e->u.pod->name, job_id_format(id, e->job));
    else
        log_warn("a pod has our label and a job that is not known; it will be deleted in 10 min",
                 "pod=%s/%s job=%s", e->u.pod->ns, e->u.pod->name, job_id_format(id, e->job));
}

static void run_effect(struct daemon *d, const struct effect *e)
{
    switch (e->kind) {
    case EFFECT_SAVE_EVENT:
        tell_change(d, e->u.note);
        break;
    case EFFECT_REPLY:
        rpc_server_reply(d->rpc, e->u.reply);
        break;
    case EFFECT_GANG_START:
        start_gang(d, e->job);
        break;
    case EFFECT_GANG_STOP:
        stop_gang(d, e);
        break;
    case EFFECT_ORPHAN_FOUND:
    case EFFECT_ORPHAN_HELD:
        tell_orphan(e);
        break;
    case EFFECT_POD_DELETE:
        d->cluster.pod_delete(d->cluster.ctx, e->u.pod->ns, e->u.pod->name, e->u.pod->uid);
        break;
    case EFFECT_SAVE_CONFIG:
        reconfig_taken(&d->config, d->state->meta.config_generation);
        break;
    case EFFECT_SAVE_JOB: /* the store has done these */
    case EFFECT_SAVE_SPEC:
    case EFFECT_SAVE_KEY:
    case EFFECT_SAVE_REQUEST:
    case EFFECT_SAVE_ATTEMPT:
    case EFFECT_SAVE_DRAIN:
    case EFFECT_SAVE_WINDOW:
    case EFFECT_DROP_JOB:
    case EFFECT_DROP_KEY:
    case EFFECT_DROP_REQUEST:
    case EFFECT_DROP_EVENTS:
    case EFFECT_DROP_ATTEMPTS:
    case EFFECT_KINDS:
        break;
    }
}

static void daemon_run_effects(void *ctx, const struct effects *fx)
{
    for (size_t i = 0; i < fx->list.n; i++)
        run_effect(ctx, &fx->list.v[i]);
}

/* ---- building */

/* What a caller may do, by the configuration. */
static bool find_user(void *ctx, const char *name, struct rpc_user *ret)
{
    static const enum rpc_role roles[] = {
        [ROLE_VIEWER] = RPC_VIEWER,
        [ROLE_SUBMITTER] = RPC_SUBMITTER,
        [ROLE_TENANT_ADMIN] = RPC_TENANT_ADMIN,
        [ROLE_ADMIN] = RPC_ADMIN,
    };
    struct daemon *d = ctx;
    const struct config_user *u = config_user(d->config.now, name);

    if (!u)
        return false;
    for (uint32_t i = 0; i < u->n_tenants; i++)
        d->user_tenants[i] = u->tenants[i];
    *ret = (struct rpc_user){roles[u->role], u->n_tenants, d->user_tenants};
    return true;
}

static void tell_config(void *ctx, struct rpc_config *ret)
{
    const struct daemon *d = ctx;

    config_text(d->config.now, &ret->text);
    ret->file = d->config.path;
    ret->n_good = d->config.n_good;
    ret->n_refused = d->config.n_refused;
    ret->refusal = d->config.refusal.text;
}

/* Before any library makes a thread, so that every thread has them blocked. */
static int block_signals(void)
{
    sigset_t set;

    (void)signal(SIGPIPE, SIG_IGN); /* a peer that went away is an error of write() */
    (void)signal(SIGXFSZ, SIG_IGN); /* a file that may not grow, too */
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    (void)sigprocmask(SIG_BLOCK, &set, NULL); /* fails only for a wrong first argument */
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int open_store(struct daemon *d, struct err *err)
{
    if (store_lmdb_open(&d->store, d->config.boot->store_dir, err))
        return -1;
    d->store_port = store_lmdb_port(d->store);
    d->state->started_at = clock_now(d);
    if (d->store_port.load(d->store_port.ctx, d->state, err))
        return -1;
    reload_started(d->state, config_digest(d->config.boot));
    return 0;
}

static int open_door(struct daemon *d, struct err *err)
{
    struct rpc_setup setup = {
        .state = d->state,
        .inbox = d->inbox,
        .store = d->store_port,
        .n_endpoints = d->config.boot->n_rpc,
        .loopback_user = d->config.boot->insecure_loopback_user,
        .user = find_user,
        .config = tell_config,
        .user_ctx = d,
        .now_us = (uint64_t)clock_now(d),
    };

    for (uint32_t i = 0; i < d->config.boot->n_rpc; i++)
        setup.endpoints[i] = d->config.boot->rpc[i];
    return rpc_server_create(&d->rpc, &setup, err);
}

int daemon_create(struct daemon **ret, const char *path, struct config *c, int *ret_exit,
                  struct err *err)
{
    struct daemon *d = xcalloc(1, sizeof(*d));

    d->signal_fd = block_signals();
    d->clock_offset_us = INT64_MIN / 2;
    d->inbox = inbox_create(INBOX_MAX);
    reconfig_init(&d->config, path, c, d->inbox);
    d->state = state_create(&c->settings);
    *ret_exit = 1;
    if (d->signal_fd < 0) {
        err_set(err, ERR_INTERNAL, "make a descriptor for signals: %s", strerror(errno));
        goto fail;
    }
    *ret_exit = EXIT_STORE;
    if (open_store(d, err))
        goto fail;
    *ret_exit = EXIT_PORT_TAKEN;
    if (open_door(d, err)) {
        if (err->code != ERR_UNAVAILABLE)
            *ret_exit = EXIT_CONFIG;
        goto fail;
    }
    *ret_exit = EXIT_CONFIG;
    if (kube_create(&d->kube, c->kubeconfig, d->inbox, err))
        goto fail;
    kube_set_modes(d->kube, &(struct kube_modes){.is_direct = c->is_bind_direct,
                                                 .has_events = c->has_pod_events});
    d->cluster = kube_port(d->kube);
    d->engine = (struct engine){
        .state = d->state,
        .inbox = d->inbox,
        .clock = {d, clock_now},
        .store = d->store_port,
        .out = {d, daemon_run_effects},
    };
    *ret = d;
    return 0;

fail:
    daemon_destroy(d);
    return -1;
}

void daemon_destroy(struct daemon *d)
{
    if (!d)
        return;
    engine_fini(&d->engine);
    kube_destroy(d->kube);
    rpc_server_destroy(d->rpc);
    state_destroy(d->state);
    inbox_destroy(d->inbox);
    store_lmdb_close(d->store);
    if (d->signal_fd >= 0)
        close(d->signal_fd);
    reconfig_fini(&d->config);
    free(d);
}

/* ---- running */

static void look_at_config(void *ctx, bool is_asked)
{
    struct daemon *d = ctx;

    reconfig_look(&d->config, is_asked);
}

static bool is_store_low(void *ctx)
{
    return store_lmdb_is_low(ctx);
}

int daemon_run(struct daemon *d)
{
    struct loop loop = {
        .rpc = d->rpc,
        .kube = d->kube,
        .engine = &d->engine,
        .signal_fd = d->signal_fd,
        .is_low = is_store_low,
        .is_low_ctx = d->store,
        .look_at_config = look_at_config,
        .config_ctx = d,
    };
    struct err err;

    log_info("ready", "version=%s jobs=%zu rpc=%s", QUEUED_VERSION, d->state->by_id.n,
             d->config.boot->rpc[0]);
    notify_state("READY=1");
    if (loop_run(&loop, &err)) {
        log_error("the commit failed: ending, nothing unstored was promised; start again",
                  "err=\"%s\"", err.text);
        return EXIT_COMMIT_FAILED;
    }
    return 0;
}
