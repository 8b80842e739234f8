/* SPDX-License-Identifier: Apache-2.0 */
/* test_store_array.c - a job array in the store: what was asked of its indices comes back, and the
 * bytes stay those of tests/golden/records/array (as in test_store_record.c).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "store/store_record.h"

#include "../fake/fake_array.h"
#include "../fake/fake_store.h"
#include "../fake/invariant.h"

#define GOLDEN "tests/golden/records/array"

enum { RECORDS = 4, RECORD_MAX = 4096 };

/* Of a store's tables, those that hold the array. */
static const struct {
    enum store_table table;
    size_t at;
} places[RECORDS] = {{STORE_JOBS, 0}, {STORE_JOBS, 1}, {STORE_JOBS, 2}, {STORE_SPECS, 0}};

/* Index 0 has succeeded, 1 runs and is to be cancelled, 2-3 are held, 4 is cancelled, 8-9 have
 * another class. */
static struct job *make(struct core *c)
{
    struct spec *s = array_spec("0-9,20", 1);
    struct job *a;
    struct event ev = {.kind = EV_JOB_UPDATE};
    const char **lines = arena_alloc(&s->arena, 21 * sizeof(*lines));

    for (uint32_t i = 0; i < 21; i++)
        lines[i] = i % 2 ? "{\"lr\": 0.1}" : "{\"lr\": 0.01}";
    s->array_params = (struct spec_strings){lines, 21};
    s->array_fails_fast = true;
    a = array_submitted(c, s);
    array_cycle(c);
    array_run(c, array_job(c, a, 0));
    array_end(c, array_job(c, a, 0), 0);
    array_run(c, array_job(c, a, 1));
    assert_int_equal(array_ask(c, a, VERB_HOLD, "2-3").code, ERR_OK);
    assert_int_equal(array_ask(c, a, VERB_CANCEL, "4").code, ERR_OK);
    ev.u.update = (struct ev_update){.ref = {.uid = 7, .request_id = "terms", .reply_token = 1},
                                     .job = a->id,
                                     .has_class = true,
                                     .spec = array_spec("0-9,20", 1)};
    ev.u.update.spec->priority_class = "high";
    ev.u.update.spec->priority = -3;
    assert_int_equal(indices_parse(&ev.u.update.part, "8-9", NULL), 0);
    assert_true(core_apply(c, &ev));
    assert_int_equal(array_ask(c, a, VERB_CANCEL, "1").code, ERR_OK);
    return a; /* no step was done since */
}

static void commit(struct core *c, struct fake_store *f)
{
    struct store_port port = fake_store_port(f);
    struct err err;

    assert_int_equal(port.commit_begin(port.ctx, c->state, &c->fx, &err), 0);
    effects_clear(&c->fx);
}

static void check_loaded(struct core *c, struct fake_store *f)
{
    struct store_port port = fake_store_port(f);
    struct state *s = state_create(&c->settings);
    const struct job_array *a;
    struct err err = {0};
    struct job *j;

    if (port.load(port.ctx, s, &err) || state_check(s, &err))
        fail_msg("%s", err.text);
    assert_int_equal(s->by_id.n, 3);
    assert_int_equal(fake_store_count(f, STORE_QUARANTINE), 0);
    j = s->by_id.v[0];
    a = j->array;
    assert_int_equal(a->n, 11);
    assert_int_equal(a->waiting.n, 6); /* 5-9 and 20 */
    assert_int_equal(a->succeeded.n, 1);
    assert_int_equal(a->n_cancelled, 1);
    assert_int_equal(a->n_running, 1);
    assert_int_equal(array_held(a), 2);
    assert_string_equal(array_part_of(a, PART_HELD, 3)->text, "by alice");
    assert_int_equal(array_part_of(a, PART_VERB, 1)->verb, VERB_CANCEL);
    assert_string_equal(array_terms(j, 9).priority_class, "high");
    assert_int_equal(array_terms(j, 9).priority, -3);
    assert_string_equal(array_terms(j, 7).priority_class, "normal");
    state_destroy(s);
}

