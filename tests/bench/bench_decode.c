/* SPDX-License-Identifier: Apache-2.0 */
/* bench_decode.c - pages of pods into facts, as JSON and as protobuf, and what that takes.
 *
 * usage: bench_decode [-o json] [-n PODS]
 * The pods are invented, of the size and shape that a training job has: 14 variables, 3 volumes, 5
 * conditions, managed fields of two writers. Protobuf comes in pieces of 16 kB as from the network;
 * JSON is there as a whole page, as it has to be. Time is that of the processor, the best of five;
 * memory is counted by malloc itself.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../fake/proto_bytes.h"
#include "kube/kube_proto.h"
#include "kube/kube_store.h"
#include "util/mem.h"

enum { PAGE_PODS = 500, PIECE = 16 * 1024, ROUNDS = 5, SCRATCH_BYTES = 32 * 1024 };

/* ---- counting: not under a sanitizer, which has a malloc of its own */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { COUNTS = 0 };
#else
enum { COUNTS = 1 };
#endif

static struct {
    size_t now, peak;
    unsigned long calls;
} heap;

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
void __libc_free(void *p);

static void *counted(void *p)
{
    heap.now += malloc_usable_size(p);
    heap.calls++;
    if (heap.now > heap.peak)
        heap.peak = heap.now;
    return p;
}

void *malloc(size_t size)
{
    return counted(__libc_malloc(size));
}

void *calloc(size_t n, size_t size)
{
    return counted(__libc_calloc(n, size));
}

void *realloc(void *p, size_t size)
{
    heap.now -= malloc_usable_size(p);
    return counted(__libc_realloc(p, size));
}

void free(void *p)
{
    heap.now -= malloc_usable_size(p);
    __libc_free(p);
}
#endif

static double now_ms(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts); /* cannot fail for this clock */
    return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

/* ---- the same pod in both encodings */

struct both {
    struct str json, pb;
};

static void add_key(struct both *b, const char *key)
{
    if (b->json.len && !strchr("{[", b->json.s[b->json.len - 1]))
        str_add(&b->json, ",");
    if (key)
        str_addf(&b->json, "\"%s\":", key);
}

static void add_text(struct both *b, uint32_t number, const char *key, const char *value)
{
    add_key(b, key);
    str_add_json(&b->json, value);
    pb_text(&b->pb, number, value);
}

/* inner is a message of its own; its JSON comes without the braces. */
static void add_message(struct both *b, uint32_t number, const char *key, struct both *inner)
{
    add_key(b, key);
    str_addf(&b->json, "{%s}", str_text(&inner->json));
    str_fini(&inner->json);
    pb_message(&b->pb, number, &inner->pb);
}

static void add_pairs(struct both *b, uint32_t number, const char *key, const char *const *words)
{
    add_key(b, key);
    str_add(&b->json, "{");
    for (; words[0]; words += 2) {
        add_key(b, words[0]);
        str_add_json(&b->json, words[1]);
        pb_pair(&b->pb, number, words[0], words[1]);
    }
    str_add(&b->json, "}");
}

static void add_amounts(struct both *b, uint32_t number, const char *key, const char *gpus)
{
    const char *const rows[][2] = {
        {"cpu", "12"}, {"memory", "180Gi"}, {"nvidia.com/gpu", gpus}, {"rdma/hca", "1"}};

    add_key(b, key);
    str_add(&b->json, "{");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        add_key(b, rows[i][0]);
        str_add_json(&b->json, rows[i][1]);
        pb_amount(&b->pb, number, rows[i][0], rows[i][1]);
    }
    str_add(&b->json, "}");
}

static void add_time(struct both *b, uint32_t number, const char *key)
{
    struct str t = {0};

    add_key(b, key);
    str_add(&b->json, "\"2026-11-29T20:34:05Z\"");
    pb_int(&t, 1, 1795984445);
    pb_int(&t, 2, 0);
    pb_message(&b->pb, number, &t);
}

static void list_begin(struct both *b, const char *key)
{
    add_key(b, key);
    str_add(&b->json, "[");
}

static void list_end(struct both *b)
{
    str_add(&b->json, "]");
}

