/* SPDX-License-Identifier: Apache-2.0 */
/* bench_restart.c - from the start of the daemon to the first bind of a gang that waits, with a
 * full cluster in its store and behind the API server, and the most memory that it took.
 *
 * usage: bench_restart [-o json] [-n HOSTS] [-p PODS] [-d DIR] [-q QUEUED] [-S STANDIN] [-v]
 * 5,000 hosts with 100,000 bound pods, of which all but one a host are members of running gangs in
 * the store (see tests/fake/big_site.h); the stand-in serves them in pages of protobuf. The gang is
 * submitted as soon as the daemon answers. Ends with 1 over 15 s or 400 MB; the goal is 5 s and
 * 200 MB. -v: show the daemon's log.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cjson/cJSON.h>
#include <curl/curl.h>

#include "../fake/big_site.h"
#include "util/log.h"
#include "util/mem.h"
#include "util/str.h"

enum { FREE_HOSTS = 8, LIMIT_S = 15, LIMIT_MB = 400, GIVE_UP_S = 120 };

static const char cluster_uid[] = "5f0c7127-9d1e-4c6b-8a55-3f6b75626573"; /* the stand-in's */

static const char config_text[] = "store: {dir: %s/store}\n"
                                  "listen: {rpc: [\"ipc://%s/queued.sock\"]}\n"
                                  "kubernetes: {kubeconfig: %s/kubeconfig}\n"
                                  "levels:\n"
                                  "- name: fabric\n"
                                  "  levels:\n"
                                  "  - {name: block, labels: [gang.queued/block]}\n"
                                  "  - {name: rack, labels: [gang.queued/rack]}\n"
                                  "models: {H100: [NVIDIA-H100-80GB-HBM3]}\n"
                                  "tenants: [{name: vision, namespaces: [vision]}]\n";

static const char job_text[] = "apiVersion: gang.queued/v1\n"
                               "kind: GangJob\n"
                               "metadata: {name: waiting}\n"
                               "spec:\n"
                               "  tenant: vision\n"
                               "  maxRuntime: 1h\n"
                               "  roles:\n"
                               "  - name: worker\n"
                               "    replicas: 8\n"
                               "    image: registry.example/train:1\n"
                               "    command: [torchrun]\n"
                               "    resources: {gpus: 8, gpuModel: H100}\n";

struct options {
    bool is_json, is_loud;
    uint32_t n_hosts, n_pods;
    const char *dir, *queued, *standin;
};

/* Seconds since the daemon was started; 0 not yet. */
struct result {
    double ready_s, nodes_s, pods_s, synced_s, bind_s, whole_s, cpu_s, server_cpu_s;
    long peak_kb;
    uint32_t own, foreign;
};

struct bench {
    struct options o;
    struct big_site site;
    char dir[256];
    pid_t server, daemon, client;
    unsigned port;
    double begun_s;
    FILE *log;
    struct result r;
};

static double now_s(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_MONOTONIC, &ts); /* cannot fail for this clock */
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static int trouble(const char *what)
{
    fprintf(stderr, "bench_restart: %s\n", what);
    return -1;
}

static char *path_in(const struct bench *b, const char *name)
{
    return xasprintf("%s/%s", b->dir, name);
}

static int write_file(const struct bench *b, const char *name, const char *text)
{
    char *path = path_in(b, name);
    FILE *f = fopen(path, "w");
    bool ok = f && fputs(text, f) >= 0;

    if (f && fclose(f))
        ok = false;
    free(path);
    return ok ? 0 : trouble("cannot write into the directory of the run");
}

/* Run a program whose stderr goes to a file and whose stdin, if wanted, comes from us. */
static pid_t spawn(const struct bench *b, const char *const *argv, const char *log, int in)
{
    char *path = path_in(b, log);
    pid_t pid = fork();

    if (!pid) {
        int err = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        int nothing = open("/dev/null", O_RDWR);

        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* a run that is broken off leaves nothing */
        (void)dup2(in >= 0 ? in : nothing, STDIN_FILENO);
        (void)dup2(nothing, STDOUT_FILENO);
        (void)dup2(err, STDERR_FILENO);
        (void)execv(argv[0], (char *const *)(uintptr_t)argv);
        _exit(127);
    }
    free(path);
    return pid;
}

