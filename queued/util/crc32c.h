/* SPDX-License-Identifier: Apache-2.0 */
/* crc32c.h - the checksum of stored records (Castagnoli polynomial, as in iSCSI, RFC 3720).
 *
 * Guards against damage, not against malice.
 */
#ifndef QUEUED_UTIL_CRC32C_H
#define QUEUED_UTIL_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Checksum of the bytes that gave crc (0 for none yet) followed by p[0..len). */
uint32_t crc32c(uint32_t crc, const void *p, size_t len);

#endif