static void what_was_asked_of_indices_comes_back(void **state)
{
    struct fake_store *f = fake_store_create(1);
    struct core *c = *state;

    (void)make(c);
    commit(c, f);
    check_loaded(c, f);
    fake_store_destroy(f);
}

static FILE *open_golden(size_t i, const char *mode)
{
    char path[128];

    (void)snprintf(path, sizeof(path), GOLDEN "/%s-%zu.bin", store_table_name(places[i].table),
                   places[i].at);
    return fopen(path, mode);
}

static void write_golden(size_t i, struct store_bytes key, struct store_bytes value)
{
    FILE *f = open_golden(i, "wbx"); /* never changed once it is there */

    if (!f)
        return;
    (void)fputc((int)key.len, f);
    (void)fwrite(key.p, 1, key.len, f);
    (void)fwrite(value.p, 1, value.len, f);
    assert_int_equal(fclose(f), 0);
}

static void read_golden(size_t i, uint8_t buf[RECORD_MAX], struct store_bytes *key,
                        struct store_bytes *value)
{
    FILE *f = open_golden(i, "rb");
    size_t n;

    if (!f)
        fail_msg(GOLDEN ", record %zu is missing: run from the top of the tree", i);
    n = fread(buf, 1, RECORD_MAX, f);
    (void)fclose(f);
    assert_true(n > 1 && n < RECORD_MAX && buf[0] + 1u < n);
    *key = (struct store_bytes){buf + 1, buf[0]};
    *value = (struct store_bytes){buf + 1 + buf[0], n - 1 - buf[0]};
}

static void an_array_is_the_golden_bytes_of_format_1_and_loads_from_them(void **state)
{
    struct fake_store *f = fake_store_create(1), *old = fake_store_create(1);
    struct core *c = *state;

    (void)make(c);
    commit(c, f);
    for (size_t i = 0; i < RECORDS; i++) {
        struct store_bytes key, value, old_key, old_value;
        uint8_t buf[RECORD_MAX];

        assert_true(fake_store_at(f, places[i].table, places[i].at, &key, &value));
        if (getenv("QUEUED_GOLDEN_WRITE"))
            write_golden(i, key, value);
        read_golden(i, buf, &old_key, &old_value);
        assert_int_equal(key.len, old_key.len);
        assert_memory_equal(key.p, old_key.p, key.len);
        assert_int_equal(value.len, old_value.len);
        assert_memory_equal(value.p, old_value.p, value.len);
        fake_store_set(old, places[i].table, old_key, old_value);
    }
    for (size_t i = 0; i < fake_store_count(f, STORE_META); i++) {
        struct store_bytes key, value;

        assert_true(fake_store_at(f, STORE_META, i, &key, &value));
        fake_store_set(old, STORE_META, key, value);
    }
    check_loaded(c, old);
    fake_store_destroy(f);
    fake_store_destroy(old);
}

static void an_array_with_a_part_that_cannot_be_is_put_aside(void **state)
{
    struct fake_store *f = fake_store_create(1);
    struct core *c = *state;
    struct job *a = make(c);
    struct store_port port = fake_store_port(f);
    struct state *s = state_create(&c->settings);
    struct err err;

    for (size_t i = 0; i < a->array->parts.n; i++)
        if (a->array->parts.v[i].kind == PART_VERB)
            a->array->parts.v[i].verb = VERB_CHECKPOINTED; /* no verb of a part */
    commit(c, f);
    assert_int_equal(port.load(port.ctx, s, &err), 0);
    assert_int_equal(s->by_id.n, 0); /* its indices and its spec go with it */
    assert_int_equal(fake_store_count(f, STORE_QUARANTINE), 4);
    state_destroy(s);
    fake_store_destroy(f);
}

#define T(name) cmocka_unit_test_setup_teardown(name, core_set_up, core_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(what_was_asked_of_indices_comes_back),
        T(an_array_is_the_golden_bytes_of_format_1_and_loads_from_them),
        T(an_array_with_a_part_that_cannot_be_is_put_aside),
    };

    return cmocka_run_group_tests_name("store_array", tests, NULL, NULL);
}
