/* SPDX-License-Identifier: Apache-2.0 */
/* machine.c - the daemon's parts around the real engine: boot, turn, effects, crash.
 *
 * Plays daemon.c: effects are carried out in order after the commit, from the present state.
 */
#include "../fake/core_names.h"
#include "sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gang.h"

#include "wish.h"

#include "core/share.h"
#include "spec/mig.h"
#include "life/reload.h"

void sim_note(struct sim *s, uint64_t x)
{
    s->hash = (s->hash ^ x) * UINT64_C(0x9fb21c651e98df25);
    s->hash ^= s->hash >> 29;
}

static usec_t clock_now(void *ctx)
{
    return ((struct sim *)ctx)->now;
}

/* ---- the store that can fail */

static int commit_begin(void *ctx, const struct state *state, const struct effects *fx,
                        struct err *err)
{
    struct sim *s = ctx;

    if (s->fail_commit == 1)
        return err_set(err, ERR_INTERNAL, "simulated: died before the commit");
    if (s->inner.commit_begin(s->inner.ctx, state, fx, err)) {
        s->failed = -1;
        return err_set(&s->err, ERR_INTERNAL, "commit: %s", err->text);
    }
    if (s->fail_commit == 2)
        return err_set(err, ERR_INTERNAL, "simulated: died after the commit");
    return 0;
}

static bool is_acked(void *ctx)
{
    struct sim *s = ctx;

    return s->inner.is_acked(s->inner.ctx);
}

/* ---- effects */

static void run_gang(struct sim *s, const struct effect *fx, bool is_stop)
{
    struct cluster_port port = fake_cluster_port(s->cluster);
    const struct job *j = state_job(s->state, fx->job);
    struct spec *spec = NULL;
    struct gang g;

    if (!j || !gang_is_wanted(j, is_stop))
        return;
    if (!is_stop && s->inner.read_spec(s->inner.ctx, job_spec_id(j), &spec, &s->err)) {
        s->failed = err_wrap(&s->err, "spec of a gang that starts");
        return;
    }
    gang_init(&g, s->state, j, spec, is_stop);
    if (g.asked_us)
        sim_met(s, "(asked to save)", 1);
    for (uint32_t r = 0; spec && r < spec->n_roles; r++)
        if (mig_asked(&spec->roles[r]))
            sim_met(s, "(MIG devices)", 1);
    if (is_stop) {
        g.has_service = fx->u.with_service;
        port.gang_stop(port.ctx, &g);
    } else {
        port.gang_start(port.ctx, &g);
    }
    gang_fini(&g);
    spec_destroy(spec);
}

static void run_effect(struct sim *s, const struct effect *fx)
{
    struct cluster_port port = fake_cluster_port(s->cluster);

    check_effect(s, fx);
    switch (fx->kind) {
    case EFFECT_REPLY:
        if (client_answer(&s->client, fx->u.reply, s->now, &s->err))
            s->failed = -1;
        break;
    case EFFECT_GANG_START:
        run_gang(s, fx, false);
        break;
    case EFFECT_GANG_STOP:
        run_gang(s, fx, true);
        break;
    case EFFECT_POD_DELETE:
        port.pod_delete(port.ctx, fx->u.pod->ns, fx->u.pod->name, fx->u.pod->uid);
        break;
    case EFFECT_SAVE_JOB:
    case EFFECT_SAVE_SPEC:
    case EFFECT_SAVE_KEY:
    case EFFECT_SAVE_REQUEST:
    case EFFECT_SAVE_EVENT:
    case EFFECT_SAVE_ATTEMPT:
    case EFFECT_SAVE_DRAIN:
    case EFFECT_SAVE_WINDOW:
    case EFFECT_SAVE_CONFIG:
    case EFFECT_DROP_JOB:
    case EFFECT_DROP_KEY:
    case EFFECT_DROP_REQUEST:
    case EFFECT_DROP_EVENTS:
    case EFFECT_DROP_ATTEMPTS:
    case EFFECT_ORPHAN_FOUND:
    case EFFECT_ORPHAN_HELD:
    case EFFECT_KINDS:
        break;
    }
}

