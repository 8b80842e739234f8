/* SPDX-License-Identifier: Apache-2.0 */
/* fixed_case.c - a fixed number of decisions, for counting their instructions.
 *
 * Always the same ones, without a clock. callgrind counts inside fixed_case_decide() alone; see
 * tests/integration/test_instructions.sh. Prints how many gangs were placed while it counted.
 */
#include <stdio.h>

#include "../fake/bench_site.h"
#include "../fake/fake_core.h"
#include "core/cycle.h"
#include "life/state_apply.h"
#include "util/mem.h"
#include "util/vec.h"

enum { NODES = 256, PENDING = 200, SIGNATURES = 60, WARM = 120, DECISIONS = 100, LOAD = 95 };

struct fixed_case {
    struct core core;
    uint64_t rng, used;
    uint32_t n_submitted;
    VEC(struct job_id) running;
};

bool fixed_case_decide(struct core *c, struct event *ev);

static bool cycle(struct core *c, struct event *ev)
{
    bool found = cycle_next(c->state, c->now, ev);

    if (found)
        state_apply(c->state, ev, &c->fx);
    return found;
}

/* One cycle, counted. */
__attribute__((noinline)) bool fixed_case_decide(struct core *c, struct event *ev)
{
    return cycle(c, ev);
}

static void submit(struct fixed_case *f)
{
    struct core *c = &f->core;
    struct spec *s = bench_spec(bench_draw(&f->rng, SIGNATURES));
    char name[24];

    (void)snprintf(name, sizeof(name), "job%u", (unsigned)f->n_submitted++);
    s->name = arena_strdup(&s->arena, name);
    s->tenant = c->settings.tenants[bench_draw(&f->rng, BENCH_TENANTS)].path;
    s->priority = 500;
    c->now += 1000;
    (void)core_submit(c, s);
    core_forget(c);
}

static void end_one(struct fixed_case *f)
{
    size_t at = bench_draw(&f->rng, (uint32_t)f->running.n);
    struct job_id id = f->running.v[at];

    f->used -= state_job(f->core.state, id)->demand->gpus;
    vec_remove(&f->running, at);
    core_see_all(&f->core, id, POD_SUCCEEDED);
    core_service_gone(&f->core, id);
    core_forget(&f->core);
}

/* One gang placed; what has no room waits for others to end. */
static void decide(struct fixed_case *f, bool is_counted)
{
    struct core *c = &f->core;
    struct event ev;
    struct job *j;

    for (;;) {
        while (f->running.n && f->used * 100 > (uint64_t)NODES * 8 * LOAD)
            end_one(f);
        state_tick(c->state, c->now, &c->fx);
        c->state->turn_evaluations = 0;
        if (is_counted ? fixed_case_decide(c, &ev) : cycle(c, &ev))
            break;
        end_one(f);
    }
    j = state_job(c->state, ev.u.placed.job);
    *vec_push(&f->running) = j->id;
    f->used += j->demand->gpus;
    event_fini(&ev);
    core_forget(c);
    submit(f);
}

int main(void)
{
    struct fixed_case f = {.rng = 1};
    struct core *c = &f.core;

    c->now = INT64_C(1790000000) * USEC_PER_SEC;
    site_settings_init(&c->settings);
    bench_tenants(&c->settings);
    c->state = state_create(&c->settings);
    for (uint32_t i = 0; i < NODES; i++)
        core_node(c, bench_node(i));
    core_forget(c);
    for (uint32_t i = 0; i < PENDING; i++)
        submit(&f);
    core_up(c);
    for (uint32_t i = 0; i < WARM + DECISIONS; i++)
        decide(&f, i >= WARM);
    printf("decisions %d\n", DECISIONS);
    core_fini(c);
    vec_fini(&f.running);
    return 0;
}
