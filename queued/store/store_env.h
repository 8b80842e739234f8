/* SPDX-License-Identifier: Apache-2.0 */
/* store_env.h - the LMDB environment of a store: one in a process, never used after fork().
 *
 * Default durable mode (no NOSYNC, NOMETASYNC, WRITEMAP): a commit is on the disk when it
 * returns. The map is set once, before the environment is opened, and never resized. Opened by
 * the daemon to write, by the checker and by the dump to read.
 */
#ifndef QUEUED_STORE_STORE_ENV_H
#define QUEUED_STORE_STORE_ENV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <lmdb.h>

#include "store/store_record.h"
#include "util/err.h"

struct store_env {
    MDB_env *env;
    MDB_dbi dbi[STORE_TABLES];
    bool has[STORE_TABLES]; /* false: a read-only store lacks this table */
    pid_t pid;
    char *dir;
};

/* The largest map that fits this process: 64 GiB, less under a limit of address space. */
size_t store_env_map_bytes(void);

/* Open dir, with all tables. With write it makes what is missing, in one durable commit.
 * map_bytes: 0 for store_env_map_bytes(). Errors as in store_lmdb_open(). */
int store_env_open(struct store_env *e, const char *dir, bool write, size_t map_bytes,
                   struct err *err);
void store_env_close(struct store_env *e);

/* -1 with the text "store DIR: STEP: reason; what to do" for an LMDB or errno code. */
int store_env_fail(const char *dir, const char *step, int rc, struct err *err);

/* Begin; asserts that no fork() lies between. */
int store_env_begin(const struct store_env *e, bool write, MDB_txn **ret, struct err *err);

/* Walk a table (or the list of free pages: dbi 0) in key order from `from`. fn returns false to
 * stop. An LMDB code. */
int store_env_walk(MDB_txn *txn, MDB_dbi dbi, const struct store_key *from,
                   bool (*fn)(void *arg, struct store_bytes key, struct store_bytes value),
                   void *arg);

/* Length that the file must have, by the last page of the newest commit. */
uint64_t store_env_file_bytes(const struct store_env *e);
/* Are more than four fifths of the map in use? */
bool store_env_is_low(const struct store_env *e);

#endif
