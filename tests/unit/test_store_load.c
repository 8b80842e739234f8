/* SPDX-License-Identifier: Apache-2.0 */
/* test_store_load.c - every kind of damage costs the damaged record and nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../fake/fake_store.h"
#include "../fake/store_fixture.h"
#include "life/state_apply.h"
#include "store/store_pack.h"
#include "util/str.h"

enum { JOBS = 5, DAMAGED = 2 }; /* jobs 1..5 in the store; position 2, job 3, is damaged */

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
}

static int setup(void **state)
{
    struct env *e = calloc(1, sizeof(*e));

    store_fixture_init(&e->fix);
    e->store = fake_store_create(1);
    e->port = fake_store_port(e->store);
    for (uint32_t n = 1; n <= JOBS; n++)
        store_fixture_submit(&e->fix, n);
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

static void a_clock_that_was_set_back_lets_nobody_wait_or_run_so_much_longer(void **state)
{
    const usec_t day = INT64_C(86400) * USEC_PER_SEC;
    struct env *e = *state;
    struct state *s = store_fixture_empty(&e->fix);
    usec_t now = FIXTURE_EPOCH - 3 * day;
    const struct job *waits, *runs;
    struct job *j;
    struct err err;

    store_fixture_run(&e->fix, JOBS + 1);
    runs = state_job(e->fix.state, store_fixture_id(JOBS + 1));
    j = state_job(e->fix.state, store_fixture_id(1));
    j->not_before = j->state_since + 30 * USEC_PER_SEC;
    (void)effects_add(&e->fix.fx, EFFECT_SAVE_JOB, j->id);
    commit(e);
    s->started_at = now;
    assert_int_equal(e->port.load(e->port.ctx, s, &err), 0);
    waits = state_job(s, j->id);
    assert_int_equal(waits->not_before, now + 30 * USEC_PER_SEC);
    assert_int_equal(waits->submitted_at, now);
    assert_true(runs->running_at > now);
    runs = state_job(s, store_fixture_id(JOBS + 1));
    assert_int_equal(runs->running_at, now);
    assert_in_range(job_run_end(runs), now, now + runs->max_runtime_us);
    state_destroy(s);
}

/* ---- kinds of damage: change len bytes at p (room for more), return the new length */

static size_t empty(enum store_table t, struct store_bytes key, uint8_t *p, size_t len)
{
    (void)t, (void)key, (void)p, (void)len;
    return 0;
}

static size_t half_a_header(enum store_table t, struct store_bytes key, uint8_t *p, size_t len)
{
    (void)t, (void)key, (void)p, (void)len;
    return 5;
}

static size_t cut(enum store_table t, struct store_bytes key, uint8_t *p, size_t len)
{
    (void)t, (void)key, (void)p;
    return len - 1;
}

static size_t longer(enum store_table t, struct store_bytes key, uint8_t *p, size_t len)
{
    (void)t, (void)key;
    p[len] = 0;
    return len + 1;
}

static size_t zeros(enum store_table t, struct store_bytes key, uint8_t *p, size_t len)
{
    (void)t, (void)key;
    memset(p, 0, len);
    return len;
}

static size_t one_bit(enum store_table t, struct store_bytes key, uint8_t *p, size_t len)
{
    (void)t, (void)key;
    p[len / 2] ^= 4;
    return len;
}

static size_t garbage_well_signed(enum store_table t, struct store_bytes key, uint8_t *p,
                                  size_t len)
{
    memset(p + 8, 0xff, len - 8);
    fake_store_sign(t, key, p, len);
    return len;
}

static size_t nothing_well_signed(enum store_table t, struct store_bytes key, uint8_t *p,
                                  size_t len)
{
    (void)len;
    fake_store_sign(t, key, p, 8);
    return 8;
}

static size_t newer_version(enum store_table t, struct store_bytes key, uint8_t *p, size_t len)
{
    p[1] = 2;
    fake_store_sign(t, key, p, len);
    return len;
}

static const struct damage {
    const char *name;
    size_t (*fn)(enum store_table t, struct store_bytes key, uint8_t *p, size_t len);
} damages[] = {
    {"empty", empty},
    {"half a header", half_a_header},
    {"cut", cut},
    {"longer", longer},
    {"zeros", zeros},
    {"one bit", one_bit},
    {"garbage, well signed", garbage_well_signed},
    {"nothing, well signed", nothing_well_signed},
    {"newer version", newer_version},
};

static void damage(struct env *e, enum store_table t, size_t i, const struct damage *d)
{
    struct store_bytes key, value;
    uint8_t *p;
    size_t len;

    assert_true(fake_store_at(e->store, t, i, &key, &value));
    p = malloc(value.len + 1);
    memcpy(p, value.p, value.len);
    len = d->fn(t, key, p, value.len);
    fake_store_set(e->store, t, key, (struct store_bytes){p, len});
    free(p);
}

static void a_damaged_job_is_set_aside_and_the_others_load(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(damages); i++) {
        void *p;
        struct env *e;
        struct state *s;

        setup(&p);
        e = p;
        damage(e, STORE_JOBS, DAMAGED, &damages[i]);
        s = reload(e);
        if (s->by_id.n != JOBS - 1 || state_job(s, store_fixture_id(3)))
            fail_msg("%s: %zu jobs", damages[i].name, s->by_id.n);
        assert_non_null(state_job(s, store_fixture_id(4)));
        /* the job and its spec are kept for repair, and gone from where they were */
        assert_int_equal(fake_store_count(e->store, STORE_QUARANTINE), 2);
        assert_int_equal(fake_store_count(e->store, STORE_JOBS), JOBS - 1);
        assert_int_equal(fake_store_count(e->store, STORE_SPECS), JOBS - 1);
        state_destroy(s);
        s = reload(e); /* and again: nothing new is found */
        assert_int_equal(s->by_id.n, JOBS - 1);
        assert_int_equal(fake_store_count(e->store, STORE_QUARANTINE), 2);
        state_destroy(s);
        teardown(&p);
    }
}

