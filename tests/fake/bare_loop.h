/* SPDX-License-Identifier: Apache-2.0 */
/* bare_loop.h - the least that placing gangs on a cluster of hosts with 8 GPUs can cost.
 *
 * The prototype of design/core-algorithms.md: 16 hosts a rack, 8 racks a block; histograms of free
 * GPUs per domain, a bitset of hosts per free count in each rack; best-fit rack, else block, else
 * the whole. No tenants, no constraints, no names: what a real decision is compared with.
 */
#ifndef QUEUED_FAKE_BARE_LOOP_H
#define QUEUED_FAKE_BARE_LOOP_H

#include <stdbool.h>
#include <stdint.h>

enum { BARE_HOSTS_A_RACK = 16, BARE_RACKS_A_BLOCK = 8, BARE_GPUS = 8 };

struct bare_domain {
    uint32_t free_gpus;
    uint32_t count[BARE_GPUS + 1];
};

struct bare_loop {
    uint32_t n_racks, n_blocks;
    struct bare_domain *racks, *blocks, all;
    uint16_t (*hosts)[BARE_GPUS + 1]; /* [rack][f]: bitset of hosts with f GPUs free */
};

/* Pods of a gang on one host. */
struct bare_part {
    uint32_t host;
    uint32_t gpus;
};

/* hosts is rounded up to whole racks. */
void bare_loop_init(struct bare_loop *b, uint32_t hosts);
void bare_loop_fini(struct bare_loop *b);
/* pods of gpus (1..8) GPUs each, at most pods entries; the number of parts, 0: does not fit. */
uint32_t bare_loop_place(struct bare_loop *b, uint32_t pods, uint32_t gpus, struct bare_part *ret);
void bare_loop_release(struct bare_loop *b, const struct bare_part *parts, uint32_t n);

#endif
