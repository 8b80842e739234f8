/* SPDX-License-Identifier: Apache-2.0 */
/* si_fault.h - faults on demand of the stand-in API server: rules, and what they do to a request.
 *
 * Rules come by POST /_standin/faults and stay until cleared. A rule counts the requests that
 * match it, and acts from the nth one on, count times (default: from the first, without end).
 * A rule is {verb, resource, name (a trailing * makes it a prefix), nth, count, action, ...}:
 *   status  answer with code (503), reason, message, retryAfter; text: true = as plain text
 *   lose    carry out, then close the connection without an answer
 *   delay   wait ms before carrying out; status and lose wait too when they have ms
 *   cut     close in the middle of the answer or stream, after bytes
 *   silent  a watch that sends nothing and does not end, not even by its timeout
 *   stale   a watch that delivers nothing for ms, then everything
 *   double  a watch that delivers every event twice
 *   belie   carry out, then answer as status does; waits before, when it has ms
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
    FAULT_DOUBLE,
    FAULT_BELIE
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
/* Whether it answers after the server has; the reply is then another one. */
bool fault_belies(struct request *req);
/* Serve /_standin/faults. */
void fault_serve(struct standin *s, struct request *req);
/* Free all rules. */
void fault_fini(struct standin *s);

#endif
