/* SPDX-License-Identifier: Apache-2.0 */
/* spec_pack.h - a spec as the message of the wire.
 *
 * The message borrows the strings of the spec; its own memory comes from the arena.
 */
#ifndef QUEUED_CLIENT_SPEC_PACK_H
#define QUEUED_CLIENT_SPEC_PACK_H

#include "queue.pb-c.h"
#include "queued.h"
#include "util/arena.h"
#include "util/err.h"

/* Packed size above this is refused before it is sent. */
enum { SPEC_PACKED_MAX = 48 * 1024 };

/* -1 INVALID: a value that cannot travel, or too large in all. *ret is then untouched. */
int spec_pack(Queued__V1__JobSpec **ret, const struct queued_spec *spec, struct arena *arena,
              struct err *err);

#endif
