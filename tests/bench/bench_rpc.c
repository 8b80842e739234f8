/* SPDX-License-Identifier: Apache-2.0 */
/* bench_rpc.c - durable submissions a second through the socket, beside what limits them.
 *
 * usage: bench_rpc [-o json] [-s SECONDS] [-d DIR] [-q QUEUED | -e ENDPOINT]
 * Two loads: one client in lock-step, and eight with 64 outstanding each. Each is put on a bare
 * ROUTER that echoes, and on a daemon: QUEUED (default: the one of this build) on a new store in
 * DIR, or one that runs at ENDPOINT with tenants bench-0..bench-39. The store's limit is the same
 * requests taken into a state without a daemon, of which only the commits are timed: at batch 1
 * and at the best batch of 1..256.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <zmq.h>

#include "../fake/fake_store.h"
#include "../fake/submission.h"
#include "life/state_apply.h"
#include "rpc/rpc_wire.h"
#include "store/store_lmdb.h"
#include "util/log.h"
#include "util/mem.h"
#include "util/str.h"

enum {
    CLIENTS_MAX = 8,
    WINDOW_MAX = 64,
    SAMPLES_MAX = 1000000,
    ID_OFFSET = RPC_FRAME_BYTES + 4, /* of the request id in a frame, of ours and of a reply */
    CODE_OFFSET = ID_OFFSET + 16 + 18,
};

struct load {
    const char *name;
    unsigned clients, window;
};

static const struct load loads[] = {{"1 client, lock-step", 1, 1}, {"8 clients x 64", 8, 64}};

struct result {
    double per_s, p50_us, p99_us;
    double cpu_us; /* of the daemon a submission, its start and end included; 0: not ours */
    uint64_t n, failed;
};

struct run {
    void *zmq;
    void *sockets[CLIENTS_MAX];
    double sent_at[CLIENTS_MAX][WINDOW_MAX];
    double *samples;
    uint64_t n, failed, serial;
    bool is_echo;
};

struct options {
    bool json;
    double seconds;
    const char *queued, *endpoint;
    char dir[300];
};

static double now_s(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_MONOTONIC, &ts); /* cannot fail for this clock */
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* ---- the load */

static void send_one(struct run *r, unsigned client, unsigned slot)
{
    uint8_t *bytes;
    size_t len = submission_make(r->serial++, client, slot, &bytes);

    r->sent_at[client][slot] = now_s();
    if (zmq_send(r->sockets[client], bytes, len, 0) < 0)
        r->failed++;
    free(bytes);
}

static void take_reply(struct run *r, const uint8_t *p, size_t len, double now)
{
    unsigned client, slot;

    if (len < CODE_OFFSET + 2) {
        r->failed++;
        return;
    }
    client = p[ID_OFFSET + 8] % CLIENTS_MAX;
    slot = p[ID_OFFSET + 9] % WINDOW_MAX;
    if (!r->is_echo && (p[CODE_OFFSET] != 0x18 || p[CODE_OFFSET + 1] != 0))
        r->failed++;
    if (r->n < SAMPLES_MAX)
        r->samples[r->n] = (now - r->sent_at[client][slot]) * 1e6;
    r->n++;
    send_one(r, client, slot);
}

