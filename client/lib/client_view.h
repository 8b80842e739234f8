/* SPDX-License-Identifier: Apache-2.0 */
/* client_view.h - messages of the wire as the plain structs of queued.h.
 *
 * Views borrow the strings of their message; arrays come from the arena.
 */
#ifndef QUEUED_CLIENT_VIEW_H
#define QUEUED_CLIENT_VIEW_H

#include "queue.pb-c.h"
#include "queued.h"
#include "util/arena.h"

struct queued_job view_job(struct arena *a, const Queued__V1__Job *m);
struct queued_event view_event(const Queued__V1__JobEvent *m);
struct queued_node view_node(struct arena *a, const Queued__V1__Node *m);
const struct queued_model *view_models(struct arena *a, Queued__V1__ModelFree *const *m, size_t n);
struct queued_tenant view_tenant(struct arena *a, const Queued__V1__Tenant *m);

/* Fill a message filter with what borrows from f; its arrays come from the arena. */
void view_filter(Queued__V1__JobFilter *m, const struct queued_filter *f, struct arena *a);

#endif
