/* SPDX-License-Identifier: Apache-2.0 */
/* kube_env.c - the environment of a gang's containers: rendezvous and QUEUED_* variables
 * (jobs.md), then the user's.
 *
 * A name that the user set is left to the user. Ours come first, so that the user's values may
 * refer to them as $(NAME).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kube/kube_pod.h"
#include "util/mem.h"

enum { TORCH_PORT = 29500, HOST_TEXT = 256 };
/* One variable may have 128 KiB for the kernel; a host list above this is left out. */
enum { HOSTS_BYTES_MAX = 96 * 1024 };

struct env {
    struct str *out;
    const struct spec_pairs *user;
    bool is_first;
};

static void add_json_pair(struct env *e, const char *name, const char *value)
{
    str_add(e->out, e->is_first ? "{\"name\":" : ",{\"name\":");
    str_add_json(e->out, name);
    str_add(e->out, ",\"value\":");
    str_add_json(e->out, value);
    str_add(e->out, "}");
    e->is_first = false;
}

static void add_text(struct env *e, const char *name, const char *value)
{
    for (uint32_t i = 0; i < e->user->n; i++)
        if (!strcmp(e->user->v[i].key, name))
            return;
    add_json_pair(e, name, value);
}

static void add_number(struct env *e, const char *name, uint64_t value)
{
    char text[24];

    (void)snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
    add_text(e, name, text);
}

/* The name under which the other pods find this one. */
static const char *host_of(char buf[HOST_TEXT], const struct gang *g, const struct gang_pod *p)
{
    if (g->has_service)
        (void)snprintf(buf, HOST_TEXT, "%s-%s-%u.%s.%s.svc", g->job_name, g->role_names[p->role],
                       p->index, g->job_name, g->ns);
    else
        (void)snprintf(buf, HOST_TEXT, "%s-%s-%u", g->job_name, g->role_names[p->role], p->index);
    return buf;
}

static uint32_t gpus_of(const struct gang *g, const struct gang_pod *p)
{
    return g->spec->roles[p->role].gpus;
}

/* What torch sees: only the pods with GPUs, numbered in the order of their ranks. */
struct torch {
    uint32_t nodes;                /* pods with GPUs */
    uint32_t rank;                 /* of this pod among them */
    uint64_t gpus;                 /* in all */
    const struct gang_pod *master; /* lowest rank with GPUs */
    const struct gang_pod *first;  /* lowest rank of all */
};

static struct torch look(const struct gang *g, const struct gang_pod *p)
{
    struct torch t = {.master = NULL, .first = p};

    for (uint32_t i = 0; i < g->n_pods; i++) {
        const struct gang_pod *q = &g->pods[i];

        if (q->rank < t.first->rank)
            t.first = q;
        if (!gpus_of(g, q))
            continue;
        t.nodes++;
        t.gpus += gpus_of(g, q);
        t.rank += q->rank < p->rank;
        if (!t.master || q->rank < t.master->rank)
            t.master = q;
    }
    return t;
}

static void add_torch(struct env *e, const struct gang *g, const struct gang_pod *p,
                      const struct torch *t)
{
    char host[HOST_TEXT];

    host_of(host, g, t->master);
    add_text(e, "MASTER_ADDR", host);
    add_number(e, "MASTER_PORT", TORCH_PORT);
    add_number(e, "PET_NNODES", t->nodes);
    add_number(e, "PET_NPROC_PER_NODE", gpus_of(g, p));
    add_number(e, "PET_NODE_RANK", t->rank);
    add_text(e, "PET_MASTER_ADDR", host);
    add_number(e, "PET_MASTER_PORT", TORCH_PORT);
    add_number(e, "NNODES", t->nodes);
    add_number(e, "NODE_RANK", t->rank);
    add_number(e, "NPROC_PER_NODE", gpus_of(g, p));
}

/* All host names in the order of the ranks, with commas. */
static void add_hosts(struct env *e, const struct gang *g)
{
    const struct gang_pod **by_rank = xcalloc(g->size, sizeof(*by_rank));
    struct str hosts = {0};
    char host[HOST_TEXT];

    for (uint32_t i = 0; i < g->n_pods; i++)
        if (g->pods[i].rank < g->size)
            by_rank[g->pods[i].rank] = &g->pods[i];
    for (uint32_t i = 0; i < g->size && hosts.len <= HOSTS_BYTES_MAX; i++) {
        if (!by_rank[i])
            continue;
        str_add(&hosts, hosts.len ? "," : "");
        str_add(&hosts, host_of(host, g, by_rank[i]));
    }
    if (hosts.len <= HOSTS_BYTES_MAX)
        add_text(e, "QUEUED_HOSTS", str_text(&hosts));
    str_fini(&hosts);
    free(by_rank);
}

static void add_ours(struct env *e, const struct gang *g, const struct gang_pod *p,
                     const struct torch *t)
{
    char id[JOB_ID_TEXT + 1], text[FORMAT_MAX], host[HOST_TEXT];

    add_text(e, "QUEUED_JOB_ID", job_id_format(id, g->job));
    add_text(e, "QUEUED_JOB_NAME", g->job_name);
    add_text(e, "QUEUED_TENANT", g->tenant);
    add_text(e, "QUEUED_ROLE", g->role_names[p->role]);
    add_number(e, "QUEUED_POD_INDEX", p->index);
    add_number(e, "QUEUED_ATTEMPT", g->attempt);
    add_number(e, "QUEUED_NODES", g->size);
    add_number(e, "QUEUED_WORLD_SIZE", t->gpus ? t->gpus : g->size);
    add_number(e, "QUEUED_GPUS_PER_POD", gpus_of(g, p));
    add_text(e, "QUEUED_MASTER_ADDR", host_of(host, g, t->first));
    add_text(e, "QUEUED_END_TIME", format_time(text, g->latest_end_us));
    add_hosts(e, g);
}

void kube_env_json(struct str *out, const struct gang *g, const struct gang_pod *p)
{
    const struct spec_pairs *user = &g->spec->roles[p->role].env;
    struct env e = {.out = out, .user = user, .is_first = true};
    struct torch t = look(g, p);

    str_add(out, ",\"env\":[");
    if (t.nodes > 1 && gpus_of(g, p))
        add_torch(&e, g, p, &t);
    add_ours(&e, g, p, &t);
    for (uint32_t i = 0; i < user->n; i++)
        add_json_pair(&e, user->v[i].key, user->v[i].value);
    str_add(out, "]");
}
