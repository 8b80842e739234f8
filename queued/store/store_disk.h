/* SPDX-License-Identifier: Apache-2.0 */
/* store_disk.h - the directory of a store: is it ours alone, on a fit disk, with room left?
 *
 * Knows files and no records. The ballast is a file that is deleted when space runs out, so that
 * cancels and ends can still be stored while submissions are refused.
 */
#ifndef QUEUED_STORE_STORE_DISK_H
#define QUEUED_STORE_STORE_DISK_H

#include <stdbool.h>
#include <stdint.h>

#include "util/err.h"

struct store_disk {
    char *dir;
    int lock_fd;
    uint64_t reserve_bytes; /* free space below this is low; also the size of the ballast */
    bool has_ballast;
    bool is_low;
};

/* The file system that a statfs type stands for when no store may lie on it ("NFS" ...: their
 * locks and mappings are not coherent), else NULL. */
const char *store_disk_refuses(unsigned long statfs_type);

/* Make dir if missing, check it, take the lock. Errors as in store_lmdb_open(). */
int store_disk_open(struct store_disk *d, const char *dir, struct err *err);
/* The ballast, if there is room for it. */
void store_disk_fill(struct store_disk *d);
/* Flush the directory itself and its parent: new files survive a power cut. */
int store_disk_sync(const struct store_disk *d, struct err *err);
/* Look at the free space. is_map_low: what the caller knows of its own space. Low begins below
 * the reserve, and ends above one and a half of it with the ballast back. */
bool store_disk_is_low(struct store_disk *d, bool is_map_low);
void store_disk_close(struct store_disk *d);

#endif