static void run_effects(void *ctx, const struct effects *list)
{
    struct sim *s = ctx;

    for (size_t i = 0; i < list->list.n && !s->failed; i++) {
        if (s->crash_at_effect >= 0 && (int64_t)i >= s->crash_at_effect) {
            s->is_broken_off = true;
            return;
        }
        run_effect(s, &list->list.v[i]);
    }
}

/* ---- boot and crash */

static void boot(struct sim *s)
{
    s->n_starts++;
    s->state = state_create(s->settings);
    s->inbox = inbox_create(SIM_INBOX_MAX);
    s->engine = (struct engine){
        .state = s->state,
        .inbox = s->inbox,
        .clock = {.ctx = s, .now = clock_now},
        .store = s->inner,
        .out = {.ctx = s, .run = run_effects},
    };
    s->engine.store.ctx = s;
    s->engine.store.commit_begin = commit_begin;
    s->engine.store.is_acked = is_acked;
    s->crash_at_effect = -1;
    s->is_broken_off = false;
    s->fail_commit = 0;
    s->was_synced = false;
    s->wake = 0;
    memset(s->ours, 0, sizeof(s->ours));
    memset(s->our_bytes, 0, sizeof(s->our_bytes));
    memset(s->our_mig, 0, sizeof(s->our_mig));
    if (s->inner.load(s->inner.ctx, s->state, &s->err))
        s->failed = err_wrap(&s->err, "load");
    else if (fake_store_count(s->store, STORE_QUARANTINE))
        s->failed =
            err_set(&s->err, ERR_INTERNAL, "a record that we wrote was set aside at the load");
    reload_started(s->state, s->n_reloads + 1);
    s->cluster = fake_cluster_create(&s->world, s->inbox);
}

static void shut(struct sim *s, bool is_crash)
{
    fake_cluster_destroy(s->cluster, is_crash);
    engine_fini(&s->engine);
    inbox_destroy(s->inbox);
    state_destroy(s->state);
    client_crash(&s->client);
}

/* The settings of the file are those in force, in the core or since a start. */
static void take_next(struct sim *s)
{
    if (!s->next)
        return;
    site_free(s->settings);
    s->settings = s->next;
    s->next = NULL;
    s->world.settings = s->client.settings = s->settings;
    for (uint32_t i = 0; i < SIM_TENANTS; i++)
        s->has_left[i] |= settings_tenant(s->settings, s->first.tenants[i].path) == IX_NONE;
}

/* A start decays what is stored by the new half-life since it was written back, which was not the
 * same instant for a tenant and its users. */
static void take_file(struct sim *s)
{
    for (uint32_t i = 0; i < SIM_TENANTS && s->next; i++)
        s->has_left[i] |= s->next->half_life_us != s->settings->half_life_us;
    take_next(s);
}

void sim_reload(struct sim *s)
{
    struct event ev = {.kind = EV_SETTINGS};

    if (s->next || inbox_room(s->inbox) == 0)
        return;
    s->next = site_change(&s->first, s->seed + ++s->n_reloads * 1000003);
    ev.u.config = (struct ev_config){s->next, s->n_reloads + 1};
    (void)inbox_push(s->inbox, &ev);
    s->faults.count[FAULT_RELOAD]++;
}

/* Where a tenant of the first site is now; NULL: it left. */
static struct tenant *tenant_of(const struct sim *s, uint32_t i)
{
    uint32_t ix = settings_tenant(s->state->settings, s->first.tenants[i].path);

    return ix == IX_NONE ? NULL : &s->state->tenants.v[ix];
}

static void keep_past(struct sim *s, int which)
{
    for (uint32_t i = 0; i < SIM_TENANTS; i++) {
        const struct tenant *t = tenant_of(s, i);

        s->has_past[which][i] = t != NULL;
        if (!t)
            continue;
        memcpy(s->past[which][i], t->past, sizeof(s->past[which][i]));
        s->pace[which][i] = t->pace;
    }
}

