/* SPDX-License-Identifier: Apache-2.0 */
/* bench_site.h - the site that decisions are timed on: racks of 16 hosts of 8 GPUs, 8 racks a
 * block, and jobs of mixed sizes, constraints and levels. All of it follows from numbers alone.
 */
#ifndef QUEUED_TESTS_BENCH_SITE_H
#define QUEUED_TESTS_BENCH_SITE_H

#include <stdint.h>

#include "cluster/fact.h"
#include "spec/settings.h"
#include "spec/spec.h"

enum { BENCH_TENANTS = 50 };

uint32_t bench_draw(uint64_t *rng, uint32_t below);
/* In place of those that the settings have. */
void bench_tenants(struct settings *s);
struct node_fact *bench_node(uint32_t i);
/* Signature number i: pods, GPUs a pod, constraint and level follow from it alone. */
struct spec *bench_spec(uint32_t i);

#endif
