/* SPDX-License-Identifier: Apache-2.0 */
/* plain.h - the plain policies of simulators: one list in one order, with a queue rule.
 *
 * They stand where the daemon has cycle_next(), to compare its placement with others on the same
 * jobs, and know nothing of quotas. A pass goes through the list once, from the first decision of
 * an instant to the one that is not taken; run time is maxRuntime, taken as exact.
 */
#ifndef QUEUESIM_PLAIN_H
#define QUEUESIM_PLAIN_H

#include "core/cycle.h"

enum order_rule {
    ORDER_FIFO, /* by submission */
    ORDER_SJF,  /* by maxRuntime, then submission */
    ORDER_PRIO, /* by priority, then submission */
    ORDER_FAIR, /* by tenant, then submission */
};

/* What happens behind a job that does not fit. */
enum queue_rule {
    QUEUE_HOL,  /* nothing starts */
    QUEUE_SKIP, /* what fits starts */
    QUEUE_EASY, /* what does not delay it starts; not with ORDER_FAIR */
};

struct policy {
    enum order_rule order; /* ORDER_FAIR: the tenant that holds the fewest GPUs now is next */
    enum queue_rule queue;
    enum place_rule place;
    bool is_resumed; /* of the daemon's policy: an evicted job goes on where it was */
    uint32_t depth;  /* jobs looked at behind the first that does not fit; 0: all */
};

struct plain;

/* state and policy must outlive it. */
struct plain *plain_create(struct state *s, const struct policy *policy);
void plain_destroy(struct plain *p); /* NULL allowed */
/* A job became pending, or is no longer. */
void plain_add(struct plain *p, struct job *j);
void plain_remove(struct plain *p, struct job *j);
/* The first of the list; NULL: it is empty. */
struct job *plain_first(const struct plain *p);
/* The next decision, as cycle_next(). */
bool plain_next(struct plain *p, usec_t now, struct event *ev);

#endif
