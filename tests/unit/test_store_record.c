/* SPDX-License-Identifier: Apache-2.0 */
/* test_store_record.c - records come back as they went in, and stay the bytes of format 1.
 *
 * tests/golden/records/v1 holds one file for each record of the fixture: u16 key length, key,
 * value. QUEUED_GOLDEN_WRITE=1 writes what is missing there; existing files are never changed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "store/store_pack.h"
#include "store/store_record.h"

#include "core/share.h"
#include "core/window.h"

#include "../fake/fake_store.h"
#include "../fake/store_fixture.h"

#define GOLDEN "tests/golden/records/v1"

struct env {
    struct store_fixture fix;
    struct fake_store *store;
    struct store_port port;
};

static void commit(struct env *e)
{
    struct err err;

    assert_int_equal(e->port.commit_begin(e->port.ctx, e->fix.state, &e->fix.fx, &err), 0);
    effects_clear(&e->fix.fx);
    e->fix.state->turn++;
}

/* A store with a pending job 1 and job 2 in the middle of its second attempt. */
static int setup(void **state)
{
    struct env *e = calloc(1, sizeof(*e));

    store_fixture_init(&e->fix);
    e->store = fake_store_create(1);
    e->port = fake_store_port(e->store);
    store_fixture_submit(&e->fix, 1);
    store_fixture_run(&e->fix, 2);
    commit(e);
    *state = e;
    return 0;
}

static int teardown(void **state)
{
    struct env *e = *state;

    store_fixture_fini(&e->fix);
    fake_store_destroy(e->store);
    free(e);
    return 0;
}

static struct state *reload(struct env *e)
{
    struct state *s = store_fixture_empty(&e->fix);
    struct err err;

    assert_int_equal(e->port.load(e->port.ctx, s, &err), 0);
    return s;
}

static void assert_same_job(const struct env *e, const struct state *s, uint32_t n)
{
    const struct job *a = state_job(e->fix.state, store_fixture_id(n));
    const struct job *b = state_job(s, store_fixture_id(n));

    assert_non_null(a);
    assert_non_null(b);
    assert_string_equal(a->name, b->name);
    assert_string_equal(a->ns, b->ns);
    assert_string_equal(a->tenant, b->tenant);
    assert_string_equal(a->user, b->user);
    assert_string_equal(a->priority_class, b->priority_class);
    assert_string_equal(a->submit_key, b->submit_key);
    assert_memory_equal(a->digest, b->digest, sizeof(a->digest));
    assert_int_equal(a->uid, b->uid);
    assert_int_equal(a->priority, b->priority);
    assert_int_equal(a->submitted_at, b->submitted_at);
    assert_int_equal(a->max_runtime_us, b->max_runtime_us);
    assert_int_equal(a->max_queue_us, b->max_queue_us);
    assert_int_equal(a->start_timeout_us, b->start_timeout_us);
    assert_int_equal(a->grace_us, b->grace_us);
    assert_int_equal(a->max_restarts, b->max_restarts);
    assert_int_equal(a->state, b->state);
    assert_int_equal(a->outcome, b->outcome);
    assert_string_equal(a->reason.code, b->reason.code);
    assert_string_equal(job_reason_text(a), job_reason_text(b));
    assert_int_equal(a->state_since, b->state_since);
    assert_int_equal(a->queued_at, b->queued_at);
    assert_int_equal(a->attempt, b->attempt);
    assert_int_equal(a->restarts, b->restarts);
    assert_int_equal(a->refusals, b->refusals);
    assert_int_equal(a->not_before, b->not_before);
    assert_int_equal(a->attempt_at, b->attempt_at);
    assert_int_equal(a->running_at, b->running_at);
    assert_int_equal(a->ended_at, b->ended_at);
    assert_int_equal(a->exit_code, b->exit_code);
    assert_int_equal(a->has_service, b->has_service);
    assert_int_equal(a->has_budget, b->has_budget);
    assert_int_equal(a->stop_grace_us, b->stop_grace_us);
    assert_int_equal(a->has_pods, b->has_pods);
    assert_int_equal(a->charged_parts, b->charged_parts);
    assert_memory_equal(a->models, b->models, sizeof(a->models));
    assert_memory_equal(a->fixed_cpu_milli, b->fixed_cpu_milli, sizeof(a->fixed_cpu_milli));
    assert_memory_equal(a->fixed_memory_bytes, b->fixed_memory_bytes,
                        sizeof(a->fixed_memory_bytes));
    assert_string_equal(a->demand->key, b->demand->key);
    assert_int_equal(a->n_members, b->n_members);
    for (uint32_t i = 0; i < a->n_members; i++) {
        const struct node *na = cluster_node(&e->fix.state->cluster, a->members[i].node_ix);
        const struct node *nb = cluster_node(&s->cluster, b->members[i].node_ix);

        assert_string_equal(na->name, nb->name);
        assert_int_equal(a->members[i].rank, b->members[i].rank);
        assert_int_equal(a->members[i].role, b->members[i].role);
        assert_int_equal(a->members[i].index, b->members[i].index);
    }
}

