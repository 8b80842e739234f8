/* SPDX-License-Identifier: Apache-2.0 */
/* si_jsonpatch.h - JSON patch (RFC 6902): test, add, replace and remove. */
#ifndef QUEUED_STANDIN_JSONPATCH_H
#define QUEUED_STANDIN_JSONPATCH_H

#include <cjson/cJSON.h>

/* Apply the operations in order. -1 when one fails; json is then half changed. */
int jsonpatch_apply(cJSON *json, const cJSON *operations);

#endif
