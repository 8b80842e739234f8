/* SPDX-License-Identifier: Apache-2.0 */
/* standin.c - main program of the stand-in API server: options, start, loop, end.
 *
 * A Kubernetes API over real HTTP for tests, with simulated kubelets and faults on demand. Serves
 * one process's memory; --state keeps it over a restart. Ends with 0 at SIGTERM and SIGINT.
 */
#include "standin.h"

#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "si_audit.h"
#include "si_fault.h"
#include "si_http.h"
#include "si_kubelet.h"
#include "si_node.h"
#include "si_watch.h"

static volatile sig_atomic_t is_stopping;

static void on_signal(int number)
{
    (void)number;
    is_stopping = 1;
}

static void on_change(void *ctx, const struct event *event)
{
    struct standin *s = ctx;
    audit_event(s, event);
    kubelet_observe(s, event);
    watch_wake(s, event->rec->res);
}

static const char usage_text[] =
    "usage: standin [options]\n"
    "  --port P            0 = any free one (default)\n"
    "  --port-file FILE    write the port here when ready\n"
    "  --kubeconfig-out FILE\n"
    "  --nodes FILE        NodeList as JSON; --make-nodes N invents N of them\n"
    "  --objects FILE      objects as JSON, one a line, put as they are\n"
    "  --gpus N --model NAME --blocks N --racks-per-block N   of the invented nodes\n"
    "  --namespaces A,B    beside default and kube-system\n"
    "  --state FILE        load at the start if there, save at the end\n"
    "  --audit FILE        JSON lines of what happened\n"
    "  --token T           ask for this bearer token\n"
    "  --tls-cert FILE --tls-key FILE --client-ca FILE\n"
    "  --history N         events kept for watches (100000)\n"
    "  --bookmark-ms N     time between bookmarks (5000)\n"
    "  --no-kubelet        bound pods stay Pending\n"
    "  --protobuf MODE     serve it (default), ignore the wish, or refuse it with 406\n";

enum option_id {
    OPT_PORT = 1,
    OPT_PORT_FILE,
    OPT_KUBECONFIG,
    OPT_NODES,
    OPT_MAKE_NODES,
    OPT_GPUS,
    OPT_MODEL,
    OPT_BLOCKS,
    OPT_RACKS,
    OPT_NAMESPACES,
    OPT_STATE,
    OPT_AUDIT,
    OPT_TOKEN,
    OPT_CERT,
    OPT_KEY,
    OPT_CA,
    OPT_HISTORY,
    OPT_BOOKMARK,
    OPT_NO_KUBELET,
    OPT_PROTOBUF,
    OPT_OBJECTS
};

static const struct option long_options[] = {
    {"port", required_argument, NULL, OPT_PORT},
    {"port-file", required_argument, NULL, OPT_PORT_FILE},
    {"kubeconfig-out", required_argument, NULL, OPT_KUBECONFIG},
    {"nodes", required_argument, NULL, OPT_NODES},
    {"make-nodes", required_argument, NULL, OPT_MAKE_NODES},
    {"gpus", required_argument, NULL, OPT_GPUS},
    {"model", required_argument, NULL, OPT_MODEL},
    {"blocks", required_argument, NULL, OPT_BLOCKS},
    {"racks-per-block", required_argument, NULL, OPT_RACKS},
    {"namespaces", required_argument, NULL, OPT_NAMESPACES},
    {"state", required_argument, NULL, OPT_STATE},
    {"audit", required_argument, NULL, OPT_AUDIT},
    {"token", required_argument, NULL, OPT_TOKEN},
    {"tls-cert", required_argument, NULL, OPT_CERT},
    {"tls-key", required_argument, NULL, OPT_KEY},
    {"client-ca", required_argument, NULL, OPT_CA},
    {"history", required_argument, NULL, OPT_HISTORY},
    {"bookmark-ms", required_argument, NULL, OPT_BOOKMARK},
    {"no-kubelet", no_argument, NULL, OPT_NO_KUBELET},
    {"objects", required_argument, NULL, OPT_OBJECTS},
    {"protobuf", required_argument, NULL, OPT_PROTOBUF},
    {NULL, 0, NULL, 0},
};

