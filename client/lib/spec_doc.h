/* SPDX-License-Identifier: Apache-2.0 */
/* spec_doc.h - a spec of the wire as the canonical job file. What is absent is left out; the result
 * reads back to the same spec. */
#ifndef QUEUED_CLIENT_SPEC_DOC_H
#define QUEUED_CLIENT_SPEC_DOC_H

#include "document.h"
#include "queue.pb-c.h"

/* The map under "spec". Borrows the strings of the message. */
struct document *spec_doc_body(struct arena *a, const Queued__V1__JobSpec *m);
/* The whole file: apiVersion, kind, metadata, spec. */
struct document *spec_doc_file(struct arena *a, const Queued__V1__JobSpec *m);

#endif
