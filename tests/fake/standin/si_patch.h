/* SPDX-License-Identifier: Apache-2.0 */
/* si_patch.h - patches of the stand-in API server: merge, strategic merge and JSON patch. */
#ifndef QUEUED_STANDIN_PATCH_H
#define QUEUED_STANDIN_PATCH_H

#include "standin.h"

/* Serve PATCH of an object or of its status. */
void patch_serve(struct standin *s, struct request *req);

#endif
