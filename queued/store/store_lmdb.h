/* SPDX-License-Identifier: Apache-2.0 */
/* store_lmdb.h - the store in LMDB: default durable mode, one commit a turn.
 *
 * One store in a process, never used after fork(). Files of DIR: data.mdb, lock.mdb (LMDB's),
 * lock (held by the daemon), ballast (deleted when space runs out).
 */
#ifndef QUEUED_STORE_STORE_LMDB_H
#define QUEUED_STORE_STORE_LMDB_H

#include <stdbool.h>
#include <stdio.h>

#include "port/store_port.h"
#include "util/err.h"

struct store_lmdb;

/* Open or make the store in dir (made with mode 0700 where missing; its parent must exist).
 * Takes the exclusive lock DIR/lock, refuses network file systems, makes the ballast file.
 * -1 with a text that says what to do: UNAVAILABLE locked by another daemon, DENIED read-only
 * or no permission, EXHAUSTED disk full, INVALID damaged (all: exit 73). A newer format is told
 * by the port's load(): REFUSED (exit 73, too). */
int store_lmdb_open(struct store_lmdb **ret, const char *dir, struct err *err);
/* The same with a map of map_bytes (0: the default of 64 GiB, or what RLIMIT_AS allows). */
int store_lmdb_open_sized(struct store_lmdb **ret, const char *dir, size_t map_bytes,
                          struct err *err);
void store_lmdb_close(struct store_lmdb *s);

/* Every failed commit is for good, also with a full map or disk, after which LMDB would go on: the
 * state has the turn already and the disk has not, and only loading makes them one again. Space
 * is watched before the turn (store_lmdb_is_low()), so that this is rare. */
struct store_port store_lmdb_port(struct store_lmdb *s);
/* Is the free space (disk and map) below the reserve? Cheap; called before turns. */
bool store_lmdb_is_low(struct store_lmdb *s);
/* Print every record as JSON lines {"table":..,"key":..,"value":{..}}; works while a daemon runs
 * (a read-only environment), takes no lock. -1 on damage, after printing what could be read; a
 * damaged page or a cut file (not a damaged value) may end the process by a signal, so call it in a
 * program of its own. */
int store_lmdb_dump(const char *dir, FILE *out, struct err *err);

#endif
