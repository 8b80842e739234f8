/* SPDX-License-Identifier: Apache-2.0 */
/* hardware.c - is there hardware, healthy or not, that could ever take a role of a gang? */
#include "cluster/hardware.h"

#include <stdio.h>

#include "util/parse.h"
#include "util/str.h"

const char *hardware_words(const struct cluster *c, const struct demand_role *r)
{
    if (!r->takes_gpus)
        return "CPU";
    if (r->n_models == 1 && r->models[0] < c->settings->n_models)
        return c->settings->models[r->models[0]].name;
    return r->n_models ? "GPUs of its models" : "GPUs";
}

void hardware_asks(const struct demand_role *r, struct resources *ret)
{
    role_asks(r, !r->has_cpu && r->has_share ? r->share_cpu_milli : -1,
              !r->has_memory && r->has_share ? r->share_memory_bytes : -1, ret);
}

const char *hardware_amount(char buf[HARDWARE_TEXT_MAX], const struct cluster *c, int dim,
                            int64_t amount)
{
    char number[FORMAT_MAX];

    if (dim == RES_CPU)
        format_cpu(number, amount);
    else if (dim == RES_MEMORY || dim == RES_EPHEMERAL || dim == RES_GPU_BYTES)
        format_bytes(number, amount);
    else
        (void)snprintf(number, sizeof(number), "%lld", (long long)amount);
    (void)snprintf(buf, HARDWARE_TEXT_MAX, "%s %s", number, c->names.name[dim]);
    return buf;
}

/* What was said, and how many of the nodes that have the GPUs are out, for what each. */
static void add_refusals(const struct census *k, char *text, size_t size)
{
    static const char *const words[REFUSALS] = {
        [REFUSED_WHOLE] = "more GPUs than an exclusiveNode pod asks, which must take all",
        [REFUSED_LINKS] = "not every choice of so many GPUs is contiguous (whole hosts are)",
        [REFUSED_SELECTOR] = "other labels than the node selector or affinity asks",
        [REFUSED_NAME] = "not among the nodes named, or excluded",
        [REFUSED_MEMORY] = "less GPU memory than gpuMemoryMin, or not known",
        [REFUSED_DRIVER] = "an older driver than driver.min, or not known",
        [REFUSED_CUDA] = "an older CUDA than driver.cuda, or not known",
        [REFUSED_TAINT] = "a taint that is not tolerated",
        [REFUSED_POOL] = "in a pool exclusive to other tenants",
    };
    struct str b = {0};

    str_add(&b, text);
    for (int i = 0; i < REFUSALS; i++) {
        if (k->out[i])
            str_addf(&b, "; %u %s", k->out[i], words[i] ? words[i] : "unknown");
        if (k->out[i] && k->key[i])
            str_addf(&b, " (%.80s)", k->key[i]);
    }
    (void)snprintf(text, size, "%s", str_text(&b));
    str_fini(&b);
}

const char *hardware_never(const struct cluster *c, const struct demand_role *r,
                           const struct census *k, char *text, size_t size)
{
    unsigned gpus = (unsigned)r->each.amount[RES_GPUS];
    const char *model = hardware_words(c, r);
    char amount[HARDWARE_TEXT_MAX], each[HARDWARE_TEXT_MAX + 8] = "";
    struct resources asks;

    hardware_asks(r, &asks);
    if (k->nodes == 0) {
        (void)snprintf(text, size, "no node has %u %s, healthy or not", gpus, model);
        return "NoSuchHardware";
    }
    if (k->allowed == 0) {
        (void)snprintf(text, size, "%u nodes have %u %s, none is allowed", k->nodes, gpus, model);
        add_refusals(k, text, size);
        return k->out[REFUSED_SELECTOR] || k->out[REFUSED_NAME] ? "SelectorMismatch"
               : k->out[REFUSED_TAINT] == k->nodes              ? "UntoleratedTaint"
                                                                : "NoSuchHardware";
    }
    if (k->capacity_slots < r->replicas) {
        if (gpus)
            (void)snprintf(each, sizeof(each), " of %u %s", gpus, model);
        else if (!k->capacity_slots && k->lacking >= 0)
            (void)snprintf(each, sizeof(each), " with %s",
                           hardware_amount(amount, c, k->lacking, asks.amount[k->lacking]));
        (void)snprintf(text, size,
                       "role %s needs room for %u pods%s, the whole cluster has %llu, "
                       "healthy or not",
                       r->name, r->replicas, each, (unsigned long long)k->capacity_slots);
        add_refusals(k, text, size);
        return "NoSuchHardware";
    }
    return NULL;
}

static bool find_hardware(const struct cluster *c, const struct demand *d, char *text, size_t size)
{
    for (uint32_t r = 0; r < d->n_roles; r++) {
        struct census k;
        struct resources asks;

        hardware_asks(&d->roles[r], &asks);
        if (census_suffices(c, &d->roles[r], &asks))
            continue;
        census_take(c, &d->roles[r], &asks, &k);
        if (hardware_never(c, &d->roles[r], &k, text, size))
            return false;
    }
    return true;
}

bool hardware_exists(const struct cluster *c, struct demand *d, char *text, size_t size)
{
    *text = '\0';
    if (d->is_hardware_known && d->hardware_gen == c->shape_gen && d->has_hardware)
        return true;
    d->has_hardware = find_hardware(c, d, text, size);
    d->hardware_gen = c->shape_gen;
    d->is_hardware_known = true;
    return d->has_hardware;
}
