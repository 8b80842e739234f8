/* SPDX-License-Identifier: Apache-2.0 */
/* si_list.h - lists of the stand-in API server: resourceVersion rules, pages, continue tokens. */
#ifndef QUEUED_STANDIN_LIST_H
#define QUEUED_STANDIN_LIST_H

#include "standin.h"

/* Serve a list request. */
void list_serve(struct standin *s, struct request *req);
/* Check resourceVersionMatch and sendInitialEvents; false after a 422 reply. */
bool list_check_match(struct request *req, bool is_watch);
/* Read resourceVersion: 0 when unset. False after a 400 reply. */
bool list_read_rv(struct request *req, uint64_t *ret_rv);
/* 504 Timeout with cause ResourceVersionTooLarge. */
void list_reply_too_large(struct standin *s, struct request *req, uint64_t rv);
/* The same as Status, for the ERROR event of a watch. */
void list_print_too_large(struct strbuf *b, uint64_t rv, uint64_t current);

#endif
