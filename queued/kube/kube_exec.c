/* SPDX-License-Identifier: Apache-2.0 */
/* kube_exec.c - the child of a credential plugin: started, read, timed, reaped.
 *
 * It gets no descriptor but its three, a process group of its own (so that what it starts is
 * killed with it) and ordinary signals. Its end is told by a pidfd: a pipe may be closed early, or
 * be kept open by a grandchild.
 */
#include "kube/kube_exec.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kube/kube_secret.h"
#include "util/mem.h"
#include "util/str.h"
#include "util/vec.h"

enum { OUT_BYTES_MAX = SECRET_BYTES_MAX, SAID_BYTES_MAX = 4096, SAID_SHOWN = 240 };
enum { READ_BYTES = 16 * 1024, READS_AT_ONCE = 8 };

struct kube_exec {
    const struct kube_config *config;
    const struct exec_plugin *plugin; /* of it */
    int epoll_fd;
    pid_t pid;  /* 0: not running */
    pid_t gone; /* killed, and not reaped yet; 0 none */
    int pid_fd, out_fd, err_fd;
    usec_t deadline;
    struct str out;    /* standard output */
    struct str said;   /* the beginning of standard error */
    size_t said_bytes; /* all of it */
};

struct kube_exec *kube_exec_create(const struct kube_config *config)
{
    struct kube_exec *e;
    int fd = epoll_create1(EPOLL_CLOEXEC);

    if (fd < 0)
        return NULL;
    e = xcalloc(1, sizeof(*e));
    e->config = config;
    e->plugin = config->exec;
    e->epoll_fd = fd;
    e->pid_fd = e->out_fd = e->err_fd = -1;
    return e;
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd); /* only read from, or never used */
    *fd = -1;
}

/* The child is gone, or never was. */
static void clear(struct kube_exec *e)
{
    e->pid = 0;
    close_fd(&e->pid_fd);
    close_fd(&e->out_fd);
    close_fd(&e->err_fd);
    if (e->out.s)
        explicit_bzero(e->out.s, e->out.room);
    if (e->said.s)
        explicit_bzero(e->said.s, e->said.room);
    str_fini(&e->out);
    str_fini(&e->said);
    e->said_bytes = 0;
}

static bool reap(struct kube_exec *e)
{
    if (e->gone > 0 && waitpid(e->gone, NULL, WNOHANG))
        e->gone = 0;
    return !e->gone;
}

/* Its end is not waited for: a child that hangs in the kernel must not hold up the loop. */
static void kill_child(struct kube_exec *e)
{
    if (e->pid <= 0)
        return;
    (void)kill(-e->pid, SIGKILL); /* it may have ended by itself */
    (void)kill(e->pid, SIGKILL);  /* or have left its group */
    e->gone = e->pid;
    e->pid = 0;
    (void)reap(e); /* else later */
}

void kube_exec_destroy(struct kube_exec *e)
{
    if (!e)
        return;
    kill_child(e);
    clear(e);
    (void)close(e->epoll_fd); /* it holds nothing */
    free(e);
}

int kube_exec_fd(const struct kube_exec *e)
{
    return e->epoll_fd;
}

bool kube_exec_is_running(const struct kube_exec *e)
{
    return e->pid > 0;
}

usec_t kube_exec_wake(const struct kube_exec *e)
{
    return e->pid > 0 ? e->deadline : INT64_MAX;
}

/* ---- start */

static bool is_overridden(const struct exec_plugin *p, const char *entry)
{
    size_t len = strcspn(entry, "=");

    for (size_t i = 0; i < p->env.n; i++)
        if (!strncmp(p->env.v[i], entry, len) && p->env.v[i][len] == '=')
            return true;
    return false;
}

/* Our environment with that of the plugin; the texts are borrowed, the caller frees the array. */
static char **make_env(const struct exec_plugin *p)
{
    VEC(char *) env = {0};

    for (char **v = environ; *v; v++)
        if (!is_overridden(p, *v))
            *vec_push(&env) = *v;
    for (size_t i = 0; i < p->env.n; i++)
        *vec_push(&env) = p->env.v[i];
    *vec_push(&env) = NULL;
    return env.v;
}

