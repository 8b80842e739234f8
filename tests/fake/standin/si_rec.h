/* SPDX-License-Identifier: Apache-2.0 */
/* si_rec.h - building one version of an object of the stand-in API server from its JSON.
 *
 * Only the store uses it; see si_store.h for what a version holds.
 */
#ifndef QUEUED_STANDIN_REC_H
#define QUEUED_STANDIN_REC_H

#include "si_store.h"

/* A version with one reference. Takes json, which must be an object with metadata.name; sets its
 * kind, apiVersion and resourceVersion. */
struct rec *rec_build(enum res_id res, cJSON *json, uint64_t rv);

#endif