static void a_job_comes_back_field_by_field(void **state)
{
    struct env *e = *state;
    struct state *s = reload(e);

    assert_same_job(e, s, 1);
    assert_same_job(e, s, 2);
    assert_int_equal(s->by_id.n, 2);
    state_destroy(s);
}

static void feed_str(void *ctx, const void *p, size_t len)
{
    str_add_bytes(ctx, p, len);
}

static void a_spec_comes_back_byte_by_byte(void **state)
{
    struct env *e = *state;
    struct spec *want[2] = {store_fixture_plain_spec(1), store_fixture_full_spec()};

    for (uint32_t i = 0; i < 2; i++) {
        struct str a = {0}, b = {0};
        struct spec *got = NULL;
        struct err err;

        assert_int_equal(e->port.read_spec(e->port.ctx, store_fixture_id(i + 1), &got, &err), 0);
        spec_feed(want[i], feed_str, &a);
        spec_feed(got, feed_str, &b);
        assert_int_equal(a.len, b.len);
        assert_memory_equal(a.s, b.s, a.len);
        assert_int_equal(want[i]->priority, got->priority);
        str_fini(&a);
        str_fini(&b);
        spec_destroy(got);
        spec_destroy(want[i]);
    }
}

static void a_spec_that_is_not_there_is_not_found(void **state)
{
    struct env *e = *state;
    struct spec *got = NULL;
    struct err err;

    assert_int_equal(e->port.read_spec(e->port.ctx, store_fixture_id(9), &got, &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_null(got);
}

static void keys_and_meta_come_back(void **state)
{
    struct env *e = *state;
    struct state *s = reload(e);
    const struct submit_key *k = state_key(s, "vision", "key-1");

    assert_non_null(k);
    assert_int_equal(k->job.v, store_fixture_id(1).v);
    assert_int_equal(k->drop_at, 0);
    assert_memory_equal(k->digest, state_job(s, k->job)->digest, sizeof(k->digest));
    assert_int_equal(s->meta.last_id.v, store_fixture_id(2).v);
    assert_int_equal(s->meta.next_seq, 3);
    assert_string_equal(s->meta.cluster_uid, e->fix.state->meta.cluster_uid);
    assert_int_equal(HASH_COUNT(s->answers), 2);
    state_destroy(s);
}

static bool check_note(void *arg, const struct job_note *note)
{
    uint32_t *n = arg;

    ++*n;
    assert_int_equal(note->seq, *n);
    assert_int_equal(note->job.v, store_fixture_id(*n).v);
    assert_int_equal(note->to, *n == 1 ? JOB_PENDING : JOB_STOPPING);
    return *n < 2;
}

static void events_are_read_in_order_and_from_a_number(void **state)
{
    struct env *e = *state;
    struct err err;
    uint32_t n = 0;

    assert_int_equal(
        e->port.read_notes(e->port.ctx, (struct note_range){0, 100}, check_note, &n, &err), 0);
    assert_int_equal(n, 2);
    n = 1;
    assert_int_equal(
        e->port.read_notes(e->port.ctx, (struct note_range){2, 100}, check_note, &n, &err), 0);
    assert_int_equal(n, 2);
    n = 0;
    assert_int_equal(
        e->port.read_notes(e->port.ctx, (struct note_range){0, 1}, check_note, &n, &err), 0);
    assert_int_equal(n, 1);
}

/* cases scheduling/F12: what is loaded is what was, and goes on from there. */
static void past_use_and_a_stop_come_back_exactly_once(void **state)
{
    struct env *e = *state;
    struct state *s = reload(e);
    uint32_t ix = settings_tenant(&e->fix.settings, "vision");
    uint32_t model = settings_model(&e->fix.settings, "H100");
    struct tenant *old = &e->fix.state->tenants.v[ix], *new = &s->tenants.v[ix];
    usec_t later = old->past[model].stamp + 3600 * USEC_PER_SEC;

    assert_true(old->past[model].value > 0);
    assert_int_equal(old->own[model], 24 * GPU_PARTS);
    assert_memory_equal(new->past, old->past, sizeof(old->past));
    assert_int_equal(new->own[model], 24 * GPU_PARTS);
    assert_int_equal(new->stopped_at, old->stopped_at);
    assert_string_equal(new->stopped_why, "by root: moving house");
    share_settle(&e->fix.state->tenants, ix, model, later);
    share_settle(&s->tenants, ix, model, later);
    assert_memory_equal(new->past, old->past, sizeof(old->past));
    state_destroy(s);
}

static void what_runs_usually_take_comes_back(void **state)
{
    struct env *e = *state;
    uint32_t ix = settings_tenant(&e->fix.settings, "vision");
    struct tenant *old = &e->fix.state->tenants.v[ix];
    struct state *s;

    for (int i = 0; i < PACE_RUNS_MAX + 3; i++) /* a mean that is no whole number */
        tenant_ran(&e->fix.state->tenants, ix, 437 + i % 2, 1000);
    old->saved_turn = e->fix.state->turn;
    commit(e);
    s = reload(e);
    assert_int_equal(tenant_usual(&s->tenants, ix), 437);
    assert_memory_equal(&s->tenants.v[ix].pace, &old->pace, sizeof(old->pace));
    state_destroy(s);
}

static void a_job_saved_thrice_in_a_turn_is_written_once(void **state)
{
    struct env *e = *state;
    uint64_t before = fake_store_puts(e->store);

    for (int i = 0; i < 3; i++)
        (void)effects_add(&e->fix.fx, EFFECT_SAVE_JOB, store_fixture_id(2));
    commit(e);
    assert_int_equal(fake_store_puts(e->store) - before, 2); /* the job, and meta */
}

static void a_budget_and_the_grace_of_a_cancel_come_back(void **state)
{
    struct env *e = *state;
    struct state *s;

    state_job(e->fix.state, store_fixture_id(2))->has_budget = true;
    state_job(e->fix.state, store_fixture_id(2))->stop_grace_us = 7 * USEC_PER_SEC;
    (void)effects_add(&e->fix.fx, EFFECT_SAVE_JOB, store_fixture_id(2));
    commit(e);
    s = reload(e);
    assert_same_job(e, s, 2);
    assert_true(state_job(s, store_fixture_id(2))->has_budget);
    state_destroy(s);
}

static void a_dropped_job_leaves_its_key_and_its_attempts(void **state)
{
    struct env *e = *state;

    (void)effects_add(&e->fix.fx, EFFECT_DROP_JOB, store_fixture_id(2));
    effects_add(&e->fix.fx, EFFECT_DROP_EVENTS, store_fixture_id(0))->u.below_seq = 2;
    commit(e);
    assert_int_equal(fake_store_count(e->store, STORE_JOBS), 1);
    assert_int_equal(fake_store_count(e->store, STORE_SPECS), 1);
    assert_int_equal(fake_store_count(e->store, STORE_KEYS), 2);
    assert_int_equal(fake_store_count(e->store, STORE_ATTEMPTS), 1);
    assert_int_equal(fake_store_count(e->store, STORE_NOTES), 1);
}

static void accounting_rows_of_jobs_below_one_are_dropped(void **state)
{
    struct env *e = *state;
    struct job_id id = store_fixture_id(2);

    (void)effects_add(&e->fix.fx, EFFECT_DROP_ATTEMPTS, id);
    commit(e);
    assert_int_equal(fake_store_count(e->store, STORE_ATTEMPTS), 1);
    id.v++;
    (void)effects_add(&e->fix.fx, EFFECT_DROP_ATTEMPTS, id);
    commit(e);
    assert_int_equal(fake_store_count(e->store, STORE_ATTEMPTS), 0);
    assert_int_equal(fake_store_count(e->store, STORE_JOBS), 2);
}

static void dropped_keys_and_answers_are_gone(void **state)
{
    struct env *e = *state;
    struct answer *a = arena_alloc(&e->fix.fx.arena, sizeof(*a));
    struct store_bytes key, value;

    assert_true(fake_store_at(e->store, STORE_ANSWERS, 0, &key, &value));
    assert_int_equal(store_decode_answer(key, value, a, NULL), 0);
    effects_add(&e->fix.fx, EFFECT_DROP_REQUEST, a->job)->u.answer = a;
    effects_add(&e->fix.fx, EFFECT_DROP_KEY, a->job)->u.key = "vision\nkey-1";
    commit(e);
    assert_int_equal(fake_store_count(e->store, STORE_ANSWERS), 1);
    assert_int_equal(fake_store_count(e->store, STORE_KEYS), 1);
}

static void a_value_under_another_key_is_damage(void **state)
{
    struct env *e = *state;
    struct store_bytes k1, v1, k2, v2;
    struct err err;

    assert_true(fake_store_at(e->store, STORE_JOBS, 0, &k1, &v1));
    assert_true(fake_store_at(e->store, STORE_JOBS, 1, &k2, &v2));
    assert_int_equal(store_record_check(STORE_JOBS, k1, v1, &err), 0);
    assert_int_equal(store_record_check(STORE_JOBS, k1, v2, &err), -1);
    assert_int_equal(err.code, ERR_INVALID);
    assert_int_equal(store_record_check(STORE_SPECS, k1, v1, &err), -1);
}

static void every_flipped_bit_is_noticed(void **state)
{
    struct env *e = *state;
    struct store_bytes key, value;
    uint8_t *copy;

    assert_true(fake_store_at(e->store, STORE_JOBS, 1, &key, &value));
    copy = malloc(value.len);
    memcpy(copy, value.p, value.len);
    for (size_t bit = 0; bit < 8 * value.len; bit++) {
        copy[bit / 8] ^= (uint8_t)(1u << bit % 8);
        if (store_record_check(STORE_JOBS, key, (struct store_bytes){copy, value.len}, NULL) == 0)
            fail_msg("bit %zu of %zu", bit, 8 * value.len);
        copy[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    free(copy);
}

static void two_equal_runs_give_equal_bytes(void **state)
{
    struct env *e = *state;
    struct env *other;
    void *p = NULL;
    struct str a = {0}, b = {0};

    assert_int_equal(setup(&p), 0);
    other = p;
    fake_store_bytes(e->store, &a);
    fake_store_bytes(other->store, &b);
    assert_int_equal(a.len, b.len);
    assert_memory_equal(a.s, b.s, a.len);
    assert_int_equal(fake_store_hash(e->store), fake_store_hash(other->store));
    (void)effects_add(&other->fix.fx, EFFECT_DROP_JOB, store_fixture_id(1));
    commit(other);
    assert_int_not_equal(fake_store_hash(e->store), fake_store_hash(other->store));
    str_fini(&a);
    str_fini(&b);
    (void)teardown(&p);
}

static void a_failed_commit_is_whole_or_nothing(void **state)
{
    struct env *e = *state;
    struct err err;

    store_fixture_submit(&e->fix, 3);
    fake_store_fail_next(e->store, FAKE_FAILS_BEFORE);
    assert_int_equal(e->port.commit_begin(e->port.ctx, e->fix.state, &e->fix.fx, &err), -1);
    assert_int_equal(fake_store_count(e->store, STORE_JOBS), 2);
    fake_store_fail_next(e->store, FAKE_FAILS_AFTER);
    assert_int_equal(e->port.commit_begin(e->port.ctx, e->fix.state, &e->fix.fx, &err), -1);
    assert_int_equal(fake_store_count(e->store, STORE_JOBS), 3);
    fake_store_hold_acks(e->store, true);
    commit(e);
    assert_false(e->port.is_acked(e->port.ctx));
    fake_store_ack(e->store);
    assert_true(e->port.is_acked(e->port.ctx));
}

/* ---- golden bytes */

static void golden_path(char buf[128], enum store_table t, size_t i)
{
    (void)snprintf(buf, 128, GOLDEN "/%s-%zu.bin", store_table_name(t), i);
}

static void write_golden(const char *path, struct store_bytes key, struct store_bytes value)
{
    uint8_t head[2] = {(uint8_t)(key.len >> 8), (uint8_t)key.len};
    FILE *f = fopen(path, "wbx");

    if (!f)
        return; /* never changed once it is there */
    fwrite(head, 1, 2, f);
    fwrite(key.p, 1, key.len, f);
    fwrite(value.p, 1, value.len, f);
    assert_int_equal(fclose(f), 0);
}

/* The file's key and value, in buf. false: there is no such file. */
static bool read_golden(const char *path, uint8_t buf[8192], struct store_bytes *key,
                        struct store_bytes *value)
{
    FILE *f = fopen(path, "rb");
    size_t n, key_len;

    if (!f)
        return false;
    n = fread(buf, 1, 8192, f);
    fclose(f);
    assert_true(n > 2 && n < 8192);
    key_len = (size_t)buf[0] << 8 | buf[1];
    assert_true(key_len + 2 < n);
    *key = (struct store_bytes){buf + 2, key_len};
    *value = (struct store_bytes){buf + 2 + key_len, n - 2 - key_len};
    return true;
}

static void records_are_the_golden_bytes_of_format_1(void **state)
{
    struct env *e = *state;
    struct store_bytes key, value, old_key, old_value;
    uint8_t buf[8192];
    char path[128];
    size_t n = 0;

    for (int t = 0; t < STORE_TABLES; t++) {
        if (t == STORE_QUARANTINE)
            continue;
        assert_true(fake_store_count(e->store, (enum store_table)t) > 0);
        for (size_t i = 0; fake_store_at(e->store, (enum store_table)t, i, &key, &value); i++) {
            golden_path(path, (enum store_table)t, i);
            if (getenv("QUEUED_GOLDEN_WRITE"))
                write_golden(path, key, value);
            if (!read_golden(path, buf, &old_key, &old_value))
                fail_msg("%s is missing: run from the top of the tree", path);
            n++;
            if (old_key.len != key.len || memcmp(old_key.p, key.p, key.len) != 0)
                fail_msg("%s: the key has changed", path);
            if (old_value.len != value.len || memcmp(old_value.p, value.p, value.len) != 0)
                fail_msg("%s: the value has changed", path);
        }
    }
    assert_int_equal(n, 15);
}

static void a_node_that_is_given_back_leaves_no_record(void **state)
{
    struct env *e = *state;
    struct store_port port = fake_store_port(e->store);
    struct err err;

    assert_int_equal(fake_store_count(e->store, STORE_DRAINS), 1);
    cluster_drain(&e->fix.state->cluster, "gpu-a1", NULL, 0);
    effects_clear(&e->fix.fx);
    effects_add(&e->fix.fx, EFFECT_SAVE_DRAIN, (struct job_id){0})->u.key = "gpu-a1";
    assert_int_equal(port.commit_begin(port.ctx, e->fix.state, &e->fix.fx, &err), 0);
    assert_int_equal(fake_store_count(e->store, STORE_DRAINS), 0);
}

static void golden_records_load_to_known_facts(void **state)
{
    struct env *e = *state;
    struct fake_store *old = fake_store_create(1);
    struct store_port port = fake_store_port(old);
    struct state *s = store_fixture_empty(&e->fix);
    struct store_bytes key, value;
    uint8_t buf[8192];
    char path[128];
    struct err err;

    for (int t = 0; t < STORE_TABLES; t++) {
        for (size_t i = 0;; i++) {
            golden_path(path, (enum store_table)t, i);
            if (!read_golden(path, buf, &key, &value))
                break;
            fake_store_set(old, (enum store_table)t, key, value);
        }
    }
    assert_int_equal(port.load(port.ctx, s, &err), 0);
    assert_int_equal(fake_store_count(old, STORE_QUARANTINE), 0);
    assert_same_job(e, s, 1);
    assert_same_job(e, s, 2);
    assert_string_equal(state_job(s, store_fixture_id(2))->name, "pretrain-0002");
    assert_non_null(cluster_drained(&s->cluster, "gpu-a1"));
    assert_string_equal(cluster_drained(&s->cluster, "gpu-a1")->text, "by alice: disk swap");
    assert_non_null(window_find(s, "power"));
    assert_int_equal(window_find(s, "power")->nodes.n, 1);
    assert_string_equal(window_find(s, "power")->text, "by alice: new cables");
    assert_int_equal(s->meta.last_id.v, store_fixture_id(2).v);
    state_destroy(s);
    fake_store_destroy(old);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_job_comes_back_field_by_field, setup, teardown),
        cmocka_unit_test_setup_teardown(a_spec_comes_back_byte_by_byte, setup, teardown),
        cmocka_unit_test_setup_teardown(a_spec_that_is_not_there_is_not_found, setup, teardown),
        cmocka_unit_test_setup_teardown(keys_and_meta_come_back, setup, teardown),
        cmocka_unit_test_setup_teardown(events_are_read_in_order_and_from_a_number, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_runs_usually_take_comes_back, setup, teardown),
        cmocka_unit_test_setup_teardown(past_use_and_a_stop_come_back_exactly_once, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_job_saved_thrice_in_a_turn_is_written_once, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(accounting_rows_of_jobs_below_one_are_dropped, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_dropped_job_leaves_its_key_and_its_attempts, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_budget_and_the_grace_of_a_cancel_come_back, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(dropped_keys_and_answers_are_gone, setup, teardown),
        cmocka_unit_test_setup_teardown(a_value_under_another_key_is_damage, setup, teardown),
        cmocka_unit_test_setup_teardown(every_flipped_bit_is_noticed, setup, teardown),
        cmocka_unit_test_setup_teardown(two_equal_runs_give_equal_bytes, setup, teardown),
        cmocka_unit_test_setup_teardown(a_failed_commit_is_whole_or_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(records_are_the_golden_bytes_of_format_1, setup, teardown),
        cmocka_unit_test_setup_teardown(a_node_that_is_given_back_leaves_no_record, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(golden_records_load_to_known_facts, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
