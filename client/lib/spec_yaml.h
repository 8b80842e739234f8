/* SPDX-License-Identifier: Apache-2.0 */
/* spec_yaml.h - job files, canonical and short, as specs. The daemon never reads a user's YAML.
 *
 * Fields that this version acts on are read and checked as far as that can be done without the
 * daemon; every other field of queued-job(5) is known and refused with its path; unknown ones are
 * refused with a suggestion. Errors read "FILE:LINE:COLUMN: path: what, what to do".
 */
#ifndef QUEUED_CLIENT_SPEC_YAML_H
#define QUEUED_CLIENT_SPEC_YAML_H

#include <stddef.h>

#include "queued.h"
#include "util/err.h"
#include "util/yaml.h"

/* The jobs of one file. */
struct spec_file {
    struct yaml_doc *doc; /* owns every string and array of the specs */
    size_t n;
    struct queued_spec *specs;
};

/* Read all documents (empty ones are skipped; none at all is an error). Takes doc over, also on
 * failure. -1 INVALID; *ret is then untouched. Free with spec_file_fini(). */
int spec_yaml_load(struct spec_file *ret, struct yaml_doc *doc, struct err *err);
void spec_file_fini(struct spec_file *f);

/* Read "required:LEVEL preferred:LEVEL" or "any" into the two fields of s, both NULL before. -1: it
 * is neither. */
int spec_read_topology(const char *text, struct arena *arena, struct queued_spec *s);
#define SPEC_TOPOLOGY_FORM "required:LEVEL, preferred:LEVEL, both with a blank between, or any"

/* Apply "spec.roles[0].replicas=3" to every document of a tree that is not loaded yet. The value
 * is plain text; missing maps on the way are made, lists are not extended. -1 INVALID. */
int spec_set(struct yaml_doc *doc, const char *assignment, struct err *err);

#endif
