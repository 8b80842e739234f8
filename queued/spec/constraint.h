/* SPDX-License-Identifier: Apache-2.0 */
/* constraint.h - which nodes the pods of a role accept, by what is written on a node: its name, its
 * labels and its taints.
 *
 * Interned by content: roles with equal wishes share one constraint, so that a node need be judged
 * once for all of them. GPU models, health and free amounts are not judged here.
 */
#ifndef QUEUED_SPEC_CONSTRAINT_H
#define QUEUED_SPEC_CONSTRAINT_H

#include <stdbool.h>
#include <stdint.h>

#include "spec/settings.h"
#include "spec/spec.h"
#include "util/str.h"

struct node_label {
    char *key;
    char *value;
};

struct node_taint {
    char *key;
    char *value;
    char effect[20]; /* NoSchedule, PreferNoSchedule, NoExecute */
};

/* What is written on a node. Borrowed. */
struct node_marks {
    const char *name;
    const struct node_label *labels;
    uint32_t n_labels;
    const struct node_taint *taints;
    uint32_t n_taints;
    uint32_t pool; /* IX_NONE: in none */
};

/* Why a node does not take pods of a role; the first that holds. */
enum refusal {
    REFUSAL_OF_NONE,
    REFUSED_UNKNOWN,  /* only a pod has named it yet */
    REFUSED_SHARED,   /* its GPUs are shared: no whole ones */
    REFUSED_MODEL,    /* another GPU model */
    REFUSED_WHOLE,    /* to be had alone, and it has more GPUs than the pod takes */
    REFUSED_LINKS,    /* not every pick of GPUs is contiguous there */
    REFUSED_SELECTOR, /* labels that the node selector or the affinity does not want */
    REFUSED_NAME,     /* not among the named nodes, or among the excluded ones */
    REFUSED_MEMORY,   /* less GPU memory, or not known */
    REFUSED_DRIVER,   /* an older driver, or not known */
    REFUSED_CUDA,     /* the same of CUDA */
    REFUSED_TAINT,    /* a taint that is not tolerated */
    REFUSED_POOL,     /* its pool is exclusive to other tenants */
    REFUSALS,
};

struct constraint;

/* The constraint of a role, with one user more. closed: pools that its tenant may not use. table:
 * all of them; NULL: empty. */
struct constraint *constraint_intern(struct constraint **table, const struct spec_role *role,
                                     uint64_t closed);
/* The same in another table, or with other pools closed. */
struct constraint *constraint_copy(struct constraint **table, const struct constraint *k);
struct constraint *constraint_reclose(struct constraint **table, const struct constraint *k,
                                      uint64_t closed);
void constraint_release(struct constraint **table, struct constraint *k);
void constraint_table_fini(struct constraint **table);
/* All that a constraint is made of, as text: equal text is equal meaning. */
void constraint_describe(struct str *b, const struct spec_role *role);
/* Why it refuses the node; key (may be NULL): the label or taint that decided. */
enum refusal constraint_refusal(const struct constraint *k, const struct node_marks *node,
                                const char **ret_key);

/* Does it accept the node of this index? Remembered until constraint_forget(). */
bool constraint_allows(struct constraint *k, uint32_t node_ix, const struct node_marks *node);
/* The same where it is remembered: 1 yes, 0 no, -1 it is not. */
int constraint_known(const struct constraint *k, uint32_t node_ix);
/* Does it prefer some nodes to others? */
bool constraint_likes_some(const struct constraint *k);
/* How much it prefers the node of this index, 0..1000: the weights of the preferred terms that hold
 * there, of all. 1000 without such terms. Remembered until constraint_forget(). */
uint32_t constraint_liking(struct constraint *k, uint32_t node_ix, const struct node_marks *node);
/* What is written on this node has changed, or the node is another. */
void constraint_forget(struct constraint *const *table, uint32_t node_ix);

/* The first pool that the labels match; IX_NONE. */
uint32_t node_marks_pool(const struct node_marks *node, const struct settings *s);
const char *node_marks_label(const struct node_marks *node, const char *key); /* NULL: absent */
/* Append the version of its GPU driver; nothing: not known. */
void node_marks_driver(const struct node_marks *node, struct str *ret);
/* Versions by number, piece by piece: 550.54 < 550.54.14 < 570. -1, 0, 1. */
int version_compare(const char *a, const char *b);

#endif
