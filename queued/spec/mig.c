/* SPDX-License-Identifier: Apache-2.0 */
/* mig.c - names of MIG profiles, and the slices of GPUs. */
#include "spec/mig.h"

#include <string.h>

#include "util/mem.h"
#include "util/parse.h"

#define SHARED ".shared"

enum { SLICES_MOST = 7 };

bool mig_is(const char *resource)
{
    return strncmp(resource, MIG_PREFIX, strlen(MIG_PREFIX)) == 0;
}

/* SLICESg.MEMORYgb, and what else the device can do behind a point: 1g.10gb.me. Not what stands for
 * one device that several pods share. */
uint32_t mig_slices(const char *resource)
{
    static const char is_profile[] = {[1] = 1, [2] = 1, [3] = 1, [4] = 1, [SLICES_MOST] = 1};
    const char *p;
    uint32_t slices;
    size_t digits, rest;

    if (!mig_is(resource))
        return 0;
    p = resource + strlen(MIG_PREFIX);
    if (*p < '1' || *p > '0' + SLICES_MOST)
        return 0;
    slices = (uint32_t)(*p - '0');
    digits = strncmp(p + 1, "g.", 2) == 0 ? strspn(p + 3, "0123456789") : 0;
    if (!is_profile[slices] || digits < 1 || digits > 4 || strncmp(p + 3 + digits, "gb", 2) != 0)
        return 0;
    p += 5 + digits;
    rest = strlen(p);
    if (rest >= strlen(SHARED) && !strcmp(p + rest - strlen(SHARED), SHARED))
        return 0;
    return !rest || ((*p == '.' || *p == '-') && rest > 1) ? slices : 0;
}

uint32_t mig_parts(const struct settings *s, uint32_t model, uint32_t slices)
{
    static const struct {
        const char *name;
        uint32_t slices;
    } few[] = {{"A30", 4}, {"RTX-PRO-6000", 4}, {"RTX-PRO-5000", 2}};
    const struct model_setting *m = &s->models[model];
    uint32_t of = SLICES_MOST, parts;

    for (size_t i = 0; i < ARRAY_LEN(few); i++) {
        for (uint32_t k = 0; k < m->n_products; k++) {
            const char *at = strstr(m->products[k], few[i].name);
            char next = at ? at[strlen(few[i].name)] : '0';

            if (next < '0' || next > '9') /* no A30 in A300 */
                of = few[i].slices;
        }
    }
    parts = slices * GPU_PARTS / of;
    return parts < GPU_PARTS ? parts : GPU_PARTS;
}

uint64_t mig_role_parts(const struct settings *s, const struct spec_role *r, uint32_t model)
{
    uint64_t parts = (uint64_t)r->gpus * GPU_PARTS;

    for (uint32_t i = 0; i < r->n_extended; i++) {
        uint32_t slices = mig_slices(r->extended[i].name);

        if (slices)
            parts += (uint64_t)r->extended[i].amount * mig_parts(s, model, slices);
    }
    return parts;
}

bool mig_asked(const struct spec_role *r)
{
    for (uint32_t i = 0; i < r->n_extended; i++)
        if (r->extended[i].name && mig_slices(r->extended[i].name))
            return true;
    return false;
}

const char *mig_text(char buf[FORMAT_MAX], uint64_t parts)
{
    return format_milli(buf, (int64_t)mig_milli(parts));
}
