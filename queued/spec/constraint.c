/* SPDX-License-Identifier: Apache-2.0 */
/* constraint.c - interning of constraints, and what they say about a node.
 *
 * Content is compared as text with separators that no field can hold. The semantics of selectors,
 * affinity and taints are those of Kubernetes.
 */
#include "spec/constraint.h"

#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "util/mem.h"
#include "util/parse.h"
#include "util/vec.h"

enum { LIKING_UNKNOWN = UINT16_MAX };

struct constraint {
    char *text;
    uint32_t n_users;
    struct arena arena; /* of what wish points to */
    struct spec_role wish;
    uint64_t closed;              /* pools */
    VEC(uint64_t) known, allowed; /* answers by node_ix, as bits */
    uint32_t weights;             /* of all preferred terms together */
    VEC(uint16_t) liking;         /* by node_ix; LIKING_UNKNOWN */
    UT_hash_handle hh;
};

static void describe_strings(struct str *b, const char *mark, const struct spec_strings *v)
{
    for (uint32_t i = 0; i < v->n; i++)
        str_addf(b, "%s%s", mark, v->v[i]);
}

void constraint_describe(struct str *b, const struct spec_role *role)
{
    for (uint32_t i = 0; i < role->node_selector.n; i++)
        str_addf(b, "\x1es%s\x1f%s", role->node_selector.v[i].key, role->node_selector.v[i].value);
    for (uint32_t i = 0; i < role->n_tolerations; i++) {
        const struct spec_toleration *t = &role->tolerations[i];

        str_addf(b, "\x1et%s\x1f%d\x1f%s\x1f%s%s", t->key ? t->key : "", t->exists,
                 t->value ? t->value : "", t->effect ? t->effect : "",
                 t->is_limited ? "\x1fl" : "");
    }
    for (uint32_t i = 0; i < role->n_affinity; i++) {
        const struct spec_match *m = &role->affinity[i];

        str_addf(b,
                 "\x1e"
                 "a%u\x1f%u\x1f%s\x1f%s",
                 m->term, m->weight, m->key, m->op);
        describe_strings(b, "\x1f", &m->values);
    }
    describe_strings(b, "\x1en", &role->nodes);
    describe_strings(b, "\x1ex", &role->excluded_nodes);
    if (role->gpu_memory_min)
        str_addf(b, "\x1eg%lld", (long long)role->gpu_memory_min);
    if (role->driver_min)
        str_addf(b, "\x1ev%s", role->driver_min);
    if (role->cuda_min)
        str_addf(b, "\x1eu%s", role->cuda_min);
}

struct constraint *constraint_intern(struct constraint **table, const struct spec_role *role,
                                     uint64_t closed)
{
    struct constraint *k = NULL;
    struct str text = {0};

    constraint_describe(&text, role);
    if (closed)
        str_addf(&text, "\x1eP%llx", (unsigned long long)closed);
    HASH_FIND_STR(*table, str_text(&text), k);
    if (k) {
        str_fini(&text);
        k->n_users++;
        return k;
    }
    k = xcalloc(1, sizeof(*k));
    k->text = str_take(&text);
    k->n_users = 1;
    k->closed = closed;
    spec_copy_placement(&k->arena, &k->wish, role);
    for (uint32_t i = 0; i < role->n_affinity; i++)
        if (i == 0 || role->affinity[i].term != role->affinity[i - 1].term)
            k->weights += role->affinity[i].weight;
    HASH_ADD_KEYPTR(hh, *table, k->text, strlen(k->text), k);
    return k;
}

struct constraint *constraint_copy(struct constraint **table, const struct constraint *k)
{
    return constraint_reclose(table, k, k->closed);
}

struct constraint *constraint_reclose(struct constraint **table, const struct constraint *k,
                                      uint64_t closed)
{
    return constraint_intern(table, &k->wish, closed);
}

static void drop(struct constraint **table, struct constraint *k)
{
    HASH_DELETE(hh, *table, k); /* NOLINT(clang-analyzer-core.NullDereference): it is in */
    arena_fini(&k->arena);
    vec_fini(&k->known);
    vec_fini(&k->allowed);
    vec_fini(&k->liking);
    free(k->text);
    free(k);
}

void constraint_release(struct constraint **table, struct constraint *k)
{
    if (--k->n_users == 0)
        drop(table, k);
}

void constraint_table_fini(struct constraint **table)
{
    while (*table)
        drop(table, *table);
}

const char *node_marks_label(const struct node_marks *node, const char *key)
{
    for (uint32_t i = 0; i < node->n_labels; i++)
        if (strcmp(node->labels[i].key, key) == 0)
            return node->labels[i].value;
    return NULL;
}

uint32_t node_marks_pool(const struct node_marks *node, const struct settings *s)
{
    for (uint32_t i = 0; i < s->n_pools; i++) {
        const struct pool_setting *p = &s->pools[i];
        uint32_t n = 0;

        while (n < p->n_labels) {
            const char *value = node_marks_label(node, p->labels[n].key);

            if (!value || strcmp(value, p->labels[n].value) != 0)
                break;
            n++;
        }
        if (n == p->n_labels)
            return i;
    }
    return IX_NONE;
}

