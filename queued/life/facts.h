/* SPDX-License-Identifier: Apache-2.0 */
/* facts.h - what the cluster reports: nodes, pods, answers to our calls. */
#ifndef QUEUED_LIFE_FACTS_H
#define QUEUED_LIFE_FACTS_H

#include "core/state.h"

void facts_node_seen(struct state *s, struct node_fact *fact);
void facts_node_gone(struct state *s, const char *name);
void facts_pod_seen(struct state *s, const struct pod_fact *pod, struct effects *fx);
void facts_pod_gone(struct state *s, const struct ev_pod_gone *gone, struct effects *fx);
void facts_pod_bound(struct state *s, const struct ev_pod_answer *a, struct effects *fx);
void facts_pod_refused(struct state *s, const struct ev_pod_answer *a, struct effects *fx);
void facts_budget(struct state *s, const struct event *ev, struct effects *fx);
void facts_service_gone(struct state *s, struct job_id id, struct effects *fx);
void facts_synced(struct state *s, const char *cluster_uid, struct effects *fx);
/* Nodes that are lost for good by now: their members move on. Returns when to look again. */
usec_t facts_check_nodes(struct state *s, struct effects *fx);

#endif
