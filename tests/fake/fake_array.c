/* SPDX-License-Identifier: Apache-2.0 */
/* fake_array.c - cmocka fails the test that called. */
#include "fake_array.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "invariant.h"

struct spec *array_spec(const char *indices, uint32_t parallel)
{
    struct spec *s = site_spec("sweep", 1, 8);

    s->array_indices = arena_strdup(&s->arena, indices);
    s->array_parallel = parallel;
    return s;
}

struct job *array_submitted(struct core *c, struct spec *s)
{
    struct answer a = core_submit(c, s);

    assert_int_equal(a.code, ERR_OK);
    return core_job(c, a);
}

struct job *array_job(struct core *c, const struct job *array, uint32_t index)
{
    for (size_t i = 0; i < c->state->by_id.n; i++) {
        struct job *j = c->state->by_id.v[i];

        if (j->array_id.v == array->id.v && j->array_index == index)
            return j;
    }
    return NULL;
}

void array_check(struct core *c)
{
    struct err err = {0};

    if (state_check(c->state, &err))
        fail_msg("%s", err.text);
}

void array_cycle(struct core *c)
{
    (void)core_cycle(c);
    array_check(c);
}

void array_run(struct core *c, struct job *j)
{
    assert_int_equal(j->state, JOB_BINDING);
    core_see_all(c, j->id, POD_RUNNING);
    assert_int_equal(j->state, JOB_RUNNING);
}

void array_end(struct core *c, struct job *j, int exit_code)
{
    core_see(c, j, 0, exit_code ? POD_FAILED : POD_SUCCEEDED, (int16_t)exit_code);
    array_cycle(c);
    core_pass(c, 1);
}

struct answer array_ask(struct core *c, const struct job *array, enum job_verb verb,
                        const char *indices)
{
    struct event ev = {
        .kind = EV_JOB_VERB,
        .u.verb = {.job = array->id, .verb = verb, .ref.reply_token = 1, .caller.user = "alice"}};
    struct err err;

    c->n_requests++;
    memcpy(ev.u.verb.ref.request_id, &c->n_requests, sizeof(c->n_requests));
    if (indices && indices_parse(&ev.u.verb.part, indices, &err))
        fail_msg("%s", err.text);
    (void)core_apply(c, &ev);
    return core_last(c, EFFECT_REPLY)->u.reply->answer;
}