/* What the users of a tenant used is what it used, but for rounding at each change. */
static bool is_sum_of_users(const struct sim *s, uint32_t tenant)
{
    const struct tenants *t = &s->state->tenants;
    usec_t h = s->settings->half_life_us;

    for (uint32_t m = 0; m < MODELS_MAX && s->settings->shares_users; m++) {
        uint64_t sum = 0;
        uint64_t all = share_usage(&t->v[tenant].past[m], t->v[tenant].own[m], h, s->now);

        for (const struct account *a = t->accounts; a; a = a->hh.next)
            if (a->key.tenant == tenant)
                sum += share_usage(&a->share->past[m], a->share->own[m], h, s->now);
        if ((sum > all ? sum - all : all - sum) >> 16)
            return false;
    }
    return true;
}

/* What tenants used is as it was stored last: by the last turn that ended, or by the one that was
 * broken off. */
static void check_past(struct sim *s)
{
    for (uint32_t i = 0; i < SIM_TENANTS && !s->failed; i++) {
        const struct tenant *t = tenant_of(s, i);

        if (!t || s->has_left[i])
            continue;
        if (memcmp(t->past, s->past[0][i], sizeof(s->past[0][i])) != 0 &&
            memcmp(t->past, s->past[1][i], sizeof(s->past[1][i])) != 0)
            s->failed = err_set(&s->err, ERR_INTERNAL, "past use of %s was lost or doubled",
                                s->first.tenants[i].path);
        else if (memcmp(&t->pace, &s->pace[0][i], sizeof(t->pace)) != 0 &&
                 memcmp(&t->pace, &s->pace[1][i], sizeof(t->pace)) != 0)
            s->failed = err_set(&s->err, ERR_INTERNAL, "how long runs of %s are was lost",
                                s->first.tenants[i].path);
        else if (!is_sum_of_users(s, (uint32_t)(t - s->state->tenants.v)))
            s->failed =
                err_set(&s->err, ERR_INTERNAL, "past use of users of %s was lost or doubled",
                        s->first.tenants[i].path);
    }
}

void sim_crash(struct sim *s, enum fault_kind kind)
{
    keep_past(s, 1);
    if (s->is_verbose)
        printf("%lld crash %s\n", (long long)s->now, fault_name(kind));
    s->faults.count[kind]++;
    sim_note(s, kind);
    shut(s, true);
    fake_store_crash(s->store);
    take_file(s);
    boot(s);
    sim_met_crash(s);
    check_past(s);
    keep_past(s, 0);
}

void sim_init(struct sim *s, uint64_t seed)
{
    *s = (struct sim){.seed = seed, .rng = {seed}};
    s->faults = (struct faults){.rng = &s->rng, .is_on = true};
    s->now = INT64_C(1790000000) * USEC_PER_SEC + rng_between(&s->rng, 0, 1000000);
    site_init(&s->first);
    s->first.shares_users = seed / 2 % 2;
    if (seed % 2)
        site_vary(&s->first, seed);
    s->settings = xmalloc(sizeof(*s->settings));
    *s->settings = s->first;
    s->settings->tenants = xcalloc(SIM_TENANTS, sizeof(*s->first.tenants));
    memcpy(s->settings->tenants, s->first.tenants, SIM_TENANTS * sizeof(*s->first.tenants));
    s->settings->pools = xcalloc(1, sizeof(*s->first.pools));
    s->settings->pools[0] = s->first.pools[0];
    world_init(&s->world, s->settings, &s->rng, &s->faults);
    s->world.now = s->now;
    client_init(&s->client, s->settings, &s->rng, &s->faults);
    s->world.is_busy = s->client.is_busy = seed / 2 % 2;
    s->client.is_crumbly = seed % 8 == 6;
    s->client.is_staged = seed % 10 >= 8;
    s->world.woe = s->client.is_staged ? 4 : 1;
    s->client.is_wide = seed % 7 == 5;
    if (s->client.is_wide)
        world_widen(&s->world);
    s->client.is_calm = seed % 3 == 2 && !s->client.is_staged;
    s->store = fake_store_create(seed);
    s->inner = fake_store_port(s->store);
    boot(s);
}

