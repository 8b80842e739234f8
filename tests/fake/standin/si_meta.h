/* SPDX-License-Identifier: Apache-2.0 */
/* si_meta.h - version, health and discovery documents of the stand-in API server. */
#ifndef QUEUED_STANDIN_META_H
#define QUEUED_STANDIN_META_H

#include "standin.h"

/* Serve a path that is no resource (req->name). */
void meta_serve(struct standin *s, struct request *req);
/* Whether a cut path ("/api/..." or "/apis/group/version") is of a group version served here. */
bool meta_group_is_served(const char *path);

#endif