/* Where a text option goes; NULL for the others. */
static const char **text_target(struct options *o, int id)
{
    switch (id) {
    case OPT_PORT_FILE:
        return &o->port_file;
    case OPT_KUBECONFIG:
        return &o->kubeconfig;
    case OPT_NODES:
        return &o->nodes_file;
    case OPT_OBJECTS:
        return &o->objects_file;
    case OPT_MODEL:
        return &o->gpu_model;
    case OPT_NAMESPACES:
        return &o->namespaces;
    case OPT_STATE:
        return &o->state_file;
    case OPT_AUDIT:
        return &o->audit_file;
    case OPT_TOKEN:
        return &o->token;
    case OPT_CERT:
        return &o->tls_cert;
    case OPT_KEY:
        return &o->tls_key;
    case OPT_CA:
        return &o->client_ca;
    default:
        return NULL;
    }
}

static bool read_proto_mode(struct options *o, const char *text)
{
    static const char *const modes[] = {
        [PROTO_SERVE] = "serve", [PROTO_IGNORE] = "ignore", [PROTO_REFUSE] = "refuse"};
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        if (strcmp(modes[i], text) == 0) {
            o->proto = (enum proto_mode)i;
            return true;
        }
    }
    return false;
}

static int read_options(struct options *o, int argc, char **argv)
{
    uint64_t port = 0;
    uint64_t bookmark_ms = 5000;
    *o = (struct options){.gpu_model = "NVIDIA-H100-80GB-HBM3",
                          .node_gpus = 8,
                          .blocks = 2,
                          .racks_per_block = 2,
                          .history = 100000};
    const struct {
        int id;
        uint64_t *target;
    } numbers[] = {
        {OPT_PORT, &port},           {OPT_MAKE_NODES, &o->make_nodes}, {OPT_GPUS, &o->node_gpus},
        {OPT_BLOCKS, &o->blocks},    {OPT_RACKS, &o->racks_per_block}, {OPT_HISTORY, &o->history},
        {OPT_BOOKMARK, &bookmark_ms}};
    int id = getopt_long(argc, argv, "", long_options, NULL);
    for (; id != -1; id = getopt_long(argc, argv, "", long_options, NULL)) {
        const char **text = text_target(o, id);
        bool is_known = text != NULL || id == OPT_NO_KUBELET ||
                        (id == OPT_PROTOBUF && read_proto_mode(o, optarg));
        if (text != NULL) {
            *text = optarg;
        }
        o->no_kubelet = o->no_kubelet || id == OPT_NO_KUBELET;
        for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
            if (numbers[i].id == id) {
                is_known = number_parse(optarg, numbers[i].target) == 0;
            }
        }
        if (!is_known) {
            return -1;
        }
    }
    o->port = (uint16_t)port;
    o->bookmark_us = bookmark_ms * 1000;
    bool is_sane = port <= 65535 && o->blocks > 0 && o->racks_per_block > 0 && o->history > 0 &&
                   (o->tls_cert == NULL) == (o->tls_key == NULL);
    return is_sane && optind == argc ? 0 : -1;
}

static int write_kubeconfig(const struct options *o)
{
    struct strbuf b = {0};
    strbuf_printf(&b,
                  "apiVersion: v1\nkind: Config\nclusters:\n- name: standin\n  cluster:\n"
                  "    server: %s://127.0.0.1:%u\n",
                  o->tls_cert != NULL ? "https" : "http", o->port);
    if (o->tls_cert != NULL) {
        strbuf_printf(&b, "    certificate-authority: %s\n", o->tls_cert);
    }
    strbuf_printf(&b, "users:\n- name: standin\n  user: %s", o->token != NULL ? "\n" : "{}\n");
    if (o->token != NULL) {
        strbuf_printf(&b, "    token: %s\n", o->token);
    }
    strbuf_puts(&b, "contexts:\n- name: standin\n  context:\n    cluster: standin\n"
                    "    user: standin\ncurrent-context: standin\n");
    int result = file_write(o->kubeconfig, b.data, b.len);
    strbuf_fini(&b);
    return result;
}

