/* SPDX-License-Identifier: Apache-2.0 */
/* spec_placement.c - the placement of one role of a job file: which nodes it may use.
 *
 * Affinity has the form of Kubernetes, of labels of nodes alone.
 */
#include <string.h>

#include "spec/limits.h"
#include "spec_read.h"
#include "util/mem.h"
#include "util/str.h"

static int read_selector(const struct yaml_at *at, void *draft, struct err *err)
{
    struct role_draft *d = draft;
    struct pairs_wish wish = {d->arena, ROLE_SELECTOR_MAX, NULL};

    return read_pairs(at, &wish, &d->role.node_selector, &d->role.n_node_selector, err);
}

static int read_operator(const struct yaml_at *at, void *out, struct err *err)
{
    const char *s;

    if (yaml_string(at, &s, err))
        return -1;
    if (strcmp(s, "Exists") != 0 && strcmp(s, "Equal") != 0)
        return yaml_fail(at, err, "\"%.40s\" is no operator; use Exists or Equal", s);
    *(const char **)out = s;
    return 0;
}

static int read_effect(const struct yaml_at *at, void *out, struct err *err)
{
    const char *s;

    if (yaml_string(at, &s, err))
        return -1;
    if (strcmp(s, "NoSchedule") != 0 && strcmp(s, "PreferNoSchedule") != 0 &&
        strcmp(s, "NoExecute") != 0)
        return yaml_fail(
            at, err, "\"%.40s\" is no effect; use NoSchedule, PreferNoSchedule or NoExecute", s);
    *(const char **)out = s;
    return 0;
}

static int read_seconds(const struct yaml_at *at, void *out, struct err *err)
{
    struct queued_toleration *t = out;

    t->has_seconds = true;
    return yaml_u64(at, 0, TOLERATION_SECONDS_MAX, &t->seconds, err);
}

static const struct yaml_field toleration_fields[] = {
    {"key", read_text, offsetof(struct queued_toleration, key), false, NULL},
    {"operator", read_operator, offsetof(struct queued_toleration, operator_), false, NULL},
    {"value", read_value, offsetof(struct queued_toleration, value), false, NULL},
    {"effect", read_effect, offsetof(struct queued_toleration, effect), false, NULL},
    {"tolerationSeconds", read_seconds, 0, false, NULL},
};

struct tolerations {
    struct queued_toleration *v;
    size_t n;
};

static int add_toleration(const struct yaml_at *at, const char *key, void *out, struct err *err)
{
    struct tolerations *l = out;
    struct queued_toleration *t = &l->v[l->n++];

    (void)key;
    if (yaml_walk(at, toleration_fields, ARRAY_LEN(toleration_fields), t, err))
        return -1;
    if (!t->key && (!t->operator_ || strcmp(t->operator_, "Exists") != 0))
        return yaml_fail(at, err, "\"key\" is missing; only operator Exists goes without");
    if (t->has_seconds && (!t->effect || strcmp(t->effect, "NoExecute") != 0))
        return yaml_fail(at, err, "tolerationSeconds needs effect: NoExecute");
    return 0;
}

static int read_tolerations(const struct yaml_at *at, void *draft, struct err *err)
{
    struct role_draft *d = draft;
    struct tolerations l = {0};

    if (at->node->kind != YAML_LIST)
        return yaml_fail(at, err, "must be a list, like [{key: dedicated, operator: Exists}]");
    if (at->node->n > ROLE_TOLERATIONS_MAX)
        return yaml_fail(at, err, "has more than %d entries", ROLE_TOLERATIONS_MAX);
    l.v = arena_alloc(d->arena, (at->node->n + 1) * sizeof(*l.v));
    if (yaml_each(at, add_toleration, &l, err))
        return -1;
    d->role.tolerations = l.v;
    d->role.n_tolerations = l.n;
    return 0;
}

/* ---- affinity, in the form of Kubernetes */

