/* SPDX-License-Identifier: Apache-2.0 */
/* sim.c - runs simulated sites by seed: `sim --seed N --turns T [--seeds COUNT] [--table]
 * [--bytes FILE] [--verbose] [--quiet]`.
 *
 * Prints one line a seed with a hash of every decision and every stored byte; two processes must
 * print the same. QUEUED_SIM_JUNK=n shuffles allocations by a seed of its own. Exit code 1 when a
 * rule is broken; the line then has what is needed to run it again.
 */
#include "../fake/core_names.h"
#include "sim.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#define HOUR_US (3600 * USEC_PER_SEC)

struct options {
    uint64_t seed;
    uint32_t seeds, turns;
    bool has_table, is_verbose, is_quiet;
    const char *bytes;
};

struct totals {
    uint64_t rows[FSM_ROWS_MAX];
    uint64_t faults[FAULT_KINDS];
    struct sim met; /* its counts of reasons alone */
    uint64_t turns, starts, accepted, refused, again, conflicts, bad, ended, moved, decisions;
};

static void advance_clock(struct sim *s)
{
    uint32_t dice = rng_below(&s->rng, 10000);

    if (s->world.is_busy && dice < 9950)
        dice = dice * 2 / 3;
    if (dice < 6500)
        s->now += rng_between(&s->rng, 50 * USEC_PER_MSEC, 2 * USEC_PER_SEC);
    else if (dice < 9500)
        s->now += rng_between(&s->rng, 2 * USEC_PER_SEC, 20 * USEC_PER_SEC);
    else if (dice < 9950)
        s->now += rng_between(&s->rng, 20 * USEC_PER_SEC, 400 * USEC_PER_SEC);
    else if (fault_hits(&s->faults, FAULT_CLOCK_JUMP, 5000))
        s->now += rng_between(&s->rng, 1, dice > 9995 ? 300 : 12) * HOUR_US;
}

static void trouble(struct sim *s)
{
    if (fault_hits(&s->faults, FAULT_API_DOWN, 30 * s->world.woe))
        fake_cluster_cut(s->cluster, rng_between(&s->rng, 1, 90) * USEC_PER_SEC);
    if (fault_hits(&s->faults, FAULT_RELOAD, 100))
        sim_reload(s);
    if (fault_hits(&s->faults, FAULT_RELIST, 50))
        fake_cluster_relist(s->cluster);
    if (rng_one_in(&s->rng, 200) || (s->state->is_store_low && rng_one_in(&s->rng, 10))) {
        struct event ev = {.kind = EV_STORE_LOW, .u.is_low = !s->state->is_store_low};

        if (inbox_push(s->inbox, &ev) && !s->state->is_store_low)
            s->faults.count[FAULT_STORE_LOW]++;
    }
}

static int chaos(struct sim *s, uint32_t turns)
{
    for (uint32_t n = 0; n < turns; n++) {
        advance_clock(s);
        world_step(&s->world, s->now);
        trouble(s);
        s->client.state = s->state;
        client_step(&s->client, s->inbox, s->now);
        fake_cluster_step(s->cluster);
        if (sim_turn(s))
            return -1;
    }
    return 0;
}

static int write_bytes(struct sim *s, const char *path)
{
    FILE *f = fopen(path, "wb");
    struct str bytes = {0};
    bool is_short;

    if (!f)
        return err_set(&s->err, ERR_INTERNAL, "cannot open %s", path);
    fake_store_bytes(s->store, &bytes);
    is_short = fwrite(str_text(&bytes), 1, bytes.len, f) != bytes.len;
    str_fini(&bytes);
    if (fclose(f) || is_short)
        return err_set(&s->err, ERR_INTERNAL, "cannot write %s", path);
    return 0;
}

static void add_totals(struct totals *t, const struct sim *s)
{
    for (int i = 0; i < FSM_ROWS_MAX; i++)
        t->rows[i] += s->rows[i];
    for (int i = 0; i < FAULT_KINDS; i++)
        t->faults[i] += s->faults.count[i];
    for (int i = 0; i < REASONS_MET_MAX && s->met[i].code[0]; i++)
        sim_met(&t->met, s->met[i].code, s->met[i].n);
    t->turns += s->n_turns;
    t->starts += s->n_starts;
    t->accepted += s->client.n_accepted;
    t->refused += s->client.n_refused;
    t->again += s->client.n_again;
    t->conflicts += s->client.n_conflicts;
    if (s->client.n_parts)
        sim_met(&t->met, "(part of an array changed)", s->client.n_parts);
    t->bad += s->client.n_bad_specs;
    t->ended += s->n_jobs_ended;
    t->moved += s->n_moved;
    t->decisions += s->rows[0];
}

