/* SPDX-License-Identifier: Apache-2.0 */
/* indices.h - a set of indices of a job array, as ranges: "0-9,12,20-29".
 *
 * Ranges are ascending, do not touch, and are all there is: a thousand indices that follow each
 * other cost as much as one.
 */
#ifndef QUEUED_SPEC_INDICES_H
#define QUEUED_SPEC_INDICES_H

#include <stdbool.h>
#include <stdint.h>

#include "util/err.h"
#include "util/str.h"
#include "util/vec.h"

struct index_range {
    uint32_t from, to; /* both belong to it */
};

struct indices {
    VEC(struct index_range) ranges;
    uint32_t n; /* indices in all */
};

void indices_fini(struct indices *s);
/* Of "0-49", "1,3,5-7" or "0-90:10" (every tenth), below ARRAY_INDICES_MAX. -1 INVALID: *ret is
 * empty. */
int indices_parse(struct indices *ret, const char *text, struct err *err);
bool indices_has(const struct indices *s, uint32_t index);
/* false: it was in it already. */
bool indices_add(struct indices *s, uint32_t index);
/* false: it was not in it. */
bool indices_remove(struct indices *s, uint32_t index);
/* ret: those of a that are in b too, or that are not. ret is none of them. */
void indices_select(struct indices *ret, const struct indices *a, const struct indices *b,
                    bool is_in);
void indices_join(struct indices *to, const struct indices *more);
void indices_copy(struct indices *ret, const struct indices *from);
/* "0-9,12"; after max_ranges "..." stands for the others. 0: all of them. */
void indices_format(struct str *out, const struct indices *s, size_t max_ranges);

#endif
