/* SPDX-License-Identifier: Apache-2.0 */
/* plain_fill.h - pods of one role onto a run of hosts, by looking at all of them each time.
 *
 * What place_fill.c must agree with: whole domains first, then the fewest, fullest, equal hosts.
 */
#ifndef TESTS_FAKE_PLAIN_FILL_H
#define TESTS_FAKE_PLAIN_FILL_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/node.h"

enum { PLAIN_HOSTS_MAX = 16, PLAIN_LEVELS = 2, PLAIN_ROLES = 2 };

struct plain_host {
    const struct node *n;
    const char *label[PLAIN_LEVELS]; /* NULL: none */
    const char *driver;              /* "": not known */
    int64_t free, total;             /* GPUs; free: of what the trial assumes */
    uint32_t slots, put[PLAIN_ROLES];
};

/* Labels up to a level: the same text, the same domain. */
const char *plain_path(const struct plain_host *h, uint32_t level, char buf[64]);
/* Are both in one domain of the level? */
bool plain_is_same(const struct plain_host *a, const struct plain_host *b, uint32_t level);
/* Put `want` pods of a role, at most the slots of all, onto hosts that share a domain of the level
 * before this one; v is in path order. */
void plain_fill(struct plain_host **v, uint32_t n, uint32_t level, uint32_t role, uint32_t want);

#endif
