/* SPDX-License-Identifier: Apache-2.0 */
/* kube_store.h - what a list and its watch have shown: one entry per key, and what of it the
 * core has not been told yet.
 *
 * The newest fact of a key waits in the entry, so a slow reader costs no more than one fact per
 * object. Each uid that goes is told once, before a newer object of the same name, and does not
 * come back by a late event: only a list can show it again. Pure: no network, no clock.
 */
#ifndef QUEUED_KUBE_KUBE_STORE_H
#define QUEUED_KUBE_KUBE_STORE_H

#include <stdbool.h>
#include <stddef.h>

#include "port/inbox.h"
#include "kube/kube_api.h"
#include "kube/kube_fields.h"
#include "kube/kube_json.h"

enum { STORE_KEY_MAX = LABEL_MAX + 1 + NODE_NAME_MAX };

/* An object that is gone. */
struct store_gone {
    char ns[LABEL_MAX + 1]; /* "" of nodes */
    char name[NODE_NAME_MAX + 1];
    char uid[UID_MAX + 1];
    struct job_id job; /* 0: not ours, or a node */
    uint32_t attempt;
};

struct store_kind {
    const char *noun; /* "nodes", for texts */
    const char *path; /* of the collection */
    const char *kind; /* "Node", what one object calls itself; the list is a "NodeList" */
    const char *list_kind;
    void (*read_json)(struct arena *a, const cJSON *object, struct object_fields *ret);
    bool (*read_proto)(struct arena *a, const void *p, size_t len, struct object_fields *ret);
    /* Fill ret with the event of an object; false: it cannot be used, and is passed over. */
    bool (*seen)(const struct object_fields *object, struct event *ret);
    void (*gone)(const struct store_gone *gone, struct event *ret);
    /* Does this event say how the object ended? Then nothing newer takes its place before it is
     * told, not even that the object is gone. NULL: none does. */
    bool (*is_final)(const struct event *seen);
};

extern const struct store_kind store_nodes, store_pods;

struct kube_store;

struct kube_store *kube_store_create(const struct store_kind *kind);
void kube_store_destroy(struct kube_store *s);
/* Who wants to know of each uid that goes, at once; NULL nobody. */
void kube_store_on_gone(struct kube_store *s, void *ctx,
                        void (*told)(void *ctx, const struct store_gone *gone));

/* A whole list comes: begin, one page or more, end. Objects that no page had are gone at the end.
 * A list that broke off is simply begun again. */
void kube_store_list_begin(struct kube_store *s);
int kube_store_list_page(struct kube_store *s, const char *text, size_t len, struct json_page *ret,
                         struct err *err);
/* The same for one item of a page that comes as protobuf; false: the page is no good. */
bool kube_store_list_item(struct kube_store *s, const char *bytes, size_t len);
void kube_store_list_end(struct kube_store *s);

enum store_line {
    LINE_OBJECT,
    LINE_BOOKMARK,
    LINE_ERROR, /* ret_status says which */
    LINE_BAD,   /* no event: the stream is broken */
};

/* One event of a watch. rv moves on to the version of the object, never back. */
enum store_line kube_store_line(struct kube_store *s, const char *text, size_t len,
                                char rv[RV_MAX + 1], struct api_status *ret_status);

/* The same of a watch in protobuf: the bytes of one frame. */
enum store_line kube_store_frame(struct kube_store *s, const char *bytes, size_t len,
                                 char rv[RV_MAX + 1], struct api_status *ret_status);

/* The latest change that we know of, by its version: the object as it was then, or its end. A
 * server that knows less of it was put back to an older state. */
struct store_latest {
    char ns[LABEL_MAX + 1]; /* "" of nodes */
    char name[NODE_NAME_MAX + 1];
    char uid[UID_MAX + 1];
    char rv[RV_MAX + 1]; /* "": nothing is known */
    bool is_gone;
};

const struct store_latest *kube_store_latest(const struct kube_store *s);

/* How many facts wait to be told: no more than one an object. */
size_t kube_store_waiting(const struct kube_store *s);
/* Move what is not told yet into the inbox, leaving spare places free; true: nothing is left. */
bool kube_store_flush(struct kube_store *s, struct inbox *inbox, size_t spare);
size_t kube_store_count(const struct kube_store *s);
/* <0, 0, >0: order of two resource versions. */
int kube_rv_compare(const char *a, const char *b);

#endif
