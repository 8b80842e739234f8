/* SPDX-License-Identifier: Apache-2.0 */
/* notify.c - one datagram a message, to a path or an abstract address. */
#include "notify.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "util/log.h"

void notify_state(const char *text)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    socklen_t len;
    int fd;

    if (!path || !*path || strlen(path) >= sizeof(to.sun_path))
        return;
    memcpy(to.sun_path, path, strlen(path) + 1);
    len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
    if (to.sun_path[0] == '@')
        to.sun_path[0] = '\0'; /* an abstract address */
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || sendto(fd, text, strlen(text), MSG_DONTWAIT, (struct sockaddr *)&to, len) < 0)
        log_warn("cannot tell the service manager how we are, going on", "path=%s", path);
    if (fd >= 0)
        close(fd);
}

void notify_reloading(void)
{
    char text[64];
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail for this clock */
    (void)snprintf(text, sizeof(text), "RELOADING=1\nMONOTONIC_USEC=%" PRId64,
                   (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000);
    notify_state(text);
}
