/* SPDX-License-Identifier: Apache-2.0 */
/* mig.h - parts of GPUs: what a MIG device is of a GPU, and amounts of GPUs in words.
 *
 * Tenants are charged in parts, of which a GPU has GPU_PARTS: halves, thirds and sevenths of one
 * are whole numbers of them. Settings are in whole GPUs.
 */
#ifndef QUEUED_SPEC_MIG_H
#define QUEUED_SPEC_MIG_H

#include <stdbool.h>
#include <stdint.h>

#include "spec/settings.h"
#include "spec/spec.h"

enum { GPU_PARTS = 840 };

/* Is it the name of a MIG resource, with whatever profile? */
bool mig_is(const char *resource);
/* Slices of a MIG resource ("nvidia.com/mig-3g.40gb": 3), 1..7; 0: it is none, or its profile is
 * not known. */
uint32_t mig_slices(const char *resource);
/* What so many slices are of a GPU of the model, 0..GPU_PARTS: GPUs have 7, some 4 or 2. */
uint32_t mig_parts(const struct settings *s, uint32_t model, uint32_t slices);
/* Parts that a pod of the role is charged of a model: its whole GPUs and its MIG devices. */
uint64_t mig_role_parts(const struct settings *s, const struct spec_role *r, uint32_t model);
/* Does it ask for MIG devices? */
bool mig_asked(const struct spec_role *r);
/* GPUs of an amount in parts: "3", "0.5", "1.143". */
const char *mig_text(char buf[FORMAT_MAX], uint64_t parts);
/* The same in thousandths, to the nearest. */
static inline uint64_t mig_milli(uint64_t parts)
{
    return parts / GPU_PARTS * 1000 + (parts % GPU_PARTS * 1000 + GPU_PARTS / 2) / GPU_PARTS;
}

#endif
