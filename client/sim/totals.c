/* SPDX-License-Identifier: Apache-2.0 */
/* totals.c - averages and quantiles over the jobs of a replay.
 *
 * A quantile is the value at position n * q of the sorted ones.
 */
#include "replay.h"

#include <stdlib.h>

#include "util/mem.h"

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static double quantile(const double *v, size_t n, double q)
{
    size_t at = (size_t)((double)n * q);

    return v[at < n ? at : n - 1];
}

static double average(const double *v, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += v[i];
    return sum / (double)n;
}

void totals_count(const struct trace *t, struct totals *ret)
{
    double *jct = xcalloc(t->jobs.n, sizeof(*jct)), *wait = xcalloc(t->jobs.n, sizeof(*wait));
    double work = 0;
    usec_t first = INT64_MAX, last_submit = 0, last = 0;
    size_t n = 0;

    for (size_t i = 0; i < t->jobs.n; i++) {
        const struct trace_job *j = &t->jobs.v[i];

        if (!j->is_started)
            continue;
        jct[n] = (double)(j->end - j->submit) / 1e6;
        wait[n++] = (double)j->wait / 1e6;
        work += (double)j->duration / 1e6 * j->pods * j->gpus;
        first = j->submit < first ? j->submit : first;
        last_submit = j->submit > last_submit ? j->submit : last_submit;
        last = j->end > last ? j->end : last;
    }
    ret->jobs = n;
    if (n) {
        double until = (double)(last_submit - first) / 1e6;

        qsort(jct, n, sizeof(*jct), by_value);
        qsort(wait, n, sizeof(*wait), by_value);
        ret->avg_jct = average(jct, n);
        ret->p50_jct = quantile(jct, n, .5);
        ret->p99_jct = quantile(jct, n, .99);
        ret->avg_wait = average(wait, n);
        ret->p50_wait = quantile(wait, n, .5);
        ret->p99_wait = quantile(wait, n, .99);
        ret->p999_wait = quantile(wait, n, .999);
        ret->makespan = (double)(last - first) / 1e6;
        ret->utilisation = ret->makespan > 0 ? work / ((double)t->gpus * ret->makespan) : 0;
        ret->alloc /= (double)t->gpus * (until > 1 ? until : 1);
        ret->avg_racks = ret->multi ? ret->avg_racks / (double)ret->multi : 0;
    }
    free(jct);
    free(wait);
}