static void add_managed(struct both *meta, const char *manager, unsigned n_fields)
{
    struct both m = {0};
    struct str fields = {0}, raw = {0};

    add_text(&m, 1, "manager", manager);
    add_text(&m, 2, "operation", "Update");
    add_text(&m, 3, "apiVersion", "v1");
    add_time(&m, 4, "time");
    add_text(&m, 6, "fieldsType", "FieldsV1");
    str_add(&fields, "{\"f:spec\":{\"f:containers\":{\"k:{\\\"name\\\":\\\"main\\\"}\":{\".\":{}");
    for (unsigned i = 0; i < n_fields; i++)
        str_addf(&fields, ",\"k:{\\\"name\\\":\\\"VAR_%u\\\"}\":{\".\":{},\"f:name\":{}}", i);
    str_add(&fields, "}}}}");
    add_key(&m, "fieldsV1");
    str_add(&m.json, fields.s);
    pb_bytes(&raw, 1, fields.s, fields.len);
    pb_message(&m.pb, 7, &raw);
    str_fini(&fields);
    add_message(meta, 17, NULL, &m);
}

static void add_meta(struct both *pod, unsigned i)
{
    char name[64], uid[64], rv[16], index[16];
    const char *const labels[] = {"gang.queued/attempt",
                                  "1",
                                  "gang.queued/index",
                                  index,
                                  "gang.queued/job-id",
                                  "00000000002s",
                                  "gang.queued/role",
                                  "worker",
                                  "app.kubernetes.io/managed-by",
                                  "queued",
                                  "team.example/project",
                                  "large-language-model",
                                  NULL};
    struct both m = {0};

    (void)snprintf(name, sizeof(name), "llm-pretrain-zqkx-worker-%u-1", i);
    (void)snprintf(uid, sizeof(uid), "848c81de-91f5-416a-b134-%012u", i);
    (void)snprintf(rv, sizeof(rv), "%u", 1000000 + i);
    (void)snprintf(index, sizeof(index), "%u", i % 10000);
    add_text(&m, 1, "name", name);
    add_text(&m, 3, "namespace", "foundation");
    add_text(&m, 5, "uid", uid);
    add_text(&m, 6, "resourceVersion", rv);
    add_time(&m, 8, "creationTimestamp");
    add_pairs(&m, 11, "labels", labels);
    list_begin(&m, "managedFields");
    add_managed(&m, "queued", 14);
    add_managed(&m, "kubelet", 8);
    list_end(&m);
    add_message(pod, 1, "metadata", &m);
}

static void add_container(struct both *spec)
{
    struct both c = {0}, r = {0};

    add_text(&c, 1, "name", "main");
    add_text(&c, 2, "image", "registry.example/foundation/train-llm:2026-11-29-a1b2c3d4");
    list_begin(&c, "args");
    add_text(&c, 4, NULL, "--config=/etc/train/config.yaml");
    add_text(&c, 4, NULL, "--checkpoint-dir=/checkpoints/run-17");
    list_end(&c);
    list_begin(&c, "env");
    for (int i = 0; i < 14; i++) {
        struct both e = {0};
        char var[32];

        (void)snprintf(var, sizeof(var), "TRAIN_VARIABLE_%d", i);
        add_text(&e, 1, "name", var);
        add_text(&e, 2, "value", "llm-pretrain-zqkx-worker-0.foundation:29500");
        add_message(&c, 7, NULL, &e);
    }
    list_end(&c);
    add_amounts(&r, 1, "limits", "8");
    add_amounts(&r, 2, "requests", "8");
    add_message(&c, 8, "resources", &r);
    add_text(&c, 13, "terminationMessagePath", "/dev/termination-log");
    add_text(&c, 14, "imagePullPolicy", "IfNotPresent");
    add_message(spec, 2, NULL, &c);
}

static void add_spec(struct both *pod, unsigned i)
{
    struct both s = {0};
    char node[32];

    list_begin(&s, "volumes");
    for (int v = 0; v < 3; v++) {
        struct both volume = {0};

        add_text(&volume, 1, "name", "checkpoint-volume-of-the-team");
        add_message(&s, 1, NULL, &volume);
    }
    list_end(&s);
    list_begin(&s, "containers");
    add_container(&s);
    list_end(&s);
    (void)snprintf(node, sizeof(node), "gpu-node-%04u", i / 8);
    add_text(&s, 3, "restartPolicy", "Never");
    add_text(&s, 10, "nodeName", node);
    add_text(&s, 19, "schedulerName", "queued");
    add_message(pod, 2, "spec", &s);
}

