/* SPDX-License-Identifier: Apache-2.0 */
/* si_pod.h - rules of pods: what a new one must have, what it is given, and how it is bound. */
#ifndef QUEUED_STANDIN_POD_H
#define QUEUED_STANDIN_POD_H

#include "standin.h"

/* Fill the defaults of a new pod; an incoming status is dropped. */
void pod_default(cJSON *json);
/* Check a new pod; false after a reply. Resolves the priority class. */
bool pod_check(struct standin *s, struct request *req, cJSON *json);
/* Serve the binding subresource. */
void pod_bind(struct standin *s, struct request *req);

#endif
