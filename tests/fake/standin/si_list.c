/* SPDX-License-Identifier: Apache-2.0 */
/* si_list.c - lists of the stand-in API server: resourceVersion rules, pages, continue tokens.
 *
 * A first page is taken from a snapshot, which the store keeps for the pages after it; a token
 * holds the snapshot's resourceVersion and the last key. Waiting for a future resourceVersion is
 * left out: the answer comes at once.
 */
#include "si_list.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "si_json.h"
#include "si_select.h"
#include "si_status.h"

struct list_query {
    uint64_t rv; /* 0 = most recent */
    bool is_exact;
    uint64_t limit; /* 0 = none */
    char *after;    /* key to go on behind; NULL = from the start */
    bool is_inconsistent;
};

void list_print_too_large(struct strbuf *b, uint64_t rv, uint64_t current)
{
    struct strbuf text = {0};
    strbuf_printf(&text, "Timeout: Too large resource version: %" PRIu64 ", current: %" PRIu64, rv,
                  current);
    status_print(b, &(struct status){
                        .code = 504,
                        .reason = "Timeout",
                        .message = text.data,
                        .causes = {{"ResourceVersionTooLarge", "Too large resource version", NULL}},
                        .retry_after = 1});
    strbuf_fini(&text);
}

void list_reply_too_large(struct standin *s, struct request *req, uint64_t rv)
{
    reply_plain(req, 504, "");
    list_print_too_large(&req->reply.body, rv, s->store.rv);
    strbuf_puts(&req->reply.body, "\n");
    req->reply.type = NULL;
    req->reply.retry_after = 1;
}

static bool refuse(struct request *req, const char *field, const char *text)
{
    reply_invalid(req, "ListOptions", "", (struct cause){"FieldValueForbidden", text, field});
    return false;
}

bool list_check_match(struct request *req, bool is_watch)
{
    const char *rv = request_query(req, "resourceVersion");
    const char *match = request_query(req, "resourceVersionMatch");
    bool has_initial = request_query(req, "sendInitialEvents") != NULL;
    bool has_rv = rv != NULL && *rv != '\0';
    if (has_initial && !is_watch) {
        return refuse(req, "sendInitialEvents",
                      "Forbidden: sendInitialEvents is forbidden for list");
    }
    if (is_watch) {
        if (has_initial && (match == NULL || strcmp(match, "NotOlderThan") != 0)) {
            return refuse(req, "resourceVersionMatch",
                          "Forbidden: sendInitialEvents requires setting resourceVersionMatch to "
                          "NotOlderThan");
        }
        return true;
    }
    if (match == NULL) {
        return true;
    }
    if (request_query(req, "continue") != NULL) {
        return refuse(req, "resourceVersionMatch",
                      "Forbidden: resourceVersionMatch is forbidden when continue is provided");
    }
    if (!has_rv) {
        return refuse(req, "resourceVersionMatch",
                      "Forbidden: resourceVersionMatch is forbidden unless resourceVersion is "
                      "provided");
    }
    if (strcmp(match, "Exact") == 0 && strcmp(rv, "0") == 0) {
        return refuse(req, "resourceVersionMatch",
                      "Forbidden: resourceVersionMatch \"exact\" is forbidden for resourceVersion "
                      "\"0\"");
    }
    return true;
}

bool list_read_rv(struct request *req, uint64_t *ret_rv)
{
    const char *rv = request_query(req, "resourceVersion");
    if (rv == NULL || *rv == '\0') {
        *ret_rv = 0;
        return true;
    }
    if (number_parse(rv, ret_rv) != 0) {
        reply_bad_request(req,
                          "invalid resource version: resourceVersion: Invalid value: \"%s\": "
                          "strconv.ParseUint: parsing \"%s\": invalid syntax",
                          rv, rv);
        return false;
    }
    return true;
}

static char *token_make(const char *rv, const char *key)
{
    struct strbuf b = {0};
    strbuf_printf(&b, "{\"v\":\"meta.k8s.io/v1\",\"rv\":%s,\"start\":\"%s\\u0000\"}", rv, key);
    char *token = base64_encode(b.data, b.len);
    strbuf_fini(&b);
    return token;
}

