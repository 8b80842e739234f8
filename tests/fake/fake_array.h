/* SPDX-License-Identifier: Apache-2.0 */
/* fake_array.h - job arrays in a core under test; invariants are looked at with each cycle. */
#ifndef QUEUED_FAKE_ARRAY_H
#define QUEUED_FAKE_ARRAY_H

#include "core/array.h"

#include "fake_core.h"

/* One pod of a whole node an index. */
struct spec *array_spec(const char *indices, uint32_t parallel);
struct job *array_submitted(struct core *c, struct spec *s);
/* The job of an index; NULL. */
struct job *array_job(struct core *c, const struct job *array, uint32_t index);
void array_check(struct core *c);
void array_cycle(struct core *c);
void array_run(struct core *c, struct job *j);
/* Its pod has ended, and what follows from that. */
void array_end(struct core *c, struct job *j, int exit_code);
/* A verb for some indices (NULL: for the array). */
struct answer array_ask(struct core *c, const struct job *array, enum job_verb verb,
                        const char *indices);

#endif
