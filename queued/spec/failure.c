/* SPDX-License-Identifier: Apache-2.0 */
/* failure.c - rules over one fault; the classes NodeLost and Rejected gather the kubelet's words.
 */
#include "spec/failure.h"

#include <stdlib.h>
#include <string.h>

#include "util/mem.h"

struct failure {
    struct arena arena;
    struct spec_failure is;
};

struct failure *failure_of(const struct spec_failure *policy)
{
    struct failure *f;

    if (spec_failure_is_default(policy))
        return NULL;
    f = xcalloc(1, sizeof(*f));
    spec_copy_failure(&f->arena, &f->is, policy);
    return f;
}

struct failure *failure_copy(const struct failure *f)
{
    return f ? failure_of(&f->is) : NULL;
}

void failure_destroy(struct failure *f)
{
    if (f)
        arena_fini(&f->arena);
    free(f);
}

/* "NodeLost" or "Rejected" for what the node made; NULL: the job's own. */
static const char *class_of(const struct fault *fault)
{
    static const char *const words[][2] = {
        {"OutOfMemory", NULL},           {"OutOf", "Rejected"},
        {"NodeAffinity", "Rejected"},    {"UnexpectedAdmissionError", "Rejected"},
        {"NodeShutdown", "NodeLost"},    {"Shutdown", "NodeLost"},
        {"NodeLost", "NodeLost"},        {"Evicted", "NodeLost"},
        {"DisruptionTarget", "NodeLost"}};

    if (!fault->reason)
        return "NodeLost";
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (strncmp(fault->reason, words[i][0], strlen(words[i][0])) == 0)
            return words[i][1];
    return NULL;
}

static bool matches(const struct spec_rule *rule, const struct fault *fault, const char *class)
{
    for (uint32_t i = 0; i < rule->n_codes; i++)
        if ((int)rule->codes[i] == fault->exit_code)
            return true;
    for (uint32_t i = 0; i < rule->reasons.n; i++) {
        const char *word = rule->reasons.v[i];

        if ((class && strcmp(word, class) == 0) ||
            (fault->reason && strcmp(word, fault->reason) == 0))
            return true;
    }
    return false;
}

struct verdict failure_judge(const struct failure *f, const struct fault *fault)
{
    const char *class = class_of(fault);
    struct verdict v = {.is_node = class != NULL};

    v.action = !class ? SPEC_RESTART : fault->reason ? SPEC_EXCLUDE : SPEC_RESTART_FREE;
    for (uint32_t i = 0; f && i < f->is.n_rules; i++) {
        if (!matches(&f->is.rules[i], fault, class))
            continue;
        v.action = f->is.rules[i].action;
        v.rule = i + 1;
        break;
    }
    if (v.rule == 0 && v.action == SPEC_EXCLUDE && !failure_excludes(f))
        v.action = SPEC_RESTART_FREE;
    return v;
}

bool failure_excludes(const struct failure *f)
{
    return !f || f->is.excludes_nodes != SPEC_NO;
}

enum spec_scope failure_scope(const struct failure *f)
{
    return f ? f->is.scope : SPEC_SCOPE_GANG;
}

usec_t back_off(uint32_t n, int64_t seconds, int64_t cap)
{
    int64_t d = n > 20 ? cap : seconds << n;

    return (d > cap ? cap : d) * USEC_PER_SEC;
}

usec_t failure_back_off(const struct failure *f, uint32_t n)
{
    int64_t first = f && f->is.backoff_us ? f->is.backoff_us / USEC_PER_SEC : BACKOFF_S;
    int64_t max = f && f->is.backoff_max_us ? f->is.backoff_max_us / USEC_PER_SEC : BACKOFF_MAX_S;

    return back_off(n, first, max);
}

usec_t failure_reset_after(const struct failure *f)
{
    return f && f->is.reset_after_us ? f->is.reset_after_us : 6 * 3600 * USEC_PER_SEC;
}
