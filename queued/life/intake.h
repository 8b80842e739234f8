/* SPDX-License-Identifier: Apache-2.0 */
/* intake.h - what clients change: submit and cancel, each at most once per request id. */
#ifndef QUEUED_LIFE_INTAKE_H
#define QUEUED_LIFE_INTAKE_H

#include "core/state.h"

/* false: answered already (known request, known key, refusal, dry run); nothing changes. */
bool intake_admit_submit(struct state *s, const struct ev_submit *ev, struct effects *fx);
void intake_submit(struct state *s, struct ev_submit *ev, struct effects *fx);
/* May this user have n more jobs waiting in this tenant? */
int intake_check_room(const struct state *s, const char *tenant, uint32_t uid, uint32_t n,
                      struct err *err);
/* An id that was never given. */
struct job_id intake_new_id(struct state *s);
bool intake_name_is_taken(const struct state *s, const char *ns, const char *name);
/* Enter a job that is filled in into the tables of the state. */
void intake_add_job(struct state *s, struct job *j);
/* Take it out of them and free it. */
void intake_drop_job(struct state *s, struct job *j);
/* Remember an answer under its request id. */
void intake_remember(struct state *s, const struct answer *a);

/* Answering, for every changing call of a client. A retry of a call that was carried out gets the
 * same answer again: true. */
bool intake_answered(const struct state *s, const struct request_ref *ref, struct effects *fx);
struct answer intake_answer(const struct state *s, const struct request_ref *ref,
                            enum err_code code, struct job_id job);
/* The text of the answer lies in the arena of the effects, or lives longer. */
void intake_reply(const struct request_ref *ref, const struct answer *a, struct effects *fx);
/* Answer and remember what was changed. */
void intake_conclude(struct state *s, const struct request_ref *ref, const struct answer *a,
                     struct effects *fx);
/* "by alice: why", for the reason of a job: at most REASON_TEXT_MAX, cut between characters. */
void intake_text(char buf[REASON_TEXT_MAX + 1], const struct caller *who, const char *why);
/* Answer with the error; always false. */
bool intake_refuse(const struct state *s, const struct request_ref *ref, struct effects *fx,
                   const struct err *why);

#endif
