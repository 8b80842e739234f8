/* SPDX-License-Identifier: Apache-2.0 */
/* reserve.c - operators make and end windows. */
#include "life/reserve.h"

#include "core/window.h"
#include "life/intake.h"

bool reserve_admit(struct state *s, const struct ev_window *ev, struct effects *fx)
{
    struct err why;

    if (intake_answered(s, &ev->ref, fx))
        return false;
    if (!ev->is_over)
        return window_check(s, ev, &why) == 0 || intake_refuse(s, &ev->ref, fx, &why);
    if (window_find(s, ev->window.name))
        return true;
    (void)err_set(&why, ERR_NOT_FOUND, "no reservation %s: 'queuectl reserve list' shows them",
                  ev->window.name);
    return intake_refuse(s, &ev->ref, fx, &why);
}

void reserve_apply(struct state *s, const struct ev_window *ev, struct effects *fx)
{
    struct answer a = intake_answer(s, &ev->ref, ERR_OK, (struct job_id){0});
    struct window w = ev->window;

    if (ev->is_over) {
        window_drop(s, window_find(s, w.name), fx);
    } else {
        intake_text(w.text, &ev->caller, ev->why);
        w.made_at = s->now;
        window_make(s, &w, ev->nodes);
        window_save(&w, fx);
    }
    a.text = ev->warning ? arena_strdup(&fx->arena, ev->warning) : NULL;
    intake_conclude(s, &ev->ref, &a, fx);
}
