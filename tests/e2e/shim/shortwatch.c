/* SPDX-License-Identifier: Apache-2.0 */
/* shortwatch.c - preloaded into the daemon: asks for watches of QUEUED_WATCH_S seconds.
 *
 * The daemon asks the API server to end its watches after some minutes, longer than a test lasts.
 * Here the number in the URL is replaced, so that every few seconds a watch ends and goes on. Only
 * for tests.
 */
#include <dlfcn.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPTION_URL = 10002 }; /* as in curl.h, whose macros would be in the way */

int curl_easy_setopt(void *easy, int option, ...);

int curl_easy_setopt(void *easy, int option, ...)
{
    static const char key[] = "timeoutSeconds=";
    int (*real)(void *, int, ...);
    void *f = dlsym(RTLD_NEXT, "curl_easy_setopt");
    const char *seconds = getenv("QUEUED_WATCH_S");
    char url[4096];
    const char *at;
    va_list args;
    void *arg;

    va_start(args, option);
    arg = va_arg(args, void *); /* a long, a pointer or an offset: the same register */
    va_end(args);
    memcpy(&real, &f, sizeof(f));
    at = option == OPTION_URL && seconds && arg ? strstr(arg, key) : NULL;
    if (at) {
        int head = (int)(at - (const char *)arg) + (int)sizeof(key) - 1;
        const char *rest = at + sizeof(key) - 1 + strspn(at + sizeof(key) - 1, "0123456789");

        (void)snprintf(url, sizeof(url), "%.*s%s%s", head, (const char *)arg, seconds, rest);
        arg = url; /* curl copies it */
    }
    return real(easy, option, arg);
}
