/* SPDX-License-Identifier: Apache-2.0 */
/* trace.c - comma-separated values without quotes, as the traces have them.
 *
 * Every fault names the file, the line and the column.
 */
#include "trace.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/mem.h"

#define SECONDS_MAX 1e10

enum { COLUMNS_MAX = 32 };

struct table {
    const char *path;
    const char *const *want;
    size_t n_want;
    size_t at[COLUMNS_MAX]; /* position of each wanted column in the file */
    uint32_t line;
    char *cells[COLUMNS_MAX]; /* of the present line, by wanted column */
    struct err *err;
};

static const char *const job_columns[] = {"job_id",     "tenant", "priority",     "submit_s",
                                          "duration_s", "pods",   "gpus_per_pod", "gpu_model"};
enum { JOB_ID, JOB_TENANT, JOB_PRIORITY, JOB_SUBMIT, JOB_DURATION, JOB_PODS, JOB_GPUS, JOB_MODEL };
static const char *const node_columns[] = {"node", "gpus", "gpu_model", "rack", "block"};
enum { NODE_NAME, NODE_GPUS, NODE_MODEL, NODE_RACK, NODE_BLOCK };

static int fault(struct table *t, const char *what, const char *value)
{
    return err_set(t->err, ERR_INVALID, "%s:%u: %s: '%.60s'", t->path, t->line, what, value);
}

static size_t cut(char *line, char *ret[COLUMNS_MAX])
{
    size_t n = 0;

    line[strcspn(line, "\r\n")] = '\0';
    for (char *cell = line; cell && n < COLUMNS_MAX; n++) {
        ret[n] = cell;
        cell = strchr(cell, ',');
        if (cell)
            *cell++ = '\0';
    }
    return n;
}

static int read_head(struct table *t, char *line)
{
    char *cells[COLUMNS_MAX];
    size_t n = cut(line, cells);

    for (size_t i = 0; i < t->n_want; i++) {
        size_t k = 0;

        while (k < n && strcmp(cells[k], t->want[i]) != 0)
            k++;
        if (k == n)
            return fault(t, "the first line has no column", t->want[i]);
        t->at[i] = k;
    }
    return 0;
}

static int read_cells(struct table *t, char *line)
{
    char *cells[COLUMNS_MAX];
    size_t n = cut(line, cells);

    for (size_t i = 0; i < t->n_want; i++) {
        if (t->at[i] >= n)
            return fault(t, "the line has no value for column", t->want[i]);
        t->cells[i] = cells[t->at[i]];
    }
    return 0;
}

static int get_number(struct table *t, size_t column, double least, double most, double *ret)
{
    char *end;
    double v = strtod(t->cells[column], &end);

    if (end == t->cells[column] || *end || !(v >= least && v <= most))
        return err_set(t->err, ERR_INVALID, "%s:%u: %s: '%.60s' is not a number from %.0f to %.0f",
                       t->path, t->line, t->want[column], t->cells[column], least, most);
    *ret = v;
    return 0;
}

static int get_count(struct table *t, size_t column, double most, uint32_t *ret)
{
    double v;

    if (get_number(t, column, 1, most, &v))
        return -1;
    if (v != floor(v))
        return fault(t, "whole GPUs and pods only", t->cells[column]);
    *ret = (uint32_t)v;
    return 0;
}

static usec_t to_usec(double seconds)
{
    return llround(seconds * 1e6);
}

static int add_job(struct trace *trace, struct table *t, double speed)
{
    struct trace_job j = {.line = t->line};
    double priority, submit, duration;

    if (get_number(t, JOB_PRIORITY, -1e9, 1e9, &priority) ||
        get_number(t, JOB_SUBMIT, 0, SECONDS_MAX, &submit) ||
        get_number(t, JOB_DURATION, 0, SECONDS_MAX, &duration) ||
        get_count(t, JOB_PODS, 10000, &j.pods) || get_count(t, JOB_GPUS, 64, &j.gpus))
        return -1;
    if (submit / speed > SECONDS_MAX)
        return fault(t, "divided by --speed this is too far away: submit_s", t->cells[JOB_SUBMIT]);
    j.priority = (int32_t)priority;
    j.submit = to_usec(submit / speed);
    j.duration = j.said = to_usec(duration);
    j.id = xstrdup(t->cells[JOB_ID]);
    j.tenant = xstrdup(t->cells[JOB_TENANT]);
    j.models = xstrdup(t->cells[JOB_MODEL]);
    *vec_push(&trace->jobs) = j;
    return 0;
}