/* The number at *p, which moves behind it and behind what follows it up to the next one. */
static uint64_t version_piece(const char **p)
{
    uint64_t n = 0;

    for (; **p >= '0' && **p <= '9'; (*p)++)
        n = n < UINT32_MAX ? n * 10 + (uint64_t)(**p - '0') : n;
    *p += strcspn(*p, "0123456789");
    return n;
}

int version_compare(const char *a, const char *b)
{
    a += strcspn(a, "0123456789");
    b += strcspn(b, "0123456789");
    while (*a || *b) {
        uint64_t x = version_piece(&a), y = version_piece(&b);

        if (x != y)
            return x < y ? -1 : 1;
    }
    return 0;
}

static bool has_string(const struct spec_strings *v, const char *s)
{
    for (uint32_t i = 0; i < v->n; i++)
        if (strcmp(v->v[i], s) == 0)
            return true;
    return false;
}

/* Gt and Lt compare whole numbers, as Kubernetes does; what is no number does not match. */
static bool is_beyond(const struct spec_match *m, const char *value)
{
    uint64_t has, bound;

    if (parse_u64(value, 0, INT64_MAX, &has, NULL) ||
        parse_u64(m->values.v[0], 0, INT64_MAX, &bound, NULL))
        return false;
    return *m->op == 'G' ? has > bound : has < bound;
}

static bool matches(const struct spec_match *m, const char *value)
{
    if (strcmp(m->op, "In") == 0)
        return value && has_string(&m->values, value);
    if (strcmp(m->op, "NotIn") == 0)
        return !value || !has_string(&m->values, value);
    if (strcmp(m->op, "Exists") == 0)
        return value != NULL;
    if (strcmp(m->op, "DoesNotExist") == 0)
        return value == NULL;
    return value && is_beyond(m, value); /* Gt, Lt */
}

/* Does one required term hold whole, or is there none? Else *ret_key is what failed of the last
 * one. */
static bool has_affinity(const struct spec_role *w, const struct node_marks *node,
                         const char **ret_key)
{
    bool holds = true;

    for (uint32_t i = 0; i < w->n_affinity && !w->affinity[i].weight; i++) {
        const struct spec_match *m = &w->affinity[i];

        if (i && m->term != w->affinity[i - 1].term) {
            if (holds)
                return true;
            holds = true;
        }
        if (holds && !matches(m, node_marks_label(node, m->key))) {
            *ret_key = m->key;
            holds = false;
        }
    }
    return holds;
}

static bool has_labels(const struct spec_role *w, const struct node_marks *node,
                       const char **ret_key)
{
    for (uint32_t i = 0; i < w->node_selector.n; i++) {
        const char *value = node_marks_label(node, w->node_selector.v[i].key);

        if (!value || strcmp(value, w->node_selector.v[i].value) != 0) {
            *ret_key = w->node_selector.v[i].key;
            return false;
        }
    }
    return has_affinity(w, node, ret_key);
}

/* The label counts MiB. */
static bool has_gpu_memory(const struct spec_role *w, const struct node_marks *node)
{
    const char *value = node_marks_label(node, "nvidia.com/gpu.memory");
    uint64_t mib;

    return value && parse_u64(value, 0, INT64_MAX >> 20, &mib, NULL) == 0 &&
           mib << 20 >= (uint64_t)w->gpu_memory_min;
}

static const char *const driver_labels[] = {
    "nvidia.com/cuda.driver-version.full", "nvidia.com/cuda.driver.major",
    "nvidia.com/cuda.driver.minor", "nvidia.com/cuda.driver.rev"};

/* A version that feature discovery writes as one label, or in older ones as several; "": not. */
static void add_version(const struct node_marks *node, const char *const labels[4], struct str *ret)
{
    const char *full = node_marks_label(node, labels[0]);

    str_add(ret, full ? full : "");
    for (int i = 1; i < 4 && !full; i++) {
        const char *piece = labels[i] ? node_marks_label(node, labels[i]) : NULL;

        if (piece)
            str_addf(ret, "%s%s", ret->len ? "." : "", piece);
    }
}

void node_marks_driver(const struct node_marks *node, struct str *ret)
{
    add_version(node, driver_labels, ret);
}

static bool has_version(const struct node_marks *node, const char *min, const char *const labels[4])
{
    struct str has = {0};
    bool is_enough;

    add_version(node, labels, &has);
    is_enough = has.len && version_compare(str_text(&has), min) >= 0;
    str_fini(&has);
    return is_enough;
}

