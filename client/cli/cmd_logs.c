/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_logs.c - queuectl logs: what the pods of a job have written, merged line by line.
 *
 * One kubectl a pod, whose lines are told apart by a prefix. Without -f one after the other, so
 * that lines of a pod stay together; with it all at once.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"
#include "pods.h"
#include "util/mem.h"
#include "util/str.h"

enum { FOLLOWED_MAX = 256, CHUNK = 16384 };

struct logs {
    struct pod_choice choice;
    const char *container, *tail, *since, *download;
    bool follows, has_prefix, has_times;
    struct pod_list pods;
};

/* What one pod says. */
struct source {
    const struct queued_pod *pod;
    pid_t child;
    int fd; /* -1: it is over */
    struct str line;
};

static int start(const struct logs *l, struct source *s)
{
    const char *argv[16] = {pods_program(), "logs", "--namespace", l->pods.ns, s->pod->name};
    char *tail = l->tail ? xasprintf("--tail=%s", l->tail) : NULL;
    char *since = l->since ? xasprintf("--since=%s", l->since) : NULL;
    posix_spawn_file_actions_t actions;
    size_t n = 5;
    int fds[2], rc;

    if (l->container) {
        argv[n++] = "--container";
        argv[n++] = l->container;
    }
    argv[n] = l->follows ? "--follow" : NULL;
    n += argv[n] != NULL;
    argv[n] = l->has_times ? "--timestamps" : NULL;
    n += argv[n] != NULL;
    argv[n] = tail;
    n += argv[n] != NULL;
    argv[n] = since;
    rc = pipe2(fds, O_CLOEXEC) ? errno : 0;
    if (rc == 0) {
        (void)posix_spawn_file_actions_init(&actions); /* these cannot fail on Linux */
        (void)posix_spawn_file_actions_adddup2(&actions, fds[1], STDOUT_FILENO);
        rc = posix_spawnp(&s->child, argv[0], &actions, NULL, (char **)(void *)argv, environ);
        (void)posix_spawn_file_actions_destroy(&actions);
        (void)close(fds[1]);
        s->fd = fds[0];
    }
    free(tail);
    free(since);
    if (rc == 0)
        return 0;
    cli_note("logs: cannot run %s: %s; name the program in $QUEUED_KUBECTL", argv[0], strerror(rc));
    return -1;
}

/* The whole lines of what has come; at the end the rest, too. */
static void print_lines(const struct logs *l, struct source *s, bool is_end)
{
    const char *text = str_text(&s->line);
    size_t len = s->line.len, at = 0;

    while (at < len) {
        const char *end = memchr(text + at, '\n', len - at);
        size_t n = end ? (size_t)(end - text) - at : len - at;

        if (!end && !is_end)
            break;
        if (l->has_prefix)
            (void)printf("[%s-%u] ", s->pod->role ? s->pod->role : "pod", s->pod->index);
        (void)fwrite(text + at, 1, n, stdout); /* cli_finish() looks for errors */
        (void)putchar('\n');
        at += n + (end != NULL);
    }
    if (at) {
        char *rest = xstrdup(text + (at < len ? at : len));

        str_clear(&s->line);
        str_add(&s->line, rest);
        free(rest);
    }
}

/* Read once; at the end reap. The exit code of the program. */
static int take(const struct logs *l, struct source *s)
{
    char buf[CHUNK];
    ssize_t n = read(s->fd, buf, sizeof(buf));
    int status = 0;

    for (ssize_t i = 0; i < n; i++)
        if (buf[i] == '\0')
            buf[i] = '?'; /* lines are texts */
    if (n > 0)
        str_add_bytes(&s->line, buf, (size_t)n);
    print_lines(l, s, n <= 0);
    if (n > 0 || (n < 0 && errno == EINTR))
        return 0;
    (void)close(s->fd);
    s->fd = -1;
    while (waitpid(s->child, &status, 0) < 0 && errno == EINTR)
        continue;
    return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILED;
}

