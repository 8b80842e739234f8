/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_proto.c - bytes of a watch stream, of a list page and of a Status, all in protobuf.
 *
 * The first byte chooses: bit 0 pods or nodes, bits 1 and 2 what it is (a stream, a page, a Status,
 * one item), the rest how it is cut into pieces. Whatever comes, each fact must be readable and
 * freed.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kube/kube_proto.h"
#include "kube/kube_store.h"
#include "util/log.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct target {
    const struct store_kind *kind;
    struct kube_store *store;
    char rv[RV_MAX + 1];
};

static bool on_frame(void *ctx, const char *p, size_t len)
{
    struct target *t = ctx;
    struct api_status status;
    enum store_line line = kube_store_frame(t->store, p, len, t->rv, &status);

    return line == LINE_OBJECT || line == LINE_BOOKMARK;
}

static bool on_item(void *ctx, const char *p, size_t len)
{
    struct target *t = ctx;

    return kube_store_list_item(t->store, p, len);
}

static void feed_stream(struct target *t, const uint8_t *p, size_t len, size_t piece)
{
    struct proto_frame frame = {0};
    bool ok = true;

    while (ok && len) {
        size_t n = piece < len ? piece : len;

        ok = proto_frame_feed(&frame, p, n, on_frame, t);
        p += n;
        len -= n;
    }
    proto_frame_fini(&frame);
}

static void feed_page(struct target *t, const uint8_t *p, size_t len, size_t piece)
{
    struct json_sink sink = {.item = on_item, .ctx = t};
    struct proto_list list = {.kind = t->kind->list_kind, .sink = &sink};
    struct json_page page = {0};
    struct err err;
    int rc = 0;

    kube_store_list_begin(t->store);
    while (!rc && len) {
        size_t n = piece < len ? piece : len;

        rc = proto_list_feed(&list, p, n, &err);
        p += n;
        len -= n;
    }
    if (!rc && !proto_list_end(&list, &page, &err)) {
        free(page.next);
        kube_store_list_end(t->store);
    }
    proto_list_fini(&list);
}

static void feed_status(const uint8_t *p, size_t len)
{
    struct api_status status;
    char *body = calloc(1, len + 1); /* a body ends with a NUL */

    if (!body)
        abort();
    memcpy(body, p, len);
    (void)api_classify(
        &(struct http_answer){
            .status = 410, .body = body, .len = len, .trouble = "", .retry_after_us = -1},
        &status);
    if (!memchr(status.message, 0, sizeof(status.message)) || !status.message[0])
        abort();
    free(body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct target t = {0};
    struct inbox *inbox = inbox_create(4);
    struct event ev;

    log_setup(LOG_LEVEL_ERROR, false);
    if (size) {
        size_t piece = (size_t)(data[0] >> 3) + 1;
        uint8_t *copy = malloc(size);

        if (!copy)
            abort();
        memcpy(copy, data + 1, size - 1);
        t.kind = data[0] & 1 ? &store_pods : &store_nodes;
        t.store = kube_store_create(t.kind);
        if ((data[0] & 6) == 0)
            feed_stream(&t, copy, size - 1, piece);
        else if ((data[0] & 6) == 2)
            feed_page(&t, copy, size - 1, piece);
        else if ((data[0] & 6) == 4)
            feed_status(copy, size - 1);
        else
            (void)on_item(&t, (const char *)copy, size - 1); /* refused or not: it is read */
        free(copy);
        (void)kube_store_flush(t.store, inbox, 1); /* the rest is freed with the store */
    }
    while (inbox_pop(inbox, &ev))
        event_fini(&ev);
    kube_store_destroy(t.store);
    inbox_destroy(inbox);
    return 0;
}
