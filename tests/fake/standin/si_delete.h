/* SPDX-License-Identifier: Apache-2.0 */
/* si_delete.h - deletes of the stand-in API server: options, preconditions, grace, eviction. */
#ifndef QUEUED_STANDIN_DELETE_H
#define QUEUED_STANDIN_DELETE_H

#include "standin.h"

/* Serve DELETE of an object or of a collection. */
void delete_serve(struct standin *s, struct request *req);
/* Serve the eviction subresource (budgets are not looked at). */
void delete_evict(struct standin *s, struct request *req);

#endif
