/* SPDX-License-Identifier: Apache-2.0 */
/* hardware.h - is there hardware, healthy or not, that could ever take a role of a gang?
 *
 * Asked at submission, for a warning or a refusal, and for the reason of a gang that waits. It
 * looks at the whole cluster; the answer for a demand is kept until the shape of the cluster
 * changes. */
#ifndef QUEUED_CLUSTER_HARDWARE_H
#define QUEUED_CLUSTER_HARDWARE_H

#include "cluster/census.h"

/* "H100", "GPUs", "CPU": what the role counts in, for sentences. */
const char *hardware_words(const struct cluster *c, const struct demand_role *r);
/* What one pod takes, with the share of a node for what was left out, if that is known. */
void hardware_asks(const struct demand_role *r, struct resources *ret);
/* "500m cpu", "1500Gi memory", "2 example.com/nic": an amount of a dimension. Returns buf. */
enum { HARDWARE_TEXT_MAX = LABEL_KEY_MAX + 48 };
const char *hardware_amount(char buf[HARDWARE_TEXT_MAX], const struct cluster *c, int dim,
                            int64_t amount);
/* The reason's code why the cluster, empty and healthy, could never take the role, words in text;
 * NULL: it could. k: of census_take(). */
const char *hardware_never(const struct cluster *c, const struct demand_role *r,
                           const struct census *k, char *text, size_t size);
/* Could it take every role of the demand? If not, text says what is missing. */
bool hardware_exists(const struct cluster *c, struct demand *d, char *text, size_t size);

#endif
