/* SPDX-License-Identifier: Apache-2.0 */
/* reserve.h - EV_WINDOW: an operator makes a window (core/window.h), or ends one. */
#ifndef QUEUED_LIFE_RESERVE_H
#define QUEUED_LIFE_RESERVE_H

#include "core/state.h"

bool reserve_admit(struct state *s, const struct ev_window *ev, struct effects *fx);
void reserve_apply(struct state *s, const struct ev_window *ev, struct effects *fx);

#endif
