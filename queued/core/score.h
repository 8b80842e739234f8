/* SPDX-License-Identifier: Apache-2.0 */
/* score.h - how good the placement of a gang is, in the terms of contracts.md 7.
 *
 * Decides between candidates of place_gang(), and is worked out anew when somebody shows it, from
 * the cluster as it is then; it is not stored. The load term waits for its weight: it counts as 0.
 */
#ifndef QUEUED_CORE_SCORE_H
#define QUEUED_CORE_SCORE_H

#include "core/place.h"
#include "core/state.h"

enum {
    SCORE_TEXT_MAX = 511,
    SCORE_LEAST_COST = 1000,
    SCORE_HOST_COST = 100, /* of one host more */
};

struct score {
    uint32_t total;    /* 0..1000, bigger is better */
    uint32_t topology; /* 0..1000: best / cost */
    uint32_t packing;  /* 0..1000: share of the hosts' GPUs (without any: CPUs) that are in use */
    uint32_t liking;   /* 0..1000: how much its roles prefer the hosts; of score_job() alone */
    uint64_t cost;     /* 1000, and the cost of each domain and host more than one */
    uint64_t best;     /* the cost on the same cluster, were it empty */
    uint32_t hosts;
    uint32_t domain; /* the narrowest that holds all hosts; IX_NONE: no level does */
};

/* Of the hosts of a placement, what is in use of one resource. */
struct share_in_use {
    int64_t used, total;
};

void share_add(struct share_in_use *share, int64_t has, int64_t takes);
/* Fills hosts, cost and domain of ret; takes order and repetition of hosts away. */
void score_cost(const struct cluster *c, const struct demand *d, uint32_t *hosts, uint32_t n,
                struct score *ret);
/* The cost of what is wished for on the empty cluster, remembered with the demand; 0: it does not
 * fit there. */
uint64_t score_best(const struct cluster *c, const struct place_wish *wish);
/* Fills the rest of ret, by the weights of the settings. */
void score_sum(const struct settings *s, uint64_t best, const struct share_in_use *share,
               struct score *ret);
/* No total of so much packing at most is higher. */
uint32_t score_most(const struct settings *s, uint64_t packing);
/* Of a job that has members. */
void score_job(const struct state *s, const struct job *j, struct score *ret);
/* "score 935 (topology 1000 = best 1100 / cost 1100, packing 675): 2 hosts in rack b1/r2".
 * Returns buf. */
const char *score_text(char buf[SCORE_TEXT_MAX + 1], const struct state *s, const struct job *j,
                       const struct score *score);

#endif
