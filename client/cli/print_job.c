/* SPDX-License-Identifier: Apache-2.0 */
/* print_job.c - one job as a document and as a row.
 *
 * The document is an interface: its keys never change meaning. The table is for people.
 */
#include "print_job.h"

#include <stdio.h>
#include <string.h>

#include "spec_doc.h"
#include "util/mem.h"
#include "util/parse.h"

#define API_VERSION "gang.queued/v1"

struct document *list_document(struct arena *a, const char *kind, struct document **ret_items)
{
    struct document *d = document_map(a);

    document_put_text(a, d, "apiVersion", API_VERSION);
    document_put_text(a, d, "kind", kind);
    *ret_items = document_put_list(a, d, "items");
    return d;
}

struct document *event_document(struct arena *a, const struct queued_event *e)
{
    struct document *d = document_map(a);

    document_put_text(a, d, "apiVersion", API_VERSION);
    document_put_text(a, d, "kind", "GangJobEvent");
    if (e->seq)
        document_put_int(a, d, "seq", (int64_t)e->seq);
    document_put_time(a, d, "time", e->at_us);
    document_put_text(a, d, "id", e->job_id);
    document_put_text(a, d, "name", e->job_name);
    document_put_text(a, d, "tenant", e->tenant);
    document_put_text(a, d, "from", e->from);
    document_put_text(a, d, "to", e->to);
    if (e->attempt)
        document_put_int(a, d, "attempt", e->attempt);
    document_put_text(a, d, "reason", e->reason);
    document_put_text(a, d, "text", e->text);
    return d;
}

static struct document *metadata(struct arena *a, const struct queued_job *job)
{
    struct document *d = document_map(a), *labels;

    document_put_text(a, d, "name", job->name);
    document_put_text(a, d, "id", job->id);
    document_put_text(a, d, "namespace", job->ns);
    document_put_text(a, d, "tenant", job->tenant);
    document_put_text(a, d, "user", job->user);
    if (job->n_labels) {
        labels = document_put_map(a, d, "labels");
        for (size_t i = 0; i < job->n_labels; i++)
            document_put(a, labels, job->labels[i].key,
                         document_text(a, job->labels[i].value ? job->labels[i].value : ""));
    }
    document_put_time(a, d, "created", job->created_us);
    document_put_text(a, d, "array", job->array_id);
    if (job->array_id)
        document_put_int(a, d, "arrayIndex", job->array_index);
    return d;
}

static struct document *pod(struct arena *a, const struct queued_pod *p)
{
    struct document *d = document_map(a);

    document_put_text(a, d, "name", p->name);
    document_put_text(a, d, "role", p->role);
    document_put_int(a, d, "index", p->index);
    document_put_text(a, d, "node", p->node);
    document_put_int(a, d, "gpus", p->gpus);
    document_put_text(a, d, "phase", p->phase);
    if (p->has_exit_code)
        document_put_int(a, d, "exitCode", p->exit_code);
    return d;
}

static struct document *attempt(struct arena *a, const struct queued_attempt *t)
{
    struct document *d = document_map(a), *pods;

    document_put_int(a, d, "number", t->number);
    document_put_time(a, d, "started", t->started_us);
    document_put_time(a, d, "ended", t->ended_us);
    if (t->has_exit_code)
        document_put_int(a, d, "exitCode", t->exit_code);
    document_put_text(a, d, "reason", t->reason);
    pods = document_put_list(a, d, "pods");
    for (size_t i = 0; i < t->n_pods; i++)
        document_add(a, pods, pod(a, &t->pods[i]));
    return d;
}

static void put_array(struct arena *a, struct document *status, const struct queued_array *from)
{
    struct document *d;

    if (!from)
        return;
    d = document_put_map(a, status, "array");
    document_put_int(a, d, "indices", from->indices);
    document_put_int(a, d, "succeeded", from->succeeded);
    document_put_int(a, d, "failed", from->failed);
    document_put_int(a, d, "cancelled", from->cancelled);
    document_put_int(a, d, "running", from->running);
    document_put_int(a, d, "waiting", from->waiting);
    document_put_text(a, d, "open", from->open);
    document_put_text(a, d, "failedIndices", from->failed_indices);
}

