/* SPDX-License-Identifier: Apache-2.0 */
/* place_fixture.h - a cluster to place one gang on, and what came of it. */
#ifndef TESTS_FAKE_PLACE_FIXTURE_H
#define TESTS_FAKE_PLACE_FIXTURE_H

#include "core/place.h"

struct place_fixture {
    struct settings settings;
    struct cluster cluster;
    struct demand *demands;
    struct place_result result;
    uint32_t excluded[JOB_EXCLUDED_MAX];
    struct place_wish wish; /* what place_spec() adds to demand, models and excluded */
};

int place_set_up(void **state);
int place_tear_down(void **state);
/* A node of 8 H100. */
struct node *place_add(struct place_fixture *f, const char *name, const char *block,
                       const char *rack);
/* Two blocks of two racks of two nodes: b0/r0: n0 n1, b0/r1: n2 n3, b1/r0: n4 n5, b1/r1: n6 n7. */
void place_add_eight(struct place_fixture *f);
void place_take(struct place_fixture *f, const char *node, int64_t gpus);
/* Place the spec, which is taken over; all roles with GPUs on H100. */
bool place_spec(struct place_fixture *f, struct spec *s);
/* Name of the host of a member. */
const char *place_host(struct place_fixture *f, uint32_t member);

#endif
