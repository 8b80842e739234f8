/* SPDX-License-Identifier: Apache-2.0 */
/* spec_check_place.c - is what a role says of its nodes acceptable? Selector, affinity, names,
 * versions, tolerations, spread. And the licences of the gang.
 */
#include <string.h>

#include "spec/spec_check.h"
#include "util/str.h"

static bool may_tolerate(const struct check *c, const char *key)
{
    for (uint32_t t = c->tenant; t != IX_NONE; t = c->settings->tenants[t].parent) {
        const struct tenant_setting *ts = &c->settings->tenants[t];

        for (uint32_t i = 0; i < ts->n_tolerations; i++)
            if (strcmp(ts->tolerations[i], "*") == 0 ||
                (key && strcmp(ts->tolerations[i], key) == 0))
                return true;
        for (uint32_t i = 0; i < ts->n_auto_tolerations; i++)
            if (key && strcmp(ts->auto_tolerations[i], key) == 0)
                return true;
    }
    return false;
}

static int check_affinity(const struct check *c, const struct spec_role *r)
{
    if (r->n_affinity > ROLE_MATCHES_MAX)
        return spec_bad(c, ".placement.affinity", "more than 64 expressions");
    for (uint32_t i = 0; i < r->n_affinity; i++) {
        const struct spec_match *m = &r->affinity[i];

        if (!m->key || !spec_is_qualified(m->key))
            return spec_bad(c, ".placement.affinity", "keys must be label keys");
        if (!spec_match_fits(m->op, m->values.n))
            return spec_bad(
                c, ".placement.affinity",
                "operators are In and NotIn with values, Gt and Lt with one, Exists and "
                "DoesNotExist without");
        for (uint32_t k = 0; k < m->values.n; k++)
            if (!spec_is_label_value(m->values.v[k]))
                return spec_bad(c, ".placement.affinity", "values must be label values");
        if (i && (m->term < m[-1].term || (m->term == m[-1].term && m->weight != m[-1].weight) ||
                  (!m->weight && m[-1].weight)))
            return spec_bad(c, ".placement.affinity",
                            "terms must follow each other, those with a weight last");
        if (m->weight > MATCH_WEIGHT_MAX)
            return spec_bad(c, ".placement.affinity", "weights are 1 to 100");
    }
    return 0;
}

static int check_names(const struct check *c, const char *path, const struct spec_strings *names)
{
    if (names->n > ROLE_NODES_MAX)
        return spec_bad(c, path, "more than 256");
    for (uint32_t i = 0; i < names->n; i++)
        if (!str_is_dns_subdomain(names->v[i]))
            return spec_bad(c, path, "must be names of nodes");
    return 0;
}

static bool has_name(const struct spec_strings *names, uint32_t n, const char *name)
{
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(names->v[i], name) == 0)
            return true;
    return false;
}

/* Of the nodes that are named, are enough left? */
static int check_left(const struct check *c, const struct spec_role *r)
{
    uint32_t left = 0;

    for (uint32_t i = 0; i < r->nodes.n; i++)
        left += !has_name(&r->nodes, i, r->nodes.v[i]) &&
                !has_name(&r->excluded_nodes, r->excluded_nodes.n, r->nodes.v[i]);
    if (r->nodes.n && left == 0)
        return spec_bad(c, ".placement.excludeNodes", "leaves none of placement.nodes");
    if (r->nodes.n && r->is_exclusive && left < spec_role_min(r))
        return err_set(c->err, ERR_INVALID,
                       "%s.placement.nodes: leaves %u nodes, and with exclusiveNode %u pods need "
                       "one each",
                       c->at, left, spec_role_min(r));
    if (c->spec->topology_required && strcmp(c->spec->topology_required, "host") == 0 &&
        r->is_exclusive && spec_role_min(r) > 1)
        return spec_bad(c, ".placement.exclusiveNode",
                        "gives each pod a node, and topology.required: host all of them one");
    return 0;
}

