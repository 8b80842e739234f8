/* SPDX-License-Identifier: Apache-2.0 */
/* store_dir.h - a store in a new directory, with the jobs of the fixture; for cmocka tests.
 *
 * Each helper fails the running test when something goes wrong. Jobs are numbered from 1.
 */
#ifndef QUEUED_TESTS_STORE_DIR_H
#define QUEUED_TESTS_STORE_DIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "store/store_lmdb.h"
#include "store_fixture.h"

struct store_dir {
    struct store_fixture fix;
    char base[64]; /* removed at the end */
    char dir[80];  /* the store's, in base; not made yet */
};

/* For cmocka: *state becomes a new struct store_dir. */
int store_dir_setup(void **state);
int store_dir_teardown(void **state);

struct store_lmdb *store_dir_open(const struct store_dir *e);
/* Commit the effects of the fixture. */
void store_dir_commit(struct store_dir *e, struct store_lmdb *s);
/* Load, and count the jobs. */
size_t store_dir_jobs(struct store_dir *e, struct store_lmdb *s);
/* A store with jobs 1..n, closed. */
void store_dir_fill(struct store_dir *e, uint32_t n);

off_t store_dir_bytes(const struct store_dir *e); /* length of data.mdb */
void store_dir_change(const struct store_dir *e, off_t at, const void *p, size_t len);
/* Damage the values of a job inside the file: the place is found by its name. */
void store_dir_damage_job(const struct store_dir *e, const char *name);

/* Run fn in a child; its wait status. */
int store_dir_in_child(int (*fn)(struct store_dir *e), struct store_dir *e);
/* A child commits jobs one by one, tells each after its commit, and is killed with SIGKILL us after
 * its start, or after its first job when wait_first. Returns the last job told; told: none. */
uint32_t store_dir_kill(struct store_dir *e, bool wait_first, useconds_t us, uint32_t told);

#endif
