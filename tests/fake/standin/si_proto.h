/* SPDX-License-Identifier: Apache-2.0 */
/* si_proto.h - the protobuf encoding of what the stand-in API server serves as JSON.
 *
 * Nodes, pods and Status objects only, by the tables of si_proto_fields.c; other kinds stay JSON.
 * Framing is the real server's: magic and Unknown around each answer and each object of a watch.
 */
#ifndef QUEUED_STANDIN_PROTO_H
#define QUEUED_STANDIN_PROTO_H

#include <cjson/cJSON.h>

#include "si_store.h"

#define PROTO_TYPE "application/vnd.kubernetes.protobuf"

/* What to do when a client asks for protobuf. */
enum proto_mode {
    PROTO_SERVE,
    PROTO_IGNORE, /* JSON if the client takes it, else 406 */
    PROTO_REFUSE, /* 406 for whoever names it */
};

enum proto_form {
    FORM_TEXT,
    FORM_INT,
    FORM_BOOL,
    FORM_TIME,
    FORM_TEXTS,   /* map of texts */
    FORM_AMOUNTS, /* map of quantities */
    FORM_RAW,     /* {1: the JSON text} */
    FORM_MESSAGE,
    FORM_LIST, /* repeated message, or repeated text when there is no table */
};

struct proto_field {
    const char *key; /* NULL ends a table */
    unsigned number;
    enum proto_form form;
    const struct proto_field *table; /* of FORM_MESSAGE and FORM_LIST */
};

/* NULL: a kind that has no table. */
const struct proto_field *proto_table(const char *kind);

/* A message by its table, appended to b. */
void proto_put(struct strbuf *b, const struct proto_field *table, const cJSON *json);
/* One field whose value is bytes. */
void proto_put_bytes(struct strbuf *b, unsigned number, const void *bytes, size_t len);
void proto_put_int(struct strbuf *b, unsigned number, uint64_t value);
/* Magic and Unknown around a message of this kind. */
void proto_put_envelope(struct strbuf *b, const char *kind, const struct strbuf *message);
/* A frame of a watch with the message of an object in its envelope. */
void proto_put_event(struct strbuf *b, const char *type, const char *kind,
                     const struct strbuf *message);
/* The same of an object in JSON, which names its kind. */
void proto_put_event_json(struct strbuf *b, const char *type, const cJSON *json);
/* A whole answer in JSON as protobuf; false, and b as it was: it is no kind of ours. */
bool proto_put_answer(struct strbuf *b, const char *text, size_t len);

#endif
