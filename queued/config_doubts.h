/* SPDX-License-Identifier: Apache-2.0 */
/* config_doubts.h - what a good configuration says that can hardly be meant. */
#ifndef QUEUED_CONFIG_DOUBTS_H
#define QUEUED_CONFIG_DOUBTS_H

#include "config.h"

enum { CONFIG_DOUBTS_MAX = 20 };

/* Call say() with "KEY: what, and what to do" for each of them; of very many the first
 * CONFIG_DOUBTS_MAX. How many. */
unsigned config_doubts(const struct settings *s, void (*say)(const void *ctx, const char *text),
                       const void *ctx);

#endif