static void a_damaged_spec_takes_its_job_aside(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(damages); i++) {
        void *p;
        struct env *e;
        struct state *s;

        setup(&p);
        e = p;
        damage(e, STORE_SPECS, DAMAGED, &damages[i]);
        s = reload(e);
        if (s->by_id.n != JOBS - 1 || state_job(s, store_fixture_id(3)))
            fail_msg("%s: %zu jobs", damages[i].name, s->by_id.n);
        assert_int_equal(fake_store_count(e->store, STORE_QUARANTINE), 2);
        state_destroy(s);
        teardown(&p);
    }
}

/* A whole record that the core must not see: found by the fuzzer. */
static void an_active_job_without_hosts_is_set_aside(void **state)
{
    struct env *e = *state;
    struct store_bytes key, value;
    struct pack pack = {0};
    struct state *s;
    ProtobufCMessage *m;
    Queued__Record__JobRecord *r;

    store_fixture_run(&e->fix, JOBS + 1);
    commit(e);
    assert_true(fake_store_at(e->store, STORE_JOBS, JOBS, &key, &value));
    m = store_unpack(STORE_JOBS, key, value, &queued__record__job_record__descriptor, NULL);
    assert_non_null(m);
    r = (Queued__Record__JobRecord *)m;
    r->member_node[1] = 1000;
    fake_store_set(e->store, STORE_JOBS, key, store_pack(&pack, STORE_JOBS, key, m));
    protobuf_c_message_free_unpacked(m, NULL);
    pack_fini(&pack);
    s = reload(e);
    assert_int_equal(s->by_id.n, JOBS);
    assert_null(state_job(s, store_fixture_id(JOBS + 1)));
    state_destroy(s);
}