static void put_reason(struct arena *a, struct document *status, const struct queued_job *job)
{
    struct document *reason, *numbers;

    if (!job->reason_code)
        return;
    reason = document_put_map(a, status, "reason");
    document_put_text(a, reason, "code", job->reason_code);
    document_put_text(a, reason, "text", job->reason_text);
    if (job->n_numbers == 0)
        return;
    numbers = document_put_map(a, reason, "numbers");
    for (size_t i = 0; i < job->n_numbers; i++)
        document_put_int(a, numbers, job->numbers[i].name, job->numbers[i].value);
}

static struct document *status(struct arena *a, const struct queued_job *job)
{
    struct document *d = document_map(a), *attempts;

    document_put_text(a, d, "state", job->state);
    document_put_text(a, d, "outcome", job->outcome);
    put_reason(a, d, job);
    put_array(a, d, job->array);
    if (job->position)
        document_put_int(a, d, "position", job->position);
    document_put_time(a, d, "checkpointed", job->checkpointed_us);
    document_put_time(a, d, "predictedStart", job->predicted_start_us);
    document_put_time(a, d, "predictedLastStart", job->predicted_last_start_us);
    document_put_time(a, d, "predictedEnd", job->predicted_end_us);
    document_put_text(a, d, "predictedStartBasis", job->predicted_basis);
    document_put_time(a, d, "predictedUsualStart", job->predicted_usual_start_us);
    document_put_text(a, d, "predictedUsualStartBasis", job->predicted_usual_basis);
    if (job->has_exit_code)
        document_put_int(a, d, "exitCode", job->exit_code);
    attempts = document_put_list(a, d, "attempts");
    for (size_t i = 0; i < job->n_attempts; i++)
        document_add(a, attempts, attempt(a, &job->attempts[i]));
    return d;
}

struct document *job_document(struct arena *a, const struct queued_job *job)
{
    struct document *d = document_map(a);

    document_put_text(a, d, "apiVersion", API_VERSION);
    document_put_text(a, d, "kind", "GangJob");
    document_put(a, d, "metadata", metadata(a, job));
    if (job->spec)
        document_put(a, d, "spec",
                     spec_doc_body(a, (const Queued__V1__JobSpec *)(const void *)job->spec));
    document_put(a, d, "status", status(a, job));
    return d;
}

/* ---- rows */

static const struct table_column columns[] = {
    {"JOB", TABLE_CUT_MIDDLE, 16}, {"TENANT", TABLE_CUT_END, 8}, {"PRIO", TABLE_CUT_END, 6},
    {"STATE", TABLE_WHOLE, 0},     {"GPUS", TABLE_WHOLE, 0},     {"NODES", TABLE_WHOLE, 0},
    {"POS", TABLE_WHOLE, 0},       {"AGE", TABLE_WHOLE, 0},      {"RUN", TABLE_WHOLE, 0},
    {"REASON", TABLE_CUT_END, 6},
};

static const struct table_column wide_columns[] = {
    {"JOB", TABLE_WHOLE, 0},      {"TENANT", TABLE_WHOLE, 0}, {"PRIO", TABLE_WHOLE, 0},
    {"STATE", TABLE_WHOLE, 0},    {"GPUS", TABLE_WHOLE, 0},   {"NODES", TABLE_WHOLE, 0},
    {"POS", TABLE_WHOLE, 0},      {"AGE", TABLE_WHOLE, 0},    {"RUN", TABLE_WHOLE, 0},
    {"USER", TABLE_WHOLE, 0},     {"MODEL", TABLE_WHOLE, 0},  {"PLACEMENT", TABLE_WHOLE, 0},
    {"RESTARTS", TABLE_WHOLE, 0}, {"ETA", TABLE_WHOLE, 0},    {"NAMESPACE", TABLE_WHOLE, 0},
    {"KEY", TABLE_WHOLE, 0},      {"REASON", TABLE_WHOLE, 0},
};

