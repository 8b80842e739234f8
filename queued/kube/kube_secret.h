/* SPDX-License-Identifier: Apache-2.0 */
/* kube_secret.h - tokens and PEM texts: read whole from files or base64, checked, wiped when freed.
 *
 * No error text holds a piece of what was read. Knows no kubeconfig and keeps nothing.
 */
#ifndef QUEUED_KUBE_KUBE_SECRET_H
#define QUEUED_KUBE_KUBE_SECRET_H

#include <stdbool.h>

#include "util/err.h"

enum { SECRET_BYTES_MAX = 1024 * 1024 };

/* A token from a file that holds nothing else, blanks at its end aside. The path is opened anew, so
 * that a swapped folder is seen. -1 NOT_FOUND, DENIED or INVALID; *ret untouched. */
int secret_read_token(const char *path, char **ret, struct err *err);
/* PEM from a file; likewise. */
int secret_read_pem(const char *path, char **ret, struct err *err);
/* Text from base64, blanks allowed. false: it is none. */
bool secret_decode(const char *base64, char **ret);
/* One line that can stand in a header: printable, without blanks, not empty. */
bool secret_is_token(const char *text);
/* Is a PEM block in it? */
bool secret_is_pem(const char *text);
bool secret_equal(const char *a, const char *b); /* NULL is equal to NULL alone */
/* Wipe and free; NULL is accepted. */
void secret_free(char *secret);

#endif
