/* SPDX-License-Identifier: Apache-2.0 */
/* estimate_grow.h - nodes that an estimate adds to its own copy of the cluster. */
#ifndef QUEUED_VIEW_ESTIMATE_GROW_H
#define QUEUED_VIEW_ESTIMATE_GROW_H

#include "cluster/cluster.h"

enum { ESTIMATE_NODES_MAX = 1000 };

struct estimate_growth {
    uint32_t n;                /* nodes; 0: none */
    const char *like;          /* whose copies they are; NULL or "": of one that the job may use */
    struct spec_pairs domains; /* level and name; levels that are not named: as the copied one */
};

/* Do the names exist? */
int estimate_growth_check(const struct cluster *c, const struct estimate_growth *g,
                          struct err *err);
/* Add them. d: the demand of the job that is tried. */
void estimate_grow(struct cluster *c, const struct estimate_growth *g, const struct demand *d);

#endif