/* Key and rv of a token by its own form. -1 when it is none of ours. */
static int token_read(const char *token, struct list_query *q)
{
    size_t len = 0;
    char *text = base64_decode(token, &len);
    char *rv = text != NULL ? strstr(text, "\"rv\":") : NULL;
    char *start = text != NULL ? strstr(text, "\"start\":\"") : NULL;
    char *end = start != NULL ? strstr(start, "\\u0000") : NULL;
    if (rv == NULL || end == NULL) {
        free(text);
        return -1;
    }
    long long value = strtoll(rv + 5, NULL, 10);
    q->is_inconsistent = value < 0;
    q->rv = value < 0 ? 0 : (uint64_t)value;
    *end = '\0';
    start += strlen("\"start\":\"");
    q->after = xstrdup(*start == '/' ? start + 1 : start);
    free(text);
    return 0;
}

static bool read_query(struct request *req, struct list_query *q)
{
    const char *limit = request_query(req, "limit");
    const char *token = request_query(req, "continue");
    const char *match = request_query(req, "resourceVersionMatch");
    const char *rv = request_query(req, "resourceVersion");
    if (limit != NULL && *limit != '\0' && number_parse(limit, &q->limit) != 0) {
        reply_bad_request(req, "strconv.ParseInt: parsing \"%s\": invalid syntax", limit);
        return false;
    }
    if (!list_check_match(req, false) || !list_read_rv(req, &q->rv)) {
        return false;
    }
    if (token != NULL && *token != '\0') {
        if (rv != NULL && *rv != '\0') {
            reply_bad_request(req,
                              "specifying resource version is not allowed when using continue");
            return false;
        }
        if (token_read(token, q) != 0) {
            reply_bad_request(req, "invalid continue token: continue key is not valid: invalid "
                                   "character 'i' looking for beginning of value");
            return false;
        }
        q->is_exact = !q->is_inconsistent;
        return true;
    }
    bool is_zero = rv != NULL && strcmp(rv, "0") == 0;
    if (is_zero && (match == NULL || strcmp(match, "Exact") != 0)) {
        q->limit = 0; /* the watch cache of the real server ignores it */
    }
    q->is_exact = q->rv > 0 && ((match != NULL && strcmp(match, "Exact") == 0) ||
                                (match == NULL && q->limit > 0));
    return true;
}

static void reply_expired(struct request *req, const struct list_query *q)
{
    if (q->after == NULL) {
        reply_error(req, 410, "Expired", "The resourceVersion for the provided list is too old.");
        return;
    }
    char *token = token_make("-1", q->after);
    reply_status(req,
                 &(struct status){
                     .code = 410,
                     .reason = "Expired",
                     .message =
                         "The provided continue parameter is too old to display a consistent list "
                         "result. You can start a new list without the continue parameter, or use "
                         "the continue token in this response to retrieve the remainder of the "
                         "results. Continuing with the provided token results in an inconsistent "
                         "list - objects that were created, modified, or deleted between the time "
                         "the first chunk was returned and now may show up in the list.",
                     .continue_token = token});
    free(token);
}

static void open_list(struct strbuf *b, const struct request *req)
{
    const struct res *res = &res_table[req->res];
    const char *version = req->is_events_v1 ? "events.k8s.io/v1" : res->api_version;
    strbuf_printf(b, "{\"kind\":\"%sList\",\"apiVersion\":\"%s\",\"metadata\":{", res->kind,
                  version);
}

static void add_item(struct strbuf *items, const struct rec *rec)
{
    strbuf_puts(items, items->len > 0 ? ",{" : "{");
    strbuf_add(items, rec->text + rec->body_off, rec->len - rec->body_off);
}

