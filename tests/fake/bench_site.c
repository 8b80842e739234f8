/* SPDX-License-Identifier: Apache-2.0 */
/* bench_site.c - the site that decisions are timed on, and its jobs. */
#include "bench_site.h"

#include <stdio.h>
#include <stdlib.h>

#include "fake_site.h"
#include "util/mem.h"

uint32_t bench_draw(uint64_t *rng, uint32_t below)
{
    *rng = *rng * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((*rng >> 33) % below);
}

void bench_tenants(struct settings *s)
{
    free(s->tenants);
    s->tenants = xcalloc(BENCH_TENANTS, sizeof(*s->tenants));
    for (uint32_t t = 0; t < BENCH_TENANTS; t++) {
        struct tenant_setting *to = &s->tenants[s->n_tenants++];

        *to = (struct tenant_setting){.parent = t < 5 ? IX_NONE : t % 5, .weight = 1 + t % 3};
        (void)snprintf(to->path, sizeof(to->path), t < 5 ? "t%u" : "t%u/u%u", t % 5, t);
        to->max_pending = 1000000;
        for (uint32_t m = 0; m < MODELS_MAX; m++)
            to->quota.gpus[m] = to->limit.gpus[m] = -1;
    }
}

struct node_fact *bench_node(uint32_t i)
{
    char name[16], block[16], rack[16];
    struct node_fact *f;

    (void)snprintf(name, sizeof(name), "n%05u", (unsigned)i);
    (void)snprintf(block, sizeof(block), "b%03u", (unsigned)(i / 128));
    (void)snprintf(rack, sizeof(rack), "r%u", (unsigned)(i / 16 % 8));
    f = site_node(name, block, rack, SITE_H100, 8);
    site_node_label(f, "disk", i % 4 ? "nvme" : "none");
    site_node_label(f, "pool", i / 128 % 2 ? "odd" : "even");
    if (i / 16 % 16 == 3)
        site_node_taint(f, "dedicated");
    return f;
}

static void constrain(struct spec *s, uint32_t kind)
{
    static struct spec_pair disk = {"disk", "nvme"}, pool = {"pool", "odd"};
    static struct spec_toleration all = {.key = "dedicated", .exists = true};
    struct spec_role *r = &s->roles[0];

    if (kind == 1)
        r->node_selector = (struct spec_pairs){&disk, 1};
    if (kind == 2)
        r->node_selector = (struct spec_pairs){&pool, 1};
    if (kind == 3) {
        r->tolerations = &all;
        r->n_tolerations = 1;
    }
}

struct spec *bench_spec(uint32_t i)
{
    static const uint8_t log_pods[] = {0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 4, 5, 6, 7};
    static const char *const levels[] = {NULL, NULL, "rack", "block"};
    uint64_t rng = i * UINT64_C(0x9e3779b97f4a7c15) + 1;
    uint32_t pods, gpus, level;
    struct spec *s;

    (void)bench_draw(&rng, 2);
    pods = 1u << log_pods[bench_draw(&rng, 16)];
    gpus = 1u << bench_draw(&rng, 4);
    level = bench_draw(&rng, 4);
    if (levels[level] && pods * gpus > (level == 2 ? 64 : 512))
        level = 0;
    s = site_spec("job", pods, gpus);
    constrain(s, bench_draw(&rng, 8));
    s->topology_required = levels[level];
    s->roles[0].cpu_milli = 1000 + i; /* none is like another */
    s->ns = "t";
    return s;
}
