/* SPDX-License-Identifier: Apache-2.0 */
/* gpus.c - labels of GPU feature discovery, and what the device plugin offers. */
#include "cluster/gpus.h"

#include <string.h>

#include "util/mem.h"
#include "util/parse.h"

static uint64_t label_number(const struct node *n, const char *key)
{
    const char *value = node_label(n, key);
    uint64_t x;

    return value && parse_u64(value, 0, UINT32_MAX, &x, NULL) == 0 ? x : 0;
}

/* Shared GPUs look like whole ones in nvidia.com/gpu; their labels tell. Beside whole ones that are
 * cut up (MIG, mixed) the others stay whole. */
bool gpus_are_shared(const struct node *n)
{
    const char *product = node_label(n, "nvidia.com/gpu.product");
    const char *strategy = node_label(n, "nvidia.com/gpu.sharing-strategy");
    const char *mig = node_label(n, "nvidia.com/mig.strategy");

    if (product && (strstr(product, "-SHARED") || strstr(product, "-MIG-")))
        return true;
    if (strategy && *strategy && strcmp(strategy, "none") != 0)
        return true;
    if (label_number(n, "nvidia.com/gpu.replicas") > 1)
        return true;
    return mig && strcmp(mig, "single") == 0 && node_label(n, "nvidia.com/gpu.slices.gi");
}

uint8_t gpus_model(const struct settings *s, const struct node *n)
{
    static const char *const keys[] = {"nvidia.com/gpu.product", "accelerator"};

    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        const char *product = node_label(n, keys[i]);
        uint32_t m = product ? settings_product(s, product) : IX_NONE;

        if (m != IX_NONE)
            return (uint8_t)m;
    }
    return MODELS_MAX;
}

static int64_t amount_of(const struct resource_amount *v, uint32_t n, const char *name)
{
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(v[i].name, name) == 0)
            return v[i].amount;
    return 0;
}

/* GPUs that this node should have: its label, else the most it ever showed. */
int64_t gpus_expected(const struct node *n)
{
    const char *label = node_label(n, "nvidia.com/gpu.count");
    int64_t capacity = amount_of(n->fact->capacity, n->fact->n_capacity, "nvidia.com/gpu");
    uint64_t count;

    if (label && parse_u64(label, 0, NODE_GPUS_MAX, &count, NULL) == 0)
        return (int64_t)count;
    return capacity > n->expected_gpus ? capacity : n->expected_gpus;
}

/* The memory of shared GPUs. Which of several GPUs a share is on is the device plugin's choice: on
 * one shares may differ, on several none may ask for more than all of a GPU could have. */
void gpus_share(struct node *n)
{
    int64_t bytes = (int64_t)label_number(n, "nvidia.com/gpu.memory") << 20;
    int64_t replicas = (int64_t)label_number(n, "nvidia.com/gpu.replicas");
    int64_t shares = amount_of(n->fact->allocatable, n->fact->n_allocatable, SHARED_GPU);
    int64_t gpus;

    n->total.amount[RES_GPU_BYTES] = n->share_bytes = n->share_most = 0;
    if (!n->is_shared_gpu || replicas < 1 || shares < 1)
        return;
    gpus = (shares + replicas - 1) / replicas;
    gpus = gpus < NODE_GPUS_MAX ? gpus : NODE_GPUS_MAX;
    n->share_bytes = bytes / replicas;
    n->share_most = gpus == 1 ? bytes : n->share_bytes;
    n->total.amount[RES_GPU_BYTES] = bytes * gpus;
}