/* Any extended resource whose name begins so? */
static bool asks_for(const struct spec_role *r, const char *prefix)
{
    for (uint32_t i = 0; i < r->n_extended; i++)
        if (strncmp(r->extended[i].name, prefix, strlen(prefix)) == 0)
            return true;
    return false;
}

static bool is_version(const char *v)
{
    return !v || (*v >= '0' && *v <= '9' && strlen(v) <= VERSION_MAX &&
                  strspn(v, "0123456789.") == strlen(v));
}

static int check_versions(const struct check *c, const struct spec_role *r)
{
    if (r->gpu_memory_min && r->gpus == 0 && !asks_for(r, SHARED_GPU))
        return spec_bad(c, ".resources.gpus",
                        "is 0, and GPU memory is asked for; " SHARED_GPU " of extended would do");
    if ((r->driver_min || r->cuda_min || r->mixed_drivers) && r->gpus == 0 &&
        !asks_for(r, SHARED_GPU) && !asks_for(r, MIG_PREFIX))
        return spec_bad(c, ".resources.gpus", "is 0, and driver or CUDA is asked for");
    if (r->is_exclusive && (asks_for(r, SHARED_GPU) || asks_for(r, MIG_PREFIX)))
        return spec_bad(c, ".placement.exclusiveNode",
                        "takes all GPUs of a node as whole ones, and parts of GPUs are asked for");
    if (r->gpu_memory_min < 0 || r->gpu_memory_min > INT64_C(1) << 50)
        return spec_bad(c, ".resources.gpuMemoryMin", "must be at most 1Pi");
    if (!is_version(r->driver_min))
        return spec_bad(c, ".placement.driver.min", "must be a version like 550.54");
    if (!is_version(r->cuda_min))
        return spec_bad(c, ".placement.driver.cuda", "must be a version like 12.4");
    if (check_names(c, ".placement.nodes", &r->nodes) ||
        check_names(c, ".placement.excludeNodes", &r->excluded_nodes) || check_left(c, r))
        return -1;
    return check_affinity(c, r);
}

static int check_spread(const struct check *c, const struct spec_role *r)
{
    static const char path[] = ".placement.topologySpreadConstraints[0]";
    const struct spec_spread *s = &r->spread;
    uint32_t h, l;

    if (!s->key)
        return 0;
    if (!settings_level(c->settings, s->key, &h, &l) && !spec_is_qualified(s->key))
        return spec_bad(c, path, "topologyKey must be a level or a label key");
    if (s->max_skew < 1 || s->max_skew > JOB_PODS_MAX)
        return spec_bad(c, path, "maxSkew must be 1 to 10000");
    if (c->spec->slice_size && r->gpus)
        return spec_bad(c, path, "and topology.slice exclude each other");
    return 0;
}

static bool tolerates(const struct spec_role *r, const char *key)
{
    for (uint32_t i = 0; i < r->n_tolerations; i++)
        if (r->tolerations[i].exists && !r->tolerations[i].effect &&
            !r->tolerations[i].is_limited &&
            (!r->tolerations[i].key || strcmp(r->tolerations[i].key, key) == 0))
            return true;
    return false;
}

/* Those of the tenant as it is now: a job that changes its tenant leaves those of the old one. */
static int take_automatic(const struct check *c, struct spec_role *r)
{
    struct spec_toleration *all =
        arena_alloc(&c->spec->arena, ROLE_TOLERATIONS_MAX * sizeof(*r->tolerations));
    uint32_t n = 0;

    for (uint32_t i = 0; i < r->n_tolerations; i++) {
        if (r->tolerations[i].is_automatic)
            continue;
        if (n == ROLE_TOLERATIONS_MAX)
            return spec_bad(c, ".placement.tolerations", "more than 16");
        all[n++] = r->tolerations[i];
    }
    r->tolerations = all;
    r->n_tolerations = n;
    for (uint32_t t = c->tenant; t != IX_NONE; t = c->settings->tenants[t].parent) {
        const struct tenant_setting *ts = &c->settings->tenants[t];

        for (uint32_t i = 0; i < ts->n_auto_tolerations; i++) {
            if (tolerates(r, ts->auto_tolerations[i]))
                continue;
            if (r->n_tolerations == ROLE_TOLERATIONS_MAX)
                return spec_bad(c, ".placement.tolerations", "more than 16 with the tenant's own");
            all[r->n_tolerations++] = (struct spec_toleration){
                .key = arena_strdup(&c->spec->arena, ts->auto_tolerations[i]),
                .exists = true,
                .is_automatic = true};
        }
    }
    return 0;
}

