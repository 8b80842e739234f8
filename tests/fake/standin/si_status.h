/* SPDX-License-Identifier: Apache-2.0 */
/* si_status.h - answers of the stand-in API server: Status objects and the common refusals.
 *
 * Fills the reply of a request; sending is si_http.c. Texts follow the recorded server's.
 */
#ifndef QUEUED_STANDIN_STATUS_H
#define QUEUED_STANDIN_STATUS_H

#include "standin.h"

struct cause {
    const char *reason;
    const char *message;
    const char *field; /* NULL = none */
};

/* A Status with status Failure. Texts may be NULL where the real server leaves them out. */
struct status {
    unsigned code;
    const char *reason;
    const char *message;
    const char *name;
    const char *kind;
    const char *group;
    bool has_details; /* print details even when empty */
    struct cause causes[4];
    unsigned retry_after;
    const char *continue_token;
};

/* Append the Status object (no newline) to b. */
void status_print(struct strbuf *b, const struct status *status);
/* Make it the reply. */
void reply_status(struct request *req, const struct status *status);
/* An error of code and reason with a printf message and no details. */
void reply_error(struct request *req, unsigned code, const char *reason, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void reply_bad_request(struct request *req, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* 404 of an object of the request's kind. */
void reply_not_found(struct request *req, const char *plural, const char *name);
/* 409 Conflict "Operation cannot be fulfilled on KIND "NAME": text". */
void reply_conflict(struct request *req, const char *kind, const char *name, const char *text);
/* 422 of one field of an object. reason as FieldValueInvalid; text with its lead ("Required ...").
 */
void reply_invalid(struct request *req, const char *kind, const char *name, struct cause cause);
/* The same of several fields, at most 4. */
void reply_invalid_all(struct request *req, const char *kind, const char *name,
                       const struct cause *causes, size_t count);
/* 404 and 405 of the router. */
void reply_no_resource(struct request *req);
void reply_no_method(struct request *req);
/* Plain text. */
void reply_plain(struct request *req, unsigned code, const char *text);
/* The object; or, when json is not NULL, this object (takes it). */
void reply_object(struct request *req, unsigned code, const struct rec *rec);
void reply_json(struct request *req, unsigned code, cJSON *json);

#endif
