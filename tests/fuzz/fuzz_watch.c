/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_watch.c - bytes of a watch stream, and of a list page, into the stores of nodes and pods.
 *
 * The first byte chooses: bit 0 pods or nodes, bit 1 a list page instead of a stream, the rest how
 * the stream is cut into pieces. Whatever comes, each fact must be readable and freed.
 */
#include <stdint.h>
#include <stdlib.h>

#include "kube/kube_store.h"
#include "util/log.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct target {
    struct kube_store *store;
    char rv[RV_MAX + 1];
};

static bool on_line(void *ctx, const char *p, size_t len)
{
    struct target *t = ctx;
    struct api_status status;
    enum store_line line = kube_store_line(t->store, p, len, t->rv, &status);

    return line == LINE_OBJECT || line == LINE_BOOKMARK;
}

static void feed_stream(struct target *t, const char *p, size_t len, size_t piece)
{
    struct json_frame frame = {0};
    bool ok = true;

    while (ok && len) {
        size_t n = piece < len ? piece : len;

        ok = json_frame_feed(&frame, p, n, on_line, t);
        p += n;
        len -= n;
    }
    json_frame_fini(&frame);
}

static void feed_page(struct target *t, const char *p, size_t len)
{
    struct json_page page = {0};

    kube_store_list_begin(t->store);
    if (kube_store_list_page(t->store, p, len, &page, NULL))
        return;
    free(page.next);
    kube_store_list_end(t->store);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct target t = {0};
    struct inbox *inbox = inbox_create(4);
    struct event ev;

    if (size) {
        t.store = kube_store_create(data[0] & 1 ? &store_pods : &store_nodes);
        if (data[0] & 2)
            feed_page(&t, (const char *)data + 1, size - 1);
        else
            feed_stream(&t, (const char *)data + 1, size - 1, (size_t)(data[0] >> 2) + 1);
        (void)kube_store_flush(t.store, inbox, 1); /* the rest is freed with the store */
    }
    while (inbox_pop(inbox, &ev))
        event_fini(&ev);
    kube_store_destroy(t.store);
    inbox_destroy(inbox);
    return 0;
}
