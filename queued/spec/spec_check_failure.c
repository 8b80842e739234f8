/* SPDX-License-Identifier: Apache-2.0 */
/* spec_check_failure.c - is what follows a failure, or a notice, acceptable?
 */
#include <string.h>

#include "spec/spec_check.h"
#include "util/mem.h"
#include "util/signals.h"

/* A rule speaks of exit codes or of reasons; preemption is onPreemption's matter. */
static int check_rule(const struct check *c, uint32_t i)
{
    const struct spec_rule *rule = &c->spec->failure.rules[i];
    const char *what = NULL;

    if (rule->action == SPEC_ACTIONS)
        what = "action must be Restart, RestartFree, Fail or ExcludeNodeAndRestart";
    else if ((rule->n_codes > 0) == (rule->reasons.n > 0))
        what = "needs either onExitCodes or onReason";
    else if (rule->n_codes > RULE_WORDS_MAX || rule->reasons.n > RULE_WORDS_MAX)
        what = "has more than 32 codes or reasons";
    for (uint32_t k = 0; k < rule->n_codes && !what; k++)
        if (rule->codes[k] < 1 || rule->codes[k] > 255)
            what = "an exit code must be 1 to 255";
    for (uint32_t k = 0; k < rule->reasons.n && !what; k++) {
        const char *reason = rule->reasons.v[k];

        if (!reason || !*reason || !spec_is_label_value(reason))
            what = "a reason is one word of letters and digits, like OOMKilled";
        else if (strcmp(reason, "Preempted") == 0 && rule->action != SPEC_RESTART_FREE)
            what = "Preempted can only be RestartFree; onPreemption: end ends a preempted job";
    }
    if (what)
        return err_set(c->err, ERR_INVALID, "spec.failurePolicy.rules[%u]: %s", i, what);
    return 0;
}

/* A spare takes over from one pod of a gang whose pods are fixed in number. */
static int check_spares(const struct check *c)
{
    const struct spec *s = c->spec;

    for (uint32_t i = 0; i < s->n_roles; i++) {
        const struct spec_role *r = &s->roles[i];
        const char *what = NULL;

        if (r->spares > JOB_PODS_MAX)
            what = "must be at most 10000";
        else if (r->spares && (r->min_replicas || s->array_indices))
            what = "does not go with minReplicas or array";
        else if (r->spares && s->slice_size && s->slice_level && !strcmp(s->slice_level, "host"))
            what = "does not go with slices of one host: a spare takes over from one pod";
        else if (r->spares && s->slice_size && r->spread.key)
            what = "does not go with both topology.slice and placement.spread";
        if (what)
            return err_set(c->err, ERR_INVALID, "spec.roles[%u].spares: %s", i, what);
    }
    return 0;
}

/* Whose end is the job's? */
static int check_completion(const struct check *c)
{
    const struct spec *s = c->spec;
    bool is_min = s->completion && strcmp(s->completion, "min") == 0;
    uint32_t leaders = 0, pods = 0;

    for (uint32_t i = 0; i < s->n_roles; i++) {
        leaders += s->roles[i].is_leader;
        pods += spec_role_min(&s->roles[i]);
        if (leaders > 1)
            return err_set(c->err, ERR_INVALID, "spec.roles[%u].leader: another role leads already",
                           i);
    }
    if (s->completion && !is_min && strcmp(s->completion, "all") != 0 &&
        strcmp(s->completion, "leader") != 0)
        return err_set(c->err, ERR_INVALID,
                       "spec.completion.policy: '%.31s' is none of all, leader, min",
                       s->completion);
    if (is_min ? s->completion_min < 1 || s->completion_min > pods : s->completion_min > 0)
        return err_set(c->err, ERR_INVALID,
                       is_min ? "spec.completion.n: must be 1 to %u, the pods that it needs"
                              : "spec.completion.n: goes with policy min only",
                       pods);
    return 0;
}

