/* SPDX-License-Identifier: Apache-2.0 */
/* si_select.c - field and label selectors of the stand-in API server.
 *
 * Only fields that a version carries can be selected; others are 400, as unknown ones are.
 */
#include "si_select.h"

#include <stdlib.h>
#include <string.h>

#include "si_status.h"

/* NULL when the kind has no such field. */
static const char *field_of(const struct rec *rec, const char *key)
{
    if (strcmp(key, "metadata.name") == 0) {
        return rec->name;
    }
    if (strcmp(key, "metadata.namespace") == 0) {
        return rec->ns;
    }
    if (rec->res != RES_PODS) {
        return NULL;
    }
    if (strcmp(key, "spec.nodeName") == 0) {
        return rec->node;
    }
    if (strcmp(key, "status.phase") == 0) {
        return rec->phase;
    }
    return strcmp(key, "spec.schedulerName") == 0 ? rec->sched : NULL;
}

static char *trimmed(const char *text, size_t len)
{
    while (len > 0 && *text == ' ') {
        text++;
        len--;
    }
    while (len > 0 && text[len - 1] == ' ') {
        len--;
    }
    char *copy = xmalloc(len + 1);
    memcpy(copy, text, len);
    copy[len] = '\0';
    return copy;
}

/* key=value, key==value, key!=value. False when no operator is there. */
static bool parse_equality(const char *text, size_t len, struct select_term *term)
{
    const char *equal = memchr(text, '=', len);
    if (equal == NULL || equal == text) {
        return false;
    }
    size_t key_len = (size_t)(equal - text);
    term->op = SELECT_EQUAL;
    if (equal[-1] == '!') {
        term->op = SELECT_DIFFERS;
        key_len--;
    }
    const char *value = equal + 1;
    if (term->op == SELECT_EQUAL && value < text + len && *value == '=') {
        value++;
    }
    term->key = trimmed(text, key_len);
    term->value = trimmed(value, len - (size_t)(value - text));
    return true;
}

/* key in (a,b), key notin (a,b), key, !key. */
static void parse_set(const char *text, size_t len, struct select_term *term)
{
    char *whole = trimmed(text, len);
    char *open = strchr(whole, '(');
    char *close = open != NULL ? strchr(open, ')') : NULL;
    if (close == NULL) {
        term->op = *whole == '!' ? SELECT_LACKS : SELECT_HAS;
        term->key = xstrdup(*whole == '!' ? whole + 1 : whole);
        term->value = xstrdup("");
        free(whole);
        return;
    }
    char *in = strstr(whole, " in ");
    char *not_in = strstr(whole, " notin ");
    term->op = not_in != NULL ? SELECT_NOT_IN : SELECT_IN;
    char *word = not_in != NULL ? not_in : in;
    term->key = trimmed(whole, word != NULL ? (size_t)(word - whole) : 0);
    struct strbuf set = {0};
    strbuf_puts(&set, ",");
    for (const char *p = open + 1; p < close; p++) {
        if (*p != ' ') {
            strbuf_add(&set, p, 1);
        }
    }
    strbuf_puts(&set, ",");
    term->value = set.data;
    free(whole);
}

/* Length of the part up to the next comma outside of parentheses. */
static size_t part_len(const char *text)
{
    size_t len = 0;
    bool in_set = false;
    while (text[len] != '\0' && (in_set || text[len] != ',')) {
        in_set = text[len] == '(' || (in_set && text[len] != ')');
        len++;
    }
    return len;
}

static bool parse_terms(struct selector *out, struct request *req, const char *text, bool is_field)
{
    const struct rec probe = {
        .res = req->res, .ns = "", .name = "", .node = "", .phase = "", .sched = ""};
    while (*text != '\0') {
        size_t len = part_len(text);
        struct select_term term = {.is_field = is_field};
        bool is_equality = memchr(text, '(', len) == NULL && parse_equality(text, len, &term);
        if (!is_equality && is_field) {
            reply_bad_request(req, "invalid selector: '%.*s'; can't understand '%.*s'", (int)len,
                              text, (int)len, text);
            return false;
        }
        if (!is_equality) {
            parse_set(text, len, &term);
        }
        if (out->count == SELECT_TERMS_MAX) {
            free(term.key);
            free(term.value);
            reply_bad_request(req, "too many selector terms");
            return false;
        }
        out->terms[out->count++] = term;
        if (is_field && field_of(&probe, term.key) == NULL) {
            reply_bad_request(req, "field label not supported: %s", term.key);
            return false;
        }
        if (!is_field && term.value[0] == '=') {
            reply_bad_request(req, "unable to parse requirement: found '=', expected: identifier");
            return false;
        }
        text += len + (text[len] == ',' ? 1 : 0);
    }
    return true;
}

bool selector_parse(struct selector *out, struct request *req)
{
    *out = (struct selector){.res = req->res, .ns = xstrdup(req->ns)};
    const char *fields = request_query(req, "fieldSelector");
    const char *labels = request_query(req, "labelSelector");
    return (fields == NULL || parse_terms(out, req, fields, true)) &&
           (labels == NULL || parse_terms(out, req, labels, false));
}

static bool set_has(const char *set, const char *value)
{
    size_t len = strlen(value);
    for (const char *p = strstr(set, value); p != NULL; p = strstr(p + 1, value)) {
        if (p > set && p[-1] == ',' && p[len] == ',') {
            return true;
        }
    }
    return false;
}

static bool term_matches(const struct select_term *term, const struct rec *rec)
{
    const char *value = term->is_field ? field_of(rec, term->key) : rec_label(rec, term->key);
    switch (term->op) {
    case SELECT_EQUAL:
        return value != NULL && strcmp(value, term->value) == 0;
    case SELECT_DIFFERS:
        return value == NULL || strcmp(value, term->value) != 0;
    case SELECT_IN:
        return value != NULL && set_has(term->value, value);
    case SELECT_NOT_IN:
        return value == NULL || !set_has(term->value, value);
    case SELECT_HAS:
        return value != NULL;
    case SELECT_LACKS:
        return value == NULL;
    }
    return false;
}

bool selector_matches(const struct selector *selector, const struct rec *rec)
{
    if (rec->res != selector->res ||
        (*selector->ns != '\0' && strcmp(selector->ns, rec->ns) != 0)) {
        return false;
    }
    for (size_t i = 0; i < selector->count; i++) {
        if (!term_matches(&selector->terms[i], rec)) {
            return false;
        }
    }
    return true;
}

void selector_fini(struct selector *selector)
{
    free(selector->ns);
    for (size_t i = 0; i < selector->count; i++) {
        free(selector->terms[i].key);
        free(selector->terms[i].value);
    }
    *selector = (struct selector){0};
}
