/* SPDX-License-Identifier: Apache-2.0 */
/* job_fsm.c - the table of job_fsm.def and the names of states. */
#include "core/job_fsm.h"

#include <string.h>
#include <strings.h>

#include "util/mem.h"

static const struct job_fsm_row rows[] = {
#define FSM(from, event, to, slice) {JOB_##from, JOB_EV_##event, JOB_##to, (slice) != 0},
#include "core/job_fsm.def"
#undef FSM
};

static const char *const state_names[] = {
    [JOB_HELD] = "Held",
    [JOB_PENDING] = "Pending",
    [JOB_BINDING] = "Binding",
    [JOB_STARTING] = "Starting",
    [JOB_RUNNING] = "Running",
    [JOB_RESTARTING] = "Restarting",
    [JOB_PREEMPTING] = "Preempting",
    [JOB_STOPPING] = "Stopping",
    [JOB_SUCCEEDED] = "Succeeded",
    [JOB_FAILED] = "Failed",
    [JOB_CANCELLED] = "Cancelled",
    [JOB_PREEMPTED] = "Preempted",
    [JOB_LOST] = "Lost",
    [JOB_TIMED_OUT] = "TimedOut",
    [JOB_REJECTED] = "Rejected",
};

const struct job_fsm_row *job_fsm_rows(unsigned *ret_n)
{
    *ret_n = ARRAY_LEN(rows);
    return rows;
}

bool job_fsm_next(enum job_state from, enum job_event event, enum job_state outcome,
                  enum job_state *ret)
{
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (rows[i].from == from && rows[i].event == event) {
            *ret = rows[i].to == JOB_OUTCOME ? outcome : rows[i].to;
            return true;
        }
    }
    return false;
}

bool job_state_is_terminal(enum job_state s)
{
    return s >= JOB_SUCCEEDED && s <= JOB_REJECTED;
}

bool job_state_is_waiting(enum job_state s)
{
    return s == JOB_PENDING || s == JOB_HELD;
}

bool job_state_is_active(enum job_state s)
{
    return s >= JOB_BINDING && s <= JOB_STOPPING;
}

const char *job_state_name(enum job_state s)
{
    return s >= JOB_HELD && s <= JOB_REJECTED ? state_names[s] : "Unknown";
}

int job_state_parse(const char *word, enum job_state *ret)
{
    for (int i = JOB_HELD; i <= JOB_REJECTED; i++) {
        if (strcasecmp(word, state_names[i]) == 0) {
            *ret = (enum job_state)i;
            return 0;
        }
    }
    return -1;
}
