/* SPDX-License-Identifier: Apache-2.0 */
/* big_site.h - a daemon's store with many running gangs, and the same cluster as API objects.
 *
 * The records go through the real store, and the pods are those that the daemon would have made for
 * them, filled in as a server and a kubelet do. Each gang has two hosts: on each of them eight
 * workers with a GPU and eleven feeders without. Hosts are named as the stand-in names its own.
 */
#ifndef QUEUED_TESTS_BIG_SITE_H
#define QUEUED_TESTS_BIG_SITE_H

#include <stdio.h>

#include "config.h"
#include "core/state.h"
#include "store/store_lmdb.h"

enum { BIG_WORKERS = 8, BIG_FEEDERS = 11, BIG_GANG_HOSTS = 2 };
enum { BIG_GANG_PODS = BIG_GANG_HOSTS * (BIG_WORKERS + BIG_FEEDERS) };

struct big_site {
    struct config *config;
    struct state *state;
    uint32_t n_hosts; /* of the cluster; the gangs use the first ones */
    uint32_t n_gangs;
    int64_t first_s; /* when they were submitted, since 1970 */
};

/* Write the records of n_gangs running gangs into the store of the configuration file. -1 and why.
 * cluster_uid: of the kube-system that the daemon will see. */
int big_site_create(struct big_site *b, const char *config, const char *cluster_uid,
                    struct err *err);
void big_site_destroy(struct big_site *b);
/* One object a line: every pod of the gangs, then n_foreign of somebody else, spread over all
 * hosts. */
void big_site_write_objects(const struct big_site *b, uint32_t n_foreign, FILE *out);

#endif
