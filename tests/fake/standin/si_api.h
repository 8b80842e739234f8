/* SPDX-License-Identifier: Apache-2.0 */
/* si_api.h - which request means what: paths, verbs, and the dispatch to the kinds.
 *
 * Knows the resources served and the discovery documents; the work is in si_list.c, si_watch.c,
 * si_pod.c, si_object.c and si_control.c.
 */
#ifndef QUEUED_STANDIN_API_H
#define QUEUED_STANDIN_API_H

#include "standin.h"

/* Cut the path and set verb, res, ns, name and sub. Never fails: what is not known has
 * has_resource false. */
void api_route(struct request *req);
/* Fill the reply. */
void api_serve(struct standin *s, struct request *req);

#endif
