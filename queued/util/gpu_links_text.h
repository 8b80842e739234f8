/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_links_text.h - what gpu_links.c and gpu_links_text.c share: distances and their words. */
#ifndef QUEUED_UTIL_GPU_LINKS_TEXT_H
#define QUEUED_UTIL_GPU_LINKS_TEXT_H

#include "util/gpu_links.h"

/* The distance of n bonded NVLinks is LINK_FAR - n, that of another class LINK_FAR + class. */
enum { LINK_FAR = 256 };

extern const char *const link_words[LINK_N]; /* "NV#", "PSB" ... "SYS" */

#endif