static char **make_args(const struct exec_plugin *p)
{
    VEC(char *) args = {0};

    *vec_push(&args) = p->command;
    for (size_t i = 0; i < p->args.n; i++)
        *vec_push(&args) = p->args.v[i];
    *vec_push(&args) = NULL;
    return args.v;
}

/* 0 or an errno. */
static int spawn(struct kube_exec *e, int out_fd, int err_fd)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    char **args = make_args(e->plugin), **env = make_env(e->plugin);
    sigset_t none, all;
    int rc;

    (void)sigemptyset(&none); /* these cannot fail */
    (void)sigfillset(&all);
    rc = posix_spawn_file_actions_init(&files);
    if (!rc)
        rc = posix_spawnattr_init(&attr);
    if (rc)
        abort(); /* out of memory */
    rc = posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    rc = rc ? rc : posix_spawn_file_actions_adddup2(&files, out_fd, STDOUT_FILENO);
    rc = rc ? rc : posix_spawn_file_actions_adddup2(&files, err_fd, STDERR_FILENO);
    rc = rc ? rc : posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
    rc = rc ? rc : posix_spawnattr_setsigmask(&attr, &none);
    rc = rc ? rc : posix_spawnattr_setsigdefault(&attr, &all);
    rc = rc ? rc
            : posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                                  POSIX_SPAWN_SETPGROUP);
    rc = rc ? rc : posix_spawnp(&e->pid, e->plugin->command, &files, &attr, args, env);
    (void)posix_spawn_file_actions_destroy(&files); /* cannot fail */
    (void)posix_spawnattr_destroy(&attr);
    free(args);
    free(env);
    return rc;
}

static int wait_for(struct kube_exec *e, int fd)
{
    struct epoll_event ev = {.events = EPOLLIN, .data.fd = fd};

    return fd < 0 ? -1 : epoll_ctl(e->epoll_fd, EPOLL_CTL_ADD, fd, &ev);
}

/* A pipe whose reading end does not block. */
static int open_pipe(int *ret_read, int *ret_write)
{
    int fds[2];

    if (pipe2(fds, O_CLOEXEC))
        return -1;
    *ret_read = fds[0];
    *ret_write = fds[1];
    return fcntl(fds[0], F_SETFL, O_NONBLOCK);
}

static int fail_start(const struct kube_exec *e, int error, struct err *err)
{
    const char *hint = e->plugin->hint;

    return err_set(err, ERR_NOT_FOUND, "credential plugin %.80s cannot be run: %s; %.200s",
                   e->plugin->command, strerror(error),
                   hint ? hint : "install it, or correct exec.command of the kubeconfig");
}

int kube_exec_start(struct kube_exec *e, usec_t now, struct err *err)
{
    int out_fd = -1, err_fd = -1, error = 0;

    if (!reap(e))
        return err_set(err, ERR_UNAVAILABLE,
                       "credential plugin %.80s was killed and does not end; look at process %d",
                       e->plugin->command, (int)e->gone);
    if (open_pipe(&e->out_fd, &out_fd) || open_pipe(&e->err_fd, &err_fd))
        error = errno;
    else
        error = spawn(e, out_fd, err_fd);
    close_fd(&out_fd);
    close_fd(&err_fd);
    if (error) {
        clear(e);
        return fail_start(e, error, err);
    }
    e->pid_fd = pidfd_open(e->pid, 0);
    if (wait_for(e, e->pid_fd) || wait_for(e, e->out_fd) || wait_for(e, e->err_fd)) {
        error = errno;
        kill_child(e);
        clear(e);
        return fail_start(e, error, err);
    }
    e->deadline = now + EXEC_TIMEOUT_US;
    return 0;
}

/* ---- the run */

static void take_out(struct kube_exec *e, const char *p, size_t n)
{
    size_t at = e->out.len;

    str_add_bytes(&e->out, p, n);
    for (; at < e->out.len; at++)
        if (!e->out.s[at])
            e->out.s[at] = ' '; /* what follows must stay known, too */
}

