/* SPDX-License-Identifier: Apache-2.0 */
/* fake_site.h - small parts of a site for tests: settings, nodes, pods and jobs in one line each.
 *
 * Two levels (block, rack) with the labels of the default configuration; models H100 (0),
 * H200 (1), A100 (2). What a function returns is the caller's.
 */
#ifndef QUEUED_FAKE_SITE_H
#define QUEUED_FAKE_SITE_H

#include <stdint.h>

#include "core/event.h"
#include "spec/settings.h"
#include "spec/spec.h"

enum { SITE_H100, SITE_H200, SITE_A100 };
enum { SITE_BLOCK, SITE_RACK, SITE_HOST }; /* levels of the hierarchy */

void site_settings_init(struct settings *s);
void site_settings_fini(struct settings *s);
/* Add a tenant below the one of the path before its last '/'; returns its index. At most 16.
 * Top tenants get a namespace of their name. */
uint32_t site_tenant(struct settings *s, const char *path);
/* Give a tenant some time windows, most in the hours after 14:00, when the clocks of tests begin,
 * with limits and quotas of a model of their own; MODELS_MAX: none. */
void site_windows(struct tenant_setting *t, uint64_t seed, uint32_t model);

/* A ready node. block, rack: NULL no such label. model: MODELS_MAX no GPUs. */
struct node_fact *site_node(const char *name, const char *block, const char *rack, uint32_t model,
                            int64_t gpus);
void site_node_label(struct node_fact *f, const char *key, const char *value);
void site_node_taint(struct node_fact *f, const char *key);
void site_node_set(struct node_fact *f, const char *resource, int64_t allocatable);
/* A foreign pod, running on a node. */
struct pod_fact *site_pod(const char *name, const char *node, int64_t gpus);
/* A job of one role "worker" with small CPU and memory, of tenant "t" in namespace "t". */
struct spec *site_spec(const char *name, uint32_t replicas, uint32_t gpus);
/* One more role. */
void site_role(struct spec *s, const char *name, uint32_t replicas, uint32_t gpus);

#endif
