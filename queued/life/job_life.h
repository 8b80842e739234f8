/* SPDX-License-Identifier: Apache-2.0 */
/* job_life.h - transitions of a job and all that belongs to each: holds, charges, timers, effects.
 *
 * Every change of job->state goes through job_move(), and so through the table.
 */
#ifndef QUEUED_LIFE_JOB_LIFE_H
#define QUEUED_LIFE_JOB_LIFE_H

#include "core/state.h"

/* What goes with a transition. */
struct job_step {
    enum job_event event;
    enum job_state outcome; /* where Stopping will lead; JOB_PENDING: requeue. Else 0 */
    const char *code;       /* reason code */
    const char *text;       /* one sentence; "" none */
};

/* Ask for a SAVE of the job in this turn, once. */
void job_save(struct state *s, struct job *j, struct effects *fx);
/* Write the durable event of a state change, with the reason that the job has. from and event 0:
 * submitted; event 0: a remark, which the caller words. */
struct job_note *job_note(struct state *s, const struct job *j, enum job_state from,
                          enum job_event event, struct effects *fx);
/* Take a transition; false when the table has no such row (the caller's fact came late). */
bool job_move(struct state *s, struct job *j, const struct job_step *step, struct effects *fx);

/* Undo a gang that is not yet Running and requeue it without charge to the job (each time in a row
 * waits longer), or restart one that is. In other states nothing happens. step->outcome is set
 * here. */
void job_undo(struct state *s, struct job *j, const struct job_step *step, struct effects *fx);
/* The member takes nothing any more. */
void job_release(struct state *s, struct job *j, struct member *m, enum member_phase phase);
/* In a plan: nothing of its attempt is left. One that was stopped goes where it was to go, another
 * has Succeeded. */
void job_leave(struct state *s, struct job *j, struct effects *fx);
/* Must every pod of the attempt be gone, finished ones too, before the job goes on? */
bool job_wants_all_gone(const struct job *j);

/* It says that it has saved: what it would lose from now on is counted from here, and when it was
 * told to make room its grace is over. */
void job_checkpointed(struct state *s, struct job *j, struct effects *fx);
/* Was it told to make room, and has saved since? */
bool job_has_saved(const struct job *j);
/* Its pods get less time than checkpoint.grace to end: so much; 0: they get that. */
usec_t job_cut_us(const struct job *j);
/* Is it told to save, before its pods get SIGTERM? */
bool job_is_asked(const struct job *j);
/* When it is asked to save before its run ends, if it still runs then; 0: it is not. */
usec_t job_tell_at(const struct job *j);
/* Ask it now. */
void job_tell(struct state *s, struct job *j, struct effects *fx);
/* A pending gang gets its hosts and holds them; takes placed->members. */
void job_take(struct state *s, struct job *j, struct ev_placed *placed);
/* It is charged from its decision on; nothing of it is charged any more. */
void job_charge(struct state *s, struct job *j);
void job_refund(struct state *s, struct job *j);
/* Charge one pod of a role more, or give its charge back. */
void job_resize(struct state *s, struct job *j, uint32_t role, bool is_more);
/* An absent member stays charged while its pod is there, and the tenant counts on that charge to
 * end; it ends, and with the last one what waited for it: m may be gone then. */
void job_member_goes(struct state *s, struct job *j, struct member *m);
void job_member_went(struct state *s, struct job *j, struct member *m, struct effects *fx);
/* It starts on the hosts it holds. */
void job_place(struct state *s, struct job *j, struct effects *fx);
/* A member's phase as seen or answered; moves the job when that was the last one missing. */
void job_check_progress(struct state *s, struct job *j, struct effects *fx);
void job_member_bound(struct state *s, struct job *j, struct member *m, struct effects *fx);
void job_member_running(struct state *s, struct job *j, struct member *m, struct effects *fx);
void job_member_ended(struct state *s, struct job *j, struct member *m, const struct pod_fact *pod,
                      struct effects *fx);
void job_member_gone(struct state *s, struct job *j, struct member *m, const char *why,
                     struct effects *fx);
/* Its pod is on another node than was decided, or will be: hold there what it takes. */
void job_member_moves(struct state *s, struct job *j, struct member *m, uint32_t node_ix);
/* A create or bind was refused for good: another host for the member, or the gang is undone. */
void job_refused(struct state *s, struct job *j, struct member *m, const struct ev_pod_answer *a,
                 struct effects *fx);
/* Stopping, Restarting and Preempting end when nothing of the attempt is left, nor of a pod that it
 * gave before and that is on its way out. */
void job_check_gone(struct state *s, struct job *j, struct effects *fx);
/* Its timer fired. */
void job_time_up(struct state *s, struct job *j, struct effects *fx);
/* When the record of one that has ended goes: an index of an array before its array. */
usec_t job_keep_until(const struct state *s, const struct job *j);
/* Set the timer that its state asks for. */
void job_set_timer(struct state *s, struct job *j);
/* Hold on the nodes what the members take. */
void job_hold(struct state *s, struct job *j);
/* It holds nodes from now on: charge it. */
void job_activate(struct state *s, struct job *j);
/* Keep the nodes that the members of a new or loaded job name, until they are dropped: a node
 * object may go while its name is still shown and stored. */
void job_name_nodes(struct state *s, const struct job *j);
void job_drop_members(struct state *s, struct job *j);
/* After a start, once the lists are complete: act again, find what is missing. */
void job_resume(struct state *s, struct job *j, struct effects *fx);
/* The node on which a pod of the member is: that it holds, or where one still ends; IX_NONE: none.
 */
uint32_t job_member_node(const struct state *s, const struct job *j, const struct member *m);
/* Members on a node that is lost for good: counted for themselves, the gang moves on. */
void job_node_lost(struct state *s, struct job *j, uint32_t node_ix, struct effects *fx);

#define CHECKPOINT_SAVE_US (60 * USEC_PER_SEC) /* heartbeats in between are kept in memory */

#endif
