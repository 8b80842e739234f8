/* SPDX-License-Identifier: Apache-2.0 */
/* later.h - pods that are made once another role runs (roles[].startAfter).
 *
 * Their hosts are held and charged with the gang. Whether they still wait is no part of the record:
 * after a start it follows from the pods that are there.
 */
#ifndef QUEUED_LIFE_LATER_H
#define QUEUED_LIFE_LATER_H

#include "life/job_life.h"

/* Of a new, loaded or mended gang: which members wait. */
void later_mark(struct job *j);
/* Ask for the pods of each role whose time has come. */
void later_look(struct job *j, struct effects *fx);

#endif
