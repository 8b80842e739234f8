/* SPDX-License-Identifier: Apache-2.0 */
/* store_pack.h - between records of proto/record.proto and stored bytes; inside the store only.
 *
 * The makers fill a message that borrows from the core and from the arena of the call; the
 * takers are store_decode_*() in store_record.h. protobuf-c is seen only by those who include
 * this.
 */
#ifndef QUEUED_STORE_STORE_PACK_H
#define QUEUED_STORE_STORE_PACK_H

#include <stdint.h>

#include "record.pb-c.h"
#include "store/store_record.h"
#include "util/arena.h"
#include "util/pack.h"
#include "util/str.h"

/* Set an optional number unless it is 0, which absent means. */
#define PACK(m, field, value) ((m)->has_##field = (value) != 0, (m)->field = (value))
/* Set it in any case. */
#define PACK_ALWAYS(m, field, value) ((m)->has_##field = 1, (m)->field = (value))

/* Header and message; valid until the next call with p. */
struct store_bytes store_pack(struct pack *p, enum store_table t, struct store_bytes key,
                              const ProtobufCMessage *m);
/* Check and unpack; the caller frees with protobuf_c_message_free_unpacked(). NULL on damage. */
ProtobufCMessage *store_unpack(enum store_table t, struct store_bytes key, struct store_bytes value,
                               const ProtobufCMessageDescriptor *d, struct err *err);
/* Big-endian number of 4 or 8 bytes at an offset of a key that is long enough. */
uint64_t store_key_number(struct store_bytes key, size_t at, size_t n_bytes);
/* "" is stored as absent. */
char *store_text(const char *s);
/* Copy stored text (NULL: "") into an array. -1 INVALID when it is too long; what names it. */
int store_take_text(char *dst, size_t size, const char *src, const char *what, struct err *err);

void store_make_job(Queued__Record__JobRecord *r, const struct job *j, const struct state *s,
                    struct arena *a);
void store_make_array(Queued__Record__JobRecord *r, const struct job *j, struct arena *a);
int store_take_array(struct job *j, const Queued__Record__JobRecord *r, struct err *err);
/* The same record holds the past use of one user in a tenant. */
void store_make_past(Queued__Record__TenantRecord *r, const struct settings *settings,
                     const struct share_past *past, struct arena *a);
void store_make_tenant(Queued__Record__TenantRecord *r, const struct settings *settings,
                       const struct tenant *t, struct arena *a);
void store_make_window(Queued__Record__WindowRecord *r, const struct window *w,
                       const struct state *s, struct arena *a);
void store_make_spec(Queued__Record__SpecRecord *r, const struct spec *spec, struct arena *a);

#endif