/* Until all have ended. */
static int merge(const struct logs *l, struct source *v, size_t n)
{
    struct pollfd *fds = xcalloc(n + 1, sizeof(*fds));
    size_t left = n;
    int rc = 0;

    while (left) {
        left = 0;
        for (size_t i = 0; i < n; i++) {
            fds[i] = (struct pollfd){.fd = v[i].fd, .events = POLLIN};
            left += v[i].fd >= 0;
        }
        if (left && poll(fds, n, -1) < 0 && errno != EINTR)
            break;
        for (size_t i = 0; i < n; i++)
            if (v[i].fd >= 0 && fds[i].revents && take(l, &v[i]))
                rc = EXIT_FAILED;
        if (fflush(stdout))
            break; /* nobody reads any more */
    }
    free(fds);
    return rc;
}

/* So many at once, from the i-th on. */
static int show_some(const struct logs *l, size_t i, size_t n)
{
    struct source *v = xcalloc(n, sizeof(*v));
    size_t started = 0;
    int rc = 0;

    while (started < n && rc == 0) {
        v[started].pod = l->pods.pods.v[i + started];
        rc = start(l, &v[started]) ? EXIT_FAILED : 0;
        started += rc == 0;
    }
    if (started && merge(l, v, started))
        rc = EXIT_FAILED;
    for (size_t k = 0; k < n; k++)
        str_fini(&v[k].line);
    free(v);
    return rc;
}

/* A file a pod. */
static int download(struct logs *l, size_t i)
{
    char *path = xasprintf("%s/%s.log", l->download, l->pods.pods.v[i]->name);
    int saved = dup(STDOUT_FILENO), rc = EXIT_FAILED;

    if (saved >= 0 && freopen(path, "w", stdout)) {
        rc = show_some(l, i, 1);
        rc = fflush(stdout) ? EXIT_FAILED : rc;
        (void)dup2(saved, STDOUT_FILENO); /* both are open */
        (void)fprintf(stderr, "%s\n", path);
    } else {
        cli_note("logs: %s: %s", path, strerror(errno));
    }
    if (saved >= 0)
        (void)close(saved);
    free(path);
    return rc;
}

static int show(struct logs *l)
{
    size_t n = l->pods.pods.n, at_once = l->follows ? n : 1;
    int rc = 0;

    if (l->follows && n > FOLLOWED_MAX)
        return cli_usage("logs: -f follows at most %d pods, these are %zu: choose some with --rank",
                         FOLLOWED_MAX, n);
    if (l->download && mkdir(l->download, 0777) && errno != EEXIST)
        return cli_usage("logs: --download %s: %s", l->download, strerror(errno));
    l->has_prefix = !l->download && (l->has_prefix || n > 1);
    for (size_t i = 0; i < n; i += at_once) {
        int code = l->download ? download(l, i) : show_some(l, i, at_once);

        rc = rc ? rc : code;
    }
    return rc;
}

int cmd_logs(int argc, char **argv)
{
    struct logs l = {0};
    const struct cli_option options[] = {
        {"follow", 'f', OPTION_FLAG, &l.follows},  {"role", 0, OPTION_TEXT, &l.choice.role},
        {"rank", 0, OPTION_TEXT, &l.choice.ranks}, {"container", 'c', OPTION_TEXT, &l.container},
        {"tail", 0, OPTION_TEXT, &l.tail},         {"since", 0, OPTION_TEXT, &l.since},
        {"prefix", 0, OPTION_FLAG, &l.has_prefix}, {"timestamps", 0, OPTION_FLAG, &l.has_times},
        {"download", 0, OPTION_TEXT, &l.download},
    };
    enum cli_format format;
    int first, rc = cli_parse(&(struct cli_options){"logs", options, ARRAY_LEN(options)}, argc,
                              argv, &first);

    if (rc)
        return rc - 1;
    if (argc - first != 1)
        return cli_usage("logs: name one job; queuectl list shows them");
    if (l.follows && l.download)
        return cli_usage("logs: -f or --download, not both");
    if (cli_format(1u << FORMAT_TABLE, &format))
        return EXIT_USAGE;
    l.choice.job = argv[first];
    rc = pods_find("logs", &l.choice, &l.pods);
    if (rc == 0)
        rc = show(&l);
    pods_fini(&l.pods);
    return rc;
}
