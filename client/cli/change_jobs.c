/* SPDX-License-Identifier: Apache-2.0 */
/* change_jobs.c - one call a job; lines at once, documents at the end. */
#include "change_jobs.h"

#include <stdio.h>

#include "cli.h"
#include "print_job.h"
#include "util/mem.h"
#include "util/vec.h"

typedef VEC(struct queued_changed) changed_list;

static void print_documents(const changed_list *done, enum cli_format format)
{
    struct arena arena = {0};
    struct document *items, *d = list_document(&arena, "GangJobList", &items);

    for (size_t i = 0; i < done->n; i++) {
        struct document *j = document_map(&arena), *part;

        document_put_text(&arena, j, "apiVersion", "gang.queued/v1");
        document_put_text(&arena, j, "kind", "GangJob");
        part = document_put_map(&arena, j, "metadata");
        document_put_text(&arena, part, "name", done->v[i].name);
        document_put_text(&arena, part, "id", done->v[i].id);
        part = document_put_map(&arena, j, "status");
        document_put_text(&arena, part, "state", done->v[i].state);
        document_add(&arena, items, j);
    }
    cli_print(d, format);
    arena_fini(&arena);
}

int change_format(struct job_change *x)
{
    return cli_format(
        1u << FORMAT_TABLE | 1u << FORMAT_JSON | 1u << FORMAT_YAML | 1u << FORMAT_NAME, &x->format);
}

static int change_one(const struct job_change *x, struct queued_client *c, const char *name,
                      struct queued_changed *ret, struct queued_error *e)
{
    struct queued_change change = {x->verb, name, x->reason};
    struct queued_update update;

    if (!x->update)
        return queued_change(c, &change, ret, e);
    update = *x->update;
    update.job = name;
    return queued_update(c, &update, ret, e);
}

int change_jobs(const struct job_change *x, struct queued_client *c, const char *const *names,
                size_t n)
{
    changed_list done = {0};
    int rc = 0;

    for (size_t i = 0; i < n; i++) {
        struct queued_changed j;
        struct queued_error e;

        if (change_one(x, c, names[i], &j, &e)) {
            int code = cli_error(&e);

            rc = rc ? rc : code;
            if (e.code == QUEUED_UNAVAILABLE)
                break;
            continue;
        }
        *vec_push(&done) = j;
        if (x->format == FORMAT_NAME)
            (void)printf("job/%s\n", j.name);
        else if (x->format == FORMAT_TABLE)
            x->print(&j);
    }
    if (x->format == FORMAT_JSON || x->format == FORMAT_YAML)
        print_documents(&done, x->format);
    vec_fini(&done);
    return rc;
}