static void take_said(struct kube_exec *e, const char *p, size_t n)
{
    size_t room = SAID_BYTES_MAX - e->said.len;

    e->said_bytes += n;
    str_add_bytes(&e->said, p, n < room ? n : room);
}

/* What is in a pipe now, up to a bound; closed at its end. */
static void read_pipe(struct kube_exec *e, int *fd,
                      void (*take)(struct kube_exec *e, const char *p, size_t n))
{
    char buf[READ_BYTES];

    for (int i = 0; i < READS_AT_ONCE && *fd >= 0; i++) {
        ssize_t n = read(*fd, buf, sizeof(buf));

        if (n > 0)
            take(e, buf, (size_t)n);
        else if (!n || (errno != EAGAIN && errno != EINTR))
            close_fd(fd);
        if (n < (ssize_t)sizeof(buf))
            break;
    }
    explicit_bzero(buf, sizeof(buf));
}

/* The error with what the plugin said itself, as far as it may be shown. */
static enum exec_result fail(struct kube_exec *e, const char *fault, struct err *err)
{
    const struct kube_words *env = &e->plugin->env;
    const char *known[] = {e->config->token, e->config->key, e->config->cert};
    const char **hide = xcalloc(env->n + ARRAY_LEN(known) + 2, sizeof(*hide));
    size_t n = 0;
    char *said;

    hide[n++] = str_text(&e->out);
    for (size_t i = 0; i < env->n; i++)
        if (strncmp(env->v[i], EXEC_INFO "=", strlen(EXEC_INFO "=")) != 0)
            hide[n++] = strchr(env->v[i], '=') + 1;
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (known[i])
            hide[n++] = known[i];
    said = exec_redact(str_text(&e->said), hide);
    (void)err_set(err, ERR_UNAVAILABLE, "credential plugin %.80s %s%s%.*s%s", e->plugin->command,
                  fault, said[0] ? "; it says '" : "", SAID_SHOWN, said, said[0] ? "'" : "");
    free(said);
    free(hide);
    clear(e);
    return EXEC_FAILED;
}

/* status: of waitpid(). */
static enum exec_result ended(struct kube_exec *e, int status, usec_t wall, struct exec_answer *ret,
                              struct err *err)
{
    struct err why = {0};
    char fault[128];

    if (WIFSIGNALED(status)) {
        (void)snprintf(fault, sizeof(fault), "was ended by signal %d (%s)", WTERMSIG(status),
                       strsignal(WTERMSIG(status)));
        return fail(e, fault, err);
    }
    if (WEXITSTATUS(status)) {
        (void)snprintf(fault, sizeof(fault), "ended with exit code %d", WEXITSTATUS(status));
        return fail(e, fault, err);
    }
    if (exec_answer_read(str_text(&e->out), e->plugin->api_version, wall, ret, &why))
        return fail(e, why.text, err);
    clear(e);
    return EXEC_ANSWERED;
}

enum exec_result kube_exec_poll(struct kube_exec *e, const struct exec_now *now,
                                struct exec_answer *ret, struct err *err)
{
    int status = 0;
    const char *fault;
    pid_t pid;

    if (e->pid <= 0)
        return EXEC_RUNNING;
    pid = waitpid(e->pid, &status, WNOHANG); /* before the reading: then all it wrote is there */
    if (pid)
        e->pid = 0; /* from here on the number may be another's */
    read_pipe(e, &e->out_fd, take_out);
    read_pipe(e, &e->err_fd, take_said);
    if (e->out.len > OUT_BYTES_MAX || e->said_bytes > OUT_BYTES_MAX)
        fault = "wrote more than 1 MiB";
    else if (pid > 0)
        return ended(e, status, now->wall, ret, err);
    else if (pid < 0)
        fault = "cannot be waited for";
    else if (now->mono >= e->deadline)
        fault = "gave no answer within 30 s";
    else
        return EXEC_RUNNING;
    kill_child(e);
    return fail(e, fault, err);
}