struct matches {
    struct arena *arena;
    struct queued_match v[ROLE_MATCHES_MAX];
    size_t n;
    uint32_t term, weight; /* of the term at hand */
};

struct match_draft {
    struct arena *arena;
    struct queued_match match;
};

static int read_match_operator(const struct yaml_at *at, void *draft, struct err *err)
{
    static const char *const words[] = {"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"};
    struct match_draft *d = draft;

    if (yaml_string(at, &d->match.operator_, err))
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (strcmp(words[i], d->match.operator_) == 0)
            return 0;
    return yaml_fail(at, err,
                     "\"%.40s\" is no operator; use In, NotIn, Exists, DoesNotExist, Gt or Lt",
                     d->match.operator_);
}

static int read_match_values(const struct yaml_at *at, void *draft, struct err *err)
{
    struct match_draft *d = draft;

    return read_texts(at, d->arena, &d->match.values, &d->match.n_values, err);
}

static const struct yaml_field match_fields[] = {
    {"key", read_text, offsetof(struct match_draft, match.key), true, NULL},
    {"operator", read_match_operator, 0, true, NULL},
    {"values", read_match_values, 0, false, NULL},
};

static int add_match(const struct yaml_at *at, const char *key, void *out, struct err *err)
{
    struct matches *l = out;
    struct match_draft d = {.arena = l->arena, .match = {.term = l->term, .weight = l->weight}};

    (void)key;
    if (l->n == ROLE_MATCHES_MAX)
        return yaml_fail(at, err, "at most %d expressions are allowed in all", ROLE_MATCHES_MAX);
    if (yaml_walk(at, match_fields, ARRAY_LEN(match_fields), &d, err))
        return -1;
    l->v[l->n++] = d.match;
    return 0;
}

static int read_expressions(const struct yaml_at *at, void *out, struct err *err)
{
    if (at->node->kind != YAML_LIST || at->node->n == 0)
        return yaml_fail(at, err, "must be a list, like [{key: zone, operator: In, values: [a]}]");
    return yaml_each(at, add_match, out, err);
}

static const struct yaml_field term_fields[] = {
    {"matchExpressions", read_expressions, 0, true, NULL},
    {"matchFields", NULL, 0, false, "is not acted on; name nodes in placement.nodes"},
};

static int add_term(const struct yaml_at *at, const char *key, void *out, struct err *err)
{
    struct matches *l = out;

    (void)key;
    l->term++;
    l->weight = 0;
    return yaml_walk(at, term_fields, ARRAY_LEN(term_fields), l, err);
}

static int read_terms(const struct yaml_at *at, void *out, struct err *err)
{
    if (at->node->kind != YAML_LIST || at->node->n == 0)
        return yaml_fail(at, err, "must be a list of terms, like [{matchExpressions: [...]}]");
    return yaml_each(at, add_term, out, err);
}

static const struct yaml_field required_fields[] = {
    {"nodeSelectorTerms", read_terms, 0, true, NULL},
};

static int read_required(const struct yaml_at *at, void *out, struct err *err)
{
    return yaml_walk(at, required_fields, ARRAY_LEN(required_fields), out, err);
}

static int read_weight(const struct yaml_at *at, void *out, struct err *err)
{
    uint64_t n;

    if (yaml_u64(at, 1, MATCH_WEIGHT_MAX, &n, err))
        return -1;
    ((struct matches *)out)->weight = (uint32_t)n;
    return 0;
}

static int read_preference(const struct yaml_at *at, void *out, struct err *err)
{
    return yaml_walk(at, term_fields, ARRAY_LEN(term_fields), out, err);
}

static const struct yaml_field preferred_fields[] = {
    {"weight", read_weight, 0, true, NULL},
    {"preference", read_preference, 0, true, NULL},
};

