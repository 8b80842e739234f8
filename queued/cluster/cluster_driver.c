/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_driver.c - versions of the GPU driver, interned as nodes name them, and which is older.
 */
#include <string.h>

#include "cluster/cluster.h"
#include "util/str.h"

uint32_t cluster_driver_of(struct cluster *c, const struct node *n)
{
    struct node_marks marks = node_marks_of(n);
    struct str version = {0};
    uint32_t ix = 0;

    node_marks_driver(&marks, &version);
    while (ix < c->drivers.n && strcmp(c->drivers.v[ix].version, str_text(&version)) != 0)
        ix++;
    if (ix == c->drivers.n)
        *vec_push(&c->drivers) = (struct driver){.version = xstrdup(str_text(&version))};
    str_fini(&version);
    return ix;
}

static int newer(const struct driver *a, const struct driver *b)
{
    int by_number = version_compare(a->version, b->version);

    return by_number ? by_number : strcmp(a->version, b->version);
}

uint32_t cluster_older_driver(const struct cluster *c, uint32_t driver)
{
    uint32_t best = IX_NONE;

    for (uint32_t i = 0; i < c->drivers.n; i++)
        if ((driver == IX_NONE || newer(&c->drivers.v[i], &c->drivers.v[driver]) < 0) &&
            (best == IX_NONE || newer(&c->drivers.v[i], &c->drivers.v[best]) > 0))
            best = i;
    return best;
}