/* What is tolerated for a time only would end soon: it is no place to start. */
static bool is_tolerated(const struct spec_role *w, const struct node_taint *taint)
{
    for (uint32_t i = 0; i < w->n_tolerations; i++) {
        const struct spec_toleration *t = &w->tolerations[i];

        if (t->is_limited || (t->key && strcmp(t->key, taint->key) != 0))
            continue;
        if (t->effect && strcmp(t->effect, taint->effect) != 0)
            continue;
        if (t->exists || strcmp(t->value ? t->value : "", taint->value) == 0)
            return true;
    }
    return false;
}

/* Cordoned and NotReady nodes carry taints that say the same: health is judged apart. */
static bool is_of_health(const struct node_taint *t)
{
    return strcmp(t->key, "node.kubernetes.io/unschedulable") == 0 ||
           strcmp(t->key, "node.kubernetes.io/not-ready") == 0 ||
           strcmp(t->key, "node.kubernetes.io/unreachable") == 0;
}

static bool has_bad_taint(const struct spec_role *w, const struct node_marks *node,
                          const char **ret_key)
{
    for (uint32_t i = 0; i < node->n_taints; i++) {
        const struct node_taint *t = &node->taints[i];

        if (strcmp(t->effect, "PreferNoSchedule") != 0 && !is_of_health(t) && !is_tolerated(w, t)) {
            *ret_key = t->key;
            return true;
        }
    }
    return false;
}

enum refusal constraint_refusal(const struct constraint *k, const struct node_marks *node,
                                const char **ret_key)
{
    static const char *const cuda[] = {"nvidia.com/cuda.runtime-version.full",
                                       "nvidia.com/cuda.runtime.major",
                                       "nvidia.com/cuda.runtime.minor", NULL};
    const struct spec_role *w = &k->wish;
    const char *unused;

    if (!has_labels(w, node, ret_key ? ret_key : &unused))
        return REFUSED_SELECTOR;
    if ((w->nodes.n && !has_string(&w->nodes, node->name)) ||
        has_string(&w->excluded_nodes, node->name))
        return REFUSED_NAME;
    if (w->gpu_memory_min && !has_gpu_memory(w, node))
        return REFUSED_MEMORY;
    if (w->driver_min && !has_version(node, w->driver_min, driver_labels))
        return REFUSED_DRIVER;
    if (w->cuda_min && !has_version(node, w->cuda_min, cuda))
        return REFUSED_CUDA;
    if (has_bad_taint(w, node, ret_key ? ret_key : &unused))
        return REFUSED_TAINT;
    return node->pool != IX_NONE && (k->closed >> node->pool & 1) ? REFUSED_POOL : REFUSAL_OF_NONE;
}

bool constraint_allows(struct constraint *k, uint32_t node_ix, const struct node_marks *node)
{
    size_t at = node_ix / 64;
    uint64_t bit = UINT64_C(1) << node_ix % 64;

    while (k->known.n <= at) {
        *vec_push(&k->known) = 0;
        *vec_push(&k->allowed) = 0;
    }
    if (!(k->known.v[at] & bit)) {
        k->known.v[at] |= bit;
        k->allowed.v[at] &= ~bit;
        if (constraint_refusal(k, node, NULL) == REFUSAL_OF_NONE)
            k->allowed.v[at] |= bit;
    }
    return (k->allowed.v[at] & bit) != 0;
}

int constraint_known(const struct constraint *k, uint32_t node_ix)
{
    size_t at = node_ix / 64;

    if (at >= k->known.n || !(k->known.v[at] >> node_ix % 64 & 1))
        return -1;
    return (int)(k->allowed.v[at] >> node_ix % 64 & 1);
}

/* The weights of the preferred terms that hold, as a share of all. */
static uint16_t liking_of(const struct constraint *k, const struct node_marks *node)
{
    const struct spec_role *w = &k->wish;
    uint32_t sum = 0;

    for (uint32_t i = 0; i < w->n_affinity;) {
        uint32_t term = w->affinity[i].term, weight = w->affinity[i].weight;

        for (; i < w->n_affinity && w->affinity[i].term == term; i++)
            if (!matches(&w->affinity[i], node_marks_label(node, w->affinity[i].key)))
                weight = 0;
        sum += weight;
    }
    return (uint16_t)(sum * 1000 / k->weights);
}

bool constraint_likes_some(const struct constraint *k)
{
    return k->weights > 0;
}

uint32_t constraint_liking(struct constraint *k, uint32_t node_ix, const struct node_marks *node)
{
    if (!k->weights)
        return 1000;
    while (k->liking.n <= node_ix)
        *vec_push(&k->liking) = LIKING_UNKNOWN;
    if (k->liking.v[node_ix] == LIKING_UNKNOWN)
        k->liking.v[node_ix] = liking_of(k, node);
    return k->liking.v[node_ix];
}

void constraint_forget(struct constraint *const *table, uint32_t node_ix)
{
    for (struct constraint *k = *table; k; k = k->hh.next) {
        if (node_ix / 64 < k->known.n)
            k->known.v[node_ix / 64] &= ~(UINT64_C(1) << node_ix % 64);
        if (node_ix < k->liking.n)
            k->liking.v[node_ix] = LIKING_UNKNOWN;
    }
}
