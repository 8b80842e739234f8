/* SPDX-License-Identifier: Apache-2.0 */
/* place_fixture.c - a cluster to place one gang on. */
#include "place_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "fake_site.h"

int place_set_up(void **state)
{
    struct place_fixture *f = test_calloc(1, sizeof(*f));

    site_settings_init(&f->settings);
    cluster_init(&f->cluster, &f->settings);
    for (int i = 0; i < JOB_EXCLUDED_MAX; i++)
        f->excluded[i] = IX_NONE;
    *state = f;
    return 0;
}

int place_tear_down(void **state)
{
    struct place_fixture *f = *state;

    free(f->result.members);
    cluster_fini(&f->cluster);
    site_settings_fini(&f->settings);
    test_free(f);
    return 0;
}

struct node *place_add(struct place_fixture *f, const char *name, const char *block,
                       const char *rack)
{
    return cluster_node_seen(&f->cluster, site_node(name, block, rack, SITE_H100, 8));
}

void place_add_eight(struct place_fixture *f)
{
    for (char i = 0; i < 8; i++) {
        char name[] = "n0", block[] = "b0", rack[] = "r0";

        name[1] = (char)('0' + i);
        block[1] = (char)('0' + i / 4);
        rack[1] = (char)('0' + i / 2 % 2);
        place_add(f, name, block, rack);
    }
}

void place_take(struct place_fixture *f, const char *node, int64_t gpus)
{
    struct resources r = {.amount = {[RES_GPUS] = gpus}};

    cluster_hold(&f->cluster, cluster_find(&f->cluster, node)->ix, &r);
}

bool place_spec(struct place_fixture *f, struct spec *s)
{
    struct demand *d = demand_of(&f->cluster, &f->demands, s);
    uint8_t models[JOB_ROLES_MAX];
    struct place_wish wish = f->wish;
    bool fits;

    wish.demand = d;
    wish.models = models;
    wish.excluded = f->excluded;
    for (uint32_t i = 0; i < d->n_roles; i++)
        models[i] = d->roles[i].each.amount[RES_GPUS] ? SITE_H100 : MODELS_MAX;
    free(f->result.members);
    f->result.members = NULL;
    fits = place_gang(&f->cluster, &wish, &f->result);
    demand_release(&f->cluster, &f->demands, d);
    spec_destroy(s);
    return fits;
}

const char *place_host(struct place_fixture *f, uint32_t member)
{
    return cluster_node(&f->cluster, f->result.members[member].node_ix)->name;
}
