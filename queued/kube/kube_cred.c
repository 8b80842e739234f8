/* SPDX-License-Identifier: Apache-2.0 */
/* kube_cred.c - when credentials are read or fetched anew, and whether requests wait for them.
 *
 * What a plugin gave is used to its end, even when fetching the next one fails before; only then
 * the gate is shut. A server that refuses what was fetched a moment ago is asked again by its
 * callers' back-off, not by runs of the plugin.
 */
#include "kube/kube_cred.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/log.h"
#include "util/mem.h"
#include "util/str.h"

#define FILE_AGE_US     (60 * USEC_PER_SEC)
#define AHEAD_MAX_US    (300 * USEC_PER_SEC)
#define RUN_GAP_US      USEC_PER_SEC
#define REFUSAL_CALM_US (300 * USEC_PER_SEC)

struct kube_cred {
    struct kube_config *config;
    struct api_pace *pace;
    usec_t files_due;
    struct kube_exec *exec; /* NULL: no plugin */
    enum http_gate gate;
    usec_t run_due;    /* of the plugin */
    usec_t expires_at; /* of what it gave; 0: nothing usable */
    struct api_backoff failures;
    usec_t refusal_due; /* a refusal before it starts no run */
    usec_t refused_at;
    struct api_backoff refusals;
    char trouble[ERR_TEXT_MAX];
};

int kube_cred_create(struct kube_cred **ret, struct kube_config *config, struct api_pace *pace,
                     usec_t now, struct err *err)
{
    struct kube_cred *c = xcalloc(1, sizeof(*c));

    c->config = config;
    c->pace = pace;
    c->files_due = now + FILE_AGE_US;
    if (config->exec) {
        c->exec = kube_exec_create(config);
        if (!c->exec) {
            free(c);
            return err_set(err, ERR_INTERNAL, "cannot make an epoll descriptor: %s",
                           strerror(errno));
        }
        c->gate = HTTP_GATE_WAIT;
        c->run_due = now;
    }
    *ret = c;
    return 0;
}

void kube_cred_destroy(struct kube_cred *c)
{
    if (!c)
        return;
    kube_exec_destroy(c->exec);
    free(c);
}

int kube_cred_fd(const struct kube_cred *c)
{
    return c->exec ? kube_exec_fd(c->exec) : -1;
}

usec_t kube_cred_wake(const struct kube_cred *c)
{
    usec_t wake = c->files_due;
    usec_t run;

    if (!c->exec)
        return wake;
    run = kube_exec_is_running(c->exec) ? kube_exec_wake(c->exec) : c->run_due;
    wake = run < wake ? run : wake;
    return c->gate == HTTP_GATE_OPEN && c->expires_at < wake ? c->expires_at : wake;
}

enum http_gate kube_cred_gate(const struct kube_cred *c, const char **ret_why)
{
    *ret_why = c->trouble;
    return c->gate;
}

/* ---- the plugin */

static void run_failed(struct kube_cred *c, usec_t now, const struct err *err)
{
    if (!c->failures.n || strcmp(err->text, c->trouble) != 0)
        log_warn("no new credentials, we keep trying", "err=\"%s\"", err->text);
    (void)str_copy(c->trouble, sizeof(c->trouble), err->text); /* of the same size */
    c->run_due = now + api_backoff_next(&c->failures, -1, c->pace);
    if (c->gate != HTTP_GATE_OPEN)
        c->gate = HTTP_GATE_SHUT;
}

static void run_answered(struct kube_cred *c, const struct exec_now *now,
                         const struct exec_answer *a)
{
    usec_t life = a->expires_at == INT64_MAX ? INT64_MAX : a->expires_at - now->wall;
    usec_t ahead = life / 5 < AHEAD_MAX_US ? life / 5 : AHEAD_MAX_US;

    (void)kube_config_replace(c->config, a->token, a->cert, a->key); /* its generations tell */
    c->gate = HTTP_GATE_OPEN;
    c->failures.n = 0;
    c->trouble[0] = '\0';
    c->expires_at = c->run_due = INT64_MAX;
    if (life < INT64_MAX - now->mono) {
        c->expires_at = now->mono + life;
        c->run_due = c->expires_at - ahead;
        if (c->run_due < now->mono + RUN_GAP_US)
            c->run_due = now->mono + RUN_GAP_US;
    }
    log_info("the credential plugin has answered", "plugin=\"%s\"", c->config->exec->command);
}

static void tick_plugin(struct kube_cred *c, const struct exec_now *now)
{
    struct exec_answer answer;
    struct err err = {0};

    switch (kube_exec_poll(c->exec, now, &answer, &err)) {
    case EXEC_ANSWERED:
        run_answered(c, now, &answer);
        break;
    case EXEC_FAILED:
        run_failed(c, now->mono, &err);
        break;
    case EXEC_RUNNING: /* or not started */
        break;
    }
    if (c->gate == HTTP_GATE_OPEN && now->mono >= c->expires_at)
        c->gate = c->failures.n ? HTTP_GATE_SHUT : HTTP_GATE_WAIT;
    if (kube_exec_is_running(c->exec)) {
        if (c->gate == HTTP_GATE_SHUT)
            c->gate = HTTP_GATE_WAIT;
        return;
    }
    if (now->mono < c->run_due)
        return;
    if (kube_exec_start(c->exec, now->mono, &err))
        run_failed(c, now->mono, &err);
    else if (c->gate == HTTP_GATE_SHUT)
        c->gate = HTTP_GATE_WAIT;
}

/* ---- both */

void kube_cred_tick(struct kube_cred *c, const struct exec_now *now)
{
    if (c->files_due <= now->mono) {
        c->files_due = now->mono + FILE_AGE_US;
        (void)kube_config_refresh(c->config); /* its generations tell */
    }
    if (c->exec)
        tick_plugin(c, now);
}

bool kube_cred_refused(struct kube_cred *c, uint64_t generation, usec_t now)
{
    if (generation != c->config->generation || kube_config_refresh(c->config))
        return true;
    if (!c->exec)
        return false;
    if (c->gate == HTTP_GATE_WAIT)
        return true;
    if (now < c->refusal_due)
        return false;
    if (now - c->refused_at > REFUSAL_CALM_US)
        c->refusals.n = 0;
    c->refused_at = now;
    c->refusal_due = now + api_backoff_next(&c->refusals, -1, c->pace);
    c->gate = HTTP_GATE_WAIT;
    c->expires_at = 0;
    c->run_due = now;
    return true;
}
