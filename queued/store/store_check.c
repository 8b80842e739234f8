/* SPDX-License-Identifier: Apache-2.0 */
/* store_check.c - the disposable reader: every table, every value, and the list of free pages. */
#include "store/store_check.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/store_env.h"
#include "util/crc32c.h"
#include "util/log.h"
#include "util/mem.h"

struct scan {
    enum store_table table;
    uint64_t n, n_damaged;
    uint32_t sum; /* keeps the reading of unchecked bytes */
};

static bool scan_record(void *arg, struct store_bytes key, struct store_bytes value)
{
    struct scan *s = arg;

    s->n++;
    if (s->table == STORE_QUARANTINE)
        s->sum = crc32c(s->sum, value.p, value.len);
    else if (store_record_check(s->table, key, value, NULL) < 0)
        s->n_damaged++;
    return true;
}

static int scan_table(const struct store_env *e, MDB_txn *txn, enum store_table t,
                      uint64_t *ret_bad, struct err *err)
{
    struct scan s = {.table = t};
    MDB_stat st;
    int rc;

    if (!e->has[t])
        return 0;
    rc = mdb_stat(txn, e->dbi[t], &st);
    if (rc == 0)
        rc = store_env_walk(txn, e->dbi[t], NULL, scan_record, &s);
    if (rc)
        return store_env_fail(e->dir, store_table_name(t), rc, err);
    if (s.n != st.ms_entries)
        return err_set(err, ERR_INVALID, "table %s has %zu records and %llu are found",
                       store_table_name(t), st.ms_entries, (unsigned long long)s.n);
    *ret_bad += s.n_damaged;
    return 0;
}

static bool scan_free(void *arg, struct store_bytes key, struct store_bytes value)
{
    uint32_t *sum = arg;

    (void)key;
    *sum = crc32c(*sum, value.p, value.len);
    return true;
}

/* A file may end before its last page when that page is free; then nothing is lost. */
static int check_length(const struct store_env *e, uint64_t n_damaged, struct err *err)
{
    char *path = xasprintf("%s/data.mdb", e->dir);
    uint64_t want = store_env_file_bytes(e);
    struct stat st = {0};

    if (stat(path, &st) < 0)
        return err_set(err, ERR_UNAVAILABLE, "%s: %s", path, strerror(errno));
    if (n_damaged && (uint64_t)st.st_size < want)
        return err_set(err, ERR_INVALID, "data.mdb has %lld of %llu bytes and %llu damaged records",
                       (long long)st.st_size, (unsigned long long)want,
                       (unsigned long long)n_damaged);
    return 0; /* the child ends: its memory goes with it */
}

static int check_env(const struct store_env *e, struct err *err)
{
    MDB_txn *txn;
    uint32_t sum = 0;
    uint64_t n_damaged = 0;
    int rc;

    if (store_env_begin(e, false, &txn, err) < 0)
        return -1;
    for (int t = 0; t < STORE_TABLES; t++)
        if (scan_table(e, txn, (enum store_table)t, &n_damaged, err) < 0)
            return -1;
    rc = store_env_walk(txn, 0, NULL, scan_free, &sum);
    if (rc)
        return store_env_fail(e->dir, "read the list of free pages", rc, err);
    mdb_txn_abort(txn);
    return check_length(e, n_damaged, err);
}

_Noreturn static void run_child(const char *dir, size_t map_bytes, int lock_fd, int out)
{
    const struct rlimit no_core = {0, 0};
    struct store_env e;
    struct err err = {.code = ERR_OK};
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

    (void)close(lock_fd);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* without it the child only ends later */
    (void)setrlimit(RLIMIT_CORE, &no_core);
    (void)signal(SIGSEGV, SIG_DFL); /* a handler of ours has nothing to say here */
    (void)signal(SIGBUS, SIG_DFL);
    (void)signal(SIGABRT, SIG_DFL);
    if (null >= 0)
        (void)dup2(null, STDERR_FILENO); /* LMDB's own assertions would only confuse */
    if (store_env_open(&e, dir, false, map_bytes, &err) == 0)
        (void)check_env(&e, &err); /* err tells */
    _exit(write(out, &err, sizeof(err)) == sizeof(err) ? 0 : 1);
}

/* The child's verdict; false: it ended without one. */
static bool read_verdict(int fd, struct err *ret)
{
    size_t got = 0;
    ssize_t n = 1;

    while (got < sizeof(*ret) && n != 0) {
        n = read(fd, (char *)ret + got, sizeof(*ret) - got);
        if (n < 0 && errno != EINTR)
            break;
        if (n > 0)
            got += (size_t)n;
    }
    ret->text[sizeof(ret->text) - 1] = '\0';
    return got == sizeof(*ret);
}

static int explain(const char *dir, const struct err *said, struct err *err)
{
    if (said->code == ERR_OK)
        return 0;
    if (said->code != ERR_INVALID)
        return err_set(err, said->code, "%s", said->text);
    return err_set(err, ERR_INVALID, "store %s is damaged: %.300s; restore a backup", dir,
                   said->text);
}

static int explain_end(const char *dir, pid_t pid, struct err *err)
{
    int status = 0;

    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    if (WIFSIGNALED(status))
        return err_set(err, ERR_INVALID,
                       "store %s is damaged: reading it ended with \"%s\"; restore a backup", dir,
                       strsignal(WTERMSIG(status)));
    return err_set(err, ERR_INVALID,
                   "store %s is damaged: reading it ended with status %d; restore a backup", dir,
                   WEXITSTATUS(status));
}

int store_check(const char *dir, size_t map_bytes, int lock_fd, struct err *err)
{
    struct err said = {.code = ERR_OK};
    bool has_verdict;
    int fds[2];
    pid_t pid;

    if (pipe2(fds, O_CLOEXEC) < 0)
        return err_set(err, ERR_UNAVAILABLE, "check store %s: pipe: %s", dir, strerror(errno));
    pid = fork();
    if (pid < 0) {
        (void)close(fds[0]);
        (void)close(fds[1]);
        return err_set(err, ERR_UNAVAILABLE, "check store %s: fork: %s", dir, strerror(errno));
    }
    if (pid == 0)
        run_child(dir, map_bytes, lock_fd, fds[1]);
    (void)close(fds[1]);
    has_verdict = read_verdict(fds[0], &said);
    (void)close(fds[0]);
    if (!has_verdict)
        return explain_end(dir, pid, err);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    return explain(dir, &said, err);
}