int spec_check_placement(const struct check *c, struct spec_role *r)
{
    if (r->node_selector.n > ROLE_SELECTOR_MAX)
        return spec_bad(c, ".placement.nodeSelector", "more than 32");
    for (uint32_t i = 0; i < r->node_selector.n; i++)
        if (!r->node_selector.v[i].key || !spec_is_qualified(r->node_selector.v[i].key) ||
            !r->node_selector.v[i].value || !spec_is_label_value(r->node_selector.v[i].value))
            return spec_bad(c, ".placement.nodeSelector", "must be label keys with label values");
    if (take_automatic(c, r))
        return -1;
    for (uint32_t i = 0; i < r->n_tolerations; i++) {
        const struct spec_toleration *t = &r->tolerations[i];

        if (t->key && !spec_is_qualified(t->key))
            return spec_bad(c, ".placement.tolerations", "key must be [prefix/]name");
        if (!t->key && !t->exists)
            return spec_bad(c, ".placement.tolerations",
                            "without a key the operator must be Exists");
        if (t->effect && strcmp(t->effect, "NoSchedule") != 0 &&
            strcmp(t->effect, "PreferNoSchedule") != 0 && strcmp(t->effect, "NoExecute") != 0)
            return spec_bad(c, ".placement.tolerations",
                            "effect must be NoSchedule, PreferNoSchedule or NoExecute");
        if (t->value && !spec_is_label_value(t->value))
            return spec_bad(c, ".placement.tolerations", "value must be a label value");
        if (t->is_limited && (!t->effect || strcmp(t->effect, "NoExecute") != 0))
            return spec_bad(c, ".placement.tolerations",
                            "tolerationSeconds needs the effect NoExecute");
        if (!t->is_automatic && !may_tolerate(c, t->key))
            return err_set(c->err, ERR_REFUSED,
                           "%s.placement.tolerations: tenant %s may not tolerate '%s'; its list is "
                           "in the configuration",
                           c->at, c->spec->tenant, t->key ? t->key : "everything");
    }
    return check_spread(c, r) ? -1 : check_versions(c, r);
}

int spec_check_licences(const struct check *c)
{
    const struct spec *s = c->spec;

    if (s->n_licences > LICENCES_MAX)
        return spec_bad(c, "spec.licences", "more than 16");
    for (uint32_t i = 0; i < s->n_licences; i++) {
        const struct spec_extended *l = &s->licences[i];
        uint32_t ix = l->name ? settings_licence(c->settings, l->name) : IX_NONE;

        if (ix == IX_NONE)
            return err_set(c->err, ERR_REFUSED,
                           "spec.licences: no licence '%.63s' in the configuration",
                           l->name ? l->name : "");
        if (l->amount < 1)
            return spec_bad(c, "spec.licences", "must be 1 or more of each");
        if (l->amount > c->settings->licences[ix].count)
            return err_set(c->err, ERR_REFUSED,
                           "spec.licences: needs %lld of %s, the site has %u: can never run",
                           (long long)l->amount, l->name, c->settings->licences[ix].count);
        for (uint32_t k = 0; k < i; k++)
            if (strcmp(s->licences[k].name, l->name) == 0)
                return spec_bad(c, "spec.licences", "names one twice");
    }
    return 0;
}
