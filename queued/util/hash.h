/* SPDX-License-Identifier: Apache-2.0 */
/* hash.h - uthash with shorter chains.
 * Every element of a chain that is walked is a miss of the cache in a table of 100,000 jobs. uthash
 * doubles its buckets when a chain reaches HASH_BKT_CAPACITY_THRESH; with 6 instead of 10 a bucket
 * holds 0.4 elements on average at that size instead of 1.5, for three megabytes more. Included in
 * place of <uthash.h> everywhere. */
#ifndef QUEUED_UTIL_HASH_H
#define QUEUED_UTIL_HASH_H

#include <uthash.h>

#undef HASH_BKT_CAPACITY_THRESH
#define HASH_BKT_CAPACITY_THRESH 6U

#endif
