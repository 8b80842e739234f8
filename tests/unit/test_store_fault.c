/* SPDX-License-Identifier: Apache-2.0 */
/* test_store_fault.c - each write and each flush of LMDB fails once; the store never lies.
 *
 * This program's own definitions of the calls stand before those of libc for liblmdb, too. The
 * n-th call of one kind fails in a child that commits jobs; afterwards all that was told is there,
 * and what is there is whole. n grows until nothing fails any more.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../fake/store_fixture.h"
#include "store/store_lmdb.h"

enum fault_call { ON_FDATASYNC, ON_FSYNC, ON_PWRITE, ON_WRITEV };

static struct {
    bool is_on;
    enum fault_call call;
    int left; /* calls until the one that fails */
    int error;
    bool has_fired;
} fault;

/* Does this call fail? */
static bool fails(enum fault_call call)
{
    if (!fault.is_on || fault.call != call || --fault.left != 0)
        return false;
    fault.has_fired = true;
    errno = fault.error;
    return true;
}

int fdatasync(int fd)
{
    return fails(ON_FDATASYNC) ? -1 : (int)syscall(SYS_fdatasync, fd);
}

int fsync(int fd)
{
    return fails(ON_FSYNC) ? -1 : (int)syscall(SYS_fsync, fd);
}

/* The pid in the lock file is only for people: its loss is borne. */
static bool is_data(int fd)
{
    char link[64], name[256] = "";

    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    return readlink(link, name, sizeof(name) - 1) > 0 && strstr(name, "/data.mdb");
}

ssize_t pwrite(int fd, const void *p, size_t n, off_t at)
{
    return is_data(fd) && fails(ON_PWRITE) ? -1 : (ssize_t)syscall(SYS_pwrite64, fd, p, n, at);
}

ssize_t pwrite64(int fd, const void *p, size_t n, off64_t at)
{
    return pwrite(fd, p, n, at);
}

ssize_t writev(int fd, const struct iovec *v, int n)
{
    return fails(ON_WRITEV) ? -1 : (ssize_t)syscall(SYS_writev, fd, v, n);
}

/* ---- one run in a child: exit status tells */

enum { RUN_COMPLETE = 10, RUN_FAILED = 11, RUN_REFUSED = 12 };
enum { COMMITS = 4 };

static uint32_t count_jobs(struct store_fixture *fix, struct store_lmdb *s)
{
    struct store_port port = store_lmdb_port(s);
    struct state *state = store_fixture_empty(fix);
    struct err err;
    uint32_t n = UINT32_MAX;

    if (port.load(port.ctx, state, &err) == 0)
        n = (uint32_t)state->by_id.n;
    state_destroy(state);
    return n;
}

static int commit_jobs(struct store_lmdb *s, int out)
{
    struct store_fixture fix;
    struct store_port port = store_lmdb_port(s);
    struct err err;

    store_fixture_init(&fix);
    for (uint32_t n = 1; n <= COMMITS; n++) {
        store_fixture_submit(&fix, n);
        if (port.commit_begin(port.ctx, fix.state, &fix.fx, &err) < 0)
            return RUN_FAILED; /* as the daemon: no answer, and the end */
        effects_clear(&fix.fx);
        if (write(out, &n, sizeof(n)) != sizeof(n))
            return 1;
    }
    return RUN_COMPLETE;
}

static int run(const char *dir, int out)
{
    struct store_lmdb *s = NULL;
    struct err err;

    if (store_lmdb_open(&s, dir, &err) < 0)
        return RUN_REFUSED;
    return commit_jobs(s, out); /* and no closing: the process ends */
}

/* Jobs in the store, by a child without faults; UINT32_MAX: it does not open. */
static int look(const char *dir)
{
    struct store_fixture fix;
    struct store_lmdb *s = NULL;
    struct err err;

    store_fixture_init(&fix);
    if (store_lmdb_open(&s, dir, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        return 255;
    }
    return (int)count_jobs(&fix, s);
}

static int child_status(pid_t pid)
{
    int status = -1;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void remove_store(const char *dir)
{
    static const char *const names[] = {"data.mdb", "lock.mdb", "lock", "ballast"};
    char path[160];

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
        (void)unlink(path);
    }
    (void)rmdir(dir);
}

/* Returns how the run with its n-th call failing ended. */
static int one_fault(const char *dir, enum fault_call call, int n, int error)
{
    int fds[2], status, jobs;
    uint32_t told = 0, number;
    pid_t pid;

    assert_int_equal(pipe(fds), 0);
    pid = fork();
    if (pid == 0) {
        fault.is_on = true;
        fault.call = call;
        fault.left = n;
        fault.error = error;
        status = run(dir, fds[1]);
        _exit(status == RUN_COMPLETE && fault.has_fired ? 2 : status);
    }
    (void)close(fds[1]);
    while (read(fds[0], &number, sizeof(number)) == sizeof(number))
        told = number;
    (void)close(fds[0]);
    status = child_status(pid);
    pid = fork();
    if (pid == 0)
        _exit(look(dir));
    jobs = child_status(pid);
    if (jobs < (int)told || jobs > (int)told + 1)
        fail_msg("call %d, number %d, error %d: %u told, %d stored", call, n, error, told, jobs);
    remove_store(dir);
    return status;
}

static void every_failing(enum fault_call call, int error)
{
    char base[] = "/tmp/queued-fault.XXXXXX";
    char dir[80];
    int n = 1, n_failed = 0, status;

    assert_non_null(mkdtemp(base));
    (void)snprintf(dir, sizeof(dir), "%s/store", base);
    do {
        status = one_fault(dir, call, n++, error);
        if (status != RUN_COMPLETE && status != RUN_FAILED && status != RUN_REFUSED)
            fail_msg("call %d, number %d: the run ended with %d", call, n - 1, status);
        n_failed += status != RUN_COMPLETE;
    } while (status != RUN_COMPLETE && n < 100);
    assert_int_equal(status, RUN_COMPLETE); /* the loop has come to its end */
    assert_true(n_failed > 0);
    assert_int_equal(rmdir(base), 0);
}

static void a_failing_flush_is_never_told_as_stored(void **state)
{
    (void)state;
    every_failing(ON_FDATASYNC, EIO);
}

static void a_failing_meta_write_is_never_told_as_stored(void **state)
{
    (void)state;
    every_failing(ON_PWRITE, EIO);
    every_failing(ON_PWRITE, ENOSPC);
}

static void a_failing_data_write_is_never_told_as_stored(void **state)
{
    (void)state;
    every_failing(ON_WRITEV, ENOSPC);
}

/* A store whose directory entry may be lost by a power cut is none. */
static void a_new_store_flushes_its_directory_and_the_parent(void **state)
{
    char base[] = "/tmp/queued-fault.XXXXXX";
    char dir[80];

    (void)state;
    assert_non_null(mkdtemp(base));
    (void)snprintf(dir, sizeof(dir), "%s/store", base);
    assert_int_equal(one_fault(dir, ON_FSYNC, 1, EIO), RUN_REFUSED);
    assert_int_equal(one_fault(dir, ON_FSYNC, 2, EIO), RUN_REFUSED);
    assert_int_equal(one_fault(dir, ON_FSYNC, 3, EIO), RUN_COMPLETE);
    assert_int_equal(rmdir(base), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failing_flush_is_never_told_as_stored),
        cmocka_unit_test(a_failing_meta_write_is_never_told_as_stored),
        cmocka_unit_test(a_failing_data_write_is_never_told_as_stored),
        cmocka_unit_test(a_new_store_flushes_its_directory_and_the_parent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
