/* SPDX-License-Identifier: Apache-2.0 */
/* event.c - the freeing of what events own. */
#include "core/event.h"

#include <stdlib.h>

static void verb_fini(struct ev_verb *ev)
{
    free(ev->why);
    indices_fini(&ev->part);
}

static void drain_fini(struct ev_drain *ev)
{
    free(ev->node);
    free(ev->why);
}

static void selected_fini(struct ev_selected *ev)
{
    free(ev->why);
    vec_fini(&ev->jobs);
    free(ev);
}

static void update_fini(struct ev_update *ev)
{
    spec_destroy(ev->spec);
    free(ev->why);
    indices_fini(&ev->part);
}

static void claimed_fini(struct ev_claimed *c)
{
    free(c->placed.members);
    for (uint32_t i = 0; i < c->n_victims && c->moves; i++)
        free(c->moves[i].members);
    free(c->moves);
    free(c->victims);
}

void event_fini(struct event *ev)
{
    switch (ev->kind) {
    case EV_JOB_SUBMIT:
        spec_destroy(ev->u.submit.spec);
        break;
    case EV_GANG_PLACED:
    case EV_GANG_RESIZED:
    case EV_GANG_MENDED:
        free(ev->u.placed.members);
        break;
    case EV_GANG_CLAIMED:
        claimed_fini(&ev->u.claimed);
        break;
    case EV_NODE_SEEN:
        node_fact_destroy(ev->u.node);
        break;
    case EV_NODE_GONE:
        free(ev->u.node_name);
        break;
    case EV_POD_SEEN:
        pod_fact_destroy(ev->u.pod);
        break;
    case EV_POD_GONE:
        free(ev->u.pod_gone);
        break;
    case EV_POD_BOUND:
    case EV_POD_REFUSED:
    case EV_HOST_WANTED:
        free(ev->u.answer);
        break;
    case EV_JOB_VERB:
        verb_fini(&ev->u.verb);
        break;
    case EV_JOBS_SELECTED:
        selected_fini(ev->u.selected);
        break;
    case EV_JOB_UPDATE:
        update_fini(&ev->u.update);
        break;
    case EV_NODE_DRAIN:
    case EV_TENANT_STOP:
        drain_fini(&ev->u.drain);
        break;
    case EV_WINDOW:
        free(ev->u.window->nodes);
        free(ev->u.window->why);
        free(ev->u.window->warning);
        free(ev->u.window);
        break;
    case EV_CLUSTER:
        free(ev->u.cluster.text);
        break;
    case EV_BUDGET:
        free(ev->u.budget.trouble);
        break;
    case EV_GANG_PREEMPTED:
    case EV_CLAIM_OVER:
    case EV_SERVICE_GONE:
    case EV_ARRAY_STEP:
    case EV_SYNCED:
    case EV_SETTINGS:
    case EV_STORE_LOW:
    case EV_TIMER:
    case EV_NONE:
    case EV_KINDS:
        break;
    }
    *ev = (struct event){0};
}