static void add_status(struct both *pod)
{
    static const char *const types[] = {"PodReadyToStartContainers", "Initialized", "Ready",
                                        "ContainersReady", "PodScheduled"};
    struct both s = {0}, c = {0};

    add_text(&s, 1, "phase", "Running");
    list_begin(&s, "conditions");
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        struct both t = {0};

        add_text(&t, 1, "type", types[i]);
        add_text(&t, 2, "status", "True");
        add_time(&t, 4, "lastTransitionTime");
        add_message(&s, 2, NULL, &t);
    }
    list_end(&s);
    list_begin(&s, "containerStatuses");
    add_text(&c, 1, "name", "main");
    add_text(&c, 6, "image", "registry.example/foundation/train-llm:2026-11-29-a1b2c3d4");
    add_text(&c, 8, "containerID", "containerd://5b1f0d9e8a7c6b5a4f3e2d1c0b9a8f7e6d5c4b3a");
    add_message(&s, 8, NULL, &c);
    list_end(&s);
    add_message(pod, 3, "status", &s);
}

static void make_page(struct both *ret, unsigned first, unsigned n)
{
    struct both list = {0}, meta = {0};

    add_text(&meta, 2, "resourceVersion", "2000000");
    add_message(&list, 1, "metadata", &meta);
    list_begin(&list, "items");
    for (unsigned i = first; i < first + n; i++) {
        struct both pod = {0};

        add_meta(&pod, i);
        add_spec(&pod, i);
        add_status(&pod);
        add_message(&list, 2, NULL, &pod);
    }
    list_end(&list);
    str_addf(&ret->json, "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",%s}", list.json.s);
    str_fini(&list.json);
    pb_envelope(&ret->pb, "PodList", &list.pb);
}

/* ---- reading */

struct reader {
    struct arena scratch;
    uint64_t n, gpus; /* read: proof that both see the same */
};

static bool take(struct reader *r, const struct object_fields *fields)
{
    struct event ev = {.kind = EV_NONE};

    if (!store_pods.seen(fields, &ev))
        return false;
    r->n++;
    for (uint32_t i = 0; i < ev.u.pod->n_requests; i++)
        if (!strcmp(ev.u.pod->requests[i].name, "nvidia.com/gpu"))
            r->gpus += (uint64_t)ev.u.pod->requests[i].amount;
    event_fini(&ev);
    return true;
}

static bool on_json(void *ctx, const char *p, size_t len)
{
    struct reader *r = ctx;
    struct object_fields fields;
    cJSON *o = cJSON_ParseWithLength(p, len);
    bool ok;

    arena_reset(&r->scratch);
    store_pods.read_json(&r->scratch, o, &fields);
    ok = take(r, &fields);
    cJSON_Delete(o);
    return ok;
}

static bool on_proto(void *ctx, const char *p, size_t len)
{
    struct reader *r = ctx;
    struct object_fields fields;

    arena_reset(&r->scratch);
    return store_pods.read_proto(&r->scratch, p, len, &fields) && take(r, &fields);
}

static int read_json(struct reader *r, const struct both *page)
{
    struct json_sink sink = {.item = on_json, .ctx = r};
    struct json_page meta = {0};
    int rc = json_page_split(page->json.s, page->json.len, &sink, &meta, NULL);

    free(meta.next);
    return rc;
}

static int read_proto(struct reader *r, const struct both *page)
{
    struct json_sink sink = {.item = on_proto, .ctx = r};
    struct proto_list list = {.kind = "PodList", .sink = &sink};
    struct json_page meta = {0};
    int rc = 0;

    for (size_t at = 0; at < page->pb.len && !rc; at += PIECE)
        rc = proto_list_feed(&list, page->pb.s + at,
                             page->pb.len - at < PIECE ? page->pb.len - at : PIECE, NULL);
    if (!rc)
        rc = proto_list_end(&list, &meta, NULL);
    free(meta.next);
    proto_list_fini(&list);
    return rc;
}