static void damaged_keys_answers_and_events_cost_only_themselves(void **state)
{
    static const enum store_table tables[] = {STORE_KEYS, STORE_ANSWERS, STORE_NOTES};

    (void)state;
    for (size_t t = 0; t < ARRAY_LEN(tables); t++) {
        for (size_t i = 0; i < ARRAY_LEN(damages); i++) {
            void *p;
            struct env *e;
            struct state *s;

            if (damages[i].fn == nothing_well_signed && tables[t] != STORE_KEYS)
                continue; /* an empty answer or event is a poor one, but whole */
            if (damages[i].fn == garbage_well_signed && tables[t] == STORE_NOTES)
                continue; /* events are only summed up at the start; reading them tells */
            setup(&p);
            e = p;
            damage(e, tables[t], DAMAGED, &damages[i]);
            s = reload(e);
            if (s->by_id.n != JOBS || fake_store_count(e->store, STORE_QUARANTINE) != 1 ||
                fake_store_count(e->store, tables[t]) != JOBS - 1)
                fail_msg("%s, %s", store_table_name(tables[t]), damages[i].name);
            state_destroy(s);
            teardown(&p);
        }
    }
}

static bool any_note(void *arg, const struct job_note *note)
{
    (void)arg, (void)note;
    return true;
}

static void a_damaged_event_is_told_when_it_is_read(void **state)
{
    struct env *e = *state;
    struct err err;

    damage(e, STORE_NOTES, DAMAGED, &damages[6]);
    assert_int_equal(
        e->port.read_notes(e->port.ctx, (struct note_range){4, 100}, any_note, NULL, &err), 0);
    assert_int_equal(
        e->port.read_notes(e->port.ctx, (struct note_range){1, 100}, any_note, NULL, &err), -1);
}

static void a_damaged_meta_record_never_lets_an_id_be_given_twice(void **state)
{
    struct env *e = *state;
    struct state *s;

    /* the newest job is gone but for its event, key and answer: its id still counts */
    (void)effects_add(&e->fix.fx, EFFECT_DROP_JOB, store_fixture_id(JOBS));
    commit(e);
    damage(e, STORE_META, 0, &damages[5]);
    s = reload(e);
    assert_int_equal(s->meta.last_id.v, store_fixture_id(JOBS).v);
    assert_int_equal(s->meta.next_seq, JOBS + 1);
    assert_int_equal(s->meta.oldest_seq, 1);
    assert_int_equal(s->by_id.n, JOBS - 1);
    state_destroy(s);
}

static void a_newer_format_is_refused_and_nothing_is_moved(void **state)
{
    struct env *e = *state;
    struct state *s = store_fixture_empty(&e->fix);
    uint64_t before;
    struct err err;

    damage(e, STORE_META, 0, &damages[8]);
    damage(e, STORE_JOBS, 0, &damages[5]);
    before = fake_store_hash(e->store);
    assert_int_equal(e->port.load(e->port.ctx, s, &err), -1);
    assert_int_equal(err.code, ERR_REFUSED);
    assert_non_null(strstr(err.text, "newer version"));
    assert_int_equal(fake_store_hash(e->store), before);
    state_destroy(s);
}

static void answers_older_than_a_day_are_dropped(void **state)
{
    struct env *e = *state;
    struct answer *a = arena_alloc(&e->fix.fx.arena, sizeof(*a));
    struct state *s;

    a->uid = 1000;
    a->job = store_fixture_id(JOBS);
    a->at = FIXTURE_EPOCH + 3 * USEC_PER_SEC + 24 * 3600 * USEC_PER_SEC; /* job 3 + 24 h */
    effects_add(&e->fix.fx, EFFECT_SAVE_REQUEST, a->job)->u.answer = a;
    commit(e);
    s = reload(e);
    assert_int_equal(HASH_COUNT(s->answers), 4); /* of jobs 3, 4, 5 and the new one */
    assert_int_equal(fake_store_count(e->store, STORE_ANSWERS), 4);
    state_destroy(s);
}

static void a_key_without_its_job_is_dropped_in_the_end(void **state)
{
    struct env *e = *state;
    const struct submit_key *k;
    struct state *s;

    (void)effects_add(&e->fix.fx, EFFECT_DROP_JOB, store_fixture_id(2));
    commit(e);
    s = reload(e);
    k = state_key(s, "vision", "key-2");
    assert_non_null(k);
    assert_int_equal(k->drop_at, FIXTURE_EPOCH + JOBS * USEC_PER_SEC + 7 * 86400 * USEC_PER_SEC);
    assert_int_equal(state_key(s, "vision", "key-3")->drop_at, 0);
    state_destroy(s);
}