/* ---- the API server */

static int wait_for_port(struct bench *b)
{
    char *path = path_in(b, "port");
    double end = now_s() + GIVE_UP_S;
    int n = 0;

    while (n != 1 && now_s() < end && waitpid(b->server, NULL, WNOHANG) == 0) {
        FILE *f = fopen(path, "r");

        n = f ? fscanf(f, "%u", &b->port) : 0;
        if (f)
            (void)fclose(f); /* only read */
        usleep(20000);
    }
    free(path);
    return n == 1 ? 0 : trouble("the stand-in did not start: see its log");
}

static int start_server(struct bench *b)
{
    char *port = path_in(b, "port"), *kubeconfig = path_in(b, "kubeconfig");
    char hosts[16], blocks[16];
    const char *argv[] = {
        b->o.standin, "--port-file", port,         "--kubeconfig-out",  kubeconfig, "--make-nodes",
        hosts,        "--blocks",    blocks,       "--racks-per-block", "8",        "--namespaces",
        "vision",     "--objects",   "/dev/stdin", "--no-kubelet",      NULL};
    int pipe_fds[2];
    FILE *out;

    (void)snprintf(hosts, sizeof(hosts), "%u", b->o.n_hosts);
    (void)snprintf(blocks, sizeof(blocks), "%u", b->o.n_hosts / 128 + 1);
    if (pipe2(pipe_fds, O_CLOEXEC))
        return trouble("no pipe");
    b->server = spawn(b, argv, "standin.log", pipe_fds[0]);
    (void)close(pipe_fds[0]);
    out = fdopen(pipe_fds[1], "w");
    big_site_write_objects(&b->site, b->r.foreign, out);
    (void)fclose(out); /* a broken pipe shows in what follows */
    free(port);
    free(kubeconfig);
    return wait_for_port(b);
}

static size_t keep(char *p, size_t size, size_t n, void *ctx)
{
    str_add_bytes(ctx, p, size * n);
    return size * n;
}

static int n_binds(const struct bench *b, CURL *c)
{
    char *url = xasprintf("http://127.0.0.1:%u/_standin/stats", b->port);
    struct str answer = {0};
    cJSON *json, *binds;
    int n;

    curl_easy_setopt(c, CURLOPT_URL, url);
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, keep);
    curl_easy_setopt(c, CURLOPT_WRITEDATA, &answer);
    (void)curl_easy_perform(c); /* then there is no answer */
    json = cJSON_Parse(str_text(&answer));
    binds = cJSON_GetObjectItem(cJSON_GetObjectItem(cJSON_GetObjectItem(json, "requests"), "bind"),
                                "pods");
    n = cJSON_IsNumber(binds) ? binds->valueint : 0;
    cJSON_Delete(json);
    str_fini(&answer);
    free(url);
    return n;
}

/* ---- the daemon */

static void note(double *at, double since_s, const char *line, const char *a, const char *b)
{
    if (*at == 0 && strstr(line, a) && strstr(line, b))
        *at = now_s() - since_s;
}

static void read_log(struct bench *b)
{
    char line[4096];

    clearerr(b->log);
    while (fgets(line, sizeof(line), b->log)) {
        if (b->o.is_loud)
            (void)fputs(line, stderr);
        note(&b->r.ready_s, b->begun_s, line, "msg=\"ready\"", "");
        note(&b->r.nodes_s, b->begun_s, line, "list complete", "what=nodes");
        note(&b->r.pods_s, b->begun_s, line, "list complete", "what=pods");
        note(&b->r.synced_s, b->begun_s, line, "job=waiting-", "to=Binding");
    }
}

static double cpu_of(pid_t pid)
{
    struct timespec cpu = {0};
    clockid_t clock;

    if (!clock_getcpuclockid(pid, &clock))
        (void)clock_gettime(clock, &cpu); /* then it stays 0 */
    return (double)cpu.tv_sec + (double)cpu.tv_nsec / 1e9;
}

static void read_usage(struct bench *b)
{
    char *path = xasprintf("/proc/%d/status", (int)b->daemon), line[256];
    FILE *f = fopen(path, "r");

    while (f && fgets(line, sizeof(line), f))
        if (!strncmp(line, "VmHWM:", 6))
            b->r.peak_kb = strtol(line + 6, NULL, 10);
    if (f)
        (void)fclose(f); /* only read */
    free(path);
    b->r.cpu_s = cpu_of(b->daemon);
    b->r.server_cpu_s += cpu_of(b->server);
}

