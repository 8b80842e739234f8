/* SPDX-License-Identifier: Apache-2.0 */
/* config_diff.h - what is different between two configurations, key by key, and which of it a
 * running daemon cannot take over.
 *
 * Works on what config_print() prints, so that a key that is printed is compared.
 */
#ifndef QUEUED_CONFIG_DIFF_H
#define QUEUED_CONFIG_DIFF_H

#include <stdbool.h>
#include <stdint.h>

#include "config.h"
#include "util/vec.h"

/* Paths name the entries of lists: "tenants[vision].quota.H100". NULL: it is not there. A list of
 * named entries, and a map of names, has one for the names in their order. */
struct config_change {
    char *path, *was, *now;
    bool needs_restart;
};

struct config_changes {
    VEC(struct config_change) list; /* in order of the paths */
    uint32_t n_restart;             /* of them need a restart */
};

/* Fills ret, which is empty. */
void config_diff(const struct config *was, const struct config *now, struct config_changes *ret);
void config_changes_fini(struct config_changes *c);
/* Is a key, or one below it, read at the start only? */
bool config_needs_restart(const char *path);
/* Of all that is configured, in its order: not cryptographic. */
uint64_t config_digest(const struct config *c);

#endif