/* Index of the first item behind key, 0 for NULL. */
static size_t first_index(const struct snapshot *snapshot, const char *key)
{
    size_t low = 0;
    size_t high = key != NULL ? snapshot->count : 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(snapshot->items[middle]->key, key) <= 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The part of a snapshot that can match: behind the last page's key, in the namespace. */
static void find_range(const struct snapshot *snapshot, const struct list_query *q,
                       const struct selector *selector, size_t range[2])
{
    range[0] = first_index(snapshot, q->after);
    range[1] = snapshot->count;
    if (*selector->ns == '\0') {
        return;
    }
    struct strbuf edge = {0};
    strbuf_printf(&edge, "%s/", selector->ns);
    size_t low = first_index(snapshot, edge.data);
    range[0] = low > range[0] ? low : range[0];
    edge.data[edge.len - 1] = '/' + 1; /* behind every name of the namespace */
    range[1] = first_index(snapshot, edge.data);
    strbuf_fini(&edge);
}

static void add_proto_item(struct strbuf *items, const struct rec *rec)
{
    proto_put_bytes(items, 2, rec->proto, rec->proto_len);
}

/* What a page says of itself. */
struct page {
    uint64_t rv;
    char *token;        /* of the next page, NULL = this is the last one */
    uint64_t remaining; /* 0 = not said */
};

static void print_json(struct request *req, const struct page *page, const struct strbuf *items)
{
    struct strbuf *b = &req->reply.body;
    open_list(b, req);
    strbuf_printf(b, "\"resourceVersion\":\"%" PRIu64 "\"", page->rv);
    if (page->token != NULL) {
        strbuf_printf(b, ",\"continue\":\"%s\"", page->token);
    }
    if (page->remaining > 0) {
        strbuf_printf(b, ",\"remainingItemCount\":%" PRIu64, page->remaining);
    }
    strbuf_puts(b, "},\"items\":[");
    strbuf_add(b, items->data != NULL ? items->data : "", items->len);
    strbuf_puts(b, "]}\n");
}

static void print_proto(struct request *req, const struct page *page, const struct strbuf *items)
{
    struct strbuf meta = {0};
    struct strbuf list = {0};
    char text[32];
    size_t len = (size_t)snprintf(text, sizeof(text), "%" PRIu64, page->rv);
    proto_put_bytes(&meta, 1, "", 0);
    proto_put_bytes(&meta, 2, text, len);
    proto_put_bytes(&meta, 3, page->token != NULL ? page->token : "",
                    page->token != NULL ? strlen(page->token) : 0);
    if (page->remaining > 0) {
        proto_put_int(&meta, 4, page->remaining);
    }
    proto_put_bytes(&list, 1, meta.data, meta.len);
    strbuf_add(&list, items->data != NULL ? items->data : "", items->len);
    (void)snprintf(text, sizeof(text), "%sList", res_table[req->res].kind);
    proto_put_envelope(&req->reply.body, text, &list);
    req->reply.type = PROTO_TYPE;
    strbuf_fini(&meta);
    strbuf_fini(&list);
}

static void print_list(struct request *req, const struct list_query *q,
                       const struct selector *selector, const struct snapshot *snapshot)
{
    struct strbuf items = {0};
    uint64_t taken = 0;
    const struct rec *last = NULL;
    struct page page = {.rv = snapshot->rv};
    size_t range[2];
    bool is_proto = req->wants_proto && proto_table(res_table[req->res].kind) != NULL;
    find_range(snapshot, q, selector, range);
    for (size_t i = range[0]; i < range[1]; i++) {
        const struct rec *rec = snapshot->items[i];
        if (!selector_matches(selector, rec)) {
            continue;
        }
        if (q->limit > 0 && taken == q->limit) {
            char rv[24];
            (void)snprintf(rv, sizeof(rv), "%" PRIu64, snapshot->rv);
            page.token = token_make(rv, last->key);
            page.remaining = selector->count == 0 ? range[1] - i : 0; /* all of them match */
            break;
        }
        (is_proto ? add_proto_item : add_item)(&items, rec);
        last = rec;
        taken++;
    }
    reply_plain(req, 200, "");
    req->reply.type = NULL;
    (is_proto ? print_proto : print_json)(req, &page, &items);
    free(page.token);
    strbuf_fini(&items);
}

void list_serve(struct standin *s, struct request *req)
{
    struct list_query q = {0};
    struct selector selector = {0};
    if (read_query(req, &q) && selector_parse(&selector, req)) {
        uint64_t at = q.is_exact ? q.rv : s->store.rv;
        if (q.rv > s->store.rv) {
            list_reply_too_large(s, req, q.rv);
        } else {
            struct snapshot *snapshot = store_snapshot(&s->store, req->res, at);
            if (snapshot == NULL) {
                reply_expired(req, &q);
            } else {
                print_list(req, &q, &selector, snapshot);
                snapshot_unref(snapshot);
            }
        }
    }
    free(q.after);
    selector_fini(&selector);
}