static struct event pod_seen(const struct state *s, const struct job *j, uint32_t member,
                             enum pod_phase phase)
{
    const struct member *m = &j->members[member];
    struct pod_fact *p = calloc(1, sizeof(*p));

    (void)str_copy(p->ns, sizeof(p->ns), j->ns);
    (void)job_pod_name(p->name, j, m);
    (void)snprintf(p->uid, sizeof(p->uid), "uid-%u", member);
    (void)str_copy(p->node, sizeof(p->node), cluster_node(&s->cluster, m->node_ix)->name);
    (void)str_copy(p->role, sizeof(p->role), j->demand->roles[m->role].name);
    p->phase = phase;
    p->job = j->id;
    p->index = m->index;
    p->attempt = j->attempt;
    return (struct event){.kind = EV_POD_SEEN, .u.pod = p};
}

static void tell(struct state *s, struct event ev, struct effects *fx)
{
    ev.at = FIXTURE_EPOCH + 3600 * USEC_PER_SEC;
    state_apply(s, &ev, fx);
    event_fini(&ev);
}

/* Its finished pod was cleaned up while the daemon was down: the gang must run on. */
static void a_member_that_ended_well_is_remembered(void **state)
{
    struct env *e = *state;
    struct job *j;
    struct effects fx = {0};
    struct state *s;

    store_fixture_run(&e->fix, JOBS + 1);
    j = state_job(e->fix.state, store_fixture_id(JOBS + 1));
    j->state = JOB_RUNNING; /* the fixture's is on its way out */
    j->outcome = 0;
    commit(e);
    tell(e->fix.state, pod_seen(e->fix.state, j, 0, POD_SUCCEEDED), &e->fix.fx);
    assert_int_equal(j->n_done, 1);
    commit(e);

    s = reload(e);
    j = state_job(s, store_fixture_id(JOBS + 1));
    assert_int_equal(j->members[0].phase, MEMBER_SUCCEEDED);
    for (uint32_t i = 1; i < j->n_members; i++)
        tell(s, pod_seen(s, j, i, POD_RUNNING), &fx);
    tell(s, (struct event){.kind = EV_SYNCED}, &fx);
    assert_int_equal(j->state, JOB_RUNNING);
    effects_fini(&fx);
    state_destroy(s);
}

static void an_empty_store_loads_to_an_empty_state(void **state)
{
    struct env *e = *state;
    struct fake_store *store = fake_store_create(1);
    struct store_port port = fake_store_port(store);
    struct state *s = store_fixture_empty(&e->fix);
    struct err err;

    assert_int_equal(port.load(port.ctx, s, &err), 0);
    assert_int_equal(s->by_id.n, 0);
    assert_int_equal(s->meta.next_seq, 1);
    state_destroy(s);
    fake_store_destroy(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_damaged_job_is_set_aside_and_the_others_load),
        cmocka_unit_test(a_damaged_spec_takes_its_job_aside),
        cmocka_unit_test_setup_teardown(an_active_job_without_hosts_is_set_aside, setup, teardown),
        cmocka_unit_test_setup_teardown(
            a_clock_that_was_set_back_lets_nobody_wait_or_run_so_much_longer, setup, teardown),
        cmocka_unit_test(damaged_keys_answers_and_events_cost_only_themselves),
        cmocka_unit_test_setup_teardown(a_damaged_event_is_told_when_it_is_read, setup, teardown),
        cmocka_unit_test_setup_teardown(a_damaged_meta_record_never_lets_an_id_be_given_twice,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_newer_format_is_refused_and_nothing_is_moved, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(answers_older_than_a_day_are_dropped, setup, teardown),
        cmocka_unit_test_setup_teardown(a_member_that_ended_well_is_remembered, setup, teardown),
        cmocka_unit_test_setup_teardown(a_key_without_its_job_is_dropped_in_the_end, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(an_empty_store_loads_to_an_empty_state, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