/* Fill the store, by the saved state if there is one. -1 after a line on stderr. */
static int seed(struct standin *s)
{
    int loaded = s->options.state_file != NULL ? state_load(s, s->options.state_file) : 1;
    if (loaded < 0) {
        return -1;
    }
    seed_base(s);
    if (loaded == 0) {
        return 0;
    }
    seed_nodes(s);
    if (s->options.nodes_file != NULL && seed_node_file(s, s->options.nodes_file) != 0) {
        return -1;
    }
    return s->options.objects_file != NULL ? seed_object_file(s, s->options.objects_file) : 0;
}

static int announce(const struct standin *s)
{
    const struct options *o = &s->options;
    char text[16];
    int len = snprintf(text, sizeof(text), "%u\n", o->port);
    if ((o->kubeconfig != NULL && write_kubeconfig(o) != 0) ||
        (o->port_file != NULL && file_write(o->port_file, text, (size_t)len) != 0)) {
        (void)fprintf(stderr, "standin: cannot write the port file or kubeconfig: %s\n",
                      strerror(errno));
        return -1;
    }
    (void)fprintf(stderr, "standin ready on 127.0.0.1:%u\n", o->port);
    return 0;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* When the loop must wake at the latest. */
static uint64_t run_timers(struct standin *s, uint64_t now_us)
{
    uint64_t next_us = kubelet_run(s, now_us);
    next_us = smaller(next_us, http_wake_delayed(s, now_us));
    next_us = smaller(next_us, watch_tick(s, now_us));
    MHD_UNSIGNED_LONG_LONG library_ms = 0;
    if (MHD_get_timeout(s->daemon, &library_ms) == MHD_YES) {
        next_us = smaller(next_us, now_us + library_ms * 1000);
    }
    if (s->has_resumed) {
        s->has_resumed = false;
        return now_us;
    }
    return next_us;
}

static void flush_audit(struct standin *s)
{
    if (s->audit != NULL) {
        (void)fflush(s->audit); /* a full disk shows in the test that reads it */
    }
}

static void loop(struct standin *s)
{
    sigset_t unblocked;
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTERM);
    sigaddset(&blocked, SIGINT);
    (void)sigprocmask(SIG_BLOCK, &blocked, &unblocked); /* cannot fail for these arguments */
    while (!is_stopping) {
        uint64_t now_us = clock_mono_us();
        uint64_t next_us = run_timers(s, now_us);
        flush_audit(s); /* before a client can see what the kubelets did */
        uint64_t wait_us = next_us > now_us ? smaller(next_us - now_us, 60000000) : 0;
        struct timespec wait = {.tv_sec = (time_t)(wait_us / 1000000),
                                .tv_nsec = (long)(wait_us % 1000000) * 1000};
        struct pollfd fd = {.fd = http_fd(s), .events = POLLIN};
        (void)ppoll(&fd, 1, &wait, &unblocked); /* a signal is seen by the flag */
        http_run(s);
        flush_audit(s);
    }
}

static void finish(struct standin *s)
{
    (void)watch_end_all(s); /* the count is not needed */
    http_run(s);
    http_stop(s);
    if (s->options.state_file != NULL && state_save(s, s->options.state_file) != 0) {
        (void)fprintf(stderr, "standin: %s: %s\n", s->options.state_file, strerror(errno));
    }
    if (s->audit != NULL) {
        (void)fclose(s->audit); /* as above */
    }
    fault_fini(s);
    kubelet_fini(s);
    store_fini(&s->store);
}

int main(int argc, char **argv)
{
    static struct standin s;
    if (read_options(&s.options, argc, argv) != 0) {
        (void)fputs(usage_text, stderr);
        return 2;
    }
    struct sigaction action = {.sa_handler = on_signal};
    (void)sigaction(SIGTERM, &action, NULL); /* cannot fail for these signals */
    (void)sigaction(SIGINT, &action, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    store_init(&s.store, s.options.history);
    s.store.on_change = on_change;
    s.store.ctx = &s;
    if (s.options.audit_file != NULL) {
        s.audit = fopen(s.options.audit_file, "ae");
        if (s.audit == NULL) {
            (void)fprintf(stderr, "standin: %s: %s\n", s.options.audit_file, strerror(errno));
            return 1;
        }
    }
    if (seed(&s) != 0 || http_start(&s) != 0 || announce(&s) != 0) {
        return 1;
    }
    loop(&s);
    finish(&s);
    return 0;
}
