/* SPDX-License-Identifier: Apache-2.0 */
/* spec_failure.c - the failurePolicy of a job file: restarts, back-off, rules. What no rule names
 * is for the daemon.
 */
#include <string.h>

#include "spec/limits.h"
#include "spec_read.h"
#include "util/mem.h"

static int read_max_restarts(const struct yaml_at *at, void *out, struct err *err)
{
    struct spec_draft *d = out;
    uint64_t v;

    if (yaml_u64(at, 0, JOB_RESTARTS_MAX, &v, err))
        return -1;
    d->spec.max_restarts = (uint32_t)v;
    d->spec.has_max_restarts = true;
    return 0;
}

static int read_scope(const struct yaml_at *at, void *out, struct err *err)
{
    struct spec_draft *d = out;
    const char *s;

    if (yaml_string(at, &s, err))
        return -1;
    if (strcmp(s, "gang") != 0 && strcmp(s, "role") != 0 && strcmp(s, "pod") != 0)
        return yaml_fail(at, err, "\"%.40s\" is no scope; use gang, role or pod", s);
    d->spec.failure_scope = s;
    return 0;
}

static int read_excludes(const struct yaml_at *at, void *out, struct err *err)
{
    struct spec_draft *d = out;

    d->spec.has_exclude_nodes = true;
    return read_flag(at, &d->spec.excludes_nodes, err);
}

static const struct yaml_field backoff_fields[] = {
    {"initial", read_duration, offsetof(struct spec_draft, spec.backoff_us), false, NULL},
    {"max", read_duration, offsetof(struct spec_draft, spec.backoff_max_us), false, NULL},
};

static int read_backoff(const struct yaml_at *at, void *out, struct err *err)
{
    return yaml_walk(at, backoff_fields, ARRAY_LEN(backoff_fields), out, err);
}

/* ---- rules */

struct rule_draft {
    struct arena *arena;
    struct queued_rule rule;
};

struct codes {
    uint32_t *v;
    size_t n;
};

static int add_code(const struct yaml_at *at, const char *key, void *out, struct err *err)
{
    struct codes *l = out;
    uint64_t v;

    (void)key;
    if (yaml_u64(at, 1, 255, &v, err))
        return -1;
    l->v[l->n++] = (uint32_t)v;
    return 0;
}

static int read_codes(const struct yaml_at *at, void *draft, struct err *err)
{
    struct rule_draft *d = draft;
    struct codes l = {0};

    if (at->node->kind != YAML_LIST || at->node->n == 0)
        return yaml_fail(at, err, "must be a list of exit codes, like [3, 137]");
    if (at->node->n > RULE_WORDS_MAX)
        return yaml_fail(at, err, "has more than %d entries", RULE_WORDS_MAX);
    l.v = arena_alloc(d->arena, at->node->n * sizeof(*l.v));
    if (yaml_each(at, add_code, &l, err))
        return -1;
    d->rule.codes = l.v;
    d->rule.n_codes = l.n;
    return 0;
}

static int read_reasons(const struct yaml_at *at, void *draft, struct err *err)
{
    struct rule_draft *d = draft;

    if (read_texts(at, d->arena, &d->rule.reasons, &d->rule.n_reasons, err))
        return -1;
    if (d->rule.n_reasons == 0 || d->rule.n_reasons > RULE_WORDS_MAX)
        return yaml_fail(at, err, "must have 1 to %d reasons, like [NodeLost, OOMKilled]",
                         RULE_WORDS_MAX);
    return 0;
}

static int read_action(const struct yaml_at *at, void *draft, struct err *err)
{
    static const char *const words[] = {"Restart", "RestartFree", "Fail", "ExcludeNodeAndRestart"};
    struct rule_draft *d = draft;

    if (yaml_string(at, &d->rule.action, err))
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (strcmp(words[i], d->rule.action) == 0)
            return 0;
    return yaml_fail(at, err,
                     "\"%.40s\" is no action; use Restart, RestartFree, Fail or "
                     "ExcludeNodeAndRestart",
                     d->rule.action);
}

static const struct yaml_field rule_fields[] = {
    {"onExitCodes", read_codes, 0, false, NULL},
    {"onReason", read_reasons, 0, false, NULL},
    {"onLogPattern", NULL, 0, false, "is not acted on: logs are not read; use an exit code"},
    {"action", read_action, 0, true, NULL},
};

struct rules {
    struct arena *arena;
    struct queued_rule *v;
    size_t n;
};

static int add_rule(const struct yaml_at *at, const char *key, void *out, struct err *err)
{
    struct rules *l = out;
    struct rule_draft d = {.arena = l->arena};

    (void)key;
    if (yaml_walk(at, rule_fields, ARRAY_LEN(rule_fields), &d, err))
        return -1;
    if ((d.rule.n_codes > 0) == (d.rule.n_reasons > 0))
        return yaml_fail(at, err, "needs either onExitCodes or onReason; write two rules for both");
    l->v[l->n++] = d.rule;
    return 0;
}

static int read_rules(const struct yaml_at *at, void *draft, struct err *err)
{
    struct spec_draft *d = draft;
    struct rules l = {.arena = d->arena};

    if (at->node->kind != YAML_LIST)
        return yaml_fail(at, err, "must be a list, like [{onExitCodes: [3], action: Fail}]");
    if (at->node->n > JOB_RULES_MAX)
        return yaml_fail(at, err, "has more than %d rules", JOB_RULES_MAX);
    l.v = arena_alloc(d->arena, (at->node->n + 1) * sizeof(*l.v));
    if (yaml_each(at, add_rule, &l, err))
        return -1;
    d->spec.rules = l.v;
    d->spec.n_rules = l.n;
    return 0;
}

static const struct yaml_field failure_fields[] = {
    {"maxRestarts", read_max_restarts, 0, false, NULL},
    {"scope", read_scope, 0, false, NULL},
    {"resetAfter", read_duration, offsetof(struct spec_draft, spec.reset_after_us), false, NULL},
    {"backoff", read_backoff, 0, false, NULL},
    {"rules", read_rules, 0, false, NULL},
    {"excludeFailedNodes", read_excludes, 0, false, NULL},
};

int read_failure_policy(const struct yaml_at *at, void *draft, struct err *err)
{
    return yaml_walk(at, failure_fields, ARRAY_LEN(failure_fields), draft, err);
}
