/* SPDX-License-Identifier: Apache-2.0 */
/* site.h - tenants, levels, models and nodes of a simulation.
 *
 * Either all from the trace, one tenant per name and block over rack, or by the configuration of a
 * daemon, which must then know every tenant and GPU model of the trace. Nodes, racks and blocks go
 * in under numbers, so that the order of names in the core is the order of the file.
 */
#ifndef QUEUESIM_SITE_H
#define QUEUESIM_SITE_H

#include "core/event.h"
#include "spec/settings.h"
#include "trace.h"

struct site {
    struct settings settings;
    struct tenant_setting *owned;   /* its tenants, where they are ours */
    const char *models[MODELS_MAX]; /* as the trace writes them; NULL: by the configuration */
};

/* given: what a configuration says; NULL: all from the trace. It must outlive the site. */
int site_init(struct site *s, const struct trace *t, const struct settings *given, struct err *err);
void site_fini(struct site *s);
/* Index of a model of the trace; IX_NONE: no node has it. */
uint32_t site_model(const struct site *s, const char *name, size_t len);
/* The fact to be seen about node ix of the trace; the caller owns it. */
struct node_fact *site_node(const struct site *s, const struct trace *t, uint32_t ix);

#endif