static void drain(struct run *r, unsigned client)
{
    uint8_t buf[4096];
    int len;

    for (len = zmq_recv(r->sockets[client], buf, sizeof(buf), ZMQ_DONTWAIT); len >= 0;
         len = zmq_recv(r->sockets[client], buf, sizeof(buf), ZMQ_DONTWAIT))
        take_reply(r, buf, (size_t)len < sizeof(buf) ? (size_t)len : sizeof(buf), now_s());
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static void finish(struct run *r, double took, struct result *ret)
{
    size_t n = r->n < SAMPLES_MAX ? r->n : SAMPLES_MAX;

    *ret = (struct result){.n = r->n, .failed = r->failed, .per_s = (double)r->n / took};
    if (n == 0)
        return;
    qsort(r->samples, n, sizeof(double), by_value);
    ret->p50_us = r->samples[n / 2];
    ret->p99_us = r->samples[n * 99 / 100];
}

static void run_load(const struct load *l, const char *endpoint, bool is_echo, double seconds,
                     struct result *ret)
{
    static uint64_t serial;
    struct run r = {.zmq = zmq_ctx_new(), .is_echo = is_echo, .serial = serial};
    zmq_pollitem_t items[CLIENTS_MAX];
    double begin;
    int zero = 0;

    r.samples = xcalloc(SAMPLES_MAX, sizeof(double));
    for (unsigned i = 0; i < l->clients; i++) {
        r.sockets[i] = zmq_socket(r.zmq, ZMQ_DEALER);
        (void)zmq_setsockopt(r.sockets[i], ZMQ_LINGER, &zero, sizeof(zero));
        (void)zmq_connect(r.sockets[i], endpoint);
        items[i] = (zmq_pollitem_t){.socket = r.sockets[i], .events = ZMQ_POLLIN};
        for (unsigned w = 0; w < l->window; w++)
            send_one(&r, i, w);
    }
    begin = now_s();
    while (now_s() - begin < seconds) {
        (void)zmq_poll(items, (int)l->clients, 100);
        for (unsigned i = 0; i < l->clients; i++)
            drain(&r, i);
    }
    finish(&r, now_s() - begin, ret);
    for (unsigned i = 0; i < l->clients; i++)
        (void)zmq_close(r.sockets[i]);
    (void)zmq_ctx_term(r.zmq);
    free(r.samples);
    serial = r.serial;
}

/* ---- the bare echo */

struct echo {
    void *zmq, *socket;
};

/* Until the context ends. */
static void *echo_main(void *arg)
{
    struct echo *e = arg;
    zmq_msg_t id, payload;

    (void)zmq_msg_init(&id); /* cannot fail */
    (void)zmq_msg_init(&payload);
    while (zmq_msg_recv(&id, e->socket, 0) >= 0 && zmq_msg_recv(&payload, e->socket, 0) >= 0) {
        (void)zmq_msg_send(&id, e->socket, ZMQ_SNDMORE); /* a peer that left is no matter */
        (void)zmq_msg_send(&payload, e->socket, 0);
    }
    (void)zmq_msg_close(&id); /* cannot fail on what was initialised */
    (void)zmq_msg_close(&payload);
    (void)zmq_close(e->socket);
    return NULL;
}

static int bench_echo(const struct options *o, struct result *ret)
{
    struct echo e = {.zmq = zmq_ctx_new()};
    char endpoint[320];
    pthread_t thread;

    e.socket = zmq_socket(e.zmq, ZMQ_ROUTER);
    (void)snprintf(endpoint, sizeof(endpoint), "ipc://%s/echo.sock", o->dir);
    if (zmq_bind(e.socket, endpoint) || pthread_create(&thread, NULL, echo_main, &e)) {
        fprintf(stderr, "bench_rpc: %s: %s\n", endpoint, zmq_strerror(zmq_errno()));
        return -1;
    }
    for (size_t i = 0; i < ARRAY_LEN(loads); i++)
        run_load(&loads[i], endpoint, true, o->seconds, &ret[i]);
    (void)zmq_ctx_shutdown(e.zmq); /* wakes the thread */
    (void)pthread_join(thread, NULL);
    (void)zmq_ctx_term(e.zmq);
    return 0;
}

/* ---- the store alone */

struct store_limit {
    double one, best; /* submissions a second at batch 1, at the best batch */
    unsigned best_batch;
    size_t records, bytes; /* of one submission */
};

static void remove_store(const char *dir)
{
    static const char *const names[] = {"data.mdb", "lock.mdb", "lock", "ballast"};
    char path[400];

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
        (void)unlink(path); /* what is not there need not go */
    }
    (void)rmdir(dir);
}

/* Seconds that the commit of a turn with as many submissions took; below 0: it failed. */
static double bare_turn(struct bare_queue *b, const struct store_port *port, unsigned batch)
{
    usec_t now = (usec_t)time(NULL) * USEC_PER_SEC + (usec_t)b->serial;
    struct err err;
    double begin, took;
    int rc = 0;

    state_tick(b->state, now, &b->fx);
    for (unsigned i = 0; i < batch && rc == 0; i++)
        rc = bare_queue_submit(b, &err);
    begin = now_s();
    rc = rc ? rc : port->commit_begin(port->ctx, b->state, &b->fx, &err);
    took = now_s() - begin;
    effects_clear(&b->fx);
    if (rc)
        fprintf(stderr, "bench_rpc: %s\n", err.text);
    return rc ? -1 : took;
}

static int commit_batches(const char *dir, unsigned batch, double seconds, double *ret)
{
    struct store_lmdb *s = NULL;
    struct store_port port;
    struct bare_queue b;
    struct err err;
    double spent = 0, took = 0;

    if (store_lmdb_open(&s, dir, &err)) {
        fprintf(stderr, "bench_rpc: %s\n", err.text);
        return -1;
    }
    port = store_lmdb_port(s);
    bare_queue_init(&b);
    while (spent < seconds && took >= 0) {
        took = bare_turn(&b, &port, batch);
        spent += took;
    }
    *ret = (double)b.serial / spent;
    bare_queue_fini(&b);
    store_lmdb_close(s);
    remove_store(dir);
    return took < 0 ? -1 : 0;
}

