/* SPDX-License-Identifier: Apache-2.0 */
/* kube_proto.h - objects in a list or a watch stream of the API's protobuf encoding.
 *
 * Envelopes, lists and events are walked by hand as their bytes arrive, in pieces of any size; only
 * the item that is just arriving is ever held. What is in an item is for kube_fields_proto.c.
 * Unknown fields are skipped; damage ends a walk, and nothing is cut or guessed.
 */
#ifndef QUEUED_KUBE_KUBE_PROTO_H
#define QUEUED_KUBE_KUBE_PROTO_H

#include "kube/kube_json.h"
#include "util/proto.h"

/* What a read asks for, and a watch: protobuf before JSON. */
#define PROTO_ACCEPT       "application/vnd.kubernetes.protobuf,application/json;q=0.9"
#define PROTO_ACCEPT_WATCH "application/vnd.kubernetes.protobuf;stream=watch,application/json;q=0.9"

enum { PROTO_HEADER_MAX = 20, PROTO_KIND_MAX = 47 };

/* Does a Content-Type (may be NULL) say that the body is protobuf? */
bool proto_is_type(const char *content_type);

/* An object with its envelope: its kind and the bytes of its message. false: no whole envelope, or
 * one that we cannot read. */
bool proto_open(const void *bytes, size_t len, char kind[PROTO_KIND_MAX + 1],
                struct proto_span *ret);
/* Does it begin like an envelope? */
bool proto_is_envelope(const void *bytes, size_t len);

/* One watch event; type is "" when it is missing or too long. object keeps its envelope. */
struct proto_event {
    char type[16];
    struct proto_span object;
};

bool proto_event_read(const void *bytes, size_t len, struct proto_event *ret);

/* Frames of a watch: a length of four bytes, then an event. Zeroed is empty. */
struct proto_frame {
    struct str partial;
};

/* Take a piece; event is called for each whole frame. false: a frame is longer than FRAME_LINE_MAX,
 * or event answered false; the stream is then of no more use. */
bool proto_frame_feed(struct proto_frame *f, const void *p, size_t len,
                      bool (*event)(void *ctx, const char *p, size_t len), void *ctx);
void proto_frame_fini(struct proto_frame *f);

/* A list page that is on its way. Zeroed but for kind and sink, which are borrowed. */
struct proto_list {
    const char *kind;             /* of the list: "PodList" */
    const struct json_sink *sink; /* takes the items */
    struct json_page page;
    struct str partial;               /* of the element that is on its way */
    uint8_t header[PROTO_HEADER_MAX]; /* tag and length of the next element, as far as they came */
    size_t n_header;
    uint64_t want;   /* bytes of the element that are still to come */
    uint32_t number; /* its field; 0: a header comes next */
    bool has_magic, has_kind, has_raw;
    bool is_skipped;   /* the element is not wanted */
    bool is_inside;    /* in the list, not in the envelope around it */
    uint64_t raw_left; /* bytes of the list that are still to come */
};

/* Take a piece. -1 INVALID: it is no such list, or an item is longer than FRAME_LINE_MAX, or the
 * sink refused one; the walk must then be ended with proto_list_fini(). */
int proto_list_feed(struct proto_list *l, const void *p, size_t len, struct err *err);
/* The body has ended: -1 INVALID when the list is not whole. */
int proto_list_end(struct proto_list *l, struct json_page *ret, struct err *err);
void proto_list_fini(struct proto_list *l);

#endif
