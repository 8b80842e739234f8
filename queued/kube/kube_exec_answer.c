/* SPDX-License-Identifier: Apache-2.0 */
/* kube_exec_answer.c - what a credential plugin wrote: the ExecCredential, or the reason that it
 * gave on standard error with everything taken out that could be a secret.
 *
 * Both come from a program that may be broken or hostile.
 */
#include <ctype.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "kube/kube_exec.h"
#include "kube/kube_json.h"
#include "kube/kube_secret.h"
#include "util/mem.h"
#include "util/str.h"

enum { WORD_MIN = 8, RANDOM_MIN = 20, HEX_MIN = 32 };

void exec_answer_fini(struct exec_answer *a)
{
    secret_free(a->token);
    secret_free(a->cert);
    secret_free(a->key);
    *a = (struct exec_answer){.expires_at = INT64_MAX};
}

static char *text_of(const cJSON *o, const char *path)
{
    const char *text = json_text(o, path);

    return text[0] ? xstrdup(text) : NULL;
}

static const char *check(const cJSON *o, const char *api_version, const struct exec_answer *a)
{
    if (strcmp(json_text(o, "kind"), "ExecCredential") != 0)
        return "wrote something else than an ExecCredential";
    if (strcmp(json_text(o, "apiVersion"), api_version) != 0)
        return "answered with another apiVersion than the kubeconfig asks for";
    if (!a->cert != !a->key)
        return "answered with a certificate without its key, or the other way round";
    if (!a->token && !a->cert)
        return "answered without a token and without a certificate";
    if (a->token && !secret_is_token(a->token))
        return "answered with a token that is not one line without blanks";
    if (a->cert && (!secret_is_pem(a->cert) || !secret_is_pem(a->key)))
        return "answered with a certificate or key that is no PEM";
    return NULL;
}

int exec_answer_read(const char *text, const char *api_version, usec_t wall,
                     struct exec_answer *ret, struct err *err)
{
    struct exec_answer a = {.expires_at = INT64_MAX};
    cJSON *o = cJSON_Parse(text);
    const char *expires = json_text(o, "status.expirationTimestamp");
    const char *fault;

    a.token = text_of(o, "status.token");
    a.cert = text_of(o, "status.clientCertificateData");
    a.key = text_of(o, "status.clientKeyData");
    if (!text[strspn(text, " \t\r\n")])
        fault = "wrote nothing to standard output";
    else
        fault = check(o, api_version, &a);
    if (!fault && expires[0] && parse_time(expires, &a.expires_at, NULL))
        fault = "answered with an expirationTimestamp that is no time";
    else if (!fault && a.expires_at <= wall)
        fault = "answered with a credential that has expired already; are the clocks right?";
    cJSON_Delete(o);
    if (fault) {
        exec_answer_fini(&a);
        return err_set(err, ERR_INVALID, "%s", fault);
    }
    *ret = a;
    return 0;
}

/* ---- what it said on standard error */

static bool is_of_word(char c)
{
    return c && (isalnum((unsigned char)c) || strchr("+/_-.~", c));
}

/* Mixed as no path, name or sentence is. */
static bool looks_random(const char *word, size_t len)
{
    size_t upper = 0, lower = 0, digit = 0, hex = 0;

    for (size_t i = 0; i < len; i++) {
        upper += isupper((unsigned char)word[i]) != 0;
        lower += islower((unsigned char)word[i]) != 0;
        digit += isdigit((unsigned char)word[i]) != 0;
        hex += isxdigit((unsigned char)word[i]) || word[i] == '-';
    }
    return (len >= RANDOM_MIN && upper && lower && digit) || (len >= HEX_MIN && hex == len);
}

static bool is_hidden(const char *word, size_t len, const char *const *hide)
{
    char *text;
    bool is_found = false;

    while (len && strchr(".-/", word[len - 1]))
        len--;
    while (len && strchr(".-/", word[0])) {
        word++;
        len--;
    }
    if (len < WORD_MIN)
        return false;
    if (looks_random(word, len))
        return true;
    text = xasprintf("%.*s", (int)len, word);
    for (size_t i = 0; hide[i] && !is_found; i++)
        is_found = strstr(hide[i], text) != NULL;
    secret_free(text);
    return is_found;
}

char *exec_redact(const char *text, const char *const *hide)
{
    struct str out = {0};

    while (*text) {
        size_t n = 0;

        while (is_of_word(text[n]))
            n++;
        if (is_hidden(text, n, hide))
            str_add(&out, "(hidden)");
        else
            str_add_bytes(&out, text, n);
        text += n;
        if (n || !*text)
            continue;
        str_add_bytes(&out, *text >= ' ' && *text < 0x7f && *text != '"' ? text : " ", 1);
        text++;
    }
    return str_take(&out);
}
