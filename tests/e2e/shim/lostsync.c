/* SPDX-License-Identifier: Apache-2.0 */
/* lostsync.c - preloaded into the daemon: remembers what a power failure would take from data.mdb.
 *
 * kill -9 loses no page that was written, so it cannot tell a store that syncs from one that does
 * not. Here each write to data.mdb first puts the old bytes into undo.log beside it, and a sync
 * empties that log; after a kill the test plays the log back. QUEUED_SHIM_NOSYNC=1 also opens the
 * store with MDB_NOSYNC: the broken build that the test must catch. What was there at the start
 * counts as synced. Sees no writes through a writable map (MDB_WRITEMAP). Only for tests; one
 * thread writes.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { NOSYNC = 0x10000, RDONLY = 0x20000, CHUNK = 65536 }; /* flags as in lmdb.h */

/* The log holds these, each followed by length old bytes, in the order of the writes. */
struct undo_head {
    uint64_t offset;
    uint64_t length;
};

/* liblmdb's functions and struct, without its header: the shim needs no more of it. */
struct MDB_env;
int mdb_env_open(struct MDB_env *env, const char *path, unsigned flags, mode_t mode);
int mdb_env_sync(struct MDB_env *env, int force);

static void give_up(const char *what)
{
    fprintf(stderr, "lostsync: %s: %s\n", what, strerror(errno));
    abort();
}

/* Write the real function's address to the function pointer at ret. */
static void find(void *ret, const char *name)
{
    void *f = dlsym(RTLD_NEXT, name);

    if (!f)
        give_up(name);
    memcpy(ret, &f, sizeof(f));
}

/* Whether fd is a data.mdb; writes the path of its log then. */
static bool log_path(int fd, char path[PATH_MAX + 16])
{
    char link[64], name[PATH_MAX];
    ssize_t n;
    char *slash;

    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    n = readlink(link, name, sizeof(name) - 1);
    if (n <= 0)
        return false;
    name[n] = '\0';
    slash = strrchr(name, '/');
    if (!slash || strcmp(slash, "/data.mdb") != 0)
        return false;
    *slash = '\0';
    (void)snprintf(path, PATH_MAX + 16, "%s/undo.log", name);
    return true;
}

static void append(int log, const void *bytes, size_t length)
{
    if (write(log, bytes, length) != (ssize_t)length)
        give_up("undo.log");
}

/* Save what [offset, offset + length) of fd holds now; zeros behind the end of the file. */
static void save_old(int fd, uint64_t offset, uint64_t length)
{
    static char old[CHUNK];
    char path[PATH_MAX + 16];
    struct undo_head head = {.offset = offset, .length = length};
    int log;

    if (!log_path(fd, path) || (fcntl(fd, F_GETFL) & O_DSYNC))
        return; /* not ours, or durable when it returns */
    log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (log < 0)
        give_up(path);
    append(log, &head, sizeof(head));
    while (length > 0) {
        size_t part = length < CHUNK ? (size_t)length : CHUNK;

        memset(old, 0, part);
        if (pread(fd, old, part, (off_t)offset) < 0)
            give_up("read data.mdb");
        append(log, old, part);
        offset += part;
        length -= part;
    }
    close(log);
}

static void forget_old(int fd)
{
    char path[PATH_MAX + 16];

    if (log_path(fd, path) && truncate(path, 0) < 0 && errno != ENOENT)
        give_up(path);
}

static uint64_t total(const struct iovec *iov, int count)
{
    uint64_t sum = 0;

    for (int i = 0; i < count; i++)
        sum += iov[i].iov_len;
    return sum;
}

ssize_t pwrite(int fd, const void *buf, size_t n, off_t offset)
{
    ssize_t (*real)(int, const void *, size_t, off_t);

    find(&real, "pwrite");
    save_old(fd, (uint64_t)offset, n);
    return real(fd, buf, n, offset);
}

ssize_t pwrite64(int fd, const void *buf, size_t n, off64_t offset)
{
    return pwrite(fd, buf, n, offset);
}

ssize_t pwritev(int fd, const struct iovec *iov, int count, off_t offset)
{
    ssize_t (*real)(int, const struct iovec *, int, off_t);

    find(&real, "pwritev");
    save_old(fd, (uint64_t)offset, total(iov, count));
    return real(fd, iov, count, offset);
}

ssize_t writev(int fd, const struct iovec *iov, int count)
{
    ssize_t (*real)(int, const struct iovec *, int);
    off_t at = lseek(fd, 0, SEEK_CUR);

    find(&real, "writev");
    if (at >= 0)
        save_old(fd, (uint64_t)at, total(iov, count));
    return real(fd, iov, count);
}

int fdatasync(int fd)
{
    int (*real)(int);

    find(&real, "fdatasync");
    if (real(fd) < 0)
        return -1;
    forget_old(fd);
    return 0;
}

int fsync(int fd)
{
    int (*real)(int);

    find(&real, "fsync");
    if (real(fd) < 0)
        return -1;
    forget_old(fd);
    return 0;
}

int mdb_env_open(struct MDB_env *env, const char *path, unsigned flags, mode_t mode)
{
    int (*real)(struct MDB_env *, const char *, unsigned, mode_t);
    int rc;

    find(&real, "mdb_env_open");
    if (getenv("QUEUED_SHIM_NOSYNC"))
        flags |= NOSYNC;
    rc = real(env, path, flags, mode);
    return rc || (flags & RDONLY) ? rc : mdb_env_sync(env, 1);
}