struct row {
    const char *name;
    int (*read)(struct reader *r, const struct both *page);
    size_t bytes, page_held;
    double ms; /* best of ROUNDS */
    double calls;
    size_t peak;
    uint64_t n, gpus;
};

static int measure(struct row *row, const struct both *pages, size_t n_pages)
{
    for (int round = 0; round < ROUNDS; round++) {
        struct reader r = {0};
        size_t before;
        unsigned long calls;
        double begin;

        (void)arena_alloc(&r.scratch, SCRATCH_BYTES);     /* as a store does */
        before = heap.now - (COUNTS ? SCRATCH_BYTES : 0); /* it counts */
        heap.peak = heap.now;
        calls = heap.calls;
        begin = now_ms();
        for (size_t i = 0; i < n_pages; i++)
            if (row->read(&r, &pages[i]))
                return -1;
        begin = now_ms() - begin;
        if (!round || begin < row->ms)
            row->ms = begin;
        row->calls = (double)(heap.calls - calls) / (double)r.n;
        row->peak = heap.peak - before;
        row->n = r.n;
        row->gpus = r.gpus;
        arena_fini(&r.scratch);
    }
    return 0;
}

static void print_rows(const struct row *rows, size_t n, bool json)
{
    if (!json)
        printf("bench_decode: %llu pods in pages of %d\n%-10s %10s %9s %12s %14s %12s\n",
               (unsigned long long)rows[0].n, PAGE_PODS, "encoding", "MB", "ms", "mallocs/pod",
               "peak kB above", "page kept kB");
    for (size_t i = 0; i < n; i++) {
        const struct row *r = &rows[i];

        if (json)
            printf("%s{\"encoding\":\"%s\",\"bytes\":%zu,\"ms\":%.1f,\"mallocs_per_pod\":%.1f,"
                   "\"peak_bytes_above\":%zu,\"page_bytes\":%zu}%s",
                   i ? "," : "[", r->name, r->bytes, r->ms, r->calls, r->peak, r->page_held,
                   i + 1 == n ? "]\n" : "");
        else
            printf("%-10s %10.1f %9.1f %12.1f %14.1f %12.1f\n", r->name, (double)r->bytes / 1e6,
                   r->ms, r->calls, (double)r->peak / 1e3, (double)r->page_held / 1e3);
    }
    if (!json && !COUNTS)
        printf("(mallocs and memory are not counted under a sanitizer)\n");
}

int main(int argc, char **argv)
{
    struct row rows[] = {{.name = "json", .read = read_json},
                         {.name = "protobuf", .read = read_proto}};
    unsigned pods = 10000;
    bool json = false;
    struct both *pages;
    size_t n_pages;
    int opt, rc = 0;

    while ((opt = getopt(argc, argv, "o:n:")) != -1) {
        json = json || (opt == 'o' && !strcmp(optarg, "json"));
        pods = opt == 'n' ? (unsigned)strtoul(optarg, NULL, 10) : pods;
    }
    n_pages = pods > PAGE_PODS ? pods / PAGE_PODS : 1;
    pages = xcalloc(n_pages, sizeof(*pages));
    for (size_t i = 0; i < n_pages; i++) {
        make_page(&pages[i], (unsigned)i * PAGE_PODS, PAGE_PODS);
        rows[0].bytes += pages[i].json.len;
        rows[1].bytes += pages[i].pb.len;
    }
    rows[0].page_held = pages[0].json.len;
    for (size_t i = 0; i < ARRAY_LEN(rows) && !rc; i++)
        rc = measure(&rows[i], pages, n_pages);
    if (rc || rows[0].n != rows[1].n || rows[0].gpus != rows[1].gpus)
        rc = fprintf(stderr, "bench_decode: the encodings are not read alike\n");
    else
        print_rows(rows, ARRAY_LEN(rows), json);
    for (size_t i = 0; i < n_pages; i++) {
        str_fini(&pages[i].json);
        str_fini(&pages[i].pb);
    }
    free(pages);
    return rc ? 1 : 0;
}
