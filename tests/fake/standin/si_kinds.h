/* SPDX-License-Identifier: Apache-2.0 */
/* si_kinds.h - defaults and checks of a new object, kind by kind. */
#ifndef QUEUED_STANDIN_KINDS_H
#define QUEUED_STANDIN_KINDS_H

#include "standin.h"

/* Fill the defaults that the server fills. */
void kinds_default(enum res_id res, cJSON *json);
/* Check a new object; false after a reply. Resolves a pod's priority class. Events get the
 * apiVersion of the group they came through. */
bool kinds_check(struct standin *s, struct request *req, cJSON *json);

#endif
