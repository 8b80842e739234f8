/* SPDX-License-Identifier: Apache-2.0 */
/* two_tenants.c - who takes from whom: tenants a and b on four nodes. */
#include "two_tenants.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "invariant.h"

struct job *two_submit(struct core *c, const char *tenant, const char *name, int32_t priority,
                       uint32_t pods)
{
    struct spec *s = site_spec(name, pods, 8);

    s->tenant = s->ns = arena_strdup(&s->arena, tenant);
    s->priority = priority;
    return core_job(c, core_submit(c, s));
}

/* A gang that has run longer than minRuntime. */
struct job *two_running(struct core *c, const char *tenant, const char *name, int32_t priority,
                        uint32_t pods)
{
    struct job *j = two_submit(c, tenant, name, priority, pods);

    (void)core_cycle(c);
    assert_int_equal(j->state, JOB_BINDING);
    core_see_all(c, j->id, POD_RUNNING);
    core_pass(c, 660 * USEC_PER_SEC);
    assert_int_equal(j->state, JOB_RUNNING);
    return j;
}

int two_set_up(void **state)
{
    struct core *c;

    if (core_set_up(state))
        return -1;
    c = *state;
    site_tenant(&c->settings, "a");
    site_tenant(&c->settings, "b");
    for (uint32_t t = 1; t < c->settings.n_tenants; t++)
        c->settings.tenants[t].quota.gpus[SITE_H100] = 16;
    state_destroy(c->state);
    c->state = state_create(&c->settings);
    core_nodes(c, 4);
    core_up(c);
    return 0;
}

void two_check(struct core *c)
{
    struct err err = {0};

    if (state_check(c->state, &err))
        fail_msg("%s", err.text);
}
