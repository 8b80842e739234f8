/* SPDX-License-Identifier: Apache-2.0 */
/* client_endpoint.c - checks of an endpoint before ZeroMQ sees it, and the sentence for silence.
 */
#include "client_endpoint.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/parse.h"
#include "util/str.h"

enum { IPC_PATH_MAX = 107, HOST_MAX = 255 };

#define ELSEWHERE "name another endpoint with --endpoint or QUEUED_ENDPOINT"

const char *endpoint_choose(const char *given)
{
    const char *env = getenv("QUEUED_ENDPOINT");

    if (given && *given)
        return given;
    return env && *env ? env : ENDPOINT_DEFAULT;
}

static int fail_ipc(const char *endpoint, const char *path, int error, struct err *err)
{
    if (error == ENOENT || error == ENOTDIR)
        return err_set(err, ERR_UNAVAILABLE,
                       "no daemon at %s: there is no socket %s; start queued, or " ELSEWHERE,
                       endpoint, path);
    if (error == EACCES || error == EPERM)
        return err_set(err, ERR_DENIED,
                       "permission denied for %s: ask your operator to add you to the group of "
                       "that socket",
                       path);
    return err_set(err, ERR_UNAVAILABLE, "cannot use %s: %s", endpoint, strerror(error));
}

static int check_ipc(const char *endpoint, struct err *err)
{
    const char *path = endpoint + strlen("ipc://");
    struct stat st;

    if (*path != '/' || strlen(path) > IPC_PATH_MAX)
        return err_set(err, ERR_INVALID,
                       "endpoint %.120s: the path must begin with / and have at most %d characters",
                       endpoint, IPC_PATH_MAX);
    if (stat(path, &st))
        return fail_ipc(endpoint, path, errno, err);
    if (!S_ISSOCK(st.st_mode))
        return err_set(err, ERR_INVALID, "endpoint %s: %s is no socket; " ELSEWHERE, endpoint,
                       path);
    if (access(path, W_OK))
        return fail_ipc(endpoint, path, errno, err);
    return 0;
}

static int check_tcp(const char *endpoint, struct err *err)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    const char *host = endpoint + strlen("tcp://");
    const char *colon = strrchr(host, ':');
    char name[HOST_MAX + 1] = "";
    uint64_t port;
    size_t len = colon ? (size_t)(colon - host) : 0;
    int rc;

    if (len == 0 || len > HOST_MAX || parse_u64(colon + 1, 1, 65535, &port, NULL))
        return err_set(err, ERR_INVALID, "endpoint %.300s: write tcp://HOST:PORT", endpoint);
    if (*host == '[' && host[len - 1] == ']' && len > 2)
        memcpy(name, host + 1, len - 2); /* the rest is zero */
    else
        memcpy(name, host, len);
    rc = getaddrinfo(name, NULL, &hints, &found);
    if (rc)
        return err_set(err, ERR_UNAVAILABLE,
                       "endpoint %.300s: cannot find host %.80s: %s; " ELSEWHERE, endpoint, name,
                       gai_strerror(rc));
    freeaddrinfo(found);
    return 0;
}

int endpoint_check(const char *endpoint, struct err *err)
{
    if (strncmp(endpoint, "ipc://", 6) == 0)
        return check_ipc(endpoint, err);
    if (strncmp(endpoint, "tcp://", 6) == 0)
        return check_tcp(endpoint, err);
    return err_set(err, ERR_INVALID,
                   "endpoint %.120s: write ipc:///path/of/socket or tcp://HOST:PORT", endpoint);
}

int endpoint_fail_silent(const char *endpoint, unsigned waited_ms, struct err *err)
{
    char buf[FORMAT_MAX];

    return err_set(
        err, ERR_UNAVAILABLE,
        "no answer from %.200s in %s: is the daemon running? Look at its log, or " ELSEWHERE,
        endpoint, format_duration(buf, (usec_t)waited_ms * USEC_PER_MSEC));
}
