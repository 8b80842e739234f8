/* SPDX-License-Identifier: Apache-2.0 */
/* invariant.h - every rule that must hold between turns, recounted from scratch. */
#ifndef QUEUED_FAKE_INVARIANT_H
#define QUEUED_FAKE_INVARIANT_H

#include "core/state.h"

/* 0, or -1 with the first rule that is broken. */
int state_check(const struct state *s, struct err *err);

#endif