static int add_preferred(const struct yaml_at *at, const char *key, void *out, struct err *err)
{
    struct matches *l = out;
    size_t first = l->n;

    (void)key;
    l->term++;
    if (yaml_walk(at, preferred_fields, ARRAY_LEN(preferred_fields), l, err))
        return -1;
    for (; first < l->n; first++)
        l->v[first].weight = l->weight;
    return 0;
}

static int read_preferred(const struct yaml_at *at, void *out, struct err *err)
{
    if (at->node->kind != YAML_LIST || at->node->n == 0)
        return yaml_fail(
            at, err, "must be a list, like [{weight: 10, preference: {matchExpressions: [...]}}]");
    return yaml_each(at, add_preferred, out, err);
}

static const struct yaml_field node_affinity_fields[] = {
    {"requiredDuringSchedulingIgnoredDuringExecution", read_required, 0, false, NULL},
    {"preferredDuringSchedulingIgnoredDuringExecution", read_preferred, 0, false, NULL},
};

static int read_node_affinity(const struct yaml_at *at, void *out, struct err *err)
{
    return yaml_walk(at, node_affinity_fields, ARRAY_LEN(node_affinity_fields), out, err);
}

static const struct yaml_field affinity_fields[] = {
    {"nodeAffinity", read_node_affinity, 0, true, NULL},
    {"podAffinity", NULL, 0, false, "is not acted on; use topology"},
    {"podAntiAffinity", NULL, 0, false, "is not acted on; use topology"},
};

static int read_affinity(const struct yaml_at *at, void *draft, struct err *err)
{
    struct role_draft *d = draft;
    struct matches l = {.arena = d->arena};
    uint32_t term = 0, old = 0;
    struct queued_match *v;
    size_t n = 0;

    if (yaml_walk(at, affinity_fields, ARRAY_LEN(affinity_fields), &l, err))
        return -1;
    if (l.n == 0)
        return yaml_fail(at, err, "nodeAffinity says nothing; name what is required or preferred");
    v = arena_alloc(d->arena, (l.n + 1) * sizeof(*v));
    for (int is_preferred = 0; is_preferred < 2; is_preferred++)
        for (size_t i = 0; i < l.n; i++)
            if ((l.v[i].weight > 0) == is_preferred)
                v[n++] = l.v[i];
    for (size_t i = 0; i < n; i++) { /* ascending, now that they have moved */
        term += v[i].term != old;
        old = v[i].term;
        v[i].term = term;
    }
    d->role.affinity = v;
    d->role.n_affinity = n;
    return 0;
}

static int read_names(const struct yaml_at *at, struct arena *arena, const char *const **ret,
                      size_t *ret_n, struct err *err)
{
    if (read_texts(at, arena, ret, ret_n, err))
        return -1;
    for (size_t i = 0; i < *ret_n; i++)
        if (!str_is_dns_subdomain((*ret)[i]))
            return yaml_fail(at, err, "\"%.80s\" is no name of a node", (*ret)[i]);
    return 0;
}

static int read_nodes(const struct yaml_at *at, void *draft, struct err *err)
{
    struct role_draft *d = draft;

    return read_names(at, d->arena, &d->role.nodes, &d->role.n_nodes, err);
}

static int read_excluded_nodes(const struct yaml_at *at, void *draft, struct err *err)
{
    struct role_draft *d = draft;

    return read_names(at, d->arena, &d->role.excluded_nodes, &d->role.n_excluded_nodes, err);
}

/* ---- driver */

static int read_version(const struct yaml_at *at, void *out, struct err *err)
{
    const char *s;

    if (yaml_string(at, &s, err))
        return -1;
    if (*s < '0' || *s > '9' || s[strspn(s, "0123456789.")] || strlen(s) > VERSION_MAX)
        return yaml_fail(at, err, "\"%.40s\" is no version; write it like \"550.54\"", s);
    *(const char **)out = s;
    return 0;
}

static int read_same_driver(const struct yaml_at *at, void *out, struct err *err)
{
    bool same;

    if (yaml_bool(at, &same, err))
        return -1;
    *(bool *)out = !same;
    return 0;
}

