/* SPDX-License-Identifier: Apache-2.0 */
/* si_kubelet.h - simulated kubelets: bound pods run, end and vanish; nodes turn not ready.
 *
 * Driven by the annotations gang.queued/{start-delay, run-duration, fail-after, stop-delay,
 * not-ready}, as the kwok stages of the project are. Counts the GPUs of every node and refuses a
 * pod for which there is no room, as a kubelet does; that is noted as a violation.
 */
#ifndef QUEUED_STANDIN_KUBELET_H
#define QUEUED_STANDIN_KUBELET_H

#include "standin.h"

/* Look at a change: keep the books and set timers. */
void kubelet_observe(struct standin *s, const struct event *event);
/* Do what is due. Returns the next such time, UINT64_MAX when none. */
uint64_t kubelet_run(struct standin *s, uint64_t now_us);
/* A bound pod ends with this exit code, 0 = Succeeded. */
void kubelet_end_pod(struct standin *s, const struct rec *rec, int exit_code);
/* GPUs of pods that a node's kubelet admitted and that have not ended. */
uint64_t kubelet_used_gpus(const struct standin *s, const char *node);
void kubelet_fini(struct standin *s);

/* Set a condition by type in an object's status. reason and message may be NULL. */
void condition_set(cJSON *json, const char *type, const char *status, const char *reason,
                   const char *message);

#endif
