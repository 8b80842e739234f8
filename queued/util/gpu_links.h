/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_links.h - how the GPUs of one host reach each other, as `nvidia-smi topo -m` prints it.
 *
 * Reads every form of that text that was seen in the field (tabs or blanks, escape sequences,
 * wrapped or fused headers, rows in any order) and refuses what is damaged: nothing is guessed.
 * A read matrix is whole and symmetric. CPU and NUMA columns are left to others: they are wrong
 * too often. Class order and the word contiguous: spec/scheduling.md 2.
 */
#ifndef QUEUED_UTIL_GPU_LINKS_H
#define QUEUED_UTIL_GPU_LINKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/err.h"

enum { LINK_GPUS_MAX = 16, LINK_NICS_MAX = 64, LINK_DEVICES_MAX = LINK_GPUS_MAX + LINK_NICS_MAX };
enum { LINK_TEXT_MAX = 8 };

/* From near to far. PSB: the two chips of one board, in old drivers; SYS was SOC there. */
enum link_class { LINK_NV, LINK_PSB, LINK_PIX, LINK_PXB, LINK_PHB, LINK_NODE, LINK_SYS, LINK_N };

struct gpu_links {
    uint32_t n_gpus; /* 1..LINK_GPUS_MAX */
    uint32_t n_nics;
    /* Distances, GPUs first: 0 itself, smaller is nearer; among NV# more links are nearer. */
    uint16_t distance[LINK_DEVICES_MAX][LINK_DEVICES_MAX];
};

struct gpu_set {
    uint32_t mask;          /* bit of each GPU */
    enum link_class linked; /* the class that connects it, the best that so many GPUs can have */
    uint16_t farthest;      /* distance of its worst pair; 0 for one GPU */
    bool is_any_good;       /* every other set of the size is connected by that class as well */
};

struct gpu_link_facts {
    bool is_uniform; /* all pairs are equal */
    uint32_t clique; /* GPUs of the largest set in which every pair has NVLink; 1: there is none */
    uint32_t connected; /* GPUs of the largest set connected over NVLink */
    uint16_t best;      /* the nearest distance between two GPUs; 0 with one GPU */
    /* The set of each size: best class first, then the nearest worst pair, then the least sum of
     * distances, then the lowest numbers. [0] is empty. */
    struct gpu_set sets[LINK_GPUS_MAX + 1];
};

/* The matrix in a text of len bytes. Damaged: "line:column: what is wrong". */
int gpu_links_parse(const char *text, size_t len, struct gpu_links *ret, struct err *err);
void gpu_links_facts(const struct gpu_links *x, struct gpu_link_facts *ret);
/* Bit k: some choice of k GPUs is not connected by the best class that k of them can have. */
uint32_t gpu_links_bad_picks(const struct gpu_links *x);
/* "NV12", "PIX", "SYS"; "-" for 0. Returns buf. */
const char *gpu_link_text(char buf[LINK_TEXT_MAX], uint16_t distance);
const char *gpu_link_class_text(enum link_class c); /* "NV#", "PIX" ... */

#endif
