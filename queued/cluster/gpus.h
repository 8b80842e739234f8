/* SPDX-License-Identifier: Apache-2.0 */
/* gpus.h - what a node says of its GPUs: whole ones or shares, which model, how many, how much
 * memory.
 *
 * Read from its labels and amounts alone.
 */
#ifndef QUEUED_CLUSTER_GPUS_H
#define QUEUED_CLUSTER_GPUS_H

#include "cluster/node.h"

/* Is what it offers as nvidia.com/gpu no whole GPUs? */
bool gpus_are_shared(const struct node *n);
/* By its product label; MODELS_MAX: none of the settings. */
uint8_t gpus_model(const struct settings *s, const struct node *n);
/* GPUs that it should have: its label, else the most it ever showed. */
int64_t gpus_expected(const struct node *n);
/* Writes what its shares of GPUs have of memory: RES_GPU_BYTES of total, share_bytes, share_most.
 */
void gpus_share(struct node *n);

#endif
