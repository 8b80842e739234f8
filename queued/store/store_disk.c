/* SPDX-License-Identifier: Apache-2.0 */
/* store_disk.c - lock file, kind of file system, ballast, free space. */
#include "store/store_disk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "util/log.h"
#include "util/mem.h"

#define RESERVE_BYTES_MAX (UINT64_C(64) << 20)

enum { RESERVE_DISK_PARTS = 20 }; /* and never more than this part of a small disk */

const char *store_disk_refuses(unsigned long statfs_type)
{
    static const struct {
        unsigned long type;
        const char *name;
    } rows[] = {
        {0x6969, "NFS"},      {0x517b, "SMB"},        {0xfe534d42, "SMB2"},  {0xff534d42, "CIFS"},
        {0x65735546, "FUSE"}, {0x01021997, "9P"},     {0x00c36400, "Ceph"},  {0x0bd00bd0, "Lustre"},
        {0x5346414f, "AFS"},  {0x73757245, "Coda"},   {0x7461636f, "OCFS2"}, {0x01161970, "GFS2"},
        {0x47504653, "GPFS"}, {0x19830326, "BeeGFS"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (rows[i].type == (statfs_type & 0xffffffff))
            return rows[i].name;
    return NULL;
}

static enum err_code code_of(int error)
{
    if (error == ENOSPC || error == EDQUOT)
        return ERR_EXHAUSTED;
    if (error == EACCES || error == EPERM || error == EROFS)
        return ERR_DENIED;
    return ERR_UNAVAILABLE;
}

static const char *remedy_of(int error)
{
    if (error == ENOSPC || error == EDQUOT)
        return "make room on its disk";
    if (error == EROFS)
        return "mount it writable";
    if (error == EACCES || error == EPERM)
        return "give the directory to the daemon's user";
    if (error == ENOENT)
        return "make its parent directory";
    return "check the directory and its disk";
}

static int fail(const char *dir, const char *step, int error, struct err *err)
{
    return err_set(err, code_of(error), "store %s: %s: %s; %s", dir, step, strerror(error),
                   remedy_of(error));
}

static int check_kind(const char *dir, struct err *err)
{
    struct statfs fs;
    const char *kind;

    if (statfs(dir, &fs) < 0)
        return fail(dir, "look at its file system", errno, err);
    kind = store_disk_refuses((unsigned long)fs.f_type);
    if (kind)
        return err_set(err, ERR_DENIED,
                       "store %s is on %s, whose locks and mappings cannot be trusted; use a "
                       "directory on a local disk",
                       dir, kind);
    return 0;
}

/* Who holds the lock, by what the file says; 0 unknown. */
static long lock_holder(int fd)
{
    char text[32] = "";
    ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

    return n > 0 ? strtol(text, NULL, 10) : 0;
}

static int take_lock(struct store_disk *d, struct err *err)
{
    char *path = xasprintf("%s/lock", d->dir);
    char pid[32];
    int n;

    d->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    free(path);
    if (d->lock_fd < 0)
        return fail(d->dir, "open its lock file", errno, err);
    if (flock(d->lock_fd, LOCK_EX | LOCK_NB) < 0) {
        if (errno != EWOULDBLOCK)
            return fail(d->dir, "lock", errno, err);
        return err_set(err, ERR_UNAVAILABLE,
                       "store %s is in use by another daemon (pid %ld): stop that one, or give "
                       "this one a store of its own",
                       d->dir, lock_holder(d->lock_fd));
    }
    n = snprintf(pid, sizeof(pid), "%ld\n", (long)getpid());
    /* The pid is only for people; on a full disk the lock holds without it. */
    if (ftruncate(d->lock_fd, 0) < 0 || pwrite(d->lock_fd, pid, (size_t)n, 0) < 0)
        log_warn("pid not written to the lock file", "store=%s err=\"%s\"", d->dir,
                 strerror(errno));
    return 0;
}

static void measure(struct store_disk *d)
{
    struct statvfs fs;
    uint64_t part;

    d->reserve_bytes = RESERVE_BYTES_MAX;
    if (statvfs(d->dir, &fs) < 0)
        return;
    part = (uint64_t)fs.f_blocks * fs.f_frsize / RESERVE_DISK_PARTS;
    if (part < d->reserve_bytes)
        d->reserve_bytes = part;
}

int store_disk_open(struct store_disk *d, const char *dir, struct err *err)
{
    *d = (struct store_disk){.dir = xstrdup(dir), .lock_fd = -1};
    if (mkdir(dir, 0700) < 0 && errno != EEXIST) {
        (void)fail(dir, "make the directory", errno, err);
        goto fail;
    }
    if (check_kind(dir, err) < 0 || take_lock(d, err) < 0)
        goto fail;
    measure(d);
    return 0;
fail:
    store_disk_close(d);
    return -1;
}

void store_disk_close(struct store_disk *d)
{
    if (d->lock_fd >= 0)
        (void)close(d->lock_fd); /* nothing is buffered in it */
    d->lock_fd = -1;
    free(d->dir);
    d->dir = NULL;
}

/* ---- ballast and free space */

static char *ballast_path(const struct store_disk *d)
{
    return xasprintf("%s/ballast", d->dir);
}

/* UINT64_MAX: unknown, which must not stop submissions. */
static uint64_t free_bytes(const struct store_disk *d)
{
    struct statvfs fs;

    if (statvfs(d->dir, &fs) < 0)
        return UINT64_MAX;
    return (uint64_t)fs.f_bavail * fs.f_frsize;
}

static bool has_whole_ballast(const struct store_disk *d, const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && (uint64_t)st.st_size >= d->reserve_bytes &&
           (uint64_t)st.st_blocks * 512 >= d->reserve_bytes;
}

void store_disk_fill(struct store_disk *d)
{
    char *path = ballast_path(d);
    int fd = -1;

    d->has_ballast = has_whole_ballast(d, path);
    if (d->has_ballast || free_bytes(d) < 2 * d->reserve_bytes)
        goto out;
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0 && posix_fallocate(fd, 0, (off_t)d->reserve_bytes) == 0)
        d->has_ballast = true;
    else
        (void)unlink(path); /* half a ballast only takes room */
out:
    if (fd >= 0)
        (void)close(fd); /* its content does not matter */
    free(path);
}

static void release(struct store_disk *d)
{
    char *path = ballast_path(d);

    if (unlink(path) == 0)
        log_warn("ballast released, submissions are refused until there is room again",
                 "store=%s bytes=%llu", d->dir, (unsigned long long)d->reserve_bytes);
    d->has_ballast = false;
    free(path);
}

bool store_disk_is_low(struct store_disk *d, bool is_map_low)
{
    uint64_t room = free_bytes(d);
    uint64_t enough = d->reserve_bytes + d->reserve_bytes / 2;

    if (!d->is_low && (is_map_low || room < d->reserve_bytes)) {
        d->is_low = true;
        release(d);
    } else if (d->is_low && !is_map_low &&
               room >= enough + (d->has_ballast ? 0 : d->reserve_bytes)) {
        d->is_low = false;
        store_disk_fill(d);
    }
    return d->is_low;
}

static int sync_directory(const char *store, const char *path, struct err *err)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = 0;

    if (fd < 0 && errno == EACCES)
        return 0; /* a parent that we may not read; whoever made the store's directory syncs it */
    if (fd < 0)
        return fail(store, "open a directory", errno, err);
    if (fsync(fd) < 0)
        rc = fail(store, "flush its directory", errno, err);
    (void)close(fd); /* nothing was written through it */
    return rc;
}

int store_disk_sync(const struct store_disk *d, struct err *err)
{
    char *parent = xasprintf("%s/..", d->dir);
    int rc = sync_directory(d->dir, d->dir, err);

    if (rc == 0)
        rc = sync_directory(d->dir, parent, err);
    free(parent);
    return rc;
}
