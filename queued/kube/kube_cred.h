/* SPDX-License-Identifier: Apache-2.0 */
/* kube_cred.h - credentials over time: files that rotate, and a plugin that hands them out.
 *
 * Files are read again each minute and when the server refuses what we sent. A plugin runs at the
 * start, ahead of the end of what it gave, and when the server refuses that; never twice at once.
 * Never blocks. Changes the config that it was given, whose generations tell.
 */
#ifndef QUEUED_KUBE_KUBE_CRED_H
#define QUEUED_KUBE_KUBE_CRED_H

#include "kube/kube_api.h"
#include "kube/kube_config.h"
#include "kube/kube_exec.h"

struct kube_cred;

/* config and pace are borrowed. now: monotonic, as everywhere here. -1 INTERNAL. */
int kube_cred_create(struct kube_cred **ret, struct kube_config *config, struct api_pace *pace,
                     usec_t now, struct err *err);
void kube_cred_destroy(struct kube_cred *c);
/* Readable when kube_cred_tick() has something to do; -1: never. */
int kube_cred_fd(const struct kube_cred *c);
/* When kube_cred_tick() must be called at the latest. */
usec_t kube_cred_wake(const struct kube_cred *c);
void kube_cred_tick(struct kube_cred *c, const struct exec_now *now);
/* The server refused credentials of this generation. true: newer ones are there, or will be when
 * the gate is open again; false: what we have is all there is. */
bool kube_cred_refused(struct kube_cred *c, uint64_t generation, usec_t now);
/* May requests go out? ret_why: the trouble of a shut gate, valid until the next call. */
enum http_gate kube_cred_gate(const struct kube_cred *c, const char **ret_why);

#endif
