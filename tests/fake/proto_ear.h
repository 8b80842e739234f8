/* SPDX-License-Identifier: Apache-2.0 */
/* proto_ear.h - a store of nodes or pods, and what it tells as text, one line per fact.
 *
 * Fed with pages or streams in either encoding, so that tests can hold the texts against each
 * other. Recordings are in tests/data/apiserver-traces, from the root of the tree; more of them lie
 * beside the tree, in ../shared/data/apiserver-traces or $QUEUED_SHARED/data/apiserver-traces.
 */
#ifndef QUEUED_TESTS_PROTO_EAR_H
#define QUEUED_TESTS_PROTO_EAR_H

#include "kube/kube_proto.h"
#include "kube/kube_store.h"

struct ear {
    const struct store_kind *kind;
    struct kube_store *store;
    struct inbox *inbox;
    struct json_sink sink;
    char rv[RV_MAX + 1];
    struct api_status status;
    bool is_masked; /* uids and times are those of another recording */
    struct str told;
};

void ear_init(struct ear *e, const struct store_kind *kind);
void ear_fini(struct ear *e);
/* Take what waits in the store. */
void ear_hear(struct ear *e);
/* A line or a frame of a watch, with the ear as ctx; bookmarks come when they like and are not
 * told. */
bool ear_line(void *ctx, const char *p, size_t len);
bool ear_frame(void *ctx, const char *p, size_t len);
/* A page in protobuf that comes in pieces of this size; -1 and the reason. */
int ear_page(struct ear *e, const struct str *body, size_t piece, struct err *err);
/* The same of a page in JSON, whole. */
int ear_json_page(struct ear *e, const struct str *body, struct err *err);
/* The whole file; false, and a line that says SKIPPED: it is not here. */
bool ear_recording(const char *name, struct str *ret);

#endif
