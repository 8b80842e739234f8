/* SPDX-License-Identifier: Apache-2.0 */
/* signals.h - the signals that a job may ask to be told by. */
#ifndef QUEUED_UTIL_SIGNALS_H
#define QUEUED_UTIL_SIGNALS_H

#define SIGNAL_NAMES "SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2"

/* The number of one of SIGNAL_NAMES; 0: it is none. */
int signal_of(const char *name);

#endif