void sim_fini(struct sim *s)
{
    void *next;

    shut(s, false);
    for (; s->junk_kept; s->junk_kept = next) {
        memcpy(&next, s->junk_kept, sizeof(next));
        free(s->junk_kept);
    }
    fake_store_destroy(s->store);
    client_fini(&s->client);
    world_fini(&s->world);
    site_free(s->settings);
    site_free(s->next);
    site_fini(&s->first);
}

/* ---- a turn */

/* Where will this turn die, if it does? */
static enum fault_kind plan_crash(struct sim *s)
{
    uint32_t dice = s->faults.is_on ? rng_below(&s->rng, 1000) : 999;

    s->fail_commit = 0;
    s->crash_at_effect = -1;
    if (dice < 4) {
        s->fail_commit = 1;
        return FAULT_CRASH_BEFORE_COMMIT;
    }
    if (dice < 8) {
        s->fail_commit = 2;
        return FAULT_CRASH_COMMIT_UNKNOWN;
    }
    if (dice < 12) {
        s->crash_at_effect = 0;
        return FAULT_CRASH_AFTER_COMMIT;
    }
    if (dice < 20) {
        s->crash_at_effect = rng_below(&s->rng, 12);
        return FAULT_CRASH_AMID_EFFECTS;
    }
    if (dice < 23 || (!s->was_synced && dice < 60))
        return FAULT_CRASH_IDLE;
    return FAULT_KINDS;
}

/* Other addresses in each process: nothing may depend on them. */
static void shuffle_memory(struct sim *s)
{
    void *kept[8];
    uint32_t n = rng_below(&s->junk, 8);

    for (uint32_t i = 0; i < n; i++)
        kept[i] = xmalloc(sizeof(void *) + rng_below(&s->junk, 600));
    for (uint32_t i = 0; i < n; i++) {
        if (!rng_one_in(&s->junk, 64)) {
            free(kept[i]);
            continue;
        }
        memcpy(kept[i], &s->junk_kept, sizeof(void *)); /* a few stay, so that the heap moves on */
        s->junk_kept = kept[i];
    }
}

int sim_turn(struct sim *s)
{
    bool is_idle = inbox_count(s->inbox) == 0 && s->now < s->wake;
    enum fault_kind crash = plan_crash(s);
    struct err err;
    int rc;

    if (s->is_junk)
        shuffle_memory(s);
    s->n_turns++;
    rc = engine_turn(&s->engine, &s->wake, &err);
    if (s->failed)
        return -1;
    if (rc) {
        if (!s->fail_commit)
            return err_set(&s->err, ERR_INTERNAL, "turn failed: %s", err.text);
        sim_crash(s, crash);
        return s->failed;
    }
    if (is_idle && s->engine.effects.list.n)
        return err_set(&s->err, ERR_INTERNAL, "a turn before its wake-up did %s",
                       effect_name(s->engine.effects.list.v[0].kind));
    s->n_effects += s->engine.effects.list.n;
    if (s->next && s->state->settings == s->next)
        take_next(s);
    engine_acked(&s->engine);
    if (s->is_verbose)
        printf("%lld turn %llu: %016llx\n", (long long)s->now, (unsigned long long)s->n_turns,
               (unsigned long long)s->hash);
    if (s->failed)
        return -1;
    if (s->is_broken_off || crash == FAULT_CRASH_IDLE) {
        sim_crash(s, s->is_broken_off || s->was_synced ? crash : FAULT_CRASH_AT_START);
        return s->failed;
    }
    keep_past(s, 0);
    rc = check_turn(s);
    s->was_synced |= s->state->is_synced;
    return rc;
}
