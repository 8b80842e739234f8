/* SPDX-License-Identifier: Apache-2.0 */
/* config_doubts.c - quotas that limits keep from being used. */
#include "config_doubts.h"

#include <stdio.h>

struct doubts {
    const struct settings *s;
    void (*say)(const void *ctx, const char *text);
    const void *ctx;
    unsigned n;
};

/* A quota of a tenant, or of one of its windows (NULL none), above what a limit there or further up
 * lets it hold. */
static void check_quota(struct doubts *d, const struct tenant_setting *t,
                        const struct opening_setting *w, uint32_t model)
{
    int64_t own = w && w->quota.gpus[model] >= 0 ? w->quota.gpus[model] : t->quota.gpus[model];
    const struct tenant_setting *at = t;
    char text[ERR_TEXT_MAX];

    while (at) {
        int64_t limit = at->limit.gpus[model];

        if (at == t && w && w->limit.gpus[model] >= 0)
            limit = w->limit.gpus[model];
        if ((at == t || !at->n_windows) && limit >= 0 && limit < own)
            break;
        at = at->parent == IX_NONE ? NULL : &d->s->tenants[at->parent];
    }
    if (!at || d->n == CONFIG_DOUBTS_MAX)
        return;
    d->n++;
    (void)snprintf(
        text, sizeof(text),
        "tenants[%s]%s%s%s.quota.%s: the limit of %s is less: the quota is never used in "
        "full; raise the limit, or lower the quota",
        t->path, w ? ".windows[" : "", w ? w->name : "", w ? "]" : "", d->s->models[model].name,
        at->path);
    d->say(d->ctx, text);
}

unsigned config_doubts(const struct settings *s, void (*say)(const void *ctx, const char *text),
                       const void *ctx)
{
    struct doubts d = {s, say, ctx, 0};

    for (uint32_t i = 0; i < s->n_tenants; i++) {
        const struct tenant_setting *t = &s->tenants[i];

        for (uint32_t m = 0; m < s->n_models; m++) {
            if (!t->n_windows)
                check_quota(&d, t, NULL, m);
            for (uint32_t w = 0; w < t->n_windows; w++)
                check_quota(&d, t, &t->windows[w], m);
        }
    }
    return d.n;
}
