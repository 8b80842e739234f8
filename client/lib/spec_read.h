/* SPDX-License-Identifier: Apache-2.0 */
/* spec_read.h - readers of single fields, shared by the two forms of a job file.
 *
 * The table readers (yaml_field.read) write a plain field at their offset; readers of lists get
 * the draft, whose arena owns the arrays. Nothing is freed before the file is.
 */
#ifndef QUEUED_CLIENT_SPEC_READ_H
#define QUEUED_CLIENT_SPEC_READ_H

#include "queued.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/yaml.h"

/* Known, but not acted on. */
#define SPEC_LATER "is not acted on by this version; remove it"

struct spec_draft {
    struct arena *arena;
    struct queued_spec spec;
    bool says_c10d;         /* rendezvous.backend, which only elastic ones have */
    bool has_no_rendezvous; /* its type is none: the names of its variables are free */
};

struct role_draft {
    struct arena *arena;
    bool has_no_rendezvous; /* as of the job */
    struct queued_role role;
};

int read_text(const struct yaml_at *at, void *out, struct err *err);       /* const char * */
int read_path(const struct yaml_at *at, void *out, struct err *err);       /* absolute */
int read_duration(const struct yaml_at *at, void *out, struct err *err);   /* int64_t, > 0 */
int read_bytes(const struct yaml_at *at, void *out, struct err *err);      /* int64_t, > 0 */
int read_gpu_memory(const struct yaml_at *at, void *out, struct err *err); /* int64_t, > 0 */
int read_value(const struct yaml_at *at, void *out, struct err *err);      /* const char *, or "" */
int read_cpu(const struct yaml_at *at, void *out, struct err *err);        /* int64_t, > 0 */
int read_flag(const struct yaml_at *at, void *out, struct err *err);       /* bool */
/* One of two words; const char * */
int read_word(const struct yaml_at *at, const char *one, const char *two, const char **ret,
              struct err *err);
/* The one word that is what happens anyway. */
int read_default(const struct yaml_at *at, const char *word, struct err *err);
int read_level(const struct yaml_at *at, void *out, struct err *err); /* const char * */

/* Of an object in Kubernetes; const char * */
int read_object_name(const struct yaml_at *at, void *out, struct err *err);

/* Of a spec_draft. */
int read_generate_name(const struct yaml_at *at, void *draft, struct err *err);
int read_job_name(const struct yaml_at *at, void *draft, struct err *err);
int read_tenant(const struct yaml_at *at, void *draft, struct err *err);
int read_namespace(const struct yaml_at *at, void *draft, struct err *err);
int read_labels(const struct yaml_at *at, void *draft, struct err *err);
int read_annotations(const struct yaml_at *at, void *draft, struct err *err);
int read_submit_key(const struct yaml_at *at, void *draft, struct err *err);
int read_cleanup(const struct yaml_at *at, void *draft, struct err *err);
int read_checkpoint(const struct yaml_at *at, void *draft, struct err *err);
int read_preemptible(const struct yaml_at *at, void *draft, struct err *err);
int read_array(const struct yaml_at *at, void *draft, struct err *err);
int read_failure_policy(const struct yaml_at *at, void *draft, struct err *err);

/* Of a role_draft. */
int read_replicas(const struct yaml_at *at, void *draft, struct err *err);
int read_gpus(const struct yaml_at *at, void *draft, struct err *err);
int read_gpu_models(const struct yaml_at *at, void *draft, struct err *err);
int read_env_map(const struct yaml_at *at, void *draft, struct err *err);
int read_env_from(const struct yaml_at *at, void *draft, struct err *err);
int read_env_list(const struct yaml_at *at, void *draft, struct err *err);
int read_placement(const struct yaml_at *at, void *draft, struct err *err);
int read_volumes(const struct yaml_at *at, void *draft, struct err *err);

/* A list of text into an array of the arena. */
int read_texts(const struct yaml_at *at, struct arena *arena, const char *const **ret,
               size_t *ret_n, struct err *err);
/* A map of text to text. check: NULL, or called for each pair. */
struct pairs_wish {
    struct arena *arena;
    size_t max;
    int (*check)(const struct yaml_at *at, const char *key, const char *value, struct err *err);
};
int read_pairs(const struct yaml_at *at, const struct pairs_wish *wish,
               const struct queued_pair **ret, size_t *ret_n, struct err *err);

/* One role of the canonical form. */
int role_read(const struct yaml_at *at, const struct spec_draft *job, struct queued_role *ret,
              struct err *err);
/* One document of the short form. */
int spec_short_read(const struct yaml_at *at, struct spec_draft *d, struct err *err);

#endif
