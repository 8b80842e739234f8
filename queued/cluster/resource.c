/* SPDX-License-Identifier: Apache-2.0 */
/* resource.c - arithmetic on resource vectors and the table of their names.
 *
 * Every sum saturates at RESOURCE_AMOUNT_MAX and every difference at zero, so no sequence of
 * operations wraps.
 */
#include "cluster/resource.h"

#include <string.h>

#include "spec/mig.h"

static const char *const fixed_names[RES_EXTENDED] = {
    [RES_GPUS] = "nvidia.com/gpu",
    [RES_CPU] = "cpu",
    [RES_MEMORY] = "memory",
    [RES_EPHEMERAL] = "ephemeral-storage",
    [RES_PODS] = "pods",
    [RES_SHARES] = SHARED_GPU,
    [RES_GPU_BYTES] = SHARED_GPU_MEMORY,
    [RES_ALONE] = "exclusive-node",
};

void resource_names_init(struct resource_names *names)
{
    *names = (struct resource_names){.n = RES_EXTENDED};
    for (int i = 0; i < RES_EXTENDED; i++)
        memcpy(names->name[i], fixed_names[i], strlen(fixed_names[i]) + 1);
}

int resource_index(struct resource_names *names, const char *name, bool add)
{
    size_t len = strlen(name);

    for (uint32_t i = 0; i < names->n; i++)
        if (strcmp(names->name[i], name) == 0)
            return (int)i;
    if (!add || names->n == RESOURCES_MAX || len > LABEL_KEY_MAX)
        return -1;
    memcpy(names->name[names->n], name, len + 1);
    names->slices[names->n] = (uint8_t)mig_slices(name);
    return (int)names->n++;
}

void resources_add(struct resources *a, const struct resources *b)
{
    for (int i = 0; i < RESOURCES_MAX; i++) {
        int64_t sum = a->amount[i] + b->amount[i];

        a->amount[i] = sum > RESOURCE_AMOUNT_MAX ? RESOURCE_AMOUNT_MAX : sum;
    }
}

bool resources_sub(struct resources *a, const struct resources *b)
{
    bool is_exact = true;

    for (int i = 0; i < RESOURCES_MAX; i++) {
        if (a->amount[i] < b->amount[i]) {
            a->amount[i] = 0;
            is_exact = false;
        } else {
            a->amount[i] -= b->amount[i];
        }
    }
    return is_exact;
}

int resources_lacking(const struct resources *need, const struct resources *free_amounts)
{
    for (int i = 0; i < RESOURCES_MAX; i++)
        if (need->amount[i] > free_amounts->amount[i])
            return i;
    return -1;
}

bool resources_fit(const struct resources *need, const struct resources *free_amounts)
{
    return resources_lacking(need, free_amounts) < 0;
}

uint32_t resources_times(const struct resources *need, const struct resources *free_amounts,
                         uint32_t max)
{
    int64_t times = max;

    for (int i = 0; i < RESOURCES_MAX && times > 0; i++)
        if (need->amount[i] > 0 && free_amounts->amount[i] / need->amount[i] < times)
            times = free_amounts->amount[i] / need->amount[i];
    return (uint32_t)times;
}