static void count_records(struct store_limit *l)
{
    struct fake_store *store = fake_store_create(1);
    struct store_port port = fake_store_port(store);
    struct store_bytes key, value;
    struct bare_queue b;

    bare_queue_init(&b);
    (void)bare_turn(&b, &port, 1); /* in memory: cannot fail */
    for (int t = 0; t < STORE_TABLES; t++)
        for (size_t i = 0; fake_store_at(store, (enum store_table)t, i, &key, &value); i++) {
            l->records++;
            l->bytes += key.len + value.len;
        }
    bare_queue_fini(&b);
    fake_store_destroy(store);
}

static int bench_store(const struct options *o, struct store_limit *ret)
{
    static const unsigned batches[] = {1, 4, 16, 64, 256};
    char dir[320];

    (void)snprintf(dir, sizeof(dir), "%s/limit", o->dir);
    count_records(ret);
    for (size_t i = 0; i < ARRAY_LEN(batches); i++) {
        double per_s;

        if (commit_batches(dir, batches[i], o->seconds / 2, &per_s))
            return -1;
        if (batches[i] == 1)
            ret->one = per_s;
        if (per_s > ret->best) {
            ret->best = per_s;
            ret->best_batch = batches[i];
        }
    }
    return 0;
}

/* ---- the daemon */

static int write_file(const char *dir, const char *name, const char *text)
{
    char path[400];
    FILE *f;
    int rc;

    (void)snprintf(path, sizeof(path), "%s/%s", dir, name);
    f = fopen(path, "w");
    if (!f)
        return -1;
    rc = fputs(text, f) < 0 ? -1 : 0;
    return fclose(f) || rc ? -1 : 0;
}

static int write_config(const struct options *o)
{
    static const char kubeconfig[] =
        "apiVersion: v1\nkind: Config\n"
        "clusters: [{name: c, cluster: {server: \"http://127.0.0.1:9\"}}]\n"
        "contexts: [{name: c, context: {cluster: c, user: u}}]\ncurrent-context: c\n"
        "users: [{name: u, user: {token: t}}]\n";
    struct str b = {0};
    int rc;

    str_addf(&b, "store: {dir: %s/store}\nlisten: {rpc: [\"ipc://%s/q.sock\"]}\n", o->dir, o->dir);
    str_addf(&b, "kubernetes: {kubeconfig: %s/kubeconfig}\ntenants:\n", o->dir);
    for (int i = 0; i < SUBMISSION_TENANTS; i++)
        str_addf(&b, "- {name: bench-%d, namespaces: [bench-%d]}\n", i, i);
    rc = write_file(o->dir, "queued.yaml", str_text(&b)) ||
                 write_file(o->dir, "kubeconfig", kubeconfig)
             ? -1
             : 0;
    str_fini(&b);
    return rc;
}

static pid_t start_daemon(const struct options *o)
{
    char config[400];
    pid_t pid;

    (void)snprintf(config, sizeof(config), "%s/queued.yaml", o->dir);
    if (write_config(o)) {
        perror("bench_rpc: write the configuration");
        return -1;
    }
    pid = fork();
    if (pid == 0) {
        (void)execl(o->queued, o->queued, "--config", config, "--log-level", "error", (char *)NULL);
        perror(o->queued);
        _exit(127);
    }
    return pid;
}

