/* SPDX-License-Identifier: Apache-2.0 */
/* mended.h - what happens to the lost members of a running gang (core/mend.h). */
#ifndef QUEUED_LIFE_MENDED_H
#define QUEUED_LIFE_MENDED_H

#include "life/job_life.h"

/* Members have failed or are gone, and may be made again: alone, or with the rest of their role;
 * those that had only joined are given up.
 * false: by the scope of the job, or as nothing else of it would stay, the gang has to restart. */
bool mended_begin(struct state *s, struct job *j, const struct job_step *step, struct effects *fx);
/* A member that the gang waits for has lost its pod, or was refused one: from here it needs a
 * host. It holds nothing any more. */
void mended_lost(struct state *s, struct job *j, struct member *m, struct effects *fx);
/* It runs. */
void mended_runs(struct state *s, struct job *j, struct member *m, struct effects *fx);
/* One that was lacking has ended well, or has left the gang: is any lacking still? */
void mended_settle(struct state *s, struct job *j);
/* EV_GANG_MENDED: lost members start on the hosts that were found. */
void mended_apply(struct state *s, struct ev_placed *p, struct effects *fx);
/* mend_due() has come. */
void mended_time_up(struct state *s, struct job *j, struct effects *fx);
/* Of a new placement: the last of each role are its spares, their ranks come last. */
void mended_set_aside(struct job *j);
/* The same of a job from the store, whose ranks are so already. */
void mended_load_spares(struct job *j);
/* It is no longer held, nor charged. */
void mended_free_spare(struct state *s, struct job *j, struct member *m);
void mended_free_spares(struct state *s, struct job *j);
/* After a start: ask again for what was asked for. true: this member needs no other look. */
bool mended_resume(struct job *j, struct member *m, struct effects *fx);

#endif