static const struct yaml_field driver_fields[] = {
    {"min", read_version, offsetof(struct role_draft, role.driver_min), false, NULL},
    {"cuda", read_version, offsetof(struct role_draft, role.cuda_min), false, NULL},
    {"sameAcrossGang", read_same_driver, offsetof(struct role_draft, role.has_mixed_drivers), false,
     NULL},
};

static int read_driver(const struct yaml_at *at, void *draft, struct err *err)
{
    return yaml_walk(at, driver_fields, ARRAY_LEN(driver_fields), draft, err);
}

/* ---- spread, in the form of Kubernetes */

static int read_max_skew(const struct yaml_at *at, void *out, struct err *err)
{
    uint64_t n;

    if (yaml_u64(at, 1, JOB_PODS_MAX, &n, err))
        return -1;
    *(uint32_t *)out = (uint32_t)n;
    return 0;
}

static int read_when(const struct yaml_at *at, void *out, struct err *err)
{
    const char *s;

    if (yaml_string(at, &s, err))
        return -1;
    *(bool *)out = strcmp(s, "ScheduleAnyway") == 0;
    if (strcmp(s, "ScheduleAnyway") != 0 && strcmp(s, "DoNotSchedule") != 0)
        return yaml_fail(at, err, "\"%.40s\" is neither DoNotSchedule nor ScheduleAnyway", s);
    return 0;
}

#define SPREAD_OF_ROLE "is not acted on; it is the pods of the role that are spread"

static const struct yaml_field spread_fields[] = {
    {"maxSkew", read_max_skew, offsetof(struct role_draft, role.spread_max_skew), true, NULL},
    {"topologyKey", read_text, offsetof(struct role_draft, role.spread_key), true, NULL},
    {"whenUnsatisfiable", read_when, offsetof(struct role_draft, role.is_spread_soft), true, NULL},
    {"labelSelector", NULL, 0, false, SPREAD_OF_ROLE},
    {"matchLabelKeys", NULL, 0, false, SPREAD_OF_ROLE},
    {"minDomains", NULL, 0, false, SPEC_LATER},
    {"nodeAffinityPolicy", NULL, 0, false, SPEC_LATER},
    {"nodeTaintsPolicy", NULL, 0, false, SPEC_LATER},
};

static int add_spread(const struct yaml_at *at, const char *key, void *draft, struct err *err)
{
    (void)key;
    return yaml_walk(at, spread_fields, ARRAY_LEN(spread_fields), draft, err);
}

static int read_spread(const struct yaml_at *at, void *draft, struct err *err)
{
    if (at->node->kind != YAML_LIST || at->node->n != 1)
        return yaml_fail(at, err,
                         "must be a list of one, like [{maxSkew: 1, topologyKey: rack, "
                         "whenUnsatisfiable: DoNotSchedule}]");
    return yaml_each(at, add_spread, draft, err);
}

static int read_exclusive(const struct yaml_at *at, void *out, struct err *err)
{
    return yaml_bool(at, out, err);
}

static const struct yaml_field placement_fields[] = {
    {"nodeSelector", read_selector, 0, false, NULL},
    {"tolerations", read_tolerations, 0, false, NULL},
    {"affinity", read_affinity, 0, false, NULL},
    {"nodes", read_nodes, 0, false, NULL},
    {"excludeNodes", read_excluded_nodes, 0, false, NULL},
    {"exclusiveNode", read_exclusive, offsetof(struct role_draft, role.is_exclusive), false, NULL},
    {"pack", NULL, 0, false, SPEC_LATER},
    {"driver", read_driver, 0, false, NULL},
    {"topologySpreadConstraints", read_spread, 0, false, NULL},
};

int read_placement(const struct yaml_at *at, void *draft, struct err *err)
{
    return yaml_walk(at, placement_fields, ARRAY_LEN(placement_fields), draft, err);
}
