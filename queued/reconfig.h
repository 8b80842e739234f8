/* SPDX-License-Identifier: Apache-2.0 */
/* reconfig.h - the configuration of a running daemon: read again when it is asked for or when the
 * file has changed, taken over whole or not at all.
 *
 * A file that is broken, or that changes what is read at the start only, changes nothing; the log
 * says why. What was read at the start lives as long as this; what is in force now is another.
 */
#ifndef QUEUED_RECONFIG_H
#define QUEUED_RECONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include <sys/stat.h>

#include "config_diff.h"
#include "port/inbox.h"

/* A file as it was when it was looked at. */
struct file_mark {
    dev_t dev;
    ino_t ino;
    off_t size;
    struct timespec at;
};

struct reconfig {
    const char *path;
    struct inbox *inbox;
    struct config *boot;           /* owned, like the next two */
    struct config *now;            /* in force; maybe boot */
    struct config *next;           /* on its way into the core; NULL none */
    struct config_changes changes; /* from now to next */
    struct file_mark read, seen;   /* the file at the last reading, and at the last look */
    bool is_asked;                 /* read it when next has arrived */
    uint64_t n_good, n_refused;    /* readings since the start */
    struct err refusal;            /* of the last reading; "" it was good */
};

/* Takes boot, which was read from path. */
void reconfig_init(struct reconfig *r, const char *path, struct config *boot, struct inbox *inbox);
void reconfig_fini(struct reconfig *r);
/* Once a second: has the file changed, and stands it still? Or at once, asked: read it. */
void reconfig_look(struct reconfig *r, bool is_asked);
/* Warn of what is good and can hardly be meant: at the start, and of each that is taken over. */
void reconfig_log_doubts(const struct settings *s);
/* The core has taken the next one over, and that is stored. */
void reconfig_taken(struct reconfig *r, uint64_t generation);

#endif
