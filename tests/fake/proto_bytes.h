/* SPDX-License-Identifier: Apache-2.0 */
/* proto_bytes.h - writes protobuf field by field, as an API server or somebody hostile would.
 *
 * Nothing is checked: numbers, wire types and lengths are what the test wants them to be.
 */
#ifndef QUEUED_TESTS_PROTO_BYTES_H
#define QUEUED_TESTS_PROTO_BYTES_H

#include <stdint.h>

#include "util/str.h"

void pb_varint(struct str *b, uint64_t v);
void pb_tag(struct str *b, uint32_t number, unsigned wire);
void pb_int(struct str *b, uint32_t number, uint64_t v);
void pb_bytes(struct str *b, uint32_t number, const void *p, size_t len);
void pb_text(struct str *b, uint32_t number, const char *s);
/* A field that is another message, which is then empty again. */
void pb_message(struct str *b, uint32_t number, struct str *message);
/* {1 key, 2 value}: an entry of a map; and the same with a Quantity as its value. */
void pb_pair(struct str *b, uint32_t number, const char *key, const char *value);
void pb_amount(struct str *b, uint32_t number, const char *key, const char *quantity);
/* Magic and Unknown around an object of this kind, which is then empty. */
void pb_envelope(struct str *b, const char *kind, struct str *object);
/* One frame of a watch around an object with its envelope, which is then empty. */
void pb_frame(struct str *b, const char *type, struct str *object);

#endif
