/* SPDX-License-Identifier: Apache-2.0 */
/* proto_ear.c - facts as text, pages in pieces, recordings. */
#include "proto_ear.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/mem.h"

static void say_amounts(struct str *b, const struct resource_amount *v, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        str_addf(b, " %s=%lld", v[i].name, (long long)v[i].amount);
}

static void say_node(struct ear *e, const struct node_fact *n)
{
    struct str *b = &e->told;

    str_addf(b, "node %s %s boot=%s ready=%d since=%lld cordoned=%d deleting=%d", n->name,
             e->is_masked ? "" : n->uid, n->boot_id, n->is_ready,
             e->is_masked ? 0 : (long long)n->not_ready_since, n->is_cordoned, n->is_deleting);
    say_amounts(b, n->capacity, n->n_capacity);
    str_add(b, " /");
    say_amounts(b, n->allocatable, n->n_allocatable);
    for (uint32_t i = 0; i < n->n_labels; i++)
        str_addf(b, " %s:%s", n->labels[i].key, n->labels[i].value);
    for (uint32_t i = 0; i < n->n_taints; i++)
        str_addf(b, " %s=%s!%s", n->taints[i].key, n->taints[i].value, n->taints[i].effect);
    str_add(b, "\n");
}

static void say_pod(struct ear *e, const struct pod_fact *p)
{
    struct str *b = &e->told;

    str_addf(b, "pod %s/%s %s on=%s phase=%d deleting=%d ready=%d exit=%d reason=%s", p->ns,
             p->name, e->is_masked ? "" : p->uid, p->node, (int)p->phase, p->is_deleting,
             p->is_ready, p->exit_code, p->reason);
    str_addf(b, " job=%llu/%u/%s/%u daemon=%d", (unsigned long long)p->job.v, p->attempt, p->role,
             p->index, p->is_daemon);
    say_amounts(b, p->requests, p->n_requests);
    str_add(b, "\n");
}

void ear_hear(struct ear *e)
{
    struct event ev;

    (void)kube_store_flush(e->store, e->inbox, 0); /* what has no room comes next time */
    while (inbox_pop(e->inbox, &ev)) {
        if (ev.kind == EV_NODE_SEEN)
            say_node(e, ev.u.node);
        else if (ev.kind == EV_POD_SEEN)
            say_pod(e, ev.u.pod);
        else if (ev.kind == EV_NODE_GONE)
            str_addf(&e->told, "gone %s\n", ev.u.node_name);
        else if (ev.kind == EV_POD_GONE)
            str_addf(&e->told, "gone %s/%s\n", ev.u.pod_gone->ns, ev.u.pod_gone->name);
        event_fini(&ev);
    }
}

static bool on_item(void *ctx, const char *p, size_t len)
{
    struct ear *e = ctx;

    return kube_store_list_item(e->store, p, len);
}

void ear_init(struct ear *e, const struct store_kind *kind)
{
    *e = (struct ear){.kind = kind, .store = kube_store_create(kind), .inbox = inbox_create(1024)};
    e->sink = (struct json_sink){.item = on_item, .ctx = e};
}

void ear_fini(struct ear *e)
{
    kube_store_destroy(e->store);
    inbox_destroy(e->inbox);
    str_fini(&e->told);
}

static bool took(struct ear *e, enum store_line line)
{
    if (line == LINE_BOOKMARK) /* come when they like */
        return true;
    ear_hear(e);
    if (line == LINE_ERROR)
        str_addf(&e->told, "error %d %s %s\n", e->status.code, e->status.reason, e->status.cause);
    else if (line == LINE_BAD)
        str_add(&e->told, "no event\n");
    return line == LINE_OBJECT;
}

bool ear_line(void *ctx, const char *p, size_t len)
{
    struct ear *e = ctx;

    return took(e, kube_store_line(e->store, p, len, e->rv, &e->status));
}

bool ear_frame(void *ctx, const char *p, size_t len)
{
    struct ear *e = ctx;

    return took(e, kube_store_frame(e->store, p, len, e->rv, &e->status));
}

static void say_page(struct ear *e, struct json_page *page)
{
    str_addf(&e->told, "version %s items %zu more %s\n", page->rv, page->n,
             page->next ? page->next : "");
    free(page->next);
    ear_hear(e);
}

int ear_page(struct ear *e, const struct str *body, size_t piece, struct err *err)
{
    struct proto_list l = {.kind = e->kind->list_kind, .sink = &e->sink};
    struct json_page page = {0};
    int rc = 0;

    kube_store_list_begin(e->store);
    for (size_t at = 0; at < body->len && !rc; at += piece)
        rc =
            proto_list_feed(&l, body->s + at, body->len - at < piece ? body->len - at : piece, err);
    if (!rc)
        rc = proto_list_end(&l, &page, err);
    proto_list_fini(&l);
    if (!rc)
        say_page(e, &page);
    return rc;
}

int ear_json_page(struct ear *e, const struct str *body, struct err *err)
{
    struct json_page page = {0};

    kube_store_list_begin(e->store);
    if (kube_store_list_page(e->store, body->s, body->len, &page, err))
        return -1;
    say_page(e, &page);
    return 0;
}

bool ear_recording(const char *name, struct str *ret)
{
    const char *shared = getenv("QUEUED_SHARED");
    char *paths[] = {xasprintf("tests/data/apiserver-traces/%s", name),
                     xasprintf("%s/data/apiserver-traces/%s", shared ? shared : "../shared", name)};
    FILE *f = fopen(paths[0], "r");
    char buf[4096];
    size_t n;

    f = f ? f : fopen(paths[1], "r");
    free(paths[0]);
    free(paths[1]);
    if (!f) {
        printf("SKIPPED: the recording %s is not here\n", name);
        (void)fflush(stdout);
        return false;
    }
    str_add(ret, "");
    do {
        n = fread(buf, 1, sizeof(buf), f);
        str_add_bytes(ret, buf, n);
    } while (n);
    (void)fclose(f);
    return true;
}