/* Who is asked, and when: of a signal that has to be asked for. maxRuntime is known. */
static int check_target(const struct check *c)
{
    struct spec *s = c->spec;

    if (s->checkpoint_target && !strcmp(s->checkpoint_target, "all"))
        s->checkpoint_target = NULL;
    if (s->checkpoint_target && strcmp(s->checkpoint_target, "leader") != 0)
        return spec_bad(c, "spec.checkpoint.target", "must be all or leader");
    if (s->checkpoint_target && !s->checkpoint_signal)
        return spec_bad(c, "spec.checkpoint.target",
                        "goes with a checkpoint.signal other than SIGTERM, which every pod gets");
    if (s->before_end_us && !s->checkpoint_signal)
        return spec_bad(c, "spec.checkpoint.beforeEnd",
                        "goes with a checkpoint.signal other than SIGTERM, which comes at the end; "
                        "checkpoint.grace says how long before SIGKILL");
    if (s->before_end_us < 0 || (s->before_end_us && s->before_end_us >= s->max_runtime_us))
        return spec_bad(c, "spec.checkpoint.beforeEnd", "must be shorter than maxRuntime");
    return 0;
}

static int check_checkpoint(const struct check *c)
{
    struct spec *s = c->spec;
    bool is_wrapped = false;

    if (s->exit_zero && strcmp(s->exit_zero, "requeue") != 0 && strcmp(s->exit_zero, "done") != 0)
        return err_set(c->err, ERR_INVALID,
                       "spec.checkpoint.exitZero: '%.31s' is none of requeue, done", s->exit_zero);
    if (s->checkpoint_path &&
        (s->checkpoint_path[0] != '/' || !spec_is_text(s->checkpoint_path, 1024)))
        return spec_bad(c, "spec.checkpoint.path", "must be absolute");
    if (s->checkpoint_signal && !strcmp(s->checkpoint_signal, "SIGTERM"))
        s->checkpoint_signal = NULL;
    if (check_target(c))
        return -1;
    if (!s->checkpoint_signal)
        return 0;
    if (!signal_of(s->checkpoint_signal))
        return spec_bad(c, "spec.checkpoint.signal", "must be one of " SIGNAL_NAMES);
    for (uint32_t i = 0; i < s->n_roles; i++)
        is_wrapped |= spec_gets_signal(s, i, 0) && spec_role_is_wrapped(&s->roles[i]);
    if (!is_wrapped)
        return spec_bad(c, "spec.checkpoint.signal",
                        s->checkpoint_target
                            ? "needs 'queuectl pod-run --' in front of the leader's program"
                            : "needs 'queuectl pod-run --' in front of the program in a role's "
                              "command, which turns the request into the signal; or use SIGTERM");
    return 0;
}

/* How the pods find each other; torch, where it is the default, is not told apart from it. */
static int check_rendezvous(const struct check *c)
{
    static const char *const words[] = {"torch", "mpi", "ray", "none"};
    struct spec *s = c->spec;
    const char *said = s->rendezvous;
    enum spec_rendezvous kind = spec_rendezvous(s);
    bool is_known = !said, is_fixed = true;

    for (size_t i = 0; i < ARRAY_LEN(words) && said; i++)
        is_known |= strcmp(said, words[i]) == 0;
    for (uint32_t i = 0; i < s->n_roles; i++)
        is_fixed &= spec_role_min(&s->roles[i]) == s->roles[i].replicas;
    if (!is_known)
        return spec_bad(c, "spec.rendezvous.type", "must be torch, mpi, ray or none");
    if (s->rendezvous_port && kind != SPEC_TORCH && kind != SPEC_RAY)
        return spec_bad(c, "spec.rendezvous.port", "goes with type torch or ray");
    if (s->rendezvous_port > UINT16_MAX)
        return spec_bad(c, "spec.rendezvous.port", "must be 1 to 65535");
    if (s->is_one_process && kind != SPEC_TORCH && kind != SPEC_MPI)
        return spec_bad(c, "spec.rendezvous.processes", "goes with type torch or mpi");
    if (s->is_world_of_nodes && (kind != SPEC_TORCH || !is_fixed))
        return spec_bad(c, "spec.rendezvous.worldSize",
                        "goes with type torch, and without minReplicas");
    if (kind == SPEC_MPI && (!is_fixed || spec_pods(s) > MPI_PODS_MAX))
        return spec_bad(c, "spec.rendezvous.type",
                        is_fixed ? "mpi is for at most 512 pods, whose names fit one file"
                                 : "mpi has a file of its pods, which minReplicas lets change");
    s->rendezvous = NULL;
    if (said && !(strcmp(said, "torch") == 0 && spec_rendezvous(s) == SPEC_TORCH))
        s->rendezvous = said;
    if (s->rendezvous_port == (kind == SPEC_RAY ? RAY_PORT : RENDEZVOUS_PORT))
        s->rendezvous_port = 0;
    return 0;
}