static void submit(struct bench *b)
{
    char *endpoint = xasprintf("ipc://%s/queued.sock", b->dir), *job = path_in(b, "job.yaml");
    char *queuectl =
        xasprintf("%.*s/queuectl", (int)(strrchr(b->o.queued, '/') - b->o.queued), b->o.queued);
    const char *argv[] = {queuectl, "--endpoint", endpoint, "--timeout", "60s",
                          "submit", "-f",         job,      NULL};

    b->client = spawn(b, argv, "queuectl.log", -1);
    free(endpoint);
    free(job);
    free(queuectl);
}

static int watch_daemon(struct bench *b, CURL *c)
{
    while (b->r.whole_s == 0) {
        int binds = n_binds(b, c);
        double passed = now_s() - b->begun_s;

        read_log(b);
        if (b->r.ready_s > 0 && !b->client)
            submit(b);
        if (binds && b->r.bind_s == 0)
            b->r.bind_s = passed;
        if (binds >= FREE_HOSTS)
            b->r.whole_s = passed;
        if (passed > GIVE_UP_S || waitpid(b->daemon, NULL, WNOHANG) != 0)
            return trouble("nothing was bound: see the logs");
        usleep(5000);
    }
    usleep(200000); /* the watch confirms */
    read_usage(b);
    return 0;
}

static int run_daemon(struct bench *b)
{
    char *config = path_in(b, "queued.yaml"), *log = path_in(b, "queued.log");
    const char *argv[] = {b->o.queued, "--config", config, NULL};
    CURL *c = curl_easy_init();
    int rc = -1;

    if (write_file(b, "queued.log", ""))
        goto out;
    b->log = fopen(log, "r");
    b->r.server_cpu_s = -cpu_of(b->server);
    b->begun_s = now_s();
    b->daemon = spawn(b, argv, "queued.log", -1);
    rc = b->log ? watch_daemon(b, c) : trouble("no log");
    if (b->log)
        (void)fclose(b->log); /* only read */
out:
    curl_easy_cleanup(c);
    free(config);
    free(log);
    return rc;
}

/* ---- the run */

static void stop(pid_t pid)
{
    if (pid <= 0)
        return;
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
}

static void clean(const struct bench *b)
{
    static const char *const names[] = {"store/data.mdb", "store/lock.mdb", "store/lock",
                                        "store/ballast",  "port",           "kubeconfig",
                                        "queued.yaml",    "job.yaml",       "queued.sock",
                                        "queued.log",     "standin.log",    "queuectl.log"};

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        char *path = path_in(b, names[i]);

        (void)unlink(path);
        free(path);
    }
    {
        char *store = path_in(b, "store");

        (void)rmdir(store);
        free(store);
    }
    (void)rmdir(b->dir);
}

static int prepare(struct bench *b)
{
    char *config = path_in(b, "queued.yaml");
    char *text = xasprintf(config_text, b->dir, b->dir, b->dir);
    struct err err = {0};
    int rc = write_file(b, "queued.yaml", text) || write_file(b, "kubeconfig", "") ||
             write_file(b, "job.yaml", job_text);

    b->site.n_hosts = b->o.n_hosts;
    b->site.n_gangs = (b->o.n_hosts - FREE_HOSTS) / BIG_GANG_HOSTS;
    while (b->site.n_gangs && b->site.n_gangs * BIG_GANG_PODS > b->o.n_pods)
        b->site.n_gangs--;
    b->r.own = b->site.n_gangs * BIG_GANG_PODS;
    b->r.foreign = b->o.n_pods - b->r.own;
    if (!rc && big_site_create(&b->site, config, cluster_uid, &err))
        rc = trouble(err.text);
    free(config);
    free(text);
    return rc ? -1 : start_server(b);
}