struct table *job_table(bool is_wide)
{
    return is_wide ? table_create(wide_columns, ARRAY_LEN(wide_columns))
                   : table_create(columns, ARRAY_LEN(columns));
}

const char *job_reason(struct arena *a, const struct queued_job *job)
{
    struct str s = {0};
    const char *ret;

    if (job->array && job->state && strcmp(job->state, "Running") == 0)
        str_addf(&s, "%u of %u done, %u failed", job->array->succeeded, job->array->indices,
                 job->array->failed);
    else if (job->reason_code && job->reason_text)
        str_addf(&s, "%s: %s", job->reason_code, job->reason_text);
    else if (job->reason_code)
        str_add(&s, job->reason_code);
    else if (job->has_exit_code && job->exit_code)
        str_addf(&s, "exit code %d", job->exit_code);
    ret = arena_strdup(a, str_text(&s));
    str_fini(&s);
    return ret;
}

/* "0/32" while it waits, what it holds, or what it wanted. */
static void add_held(struct table *t, const struct queued_job *job, uint64_t held, uint64_t wanted)
{
    if (held)
        table_addf(t, "%llu", (unsigned long long)held);
    else if (job->state && queued_state_is_final(job->state))
        table_addf(t, "%llu", (unsigned long long)wanted);
    else
        table_addf(t, "0/%llu", (unsigned long long)wanted);
}

static void add_duration(struct table *t, int64_t from_us, int64_t to_us)
{
    char buf[FORMAT_MAX];
    int64_t whole = (to_us - from_us) / USEC_PER_SEC * USEC_PER_SEC;

    table_add(t, from_us > 0 && to_us > 0 ? format_duration(buf, whole) : NULL);
}

const char *job_eta(char buf[JOB_ETA_MAX], int64_t start_us, int64_t now_us)
{
    char in[FORMAT_MAX];
    int64_t left = (start_us - now_us) / USEC_PER_SEC * USEC_PER_SEC;

    if (start_us <= 0)
        return NULL;
    if (left <= 0)
        return "now";
    (void)snprintf(buf, JOB_ETA_MAX, "~%s", format_duration(in, left));
    return buf;
}

void job_table_add(struct table *t, const struct queued_job *job, bool is_wide, int64_t now_us)
{
    struct arena a = {0};
    char buf[JOB_ETA_MAX];

    if (job->array && job->array->open)
        table_addf(t, "%s[%s]", job->name ? job->name : "", job->array->open);
    else
        table_add(t, job->name);
    table_add(t, job->tenant);
    table_add(t, job->priority_class);
    table_add(t, job->state);
    if (job->gpus)
        add_held(t, job, job->held_gpus, job->gpus);
    else
        table_add(t, "0");
    if (job->most_pods && !queued_state_is_final(job->state))
        table_addf(t, "%u/%u..%u", job->now_pods, job->pods, job->most_pods);
    else
        add_held(t, job, job->held_nodes, job->pods);
    if (job->position)
        table_addf(t, "%u", job->position);
    else
        table_add(t, NULL);
    add_duration(t, job->created_us, now_us);
    add_duration(t, job->running_us, job->ended_us > 0 ? job->ended_us : now_us);
    if (is_wide) {
        table_add(t, job->user);
        table_add(t, job->gpu_model);
        table_add(t, job->placement);
        table_addf(t, "%u", job->restarts);
        table_add(t, job_eta(buf, job->predicted_start_us, now_us));
        table_add(t, job->ns);
        table_add(t, job->submit_key);
    }
    table_add(t, job_reason(&a, job));
    arena_fini(&a);
}
