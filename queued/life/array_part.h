/* SPDX-License-Identifier: Apache-2.0 */
/* array_part.h - changes of some indices of a job array: NAME[3-9].
 *
 * Indices that wait without a job are changed at once, in the record of their array. For those
 * that have one the array remembers what is to be done, and does it one index a step
 * (array_wants()), so that a change of thousands fits any turn and a kill loses none of it.
 */
#ifndef QUEUED_LIFE_ARRAY_PART_H
#define QUEUED_LIFE_ARRAY_PART_H

#include "core/state.h"

/* Is this for indices of j? Of the whole array: what only its indices can be told. */
bool array_part_is_meant(const struct job *j, const struct ev_verb *ev);
/* Of what is meant for indices; as verbs_admit() and verbs_apply(), which has the answer. */
bool array_part_admit(struct state *s, const struct ev_verb *ev, struct effects *fx);
void array_part_apply(struct state *s, const struct ev_verb *ev, struct effects *fx);
/* Do to one what it was asked. */
void array_part_step(struct state *s, struct job *parent, struct job *one, struct effects *fx);
/* Nothing is left to do for this index. */
void array_part_ended(struct job_array *a, uint32_t index);

/* -1: none of ev->part waits, or the array remembers too much already. */
int array_terms_check(const struct job *j, const struct ev_update *ev, struct err *err);
void array_terms_set(struct job *j, const struct ev_update *ev);
/* The whole array has new ones: what its parts had of these goes. */
void array_terms_reset(struct job_array *a, bool has_class, bool has_runtime);

#endif
