/* SPDX-License-Identifier: Apache-2.0 */
/* fault.c - the table of faults and the one place where chance decides about them. */
#include "fault.h"

bool fault_hits(struct faults *f, enum fault_kind kind, uint32_t per_10k)
{
    if (!f->is_on || rng_below(f->rng, 10000) >= per_10k)
        return false;
    f->count[kind]++;
    return true;
}

const char *fault_name(enum fault_kind kind)
{
    static const char *const names[] = {
#define FAULT(name, text) #name,
#include "fault.def"
#undef FAULT
    };

    return names[kind];
}

const char *fault_text(enum fault_kind kind)
{
    static const char *const texts[] = {
#define FAULT(name, text) text,
#include "fault.def"
#undef FAULT
    };

    return texts[kind];
}
