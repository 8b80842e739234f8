/* SPDX-License-Identifier: Apache-2.0 */
/* tenant.h - the tenant tree: charges against limit and quota, counts of jobs.
 *
 * A gang is charged to its tenant and every ancestor from the decision until its last pod is
 * terminal. Limit caps; quota orders, and bounds what is not preemptible.
 */
#ifndef QUEUED_CORE_TENANT_H
#define QUEUED_CORE_TENANT_H

#include <stdbool.h>
#include <stdint.h>

#include "spec/settings.h"
#include "util/err.h"

struct tenant {
    uint64_t used[MODELS_MAX]; /* GPUs charged, with those of its subtree */
    uint32_t pending, active;  /* jobs of its own: waiting or held, holding nodes */
    uint64_t released_gen;     /* a charge was given back here or below, or a limit changed */
};

struct tenants {
    const struct settings *settings;
    struct tenant *v; /* settings->n_tenants, same index */
};

void tenants_init(struct tenants *t, const struct settings *settings);
void tenants_fini(struct tenants *t);
/* Does a charge fit the limits of the tenant and its ancestors? ret_at: the one that is full. */
bool tenant_admits(const struct tenants *t, uint32_t ix, uint32_t model, uint64_t gpus,
                   uint32_t *ret_at);
/* Does a charge stay inside the quota that judges the tenant? Without a quota nothing does. */
bool tenant_in_quota(const struct tenants *t, uint32_t ix, uint32_t model, uint64_t gpus);
/* Could it ever fit: is no limit on the path below gpus? */
bool tenant_could_admit(const struct tenants *t, uint32_t ix, uint32_t model, uint64_t gpus,
                        uint32_t *ret_at);
void tenant_charge(struct tenants *t, uint32_t ix, uint32_t model, uint64_t gpus);
void tenant_refund(struct tenants *t, uint32_t ix, uint32_t model, uint64_t gpus);
/* Quota that judges a tenant: its own or the nearest ancestor's (ret_at). 0 when none is set. */
uint64_t tenant_quota(const struct tenants *t, uint32_t ix, uint32_t model, uint32_t *ret_at);

#endif