/* A daemon for each load, so that both begin with an empty queue. */
static int bench_own(const struct options *o, const struct load *l, struct result *ret)
{
    pid_t pid = start_daemon(o);
    char endpoint[400], store[400];
    struct rusage used;
    int status;

    if (pid < 0)
        return -1;
    (void)snprintf(endpoint, sizeof(endpoint), "ipc://%s/q.sock", o->dir);
    for (int i = 0; i < 100 && access(endpoint + strlen("ipc://"), F_OK); i++)
        (void)usleep(50000); /* until its socket is there */
    run_load(l, endpoint, false, o->seconds, ret);
    (void)kill(pid, SIGTERM);
    (void)wait4(pid, &status, 0, &used);
    if (ret->n)
        ret->cpu_us = ((double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e6 +
                       (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec)) /
                      (double)ret->n;
    (void)snprintf(store, sizeof(store), "%s/store", o->dir);
    remove_store(store);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

static int bench_daemon(const struct options *o, struct result *ret)
{
    for (size_t i = 0; i < ARRAY_LEN(loads); i++) {
        int rc = 0;

        if (o->endpoint)
            run_load(&loads[i], o->endpoint, false, o->seconds, &ret[i]);
        else
            rc = bench_own(o, &loads[i], &ret[i]);
        if (rc || ret[i].failed || ret[i].n == 0) {
            fprintf(stderr, "bench_rpc: the daemon: %llu answers, %llu of them refusals\n",
                    (unsigned long long)ret[i].n, (unsigned long long)ret[i].failed);
            return -1;
        }
    }
    return 0;
}

/* ---- the table */

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

static void print(const struct options *o, const struct result *echo, const struct result *daemon,
                  const struct store_limit *s)
{
    if (o->json)
        printf("{\"bench\":\"rpc\",\"submit_records\":%zu,\"submit_bytes\":%zu,"
               "\"store_best_batch\":%u,\"rows\":[",
               s->records, s->bytes, s->best_batch);
    else
        printf("one submission: %zu records, %zu bytes of keys and values; best batch %u\n"
               "%-20s %12s %12s %12s %9s %9s %8s %8s\n",
               s->records, s->bytes, s->best_batch, "load", "echo/s", "store/s", "submits/s",
               "p50 ms", "p99 ms", "cpu us", "of limit");
    for (size_t i = 0; i < ARRAY_LEN(loads); i++) {
        double store = i == 0 ? s->one : s->best;
        double share = daemon[i].per_s / smaller(echo[i].per_s, store);

        printf(o->json ? "%s{\"load\":\"%s\",\"echo_per_s\":%.0f,\"store_per_s\":%.0f,"
                         "\"submits_per_s\":%.0f,\"p50_ms\":%.3f,\"p99_ms\":%.3f,"
                         "\"cpu_us\":%.1f,\"of_limit\":%.3f}"
                       : "%s%-20s %12.0f %12.0f %12.0f %9.2f %9.2f %8.1f %8.2f\n",
               o->json && i ? "," : "", loads[i].name, echo[i].per_s, store, daemon[i].per_s,
               daemon[i].p50_us / 1e3, daemon[i].p99_us / 1e3, daemon[i].cpu_us, share);
    }
    if (o->json)
        printf("]}\n");
}

static int usage(void)
{
    fprintf(stderr, "usage: bench_rpc [-o json] [-s SECONDS] [-d DIR] [-q QUEUED | -e ENDPOINT]\n");
    return 64;
}

static int parse(int argc, char **argv, struct options *o)
{
    const char *base = getenv("TMPDIR");
    int c;

    base = base ? base : "/tmp";
    while ((c = getopt(argc, argv, "o:s:d:q:e:")) != -1) {
        if (c == 'o' && strcmp(optarg, "json") == 0)
            o->json = true;
        else if (c == 's')
            o->seconds = strtod(optarg, NULL);
        else if (c == 'd')
            base = optarg;
        else if (c == 'q')
            o->queued = optarg;
        else if (c == 'e')
            o->endpoint = optarg;
        else
            return -1;
    }
    (void)snprintf(o->dir, sizeof(o->dir), "%s/queued-bench-XXXXXX", base);
    return optind == argc && o->seconds > 0 ? 0 : -1;
}

static void remove_files(const struct options *o)
{
    static const char *const names[] = {"queued.yaml", "kubeconfig", "q.sock.lock", "echo.sock"};
    char path[400];

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", o->dir, names[i]);
        (void)unlink(path); /* what is not there need not go */
    }
    (void)rmdir(o->dir);
}

int main(int argc, char **argv)
{
    struct result echo[ARRAY_LEN(loads)] = {0}, daemon[ARRAY_LEN(loads)] = {0};
    struct options o = {.seconds = 3};
    struct store_limit limit = {0};
    char *slash = strrchr(argv[0], '/');
    char *queued =
        xasprintf("%.*s/../../queued", slash ? (int)(slash - argv[0]) : 1, slash ? argv[0] : ".");
    int rc = 1;

    o.queued = queued;
    log_setup(LOG_LEVEL_ERROR, false);
    if (parse(argc, argv, &o)) {
        rc = usage();
    } else if (!mkdtemp(o.dir)) {
        perror(o.dir);
    } else {
        if (bench_echo(&o, echo) == 0 && bench_store(&o, &limit) == 0 &&
            bench_daemon(&o, daemon) == 0) {
            print(&o, echo, daemon, &limit);
            rc = 0;
        }
        remove_files(&o);
    }
    free(queued);
    return rc;
}
