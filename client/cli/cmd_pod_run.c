/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_pod_run.c - queuectl pod-run: run a program in a pod, and tell it to save when it is asked.
 *
 * The first process of the container. A request is a file that the kubelet fills; each new one
 * becomes checkpoint.signal, where the pod is one that gets it. The SIGTERM that follows is kept
 * from the program, which is saving; without a request, or when it came early (beforeEnd), it is
 * passed on, as other signals are. It never talks to the daemon.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"
#include "util/mem.h"
#include "util/signals.h"

enum { EXIT_NOT_EXECUTABLE = 126, EXIT_NO_PROGRAM = 127, EXIT_BY_SIGNAL = 128 };

static const int passed_on[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH};

struct pod_run {
    pid_t child;
    int signal;       /* 0: the job asks for none, or another pod */
    const char *file; /* where the request comes; NULL: nowhere */
    char last[64];    /* the request before; "" none */
    bool is_saving;   /* and will be stopped */
};

static void look_for_request(struct pod_run *r)
{
    char now[sizeof(r->last)] = "";
    FILE *f = r->file ? fopen(r->file, "re") : NULL;
    size_t len = f ? fread(now, 1, sizeof(now) - 1, f) : 0;

    if (f)
        (void)fclose(f);
    now[strcspn(now, "\n")] = '\0';
    if (!len || !strcmp(now, r->last))
        return;
    memcpy(r->last, now, sizeof(now));
    r->is_saving = !strstr(now, " early");
    if (!r->signal)
        return;
    cli_note("a checkpoint is asked for: sending %s", strsignal(r->signal));
    (void)kill(r->child, r->signal);
}

/* Reap all that has ended, as the first process has to. True: the program has, with this status. */
static bool reap(const struct pod_run *r, int *ret_status)
{
    bool has_ended = false;
    int status;

    for (pid_t pid = waitpid(-1, &status, WNOHANG); pid > 0; pid = waitpid(-1, &status, WNOHANG)) {
        if (pid != r->child)
            continue;
        *ret_status = status;
        has_ended = true;
    }
    return has_ended;
}

static int attend(struct pod_run *r, const sigset_t *watched)
{
    const struct timespec pause = {.tv_nsec = 500000000};
    int status;

    for (;;) {
        int got = sigtimedwait(watched, NULL, &pause);

        look_for_request(r);
        if (got > 0 && got != SIGCHLD && !(got == SIGTERM && r->is_saving))
            (void)kill(r->child, got);
        if (reap(r, &status))
            return WIFSIGNALED(status) ? EXIT_BY_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
    }
}

static int start(struct pod_run *r, char **argv, const sigset_t *before)
{
    r->child = fork();
    if (r->child < 0) {
        cli_note("cannot start a process: %s", strerror(errno));
        return -1;
    }
    if (r->child > 0)
        return 0;
    (void)sigprocmask(SIG_SETMASK, before, NULL);
    (void)execvp(argv[0], argv);
    cli_note("cannot run %s: %s", argv[0], strerror(errno));
    _exit(errno == ENOENT ? EXIT_NO_PROGRAM : EXIT_NOT_EXECUTABLE);
}

int cmd_pod_run(int argc, char **argv)
{
    const char *name = getenv("QUEUED_CHECKPOINT_SIGNAL");
    struct pod_run r = {.file = getenv("QUEUED_CHECKPOINT_FILE")};
    sigset_t watched, before;
    int at = 1;

    if (argc > 1 && (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help")))
        return cmd_help(2, (char *[]){argv[0], "pod-run", NULL});
    if (argc > 1 && !strcmp(argv[1], "--"))
        at++;
    else if (argc > 1 && argv[1][0] == '-')
        return cli_usage("pod-run: unknown option %s; write queuectl pod-run -- PROGRAM", argv[1]);
    if (at >= argc)
        return cli_usage("pod-run: no program; write queuectl pod-run -- PROGRAM [ARGUMENT...]");
    if (name) {
        r.signal = signal_of(name);
        if (!r.signal)
            return cli_usage("pod-run: QUEUED_CHECKPOINT_SIGNAL %s is none of " SIGNAL_NAMES, name);
    }
    (void)sigemptyset(&watched);
    (void)sigaddset(&watched, SIGCHLD);
    for (size_t i = 0; i < ARRAY_LEN(passed_on); i++)
        (void)sigaddset(&watched, passed_on[i]);
    (void)sigprocmask(SIG_BLOCK, &watched, &before);
    (void)signal(SIGCHLD, SIG_DFL); /* ignored by whoever began us, the end would not be told */
    if (start(&r, &argv[at], &before))
        return EXIT_FAILED;
    return attend(&r, &watched);
}
