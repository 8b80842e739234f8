/* SPDX-License-Identifier: Apache-2.0 */
/* kube_secret.c - reading, checking and wiping of tokens and PEM texts. */
#include "kube/kube_secret.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/mem.h"
#include "util/str.h"

static int read_file(const char *path, char **ret, struct err *err)
{
    char *text;
    size_t n;
    FILE *f = fopen(path, "re");

    if (!f)
        return err_set(err, errno == EACCES ? ERR_DENIED : ERR_NOT_FOUND, "%s cannot be read: %s",
                       path, strerror(errno));
    text = xcalloc(1, SECRET_BYTES_MAX + 2);
    n = fread(text, 1, SECRET_BYTES_MAX + 1, f);
    (void)fclose(f); /* only read */
    if (!n || n > SECRET_BYTES_MAX || strlen(text) != n) {
        secret_free(text);
        return err_set(err, ERR_INVALID, "%s is empty, too large or not text", path);
    }
    *ret = xstrdup(text);
    secret_free(text);
    return 0;
}

bool secret_is_token(const char *text)
{
    const char *p = text;

    while (*p > ' ' && *p < 0x7f)
        p++;
    return p > text && !*p;
}

bool secret_is_pem(const char *text)
{
    return strstr(text, "-----BEGIN ") != NULL;
}

int secret_read_token(const char *path, char **ret, struct err *err)
{
    char *token;
    size_t n;

    if (read_file(path, &token, err))
        return -1;
    n = strlen(token);
    while (n && strchr(" \t\r\n", token[n - 1]))
        token[--n] = '\0';
    if (!secret_is_token(token)) {
        secret_free(token);
        return err_set(err, ERR_INVALID, "%s holds no token of one line", path);
    }
    *ret = token;
    return 0;
}

int secret_read_pem(const char *path, char **ret, struct err *err)
{
    char *pem;

    if (read_file(path, &pem, err))
        return -1;
    if (!secret_is_pem(pem)) {
        secret_free(pem);
        return err_set(err, ERR_INVALID, "%s holds no PEM block (-----BEGIN ...)", path);
    }
    *ret = pem;
    return 0;
}

bool secret_decode(const char *base64, char **ret)
{
    size_t len = 0, size = strlen(base64);
    char *bin = xcalloc(1, size + 1);

    if (sodium_base642bin((unsigned char *)bin, size, base64, size, " \r\n\t", &len, NULL,
                          sodium_base64_VARIANT_ORIGINAL) ||
        strlen(bin) != len) {
        secret_free(bin);
        return false;
    }
    *ret = bin;
    return true;
}

bool secret_equal(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

void secret_free(char *secret)
{
    if (secret)
        sodium_memzero(secret, strlen(secret));
    free(secret);
}
