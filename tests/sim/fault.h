/* SPDX-License-Identifier: Apache-2.0 */
/* fault.h - kinds of trouble, decided by the seed and counted.
 *
 * A fault is counted when it happens, not when it is possible; the table at the end of a run
 * shows that none was forgotten.
 */
#ifndef QUEUED_SIM_FAULT_H
#define QUEUED_SIM_FAULT_H

#include <stdbool.h>
#include <stdint.h>

#include "rng.h"

enum fault_kind {
#define FAULT(name, text) FAULT_##name,
#include "fault.def"
#undef FAULT
    FAULT_KINDS,
};

struct faults {
    struct rng *rng;
    bool is_on; /* off while a run comes to its end */
    uint64_t count[FAULT_KINDS];
};

/* Does it happen now, with a chance of per_10k in 10,000? Counts it when it does. */
bool fault_hits(struct faults *f, enum fault_kind kind, uint32_t per_10k);
const char *fault_name(enum fault_kind kind);
const char *fault_text(enum fault_kind kind);

#endif
