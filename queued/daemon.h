/* SPDX-License-Identifier: Apache-2.0 */
/* daemon.h - all parts of the process put together; the only place that knows them all. */
#ifndef QUEUED_DAEMON_H
#define QUEUED_DAEMON_H

#include "config.h"
#include "util/err.h"

/* Exit codes of the process (contracts: sysexits where they fit). */
enum {
    EXIT_USAGE = 64,
    EXIT_PORT_TAKEN = 69,
    EXIT_STORE = 73,
    EXIT_COMMIT_FAILED = 75,
    EXIT_CONFIG = 78,
};

struct daemon;

/* Open the store, load it, bind the addresses, start to talk to the API server, and block the
 * signals that the loop takes. Takes c, which was read from path. -1: err says why, *ret_exit is
 * the exit code. */
int daemon_create(struct daemon **ret, const char *path, struct config *c, int *ret_exit,
                  struct err *err);
/* Until a signal ends it. Returns the exit code. */
int daemon_run(struct daemon *d);
void daemon_destroy(struct daemon *d);

#endif
