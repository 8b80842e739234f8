/* SPDX-License-Identifier: Apache-2.0 */
/* spec_array.c - array: which indices, and the parameters of each: line i is given to index i.
 *
 * A file of parameters is read once, here: the job carries its lines. Of a .csv file the first line
 * names the columns, and each other one becomes an object of JSON.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spec/limits.h"
#include "spec_read.h"
#include "util/mem.h"
#include "util/str.h"
#include "util/vec.h"

enum { CSV_COLUMNS_MAX = 64 };

typedef VEC(const char *) line_list;

static int read_parallel(const struct yaml_at *at, void *out, struct err *err)
{
    struct spec_draft *d = out;
    uint64_t v;

    if (yaml_u64(at, 1, ARRAY_INDICES_MAX, &v, err))
        return -1;
    d->spec.array_parallel = (uint32_t)v;
    return 0;
}

static int take_lines(const struct yaml_at *at, struct spec_draft *d, const line_list *lines,
                      struct err *err)
{
    const char **v = arena_alloc(d->arena, (lines->n + 1) * sizeof(*v));

    if (d->spec.n_array_params)
        return yaml_fail(at, err, "give either a file or lines");
    if (lines->n == 0)
        return yaml_fail(at, err, "has no lines");
    if (lines->n > ARRAY_INDICES_MAX)
        return yaml_fail(at, err, "has %zu lines; there are at most %d indices", lines->n,
                         ARRAY_INDICES_MAX);
    memcpy(v, lines->v, lines->n * sizeof(*v));
    d->spec.array_params = v;
    d->spec.n_array_params = lines->n;
    return 0;
}

static int add_line(const struct yaml_at *at, const char *key, void *out, struct err *err)
{
    const char *text;

    (void)key;
    if (yaml_string(at, &text, err))
        return -1;
    if (strchr(text, '\n'))
        return yaml_fail(at, err, "must be one line");
    *vec_push((line_list *)out) = text;
    return 0;
}

static int read_lines(const struct yaml_at *at, void *out, struct err *err)
{
    line_list lines = {0};
    int rc;

    if (at->node->kind != YAML_LIST)
        return yaml_fail(at, err, "must be a list with a text for each index");
    rc = yaml_each(at, add_line, &lines, err) || take_lines(at, out, &lines, err);
    vec_fini(&lines);
    return rc ? -1 : 0;
}

/* Beside the job file, when its path does not begin at the root. */
static char *path_of(const struct yaml_at *at, const char *name)
{
    const char *slash = strrchr(at->doc->file, '/');

    return *name == '/' || !slash
               ? xstrdup(name)
               : xasprintf("%.*s/%s", (int)(slash - at->doc->file), at->doc->file, name);
}

/* Lines may end as elsewhere. */
static void drop_returns(struct str *text)
{
    size_t to = 0;

    for (size_t i = 0; i < text->len; i++)
        if (text->s[i] != '\r' || i + 1 == text->len || text->s[i + 1] != '\n')
            text->s[to++] = text->s[i];
    text->len = to;
    if (text->s)
        text->s[to] = '\0';
}

/* The whole file as text. It is larger than what is kept of it, as columns are named once. */
static int read_file(const struct yaml_at *at, const char *path, struct str *ret, struct err *err)
{
    enum { BYTES_MAX = 4 * ARRAY_PARAMS_BYTES_MAX };
    FILE *in = fopen(path, "r");
    char buf[4096];
    size_t n = 1;

    if (!in)
        return yaml_fail(at, err, "%s: %s", path, strerror(errno));
    while (n && ret->len <= BYTES_MAX) {
        n = fread(buf, 1, sizeof(buf), in);
        str_add_bytes(ret, buf, n);
    }
    n = (size_t)ferror(in);
    (void)fclose(in);
    if (n)
        return yaml_fail(at, err, "%s: cannot be read", path);
    if (ret->len > BYTES_MAX)
        return yaml_fail(at, err, "%s: larger than %d bytes; let its lines name files", path,
                         BYTES_MAX);
    drop_returns(ret);
    if (!ret->len || !str_is_clean_utf8(ret->s, ret->len))
        return yaml_fail(at, err, "%s: %s", path, ret->len ? "is no UTF-8 text" : "is empty");
    return 0;
}