static void print(const struct bench *b)
{
    const struct result *r = &b->r;
    double peak_mb = (double)r->peak_kb * 1024 / 1e6;

    if (b->o.is_json) {
        printf("{\"hosts\":%u,\"own_pods\":%u,\"foreign_pods\":%u,\"ready_s\":%.2f,"
               "\"nodes_listed_s\":%.2f,\"pods_listed_s\":%.2f,\"decided_s\":%.2f,"
               "\"first_bind_s\":%.2f,\"gang_bound_s\":%.2f,\"cpu_s\":%.2f,\"server_cpu_s\":%.2f,"
               "\"peak_mb\":%.0f,"
               "\"limit_s\":%d,\"limit_mb\":%d}\n",
               b->o.n_hosts, r->own, r->foreign, r->ready_s, r->nodes_s, r->pods_s, r->synced_s,
               r->bind_s, r->whole_s, r->cpu_s, r->server_cpu_s, peak_mb, LIMIT_S, LIMIT_MB);
        return;
    }
    printf("restart with %u hosts, %u pods of %u running gangs and %u foreign pods\n", b->o.n_hosts,
           r->own, b->site.n_gangs, r->foreign);
    printf("%-28s %8s\n", "since the start", "s");
    printf("%-28s %8.2f\n%-28s %8.2f\n%-28s %8.2f\n", "store loaded", r->ready_s, "nodes listed",
           r->nodes_s, "pods listed", r->pods_s);
    printf("%-28s %8.2f\n%-28s %8.2f  (goal 5, limit %d)\n%-28s %8.2f\n", "waiting gang placed",
           r->synced_s, "its first bind", r->bind_s, LIMIT_S, "its last bind", r->whole_s);
    printf("%-28s %8.2f\n%-28s %8.2f\n", "CPU of the daemon", r->cpu_s, "CPU of the stand-in",
           r->server_cpu_s);
    printf("%-28s %8.0f  (goal 200, limit %d)\n", "peak memory, MB", peak_mb, LIMIT_MB);
}

static void usage(void)
{
    fprintf(stderr, "usage: bench_restart [-o json] [-n HOSTS] [-p PODS] [-d DIR] [-q QUEUED] "
                    "[-S STANDIN] [-v]\n");
}

static int read_options(struct options *o, int argc, char **argv)
{
    int c = getopt(argc, argv, "o:n:p:d:q:S:v");

    for (; c != -1; c = getopt(argc, argv, "o:n:p:d:q:S:v")) {
        if (c == 'o' && !strcmp(optarg, "json"))
            o->is_json = true;
        else if (c == 'n')
            o->n_hosts = (uint32_t)strtoul(optarg, NULL, 10);
        else if (c == 'p')
            o->n_pods = (uint32_t)strtoul(optarg, NULL, 10);
        else if (c == 'd')
            o->dir = optarg;
        else if (c == 'q')
            o->queued = optarg;
        else if (c == 'S')
            o->standin = optarg;
        else if (c == 'v')
            o->is_loud = true;
        else
            return -1;
    }
    return optind == argc && o->n_hosts > FREE_HOSTS && o->n_hosts <= NODES_MAX ? 0 : -1;
}

int main(int argc, char **argv)
{
    const char *slash = strrchr(argv[0], '/');
    int n = slash ? (int)(slash - argv[0]) : 0;
    char *queued = xasprintf("%.*s/../../queued", n, argv[0]);
    char *standin = xasprintf("%.*s/../standin", n, argv[0]);
    const char *tmp = getenv("TMPDIR");
    struct bench b = {.o = {.n_hosts = 5000,
                            .n_pods = 100000,
                            .dir = tmp ? tmp : "/tmp",
                            .queued = queued,
                            .standin = standin}};
    int rc;

    if (read_options(&b.o, argc, argv)) {
        usage();
        return 2;
    }
    log_setup(LOG_LEVEL_ERROR, false);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)snprintf(b.dir, sizeof(b.dir), "%s/bench-restart-XXXXXX", b.o.dir);
    if (!mkdtemp(b.dir))
        return trouble("cannot make a directory") ? 1 : 0;
    rc = prepare(&b) || run_daemon(&b);
    stop(b.client);
    stop(b.daemon);
    stop(b.server);
    if (!rc)
        print(&b);
    if (!rc)
        clean(&b);
    big_site_destroy(&b.site);
    free(queued);
    free(standin);
    return rc || b.r.bind_s > LIMIT_S || (double)b.r.peak_kb * 1024 > LIMIT_MB * 1e6;
}
