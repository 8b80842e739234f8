/* SPDX-License-Identifier: Apache-2.0 */
/* spec_check.h - inside spec_check(): what its parts share. Private to spec_check*.c. */
#ifndef QUEUED_SPEC_SPEC_CHECK_H
#define QUEUED_SPEC_SPEC_CHECK_H

#include "spec/spec.h"

struct check {
    struct spec *spec;
    const struct settings *settings;
    uint32_t tenant;
    struct err *err;
    char at[64]; /* path of the role */
};

/* An INVALID error: where c is, the path below it, and what is wrong. Returns -1. */
int spec_bad(const struct check *c, const char *path, const char *what);
/* A label or annotation key: [prefix/]name. */
bool spec_is_qualified(const char *key);
bool spec_is_label_value(const char *v);
/* Clean UTF-8 of at most so many bytes, or NULL. */
bool spec_is_text(const char *s, size_t max);
/* What a role says of its pods, and of its nodes. */
int spec_check_pod(const struct check *c, const struct spec_role *r);
int spec_check_placement(const struct check *c, struct spec_role *r);
int spec_check_licences(const struct check *c);

int spec_check_array(const struct check *c);

/* Of failurePolicy. */
int spec_check_failure(const struct check *c);

#endif