/* Some editors begin UTF-8 with a mark, which is not of the text. */
static size_t mark_length(const struct str *text)
{
    return text->len >= 3 && memcmp(text->s, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

/* Cut the next line off the rest; NULL: there is none. */
static char *next_line(char **rest)
{
    char *line = *rest, *end = strchr(line, '\n');

    if (!*line)
        return NULL;
    *rest = end ? end + 1 : line + strlen(line);
    if (end)
        *end = '\0';
    return line;
}

/* The fields of a line of CSV, in place: "" stands for a quote in a quoted one. How many; 0: it
 * cannot be read. */
static size_t split_csv(char *at, char *ret[CSV_COLUMNS_MAX])
{
    size_t n = 0;

    for (bool more = true; more; at++) {
        bool is_quoted = *at == '"';
        char *to = at += is_quoted;

        if (n == CSV_COLUMNS_MAX)
            return 0;
        ret[n++] = to;
        while (*at && (is_quoted ? *at != '"' || at[1] == '"' : *at != ',')) {
            at += is_quoted && *at == '"';
            *to++ = *at++;
        }
        if (is_quoted && *at++ != '"')
            return 0;
        if (*at && *at != ',')
            return 0;
        more = *at == ',';
        *to = '\0';
    }
    return n;
}

/* Header and rows as one object a row. */
static int read_csv(const struct yaml_at *at, char *rest, struct spec_draft *d, line_list *lines,
                    struct err *err)
{
    char *names[CSV_COLUMNS_MAX], *fields[CSV_COLUMNS_MAX], *line = next_line(&rest);
    size_t n = split_csv(line, names), number = 1;
    struct str object = {0};

    for (line = n ? next_line(&rest) : NULL; line; line = next_line(&rest)) {
        number++;
        if (split_csv(line, fields) != n)
            break;
        str_clear(&object);
        for (size_t i = 0; i < n; i++) {
            str_add(&object, i ? "," : "{");
            str_add_json(&object, names[i]);
            str_add(&object, ":");
            str_add_json(&object, fields[i]);
        }
        str_add(&object, "}");
        *vec_push(lines) = arena_strdup(d->arena, str_text(&object));
    }
    str_fini(&object);
    if (n == 0 || line)
        return yaml_fail(at, err, "line %zu does not have one field for each of at most %d columns",
                         number, CSV_COLUMNS_MAX);
    return 0;
}

static bool is_csv(const char *path)
{
    size_t n = strlen(path);

    return n > 4 && strcmp(path + n - 4, ".csv") == 0;
}

static int read_params_file(const struct yaml_at *at, void *out, struct err *err)
{
    struct spec_draft *d = out;
    line_list lines = {0};
    struct str text = {0};
    const char *name;
    char *path, *rest;
    int rc;

    if (yaml_string(at, &name, err))
        return -1;
    path = path_of(at, name);
    rc = read_file(at, path, &text, err);
    rest = rc ? NULL : arena_strdup(d->arena, str_text(&text) + mark_length(&text));
    if (rc == 0 && is_csv(path))
        rc = read_csv(at, rest, d, &lines, err);
    else
        for (char *line = rc ? NULL : next_line(&rest); line; line = next_line(&rest))
            *vec_push(&lines) = line;
    if (rc == 0)
        rc = take_lines(at, d, &lines, err);
    vec_fini(&lines);
    str_fini(&text);
    free(path);
    return rc;
}

static const struct yaml_field params_fields[] = {
    {"file", read_params_file, 0, false, NULL},
    {"lines", read_lines, 0, false, NULL},
    {"configMap", NULL, 0, false,
     "is not read by this version; name the same lines as a file: paramsFrom: {file: PATH}"},
    {"key", NULL, 0, false, SPEC_LATER},
};

static int read_params(const struct yaml_at *at, void *out, struct err *err)
{
    return yaml_walk(at, params_fields, ARRAY_LEN(params_fields), out, err);
}

#define SPEC(field) offsetof(struct spec_draft, spec.field)

static const struct yaml_field array_fields[] = {
    {"indices", read_text, SPEC(array_indices), true, NULL},
    {"maxParallel", read_parallel, 0, false, NULL},
    {"failFast", read_flag, SPEC(array_fails_fast), false, NULL},
    {"paramsFrom", read_params, 0, false, NULL},
};

int read_array(const struct yaml_at *at, void *draft, struct err *err)
{
    return yaml_walk(at, array_fields, ARRAY_LEN(array_fields), draft, err);
}