static int add_node(struct trace *trace, struct table *t, double speed)
{
    struct trace_node n = {0};

    (void)speed;
    if (get_count(t, NODE_GPUS, 64, &n.gpus))
        return -1;
    n.name = xstrdup(t->cells[NODE_NAME]);
    n.model = xstrdup(t->cells[NODE_MODEL]);
    n.rack = xstrdup(t->cells[NODE_RACK]);
    n.block = xstrdup(t->cells[NODE_BLOCK]);
    n.rack_ix = n.block_ix = (uint32_t)trace->nodes.n;
    for (size_t i = trace->nodes.n; i-- > 0;) {
        const struct trace_node *o = &trace->nodes.v[i];

        if (strcmp(o->block, n.block) != 0)
            continue;
        n.block_ix = o->block_ix;
        if (strcmp(o->rack, n.rack) == 0)
            n.rack_ix = o->rack_ix;
    }
    trace->gpus += n.gpus;
    *vec_push(&trace->nodes) = n;
    return 0;
}

static int load(struct trace *trace, struct table *t, double speed,
                int (*add)(struct trace *, struct table *, double))
{
    FILE *f = fopen(t->path, "r");
    char *line = NULL;
    size_t room = 0;
    int rc = 0;

    if (!f)
        return err_set(t->err, ERR_INVALID, "%s: %s", t->path, strerror(errno));
    while (!rc && getline(&line, &room, f) > 0) {
        t->line++;
        if (t->line == 1)
            rc = read_head(t, line + (strncmp(line, "\xef\xbb\xbf", 3) ? 0 : 3));
        else if (line[strspn(line, "\r\n")])
            rc = read_cells(t, line) || add(trace, t, speed) ? -1 : 0;
    }
    free(line);
    (void)fclose(f);
    return rc;
}

static int by_submission(const void *a, const void *b)
{
    const struct trace_job *x = a, *y = b;

    if (x->submit != y->submit)
        return x->submit < y->submit ? -1 : 1;
    return x->line < y->line ? -1 : x->line > y->line;
}

int trace_load(struct trace *t, const char *const paths[2], double speed, struct err *err)
{
    struct table jobs = {.path = paths[0], .want = job_columns, .n_want = 8, .err = err};
    struct table nodes = {.path = paths[1], .want = node_columns, .n_want = 5, .err = err};

    if (load(t, &jobs, speed, add_job) || load(t, &nodes, speed, add_node))
        return -1;
    if (!t->jobs.n || !t->nodes.n)
        return err_set(err, ERR_INVALID, "%s: there is no line below the first",
                       paths[t->jobs.n ? 1 : 0]);
    qsort(t->jobs.v, t->jobs.n, sizeof(t->jobs.v[0]), by_submission);
    return 0;
}

/* Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", 2014: the mixer. */
static double uniform(uint64_t *seed)
{
    uint64_t z;

    *seed += UINT64_C(0x9e3779b97f4a7c15);
    z = *seed;
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (double)((z ^ z >> 31) >> 11) / (double)(UINT64_C(1) << 53);
}

void trace_estimate(struct trace *t, double most, uint64_t seed)
{
    for (size_t i = 0; i < t->jobs.n; i++) {
        struct trace_job *j = &t->jobs.v[i];

        j->said = llround(
            fmin((double)j->duration * (1 + (most - 1) * uniform(&seed)), SECONDS_MAX * 1e6));
    }
}

void trace_fini(struct trace *t)
{
    for (size_t i = 0; i < t->jobs.n; i++) {
        free(t->jobs.v[i].id);
        free(t->jobs.v[i].tenant);
        free(t->jobs.v[i].models);
        free(t->jobs.v[i].nodes);
    }
    for (size_t i = 0; i < t->nodes.n; i++) {
        free(t->nodes.v[i].name);
        free(t->nodes.v[i].model);
        free(t->nodes.v[i].rack);
        free(t->nodes.v[i].block);
    }
    vec_fini(&t->jobs);
    vec_fini(&t->nodes);
}
