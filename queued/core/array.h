/* SPDX-License-Identifier: Apache-2.0 */
/* array.h - job arrays: one record for all indices that wait, a job of its own for each that
 * begins.
 *
 * The array is a job without pods: Pending or Held until its last index has ended, then Stopping.
 * An index becomes a job when the one before it has its nodes and maxParallel allows, in the
 * commit in which the array's record loses it. What is to be done for an array follows from what
 * is stored, and is done one step an event, as decisions of the cycle (EV_ARRAY_STEP).
 */
#ifndef QUEUED_CORE_ARRAY_H
#define QUEUED_CORE_ARRAY_H

#include "core/state.h"

/* Of a spec that has passed spec_check(); NULL: it is no array. All its indices wait. */
struct job_array *array_of(const struct spec *spec);
/* Without its indices that have jobs, and what is still to be done to them. */
struct job_array *array_copy(const struct job_array *from);
void array_destroy(struct job_array *a);
/* The array that an index belongs to; NULL. */
struct job *array_parent(const struct state *s, const struct job *j);
void array_drop_parts(struct job_array *a);
/* Waiting indices that are held. */
uint32_t array_held(const struct job_array *a);
/* The part of this kind that it is in; NULL. */
struct array_part *array_part_of(const struct job_array *a, enum array_part_kind kind,
                                 uint32_t index);
/* What holds for an index where it may differ from its array; borrows from it. */
struct array_terms {
    const char *priority_class;
    int32_t priority;
    usec_t max_runtime_us;
};

struct array_terms array_terms(const struct job *parent, uint32_t index);
/* The index that begins first: of the highest priority, the lowest. One is waiting. */
uint32_t array_first(const struct job *parent);
/* 1: a waiting index begins before all others that wait. Looks at each of them. */
uint32_t array_turn(const struct job *parent, uint32_t index);
/* Find ->next anew; or: it may be this one. */
void array_look(struct job_array *a);
void array_consider(struct job_array *a, struct job *j);
/* Jobs that it counts for, while it waits. */
uint32_t array_weight(const struct job *j);
/* May no index of its array begin now? Never of another job. */
bool array_keeps_back(const struct state *s, const struct job *j);
/* How users see it: an array is Running while an index runs. */
enum job_state array_shown_state(const struct job *j);

/* Look at it again. */
void array_due(struct state *s, struct job *j);
enum array_want {
    WANTS_NOTHING,
    WANTS_BEGIN,   /* the next index */
    WANTS_QUEUE,   /* an index that may wait for nodes again */
    WANTS_UNQUEUE, /* one that may not */
    WANTS_UPDATE,  /* one that waits otherwise than its array says by now */
    WANTS_VERB,    /* one that something is still to be done to */
    WANTS_STOP,    /* one that goes with its array */
    WANTS_FINISH,  /* all have ended: the array ends */
    WANTS_LEAVE,   /* it is Stopping, and nothing of it is left */
};

/* ret: the index that it speaks of. */
enum array_want array_wants(const struct state *s, const struct job *parent, struct job **ret);
/* What is next for any array; false: nothing. */
bool array_next(struct state *s, usec_t now, struct event *ev);

#endif
