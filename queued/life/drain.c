/* SPDX-License-Identifier: Apache-2.0 */
/* drain.c - nodes that an operator takes out of use, by name: that outlives the node object; and
 * tenants that are stopped. */
#include "life/intake.h"
#include "life/verbs.h"
#include "util/str.h"

bool drain_admit(struct state *s, const struct ev_drain *ev, struct effects *fx)
{
    const struct node *n = cluster_find(&s->cluster, ev->node);
    bool is_drained = cluster_drained(&s->cluster, ev->node) != NULL;
    struct answer a = intake_answer(s, &ev->ref, ERR_OK, (struct job_id){0});
    struct err why;

    if (intake_answered(s, &ev->ref, fx))
        return false;
    if (is_drained || (n && n->is_known && !ev->is_back))
        return true;
    if (!n || !n->is_known) {
        (void)err_set(&why, ERR_NOT_FOUND, "no node %s: 'queuectl nodes' shows them", ev->node);
        return intake_refuse(s, &ev->ref, fx, &why);
    }
    a.is_again = true;
    intake_reply(&ev->ref, &a, fx);
    return false;
}

void drain_apply(struct state *s, const struct ev_drain *ev, struct effects *fx)
{
    struct answer a = intake_answer(s, &ev->ref, ERR_OK, (struct job_id){0});
    char text[REASON_TEXT_MAX + 1];

    intake_text(text, &ev->caller, ev->why);
    cluster_drain(&s->cluster, ev->node, ev->is_back ? NULL : text, s->now);
    s->is_quiet = false;
    effects_add(fx, EFFECT_SAVE_DRAIN, a.job)->u.key = arena_strdup(&fx->arena, ev->node);
    intake_conclude(s, &ev->ref, &a, fx);
}

bool stop_admit(struct state *s, const struct ev_drain *ev, struct effects *fx)
{
    uint32_t ix = settings_tenant(s->settings, ev->node);
    struct answer a = intake_answer(s, &ev->ref, ERR_OK, (struct job_id){0});
    struct err why;

    if (intake_answered(s, &ev->ref, fx))
        return false;
    if (ix == IX_NONE) {
        (void)err_set(&why, ERR_NOT_FOUND, "no tenant %s: 'queuectl tenant get' shows them",
                      ev->node);
        return intake_refuse(s, &ev->ref, fx, &why);
    }
    if (!ev->is_back || s->tenants.v[ix].stopped_at)
        return true;
    a.is_again = true;
    intake_reply(&ev->ref, &a, fx);
    return false;
}

void stop_apply(struct state *s, const struct ev_drain *ev, struct effects *fx)
{
    struct tenant *t = &s->tenants.v[settings_tenant(s->settings, ev->node)];
    struct answer a = intake_answer(s, &ev->ref, ERR_OK, (struct job_id){0});

    t->stopped_at = ev->is_back ? 0 : s->now;
    intake_text(t->stopped_why, &ev->caller, ev->why);
    if (ev->is_back)
        (void)str_copy(t->stopped_why, sizeof(t->stopped_why), "");
    t->saved_turn = s->turn;
    t->released_gen++; /* who was passed over is looked at again */
    s->is_quiet = false;
    intake_conclude(s, &ev->ref, &a, fx);
}