static int run_seed(const struct options *o, uint64_t seed, struct totals *totals)
{
    struct sim *s = xcalloc(1, sizeof(*s));
    const char *junk = getenv("QUEUED_SIM_JUNK");
    int rc;

    sim_init(s, seed);
    s->is_verbose = s->world.is_verbose = o->is_verbose;
    s->is_junk = junk != NULL;
    s->junk.s = junk ? strtoull(junk, NULL, 10) : 0;
    rc = s->failed ? -1 : chaos(s, o->turns);
    if (rc == 0)
        sim_note(s, fake_store_hash(s->store));
    if (rc == 0 && o->bytes)
        rc = write_bytes(s, o->bytes);
    if (rc == 0)
        rc = sim_finish(s);
    sim_note(s, fake_store_hash(s->store));
    if (rc)
        printf("seed %llu turns %u: FAILED in turn %llu: %s\n", (unsigned long long)seed, o->turns,
               (unsigned long long)s->n_turns, s->err.text);
    else if (!o->is_quiet)
        printf("seed %llu turns %u: %016llx\n", (unsigned long long)seed, o->turns,
               (unsigned long long)s->hash);
    add_totals(totals, s);
    sim_fini(s);
    free(s);
    return rc;
}

static void print_table(const struct totals *t)
{
    unsigned n;
    const struct job_fsm_row *rows = job_fsm_rows(&n);

    for (unsigned i = 0; i < n; i++)
        printf("row %s %s %s %llu %s\n", job_state_name(rows[i].from),
               job_event_name(rows[i].event),
               rows[i].to == JOB_OUTCOME ? "(outcome)" : job_state_name(rows[i].to),
               (unsigned long long)t->rows[i], rows[i].slice ? "taken" : "later");
    for (int i = 0; i < FAULT_KINDS; i++)
        printf("fault %s %llu %s\n", fault_name((enum fault_kind)i),
               (unsigned long long)t->faults[i], fault_text((enum fault_kind)i));
    for (int i = 0; i < REASONS_MET_MAX && t->met.met[i].code[0]; i++)
        printf("met %llu %s\n", (unsigned long long)t->met.met[i].n, t->met.met[i].code);
    printf("total turns %llu starts %llu accepted %llu refused %llu again %llu conflicts %llu "
           "bad-specs %llu ended %llu moved %llu\n",
           (unsigned long long)t->turns, (unsigned long long)t->starts,
           (unsigned long long)t->accepted, (unsigned long long)t->refused,
           (unsigned long long)t->again, (unsigned long long)t->conflicts,
           (unsigned long long)t->bad, (unsigned long long)t->ended, (unsigned long long)t->moved);
}

static int read_options(int argc, char **argv, struct options *o)
{
    static const struct option longs[] = {
        {"seed", required_argument, NULL, 's'},  {"turns", required_argument, NULL, 't'},
        {"seeds", required_argument, NULL, 'n'}, {"table", no_argument, NULL, 'T'},
        {"bytes", required_argument, NULL, 'b'}, {"verbose", no_argument, NULL, 'v'},
        {"quiet", no_argument, NULL, 'q'},       {NULL, 0, NULL, 0},
    };

    *o = (struct options){.seed = 1, .seeds = 1, .turns = 500};
    for (;;) {
        int c = getopt_long(argc, argv, "", longs, NULL);

        if (c == -1)
            return optind == argc ? 0 : -1;
        if (c == 's')
            o->seed = strtoull(optarg, NULL, 10);
        else if (c == 't')
            o->turns = (uint32_t)strtoul(optarg, NULL, 10);
        else if (c == 'n')
            o->seeds = (uint32_t)strtoul(optarg, NULL, 10);
        else if (c == 'T')
            o->has_table = true;
        else if (c == 'b')
            o->bytes = optarg;
        else if (c == 'v')
            o->is_verbose = true;
        else if (c == 'q')
            o->is_quiet = true;
        else
            return -1;
    }
}

int main(int argc, char **argv)
{
    struct totals totals = {0};
    struct options o;
    uint32_t failed = 0;

    if (read_options(argc, argv, &o)) {
        fprintf(stderr, "usage: sim [--seed N] [--seeds COUNT] [--turns T] [--table] "
                        "[--bytes FILE] [--verbose] [--quiet]\n");
        return 64;
    }
    (void)setvbuf(stdout, NULL, _IOLBF, 0); /* a run that aborts names its seed */
    for (uint32_t i = 0; i < o.seeds; i++)
        if (run_seed(&o, o.seed + i, &totals))
            failed++;
    if (o.has_table)
        print_table(&totals);
    return failed ? 1 : 0;
}
