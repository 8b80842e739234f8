/* SPDX-License-Identifier: Apache-2.0 */
/* bench_store.c - durable commits by batch size, with the records that submissions really write.
 *
 * usage: bench_store [-o json] [-s SECONDS] [-d DIR]
 * A batch of n is n submissions in one commit: for each a job, its spec, submit key, remembered
 * answer and event, and one meta record for all. -s is for each row; DIR must be on the disk that
 * is to be measured (default: a new directory in $TMPDIR or /tmp).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../fake/fake_store.h"
#include "../fake/store_fixture.h"
#include "store/store_lmdb.h"
#include "util/log.h"

enum { COMMITS_MAX = 200000 };

struct row {
    unsigned batch;
    uint32_t commits;
    double seconds;
    double p50_us, p99_us, worst_us;
};

static double now_s(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_MONOTONIC, &ts); /* cannot fail for this clock */
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static void finish(struct row *r, double *us)
{
    qsort(us, r->commits, sizeof(*us), by_value);
    r->p50_us = us[r->commits / 2];
    r->p99_us = us[r->commits * 99 / 100];
    r->worst_us = us[r->commits - 1];
}

/* Only the commits are timed, not the making of jobs. */
static int measure(struct store_lmdb *s, struct store_fixture *fix, uint32_t *job, double limit_s,
                   struct row *r)
{
    double *us = malloc(COMMITS_MAX * sizeof(*us));
    struct store_port port = store_lmdb_port(s);
    struct err err;

    while (r->seconds < limit_s && r->commits < COMMITS_MAX) {
        double begin;

        for (unsigned i = 0; i < r->batch; i++)
            store_fixture_submit(fix, ++*job);
        begin = now_s();
        if (port.commit_begin(port.ctx, fix->state, &fix->fx, &err) < 0) {
            fprintf(stderr, "bench_store: %s\n", err.text);
            free(us);
            return -1;
        }
        us[r->commits] = (now_s() - begin) * 1e6;
        r->seconds += us[r->commits++] / 1e6;
        effects_clear(&fix->fx);
    }
    finish(r, us);
    free(us);
    return 0;
}

struct cost {
    size_t records, bytes;
};

/* What one submission puts, by the memory store; meta is not counted. */
static struct cost submit_cost(void)
{
    struct fake_store *store = fake_store_create(1);
    struct store_port port = fake_store_port(store);
    struct store_fixture fix;
    struct store_bytes key, value;
    struct cost c = {0};
    struct err err;

    store_fixture_init(&fix);
    store_fixture_submit(&fix, 1);
    if (port.commit_begin(port.ctx, fix.state, &fix.fx, &err) == 0) {
        for (int t = STORE_META + 1; t < STORE_TABLES; t++) {
            for (size_t i = 0; fake_store_at(store, (enum store_table)t, i, &key, &value); i++) {
                c.records++;
                c.bytes += key.len + value.len;
            }
        }
    }
    store_fixture_fini(&fix);
    fake_store_destroy(store);
    return c;
}

static void print_row(const struct row *r, const struct cost *c, bool json, bool is_first)
{
    double commits = r->commits / r->seconds;
    double submits = commits * r->batch;
    double records = submits * (double)c->records + commits;

    if (json)
        printf("%s{\"batch\":%u,\"commits_per_s\":%.0f,\"submits_per_s\":%.0f,"
               "\"records_per_s\":%.0f,\"p50_us\":%.0f,\"p99_us\":%.0f,\"worst_us\":%.0f}",
               is_first ? "" : ",", r->batch, commits, submits, records, r->p50_us, r->p99_us,
               r->worst_us);
    else
        printf("%6u %12.0f %12.0f %12.0f %10.2f %10.2f %10.2f\n", r->batch, commits, submits,
               records, r->p50_us / 1e3, r->p99_us / 1e3, r->worst_us / 1e3);
}

static void remove_store(const char *dir)
{
    static const char *const names[] = {"data.mdb", "lock.mdb", "lock", "ballast"};
    char path[512];

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
        (void)unlink(path);
    }
    (void)rmdir(dir);
}

static long file_bytes(const char *dir)
{
    char path[512];
    struct stat st = {0};

    (void)snprintf(path, sizeof(path), "%s/data.mdb", dir);
    (void)stat(path, &st); /* 0 when it cannot be told */
    return (long)st.st_size;
}

/* A store of its own for each row, so that rows do not depend on each other. */
static int bench_row(const char *base, unsigned batch, double limit_s, struct row *ret,
                     double *ret_disk_bytes)
{
    struct store_lmdb *s = NULL;
    struct store_fixture fix;
    uint32_t job = 0;
    struct err err;
    char dir[400];
    int rc;

    *ret = (struct row){.batch = batch};
    (void)snprintf(dir, sizeof(dir), "%s/store", base);
    if (store_lmdb_open(&s, dir, &err) < 0) {
        fprintf(stderr, "bench_store: %s\n", err.text);
        return -1;
    }
    store_fixture_init(&fix);
    rc = measure(s, &fix, &job, limit_s, ret);
    *ret_disk_bytes = job ? (double)file_bytes(dir) / job : 0;
    store_fixture_fini(&fix);
    store_lmdb_close(s);
    remove_store(dir);
    return rc;
}

static int bench(const char *base, double limit_s, bool json)
{
    static const unsigned batches[] = {1, 4, 16, 64, 256};
    struct cost c = submit_cost();
    double disk_bytes = 0;
    struct row r;

    if (json)
        printf("{\"bench\":\"store\",\"submit_records\":%zu,\"submit_bytes\":%zu,\"rows\":[",
               c.records, c.bytes);
    else
        printf("one submission: %zu records, %zu bytes of keys and values\n%6s %12s %12s %12s "
               "%10s %10s %10s\n",
               c.records, c.bytes, "batch", "commits/s", "submits/s", "records/s", "p50 ms",
               "p99 ms", "worst ms");
    for (size_t i = 0; i < ARRAY_LEN(batches); i++) {
        if (bench_row(base, batches[i], limit_s, &r, &disk_bytes) < 0)
            return 1;
        print_row(&r, &c, json, i == 0);
        (void)fflush(stdout);
    }
    if (json)
        printf("],\"disk_bytes_per_submit\":%.0f}\n", disk_bytes);
    else
        printf("on disk at batch 256: %.0f bytes for each submission\n", disk_bytes);
    return 0;
}

int main(int argc, char **argv)
{
    char base[300];
    const char *dir = NULL;
    double limit_s = 1;
    bool json = false;
    int c, rc;

    for (c = getopt(argc, argv, "o:s:d:"); c != -1; c = getopt(argc, argv, "o:s:d:")) {
        if (c == '?') {
            fprintf(stderr, "usage: bench_store [-o json] [-s SECONDS] [-d DIR]\n");
            return 64;
        }
        if (c == 'o')
            json = strcmp(optarg, "json") == 0;
        else if (c == 's')
            limit_s = atof(optarg);
        else
            dir = optarg;
    }
    log_setup(LOG_LEVEL_ERROR, false);
    (void)snprintf(base, sizeof(base), "%.250s/bench-store.XXXXXX",
                   dir                ? dir
                   : getenv("TMPDIR") ? getenv("TMPDIR")
                                      : "/tmp");
    if (!mkdtemp(base)) {
        perror(base);
        return 1;
    }
    rc = bench(base, limit_s, json);
    (void)rmdir(base);
    return rc;
}
