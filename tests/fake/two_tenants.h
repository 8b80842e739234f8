/* SPDX-License-Identifier: Apache-2.0 */
/* two_tenants.h - who takes from whom: a core with tenants a and b, each with a quota of 16 GPUs,
 * on four nodes of 8 H100. Tenant t of the core has none. */
#ifndef TESTS_FAKE_TWO_TENANTS_H
#define TESTS_FAKE_TWO_TENANTS_H

#include "fake_core.h"

/* Set-up of a test; core_tear_down() ends it. */
int two_set_up(void **state);
/* A gang of so many whole nodes. */
struct job *two_submit(struct core *c, const char *tenant, const char *name, int32_t priority,
                       uint32_t pods);
/* The same, and it has run longer than minRuntime. */
struct job *two_running(struct core *c, const char *tenant, const char *name, int32_t priority,
                        uint32_t pods);
/* Everything agrees with a recount. */
void two_check(struct core *c);

#endif
