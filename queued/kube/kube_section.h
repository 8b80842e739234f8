/* SPDX-License-Identifier: Apache-2.0 */
/* kube_section.h - a map of a kubeconfig with its path, and the reading of its fields; inside of
 * kube_config.h.
 *
 * Lax about keys, strict about kinds: a field that is there must be what it is meant to be. No
 * error text holds a value.
 */
#ifndef QUEUED_KUBE_KUBE_SECTION_H
#define QUEUED_KUBE_KUBE_SECTION_H

#include "kube/kube_config.h"
#include "util/yaml.h"

enum { SECTION_PATH_MAX = 200 };

struct section {
    const struct yaml_doc *doc;
    const char *dir; /* of the kubeconfig, with a slash at the end, or "" */
    const struct yaml_node *map;
    char path[SECTION_PATH_MAX]; /* "users[u].user" */
    struct err *err;
};

/* INVALID at a key, or at the map where it is missing. Returns -1. */
int section_fail(const struct section *s, const char *key, const char *what);
/* A text; NULL where there is none, or an empty one. */
int section_text(const struct section *s, const char *key, const char **ret);
/* false where there is none. */
int section_bool(const struct section *s, const char *key, bool *ret);
/* A map below; ret->map is NULL where there is none. */
int section_map(const struct section *s, const char *key, struct section *ret);
/* Texts of a list, each added to words as prefix, text. */
int section_list(const struct section *s, const char *key, const char *prefix,
                 struct kube_words *words);
/* The map `what` of the entry of a list of {name, what} that has this name; first one wins.
 * ret->map is NULL where the entry is there without content. -1 where there is no such entry. */
int section_named(const struct section *s, const char *list, const char *what, const char *name,
                  struct section *ret);
/* A path of the kubeconfig as one for us; the caller frees. */
char *section_file(const struct section *s, const char *path);

/* Read the field exec of a user into a new plugin. cluster is what it may be told about. */
int exec_plugin_read(struct exec_plugin **ret, const struct section *exec,
                     const struct section *cluster, const char *ca);
void exec_plugin_destroy(struct exec_plugin *p);
void kube_words_fini(struct kube_words *w);

#endif
