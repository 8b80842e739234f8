/* SPDX-License-Identifier: Apache-2.0 */
/* expire.h - what is past its time: job records, submit keys, answers, events, accounting. */
#ifndef QUEUED_LIFE_EXPIRE_H
#define QUEUED_LIFE_EXPIRE_H

#include "core/state.h"

enum {
    EXPIRE_ANSWER_S = 24 * 3600,
    EXPIRE_KEY_S = 7 * 24 * 3600, /* after the job record went */
    EXPIRE_ATTEMPT_S =
        800 * 24 * 3600, /* of the submission: 400 of the end, and the longest life */
    EXPIRE_NOTES_MAX = 1000000,
    EXPIRE_BATCH = 256 /* drops of one sweep */
};

/* One bounded sweep. Returns when the next is due. */
usec_t expire_sweep(struct state *s, struct effects *fx);
/* The record of a terminal job is past JOB_KEEP_RECORD_S. */
void expire_job(struct state *s, struct job *j, struct effects *fx);

#endif
