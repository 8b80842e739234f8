/* SPDX-License-Identifier: Apache-2.0 */
/* wire_bytes.h - protobuf fields written by hand, for tests that must not trust protobuf-c. */
#ifndef QUEUED_TESTS_WIRE_BYTES_H
#define QUEUED_TESTS_WIRE_BYTES_H

#include <stdint.h>

#include "util/str.h"

void add_number(struct str *b, uint32_t tag, uint64_t v);
void add_bytes(struct str *b, uint32_t tag, const void *p, size_t len);
/* n characters that are fine in every kind of text. */
void add_filler(struct str *b, uint32_t tag, size_t n);

#endif
