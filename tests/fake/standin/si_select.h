/* SPDX-License-Identifier: Apache-2.0 */
/* si_select.h - field and label selectors of the stand-in API server.
 *
 * Parses the query of a list, watch or collection delete and matches versions against it.
 */
#ifndef QUEUED_STANDIN_SELECT_H
#define QUEUED_STANDIN_SELECT_H

#include "standin.h"

enum { SELECT_TERMS_MAX = 16 };

enum select_op { SELECT_EQUAL, SELECT_DIFFERS, SELECT_IN, SELECT_NOT_IN, SELECT_HAS, SELECT_LACKS };

struct select_term {
    bool is_field;
    enum select_op op;
    char *key;
    char *value; /* for sets: the values between commas, with a comma at both ends */
};

struct selector {
    enum res_id res;
    char *ns; /* "" = all */
    struct select_term terms[SELECT_TERMS_MAX];
    size_t count;
};

/* Read fieldSelector, labelSelector and the namespace of req. False after a 400 reply; out must be
 * finished in both cases. */
bool selector_parse(struct selector *out, struct request *req);
bool selector_matches(const struct selector *selector, const struct rec *rec);
void selector_fini(struct selector *selector);

#endif
