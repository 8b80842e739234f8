/* SPDX-License-Identifier: Apache-2.0 */
/* pods.c - which pods of a job are meant. The daemon is asked once; it never sees what is done. */
#include "pods.h"

#include <stdlib.h>
#include <string.h>

#include "util/mem.h"
#include "util/parse.h"

const char *pods_program(void)
{
    const char *name = getenv("QUEUED_KUBECTL");

    return name && *name ? name : "kubectl";
}

/* "3" or "0-3". */
static int read_range(char *word, uint64_t *ret_from, uint64_t *ret_to)
{
    char *dash = strchr(word, '-');

    if (dash)
        *dash = '\0';
    if (parse_u64(word, 0, UINT32_MAX, ret_from, NULL))
        return -1;
    *ret_to = *ret_from;
    return dash ? parse_u64(dash + 1, *ret_from, UINT32_MAX, ret_to, NULL) : 0;
}

/* 1: the rank is among them; 0: it is not; -1: they cannot be read. */
static int is_in(const char *ranks, uint32_t rank)
{
    char *copy = xstrdup(ranks), *rest = copy;
    int ret = 0;

    for (char *one = strtok_r(rest, ",", &rest); one && ret >= 0;
         one = strtok_r(NULL, ",", &rest)) {
        uint64_t from, to;

        if (read_range(one, &from, &to))
            ret = -1;
        else if (rank >= from && rank <= to)
            ret = 1;
    }
    free(copy);
    return ret;
}

static int by_rank(const void *x, const void *y)
{
    const struct queued_pod *a = *(const struct queued_pod *const *)x;
    const struct queued_pod *b = *(const struct queued_pod *const *)y;

    return (a->rank > b->rank) - (a->rank < b->rank);
}

static void choose(struct pod_list *l, const struct pod_choice *choice)
{
    const struct queued_job *job = &l->jobs->v[0];
    const struct queued_attempt *last =
        job->n_attempts ? &job->attempts[job->n_attempts - 1] : NULL;

    for (size_t i = 0; last && i < last->n_pods; i++) {
        const struct queued_pod *p = &last->pods[i];

        if (!p->name || (choice->role && (!p->role || strcmp(choice->role, p->role) != 0)))
            continue;
        if (!choice->ranks || is_in(choice->ranks, p->rank) > 0)
            *vec_push(&l->pods) = p;
    }
    if (l->pods.n)
        qsort(l->pods.v, l->pods.n, sizeof(*l->pods.v), by_rank);
}

int pods_find(const char *command, const struct pod_choice *choice, struct pod_list *ret)
{
    const char *job = strncmp(choice->job, "job/", 4) == 0 ? choice->job + 4 : choice->job;
    struct queued_client *c = NULL;
    struct queued_error e;
    int rc;

    *ret = (struct pod_list){0};
    if (choice->ranks && is_in(choice->ranks, 0) < 0)
        return cli_usage("%s: --rank %s: write ranks like 0-3,7", command, choice->ranks);
    rc = cli_connect(&c, cli_timeout_ms());
    if (rc == 0 && queued_get(c, job, &ret->jobs, &e))
        rc = cli_error(&e);
    queued_close(c);
    if (rc)
        return rc;
    ret->ns = ret->jobs->v[0].ns ? ret->jobs->v[0].ns : "default";
    choose(ret, choice);
    if (ret->pods.n)
        return 0;
    if (choice->role || choice->ranks)
        cli_note("%s: no pod of %s matches; queuectl describe %s shows them", command, job, job);
    else
        cli_note("%s: %s has no pods (%s); queuectl why %s says more", command, job,
                 ret->jobs->v[0].state ? ret->jobs->v[0].state : "?", job);
    pods_fini(ret);
    return EXIT_NOT_FOUND;
}

void pods_fini(struct pod_list *l)
{
    vec_fini(&l->pods);
    queued_jobs_free(l->jobs);
    *l = (struct pod_list){0};
}
