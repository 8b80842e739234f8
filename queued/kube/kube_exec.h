/* SPDX-License-Identifier: Apache-2.0 */
/* kube_exec.h - one credential plugin: run as a child, read without blocking, its answer checked.
 *
 * One run at a time, bounded in time and in bytes. What is wrong with a run is told without
 * anything that could be a secret. When to run it: kube_cred.h.
 */
#ifndef QUEUED_KUBE_KUBE_EXEC_H
#define QUEUED_KUBE_KUBE_EXEC_H

#include <stdbool.h>
#include <stddef.h>

#include "kube/kube_config.h"
#include "util/parse.h"

#define EXEC_TIMEOUT_US (30 * USEC_PER_SEC)
#define EXEC_INFO       "KUBERNETES_EXEC_INFO"

struct kube_exec;

struct exec_answer {
    char *token;       /* NULL none */
    char *cert, *key;  /* PEM; NULL none */
    usec_t expires_at; /* wall clock; INT64_MAX never */
};

struct exec_now {
    usec_t mono, wall; /* monotonic, calendar */
};

enum exec_result { EXEC_RUNNING, EXEC_ANSWERED, EXEC_FAILED };

/* config has a plugin and is borrowed; its credentials are never shown. NULL with errno where there
 * is no descriptor for it. */
struct kube_exec *kube_exec_create(const struct kube_config *config);
/* A run that is under way is killed. */
void kube_exec_destroy(struct kube_exec *e);
/* Readable when kube_exec_poll() has something to do. */
int kube_exec_fd(const struct kube_exec *e);
bool kube_exec_is_running(const struct kube_exec *e);
/* now: monotonic. -1: it cannot be started. */
int kube_exec_start(struct kube_exec *e, usec_t now, struct err *err);
/* When kube_exec_poll() must be called at the latest; INT64_MAX: not running. */
usec_t kube_exec_wake(const struct kube_exec *e);
/* Carry on with a run; its end is told once, by another value than RUNNING. ret is filled where it
 * ANSWERED, err where it FAILED. */
enum exec_result kube_exec_poll(struct kube_exec *e, const struct exec_now *now,
                                struct exec_answer *ret, struct err *err);
void exec_answer_fini(struct exec_answer *a);

/* Standard output of a run that ended well. -1 INVALID: it is no good answer. */
int exec_answer_read(const char *text, const char *api_version, usec_t wall,
                     struct exec_answer *ret, struct err *err);
/* text on one line, without words that are in one of hide (ends with NULL) or look like a secret.
 * The caller frees. */
char *exec_redact(const char *text, const char *const *hide);

#endif
