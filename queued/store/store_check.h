/* SPDX-License-Identifier: Apache-2.0 */
/* store_check.h - read a whole store in a child process, before this one trusts it.
 *
 * LMDB keeps no checksums: a damaged page is a SIGSEGV, a cut file a SIGBUS. In a child they are
 * a verdict. Damaged values alone are none: loading sets those aside one by one.
 */
#ifndef QUEUED_STORE_STORE_CHECK_H
#define QUEUED_STORE_STORE_CHECK_H

#include <stddef.h>

#include "util/err.h"

/* Check the store in dir, which this process has not opened. lock_fd is closed in the child, so
 * that the lock ends with the daemon. -1 INVALID: damaged; others: not readable. */
int store_check(const char *dir, size_t map_bytes, int lock_fd, struct err *err);

#endif
