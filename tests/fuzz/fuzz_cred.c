/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_cred.c - any bytes as a kubeconfig, as the answer of a credential plugin, and as what it
 * says on standard error: refused with a sentence, or fit to be sent in a header. The first byte
 * chooses. Seeds in corpus/cred.
 */
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kube/kube_exec.h"
#include "kube/kube_secret.h"
#include "util/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void want(bool is_true)
{
    if (!is_true)
        abort();
}

static bool is_line(const char *s)
{
    return !s[strcspn(s, "\r\n")];
}

static void try_config(const char *text, size_t size)
{
    static int fd = -1;
    struct kube_config c;
    struct err err = {0};
    char path[64];

    if (fd < 0)
        fd = memfd_create("kubeconfig", MFD_CLOEXEC);
    want(fd >= 0 && !ftruncate(fd, 0) && pwrite(fd, text, size, 0) == (ssize_t)size);
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (kube_config_load(&c, path, &err)) {
        want(err.code != ERR_OK && err.text[0]);
        return;
    }
    want(strstr(c.server, "://") && is_line(c.server) && (!c.token || secret_is_token(c.token)));
    want(!c.cert == !c.key && (!c.ca || !c.is_insecure) && (!c.exec || (!c.token && !c.cert)));
    for (size_t i = 0; i < c.as.n; i++)
        want(is_line(c.as.v[i]) && !strncmp(c.as.v[i], "Impersonate-", 12));
    kube_config_fini(&c);
}

static void try_answer(const char *text)
{
    struct exec_answer a;
    struct err err = {0};

    if (exec_answer_read(text, "client.authentication.k8s.io/v1", 0, &a, &err)) {
        want(err.text[0] && is_line(err.text));
        return;
    }
    want((a.token || a.cert) && !a.cert == !a.key && a.expires_at > 0);
    want(!a.token || secret_is_token(a.token));
    exec_answer_fini(&a);
}

/* The first line is what to hide. */
static void try_redact(char *text)
{
    char *end = strchr(text, '\n');
    const char *hide[] = {text, NULL};
    char *shown;

    if (!end)
        return;
    *end = '\0';
    shown = exec_redact(end + 1, hide);
    for (const char *p = shown; *p; p++)
        want(isprint((unsigned char)*p) && *p != '"');
    free(shown);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text;

    if (!size)
        return 0;
    text = xcalloc(1, size);
    memcpy(text, data + 1, size - 1);
    if (data[0] == 'c')
        try_config(text, size - 1);
    else if (data[0] == 'a')
        try_answer(text);
    else
        try_redact(text);
    free(text);
    return 0;
}
