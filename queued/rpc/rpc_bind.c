/* SPDX-License-Identifier: Apache-2.0 */
/* rpc_bind.c - checks on endpoints, the lock of an ipc path, the mode of its socket. */
#include "rpc/rpc_bind.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <zmq.h>

#include "util/mem.h"
#include "util/parse.h"

#define IPC "ipc://"

static int check_ipc(const char *endpoint, struct err *err)
{
    const char *path = endpoint + strlen(IPC);

    if (*path != '/')
        return err_set(err, ERR_INVALID,
                       "endpoint %s: a socket needs an absolute path, as ipc:///run/queued/"
                       "queued.sock",
                       endpoint);
    if (strlen(path) >= sizeof(((struct sockaddr_un *)0)->sun_path))
        return err_set(err, ERR_INVALID, "endpoint %s: a socket path has at most %zu characters",
                       endpoint, sizeof(((struct sockaddr_un *)0)->sun_path) - 1);
    return 0;
}

static int check_tcp(const char *endpoint, bool has_loopback_user, struct err *err)
{
    static const char *const hosts[] = {"tcp://127.0.0.1:", "tcp://[::1]:"};
    uint64_t port;

    if (!has_loopback_user)
        return err_set(err, ERR_INVALID,
                       "endpoint %s: TCP does not tell who calls: use ipc://, or name a user in "
                       "insecureLoopback for tests",
                       endpoint);
    for (size_t i = 0; i < ARRAY_LEN(hosts); i++) {
        size_t len = strlen(hosts[i]);

        if (strncmp(endpoint, hosts[i], len) == 0 &&
            parse_u64(endpoint + len, 1, 65535, &port, NULL) == 0)
            return 0;
    }
    return err_set(err, ERR_INVALID,
                   "endpoint %s: TCP is served on loopback only: tcp://127.0.0.1:PORT", endpoint);
}

int rpc_endpoint_check(const char *endpoint, bool has_loopback_user, struct err *err)
{
    if (strncmp(endpoint, IPC, strlen(IPC)) == 0)
        return check_ipc(endpoint, err);
    if (strncmp(endpoint, "tcp://", 6) == 0)
        return check_tcp(endpoint, has_loopback_user, err);
    return err_set(err, ERR_INVALID,
                   "endpoint %s: served are ipc:///PATH and, for tests, tcp://127.0.0.1:PORT",
                   endpoint);
}

/* Take PATH.lock for as long as we live. */
static int take_lock(const char *path, int *ret, struct err *err)
{
    char *name = xasprintf("%s.lock", path);
    int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    int rc = 0;

    if (fd < 0) {
        rc = err_set(err, ERR_UNAVAILABLE,
                     "endpoint ipc://%s: open %s: %s: make its directory and "
                     "let the daemon's user write there",
                     path, name, strerror(errno));
    } else if (flock(fd, LOCK_EX | LOCK_NB)) {
        rc = errno == EWOULDBLOCK
                 ? err_set(err, ERR_UNAVAILABLE,
                           "endpoint ipc://%s is served by another daemon "
                           "(it holds %s): stop that one, or set another path in listen.rpc",
                           path, name)
                 : err_set(err, ERR_UNAVAILABLE, "endpoint ipc://%s: lock %s: %s", path, name,
                           strerror(errno));
        (void)close(fd); /* nothing was written */
    } else {
        *ret = fd;
    }
    free(name);
    return rc;
}

/* Remove the socket of a daemon that is gone; anything else at that path is not ours. */
static int remove_stale(const char *path, struct err *err)
{
    struct stat st;

    if (lstat(path, &st))
        return errno == ENOENT
                   ? 0
                   : err_set(err, ERR_UNAVAILABLE, "endpoint ipc://%s: %s", path, strerror(errno));
    if (!S_ISSOCK(st.st_mode))
        return err_set(err, ERR_UNAVAILABLE,
                       "endpoint ipc://%s: a file is there that is no socket: move it away, or set "
                       "another path in listen.rpc",
                       path);
    if (unlink(path))
        return err_set(err, ERR_UNAVAILABLE, "endpoint ipc://%s: remove the old socket: %s", path,
                       strerror(errno));
    return 0;
}

static int bind_ipc(void *socket, const char *endpoint, int *ret_lock, struct err *err)
{
    const char *path = endpoint + strlen(IPC);
    int lock = -1, rc;
    mode_t old;

    if (take_lock(path, &lock, err))
        return -1;
    if (remove_stale(path, err)) {
        (void)close(lock); /* gives the lock back */
        return -1;
    }
    old = umask(0117); /* 0660: owner and group connect */
    rc = zmq_bind(socket, endpoint);
    (void)umask(old);
    if (rc) {
        err_set(err, ERR_UNAVAILABLE,
                "endpoint %s: %s: check that the directory exists and can be "
                "written",
                endpoint, zmq_strerror(zmq_errno()));
        (void)close(lock); /* gives the lock back */
        return -1;
    }
    *ret_lock = lock;
    return 0;
}

int rpc_endpoint_bind(void *socket, const char *endpoint, bool has_loopback_user, int *ret_lock,
                      struct err *err)
{
    int v6 = strncmp(endpoint, "tcp://[", 7) == 0;

    if (rpc_endpoint_check(endpoint, has_loopback_user, err))
        return -1;
    if (strncmp(endpoint, IPC, strlen(IPC)) == 0)
        return bind_ipc(socket, endpoint, ret_lock, err);
    *ret_lock = -1;
    /* only where it is wanted: with it, IPv4 peers are told in IPv6 form */
    if (zmq_setsockopt(socket, ZMQ_IPV6, &v6, sizeof(v6)))
        return err_set(err, ERR_INTERNAL, "socket option: %s", zmq_strerror(zmq_errno()));
    if (zmq_bind(socket, endpoint) == 0)
        return 0;
    if (zmq_errno() == EADDRINUSE)
        return err_set(err, ERR_UNAVAILABLE,
                       "endpoint %s is taken by another process: stop it, or set another port in "
                       "listen.rpc",
                       endpoint);
    return err_set(err, ERR_UNAVAILABLE, "endpoint %s: %s", endpoint, zmq_strerror(zmq_errno()));
}
