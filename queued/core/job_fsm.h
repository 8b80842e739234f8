/* SPDX-License-Identifier: Apache-2.0 */
/* job_fsm.h - the states of a job and the one table that moves them (job_fsm.def). */
#ifndef QUEUED_CORE_JOB_FSM_H
#define QUEUED_CORE_JOB_FSM_H

#include <stdbool.h>

/* Values are stored: never renumber. */
enum job_state {
    JOB_HELD = 1,
    JOB_PENDING = 2,
    JOB_BINDING = 3,
    JOB_STARTING = 4,
    JOB_RUNNING = 5,
    JOB_RESTARTING = 6,
    JOB_PREEMPTING = 7,
    JOB_STOPPING = 8,
    JOB_SUCCEEDED = 9,
    JOB_FAILED = 10,
    JOB_CANCELLED = 11,
    JOB_PREEMPTED = 12,
    JOB_LOST = 13,
    JOB_TIMED_OUT = 14,
    JOB_REJECTED = 15,
    JOB_OUTCOME = 16, /* only in the table: the state that job->outcome names */
};

enum job_event {
    JOB_EV_PLACED = 1,
    JOB_EV_HOLD,
    JOB_EV_RELEASE,
    JOB_EV_CANCEL,
    JOB_EV_TIME_UP,
    JOB_EV_ALL_BOUND,
    JOB_EV_REFUSED,
    JOB_EV_REJECTED,
    JOB_EV_START_LATE,
    JOB_EV_MEMBER_FAILED,
    JOB_EV_MEMBER_LOST,
    JOB_EV_ALL_RUNNING,
    JOB_EV_ALL_DONE,
    JOB_EV_GIVE_UP,
    JOB_EV_PREEMPT,
    JOB_EV_ALL_GONE,
    JOB_EV_REPLACED,
    JOB_EV_REQUEUE,
    JOB_EV_UPDATE,
    JOB_EV_RESIZED,
    JOB_EV_CHECKPOINTED,
    JOB_EV_INDEX_RUNS,
    JOB_EV_NO_INDEX_RUNS,
};

struct job_fsm_row {
    enum job_state from;
    enum job_event event;
    enum job_state to;
    bool slice; /* false: no code takes it yet */
};

/* The table, for tests and documents. */
const struct job_fsm_row *job_fsm_rows(unsigned *ret_n);
/* Next state, JOB_OUTCOME already replaced by outcome. false: no such transition; *ret untouched.
 */
bool job_fsm_next(enum job_state from, enum job_event event, enum job_state outcome,
                  enum job_state *ret);

bool job_state_is_terminal(enum job_state s);
/* Pending or Held. */
bool job_state_is_waiting(enum job_state s);
/* Does a job in this state hold nodes (is it charged)? Binding, Starting, Running, Restarting,
 * Preempting, Stopping: yes, as long as it has a placement. */
bool job_state_is_active(enum job_state s);
/* "Pending", "TimedOut" ... ; "Unknown" for a number that is none. */
const char *job_state_name(enum job_state s);
/* Case-insensitive; -1 for an unknown word. */
int job_state_parse(const char *word, enum job_state *ret);

#endif
