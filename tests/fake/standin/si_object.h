/* SPDX-License-Identifier: Apache-2.0 */
/* si_object.h - what all kinds share: reading a body, creating and replacing an object.
 *
 * Kind-specific defaults and checks are in si_pod.c and si_kinds.c.
 */
#ifndef QUEUED_STANDIN_OBJECT_H
#define QUEUED_STANDIN_OBJECT_H

#include "standin.h"

/* The body as an object of this kind; NULL after a 400, 415 or 422 reply. The caller deletes it. */
cJSON *object_read_body(struct request *req, const char *kind);
/* Serve POST to a collection, PUT of an object. */
void object_create(struct standin *s, struct request *req);
void object_update(struct standin *s, struct request *req);
/* Store json (takes it) as the new version of old if it differs, and reply 200 with the result. */
void object_replace(struct standin *s, struct request *req, const struct rec *old, cJSON *json);
/* Create an object without a request (takes json): uid and time are set. */
struct rec *object_put_new(struct standin *s, enum res_id res, cJSON *json);

#endif
