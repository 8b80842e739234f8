/* SPDX-License-Identifier: Apache-2.0 */
/* explain_say.h - how the explain files put a reason into words. Nobody else includes it. */
#ifndef QUEUED_VIEW_EXPLAIN_SAY_H
#define QUEUED_VIEW_EXPLAIN_SAY_H

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "view/explain.h"

static inline void say(struct explain *x, const char *code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static inline void say(struct explain *x, const char *code, const char *fmt, ...)
{
    va_list ap;

    x->code = code;
    va_start(ap, fmt);
    (void)vsnprintf(x->text, sizeof(x->text), fmt, ap); /* a cut sentence is still one */
    va_end(ap);
}

static inline void next_step(struct explain *x, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static inline void next_step(struct explain *x, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(x->next_step, sizeof(x->next_step), fmt, ap);
    va_end(ap);
}

static inline void number(struct explain *x, const char *name, uint64_t value)
{
    if (x->n_numbers < EXPLAIN_NUMBERS_MAX)
        x->numbers[x->n_numbers++] = (struct explain_number){name, (int64_t)value};
}

/* What all roles that look for the same models as this one are charged of one. */
static inline uint64_t parts_together(const struct demand *d, const struct demand_role *r,
                                      uint32_t model)
{
    uint64_t need = 0;

    for (uint32_t i = 0; i < d->n_roles; i++) {
        const struct demand_role *o = &d->roles[i];

        if (o->n_models == r->n_models && memcmp(o->models, r->models, r->n_models) == 0)
            need += (uint64_t)o->replicas * o->parts[model];
    }
    return need;
}

/* GPUs of all roles that look for the same models as this one. */
static inline uint64_t need_together(const struct demand *d, const struct demand_role *r)
{
    uint64_t need = 0;

    for (uint32_t i = 0; i < d->n_roles; i++) {
        const struct demand_role *o = &d->roles[i];

        if (o->n_models == r->n_models && memcmp(o->models, r->models, r->n_models) == 0)
            need += (uint64_t)o->replicas * (uint64_t)o->each.amount[RES_GPUS];
    }
    return need;
}

#endif
