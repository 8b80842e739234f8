/* SPDX-License-Identifier: Apache-2.0 */
/* store_dir.c - directories, damage and kills for tests of the real store. */
#include "store_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "util/mem.h"

int store_dir_setup(void **state)
{
    struct store_dir *e = calloc(1, sizeof(*e));

    store_fixture_init(&e->fix);
    (void)snprintf(e->base, sizeof(e->base), "%s/queued-store.XXXXXX",
                   getenv("TMPDIR") && strlen(getenv("TMPDIR")) < 30 ? getenv("TMPDIR") : "/tmp");
    assert_non_null(mkdtemp(e->base));
    (void)snprintf(e->dir, sizeof(e->dir), "%s/store", e->base);
    *state = e;
    return 0;
}

static void remove_file(const char *dir, const char *name)
{
    char path[200];

    (void)snprintf(path, sizeof(path), "%s/%s", dir, name);
    (void)unlink(path);
}

int store_dir_teardown(void **state)
{
    static const char *const names[] = {"data.mdb", "lock.mdb", "lock", "ballast", "dump"};
    struct store_dir *e = *state;

    (void)umount2(e->base, MNT_DETACH); /* of a test that failed half way */
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        remove_file(e->dir, names[i]);
        remove_file(e->base, names[i]);
    }
    (void)rmdir(e->dir);
    assert_int_equal(rmdir(e->base), 0);
    store_fixture_fini(&e->fix);
    free(e);
    return 0;
}

struct store_lmdb *store_dir_open(const struct store_dir *e)
{
    struct store_lmdb *s = NULL;
    struct err err = {0};

    if (store_lmdb_open(&s, e->dir, &err) < 0)
        fail_msg("%s", err.text);
    return s;
}

void store_dir_commit(struct store_dir *e, struct store_lmdb *s)
{
    struct store_port port = store_lmdb_port(s);
    struct err err = {0};

    if (port.commit_begin(port.ctx, e->fix.state, &e->fix.fx, &err) < 0)
        fail_msg("%s", err.text);
    assert_true(port.is_acked(port.ctx));
    effects_clear(&e->fix.fx);
}

size_t store_dir_jobs(struct store_dir *e, struct store_lmdb *s)
{
    struct store_port port = store_lmdb_port(s);
    struct state *state = store_fixture_empty(&e->fix);
    struct err err = {0};
    size_t n;

    if (port.load(port.ctx, state, &err) < 0)
        fail_msg("%s", err.text);
    n = state->by_id.n;
    state_destroy(state);
    return n;
}

void store_dir_fill(struct store_dir *e, uint32_t n)
{
    struct store_lmdb *s = store_dir_open(e);

    for (uint32_t i = 1; i <= n; i++)
        store_fixture_submit(&e->fix, i);
    store_dir_commit(e, s);
    store_lmdb_close(s);
}

off_t store_dir_bytes(const struct store_dir *e)
{
    char path[128];
    struct stat st;

    (void)snprintf(path, sizeof(path), "%s/data.mdb", e->dir);
    assert_int_equal(stat(path, &st), 0);
    return st.st_size;
}

int store_dir_in_child(int (*fn)(struct store_dir *e), struct store_dir *e)
{
    pid_t pid = fork();
    int status = -1;

    if (pid == 0)
        _exit(fn(e));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

void store_dir_change(const struct store_dir *e, off_t at, const void *p, size_t len)
{
    char path[128];
    int fd;

    (void)snprintf(path, sizeof(path), "%s/data.mdb", e->dir);
    fd = open(path, O_RDWR);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, p, len, at), len);
    (void)close(fd);
}

void store_dir_damage_job(const struct store_dir *e, const char *name)
{
    size_t size = (size_t)store_dir_bytes(e), len = strlen(name), n = 0;
    char *bytes = malloc(size), path[128];
    int fd;

    (void)snprintf(path, sizeof(path), "%s/data.mdb", e->dir);
    fd = open(path, O_RDONLY);
    assert_int_equal(read(fd, bytes, size), size);
    (void)close(fd);
    for (size_t at = 0; at + len < size; at++) {
        if (memcmp(bytes + at, name, len) == 0) {
            store_dir_change(e, (off_t)at, "X", 1);
            n++;
        }
    }
    free(bytes);
    assert_true(n > 0);
}

/* Commit jobs one by one and tell the number of each after its commit. */
static void commit_and_tell(struct store_dir *e, int out)
{
    struct store_lmdb *s = store_dir_open(e);
    uint32_t n = (uint32_t)store_dir_jobs(e, s);

    for (;;) {
        store_fixture_submit(&e->fix, ++n);
        store_dir_commit(e, s);
        if (write(out, &n, sizeof(n)) != sizeof(n))
            _exit(1);
    }
}

uint32_t store_dir_kill(struct store_dir *e, bool wait_first, useconds_t us, uint32_t told)
{
    int fds[2], status;
    uint32_t n;
    pid_t pid;

    assert_int_equal(pipe(fds), 0);
    pid = fork();
    if (pid == 0) {
        (void)close(fds[0]);
        commit_and_tell(e, fds[1]);
    }
    (void)close(fds[1]);
    if (wait_first && read(fds[0], &n, sizeof(n)) == sizeof(n))
        told = n;
    (void)usleep(us);
    (void)kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    while (read(fds[0], &n, sizeof(n)) == sizeof(n))
        told = n;
    (void)close(fds[0]);
    return told;
}
