/* SPDX-License-Identifier: Apache-2.0 */
/* core_names.h - what events, effects and transitions are called in the messages of tests. */
#ifndef QUEUED_FAKE_CORE_NAMES_H
#define QUEUED_FAKE_CORE_NAMES_H

#include "core/effect.h"
#include "core/event.h"
#include "core/job_fsm.h"

const char *event_name(enum event_kind kind);
const char *effect_name(enum effect_kind kind);
const char *job_event_name(enum job_event e);

#endif