static int check_cleanup(const struct check *c)
{
    struct spec *s = c->spec;
    const usec_t most = INT64_C(366) * 24 * 3600 * USEC_PER_SEC;

    if (s->ttl_us < 0 || s->ttl_us > most)
        return spec_bad(c, "spec.cleanup.ttlAfterFinish", "must be at most 366d");
    if (s->pod_ttl_us < 0 ||
        s->pod_ttl_us > (s->ttl_us ? s->ttl_us : JOB_KEEP_RECORD_S * USEC_PER_SEC))
        return spec_bad(c, "spec.cleanup.podTTL",
                        "is longer than ttlAfterFinish, 72h where it is not given");
    if (s->keep_pods && !strcmp(s->keep_pods, "all"))
        s->keep_pods = NULL;
    if (s->keep_pods && strcmp(s->keep_pods, "failed") != 0 && strcmp(s->keep_pods, "none") != 0)
        return spec_bad(c, "spec.cleanup.keepPods", "must be all, failed or none");
    if (s->keep_pods && s->pod_ttl_us && !strcmp(s->keep_pods, "none"))
        return spec_bad(c, "spec.cleanup.podTTL", "is given, and keepPods is none");
    return 0;
}

int spec_check_failure(const struct check *c)
{
    const struct spec_failure *f = &c->spec->failure;
    const usec_t day = 24 * 3600 * USEC_PER_SEC;

    if (c->spec->max_restarts > JOB_RESTARTS_MAX)
        return spec_bad(c, "spec.failurePolicy.maxRestarts", "must be at most 1000000");
    if (f->reset_after_us && (f->reset_after_us < USEC_PER_SEC || f->reset_after_us > 366 * day))
        return spec_bad(c, "spec.failurePolicy.resetAfter", "must be 1s to 366d");
    if (f->backoff_us && (f->backoff_us < USEC_PER_SEC || f->backoff_us > day))
        return spec_bad(c, "spec.failurePolicy.backoff.initial", "must be 1s to 24h");
    if (f->backoff_max_us && (f->backoff_max_us < USEC_PER_SEC || f->backoff_max_us > day))
        return spec_bad(c, "spec.failurePolicy.backoff.max", "must be 1s to 24h");
    if (f->backoff_us > (f->backoff_max_us ? f->backoff_max_us : BACKOFF_MAX_S * USEC_PER_SEC))
        return spec_bad(c, "spec.failurePolicy.backoff.initial",
                        "is longer than backoff.max, 10m where it is not given");
    if (f->scope >= SPEC_SCOPES)
        return spec_bad(c, "spec.failurePolicy.scope", "must be gang, role or pod");
    if (check_checkpoint(c) || check_rendezvous(c) || check_cleanup(c) || check_completion(c) ||
        check_spares(c))
        return -1;
    if (f->n_rules > JOB_RULES_MAX)
        return spec_bad(c, "spec.failurePolicy.rules", "more than 32");
    for (uint32_t i = 0; i < f->n_rules; i++)
        if (check_rule(c, i))
            return -1;
    return 0;
}
