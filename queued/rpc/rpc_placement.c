/* SPDX-License-Identifier: Apache-2.0 */
/* rpc_placement.c - distinct domains in path order, siblings joined, common stems said once. */
#include "rpc/rpc_placement.h"

#include <stdlib.h>
#include <string.h>

#include "util/str.h"

static int by_path(const void *a, const void *b)
{
    const struct domain *x = *(const struct domain *const *)a;
    const struct domain *y = *(const struct domain *const *)b;

    return strcmp(x->path, y->path);
}

/* Length of what two names share up to their last '-', digits behind it: "rack-" of rack-12. */
static size_t shared_stem(const char *a, const char *b)
{
    const char *dash = strrchr(a, '-');
    size_t len = dash ? (size_t)(dash - a) + 1 : 0;

    return len && strncmp(a, b, len) == 0 && b[len] ? len : 0;
}

/* The distinct lowest domains of the members, sorted. */
static size_t domains_of(struct arena *a, const struct state *s, const struct job *j,
                         const struct domain ***ret)
{
    const struct demand *d = j->demand;
    uint32_t h = d && d->hierarchy != IX_NONE ? d->hierarchy : 0;
    const struct domain **v = arena_alloc(a, j->n_members * sizeof(struct domain *));
    size_t n = 0, kept = 0;

    for (uint32_t i = 0; i < j->n_members; i++) {
        const struct node *node = cluster_node(&s->cluster, j->members[i].node_ix);
        uint32_t ix = node ? node->domain[h] : IX_NONE;

        if (ix != IX_NONE && (n == 0 || v[n - 1] != s->cluster.topology.domains.v[ix]))
            v[n++] = s->cluster.topology.domains.v[ix];
    }
    if (n > 1)
        qsort(v, n, sizeof(struct domain *), by_path);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || v[i] != v[kept - 1])
            v[kept++] = v[i];
    *ret = v;
    return kept;
}

const char *rpc_placement(struct arena *a, const struct state *s, const struct job *j)
{
    const struct domain **v;
    struct str text = {0};
    char *ret;
    size_t n;

    if (j->n_members == 0 || s->settings->n_hierarchies == 0)
        return "";
    n = domains_of(a, s, j, &v);
    for (size_t i = 0; i < n; i++) {
        bool is_sibling = i > 0 && v[i]->parent == v[i - 1]->parent && v[i]->parent != IX_NONE;

        if (text.len > RPC_PLACEMENT_MAX - 100) {
            str_addf(&text, " and %zu more", n - i);
            break;
        }
        if (is_sibling)
            str_addf(&text, ",%s", v[i]->name + shared_stem(v[i - 1]->name, v[i]->name));
        else
            str_addf(&text, "%s%s", i ? " " : "", v[i]->path);
    }
    ret = arena_strdup(a, str_text(&text));
    str_fini(&text);
    return ret;
}
