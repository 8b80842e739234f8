/* SPDX-License-Identifier: Apache-2.0 */
/* si_fault.h - faults on demand of the stand-in API server: rules, and what they do to a request.
 *
 * Rules come by POST /_standin/faults and stay until cleared. A rule counts the requests that
 * match it, and acts from the nth one on, count times.
 */
#ifndef QUEUED_STANDIN_FAULT_H
#define QUEUED_STANDIN_FAULT_H

#include "standin.h"

enum fault_action {
    FAULT_STATUS,
    FAULT_LOSE,
    FAULT_DELAY,
    FAULT_CUT,
    FAULT_SILENT,
    FAULT_STALE,
    FAULT_DOUBLE
};

struct fault {
    struct fault *next;
    char *verb;     /* NULL = any */
    char *resource; /* NULL = any */
    char *name;     /* NULL = any; a trailing * makes it a prefix */
    enum fault_action action;
    uint64_t nth;   /* first match that is hit, from 1 */
    uint64_t count; /* hits left at the start; UINT64_MAX = no end */
    uint64_t matched;
    uint64_t hits;
    unsigned code;
    char *reason;
    char *message;
    unsigned retry_after;
    bool is_text;
    uint64_t delay_us;
    uint64_t bytes;
};

/* Find the rule that hits this request and note it in req (fault, is_lost, cut_bytes, wake_us). */
void fault_match(struct standin *s, struct request *req);
/* Whether the noted rule answers instead of the server; the reply is then filled. */
bool fault_answers(struct request *req);
/* Serve /_standin/faults. */
void fault_serve(struct standin *s, struct request *req);
/* Free all rules. */
void fault_fini(struct standin *s);

#endif
