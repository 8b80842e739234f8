/* SPDX-License-Identifier: Apache-2.0 */
/* client_job.c - submit, get, list, cancel, why: messages around client_call().
 *
 * A result owns its message and the arena of its views; the public struct comes first in it.
 */
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "client_job.h"
#include "client_view.h"
#include "spec_pack.h"
#include "spec_yaml.h"
#include "util/mem.h"
#include "util/str.h"

struct jobs_box {
    struct queued_jobs pub;    /* first: freed by its address */
    ProtobufCMessage *message; /* NULL for a joined one */
    struct arena arena;
    struct queued_jobs **parts; /* of a joined one */
    size_t n_parts;
};

static struct queued_jobs *wrap_jobs(ProtobufCMessage *message, Queued__V1__Job *const *jobs,
                                     size_t n, const Queued__V1__ReplyHeader *header)
{
    struct jobs_box *box = xcalloc(1, sizeof(*box));
    struct queued_job *v = arena_alloc(&box->arena, (n + 1) * sizeof(*v));

    for (size_t i = 0; i < n; i++)
        v[i] = view_job(&box->arena, jobs[i]);
    box->message = message;
    box->pub = (struct queued_jobs){n, v, header->as_of_seq};
    return &box->pub;
}

/* A box that has no parts, or whose parts are gone. */
static void free_box(struct jobs_box *box)
{
    if (box->message)
        protobuf_c_message_free_unpacked(box->message, NULL);
    free(box->parts);
    arena_fini(&box->arena);
    free(box);
}

void queued_jobs_free(struct queued_jobs *jobs)
{
    struct jobs_box *box = (struct jobs_box *)jobs;

    if (!box)
        return;
    for (size_t i = 0; i < box->n_parts; i++)
        free_box((struct jobs_box *)box->parts[i]);
    free_box(box);
}

struct queued_jobs *jobs_join(struct queued_jobs *const *parts, size_t n)
{
    struct jobs_box *box = xcalloc(1, sizeof(*box));
    struct queued_job *v = arena_alloc(&box->arena, (n + 1) * sizeof(*v));

    for (size_t i = 0; i < n; i++)
        v[i] = parts[i]->v[0];
    box->parts = xmemdup(parts, n * sizeof(*parts));
    box->n_parts = n;
    box->pub = (struct queued_jobs){n, v, parts[0]->as_of_seq};
    return &box->pub;
}

bool queued_state_is_final(const char *state)
{
    static const char *const finals[] = {"Succeeded", "Failed",   "Cancelled", "Preempted",
                                         "Lost",      "TimedOut", "Rejected"};

    for (size_t i = 0; i < ARRAY_LEN(finals); i++)
        if (strcmp(state, finals[i]) == 0)
            return true;
    return false;
}

static char *text(const char *s)
{
    union {
        const char *in;
        char *out; /* protobuf-c declares what it only reads as writable */
    } u = {s};

    return u.out;
}

static void copy_text(char *dst, size_t size, const char *src)
{
    (void)str_copy(dst, size, src ? src : ""); /* the daemon's names fit */
}

static int submit(struct queued_client *c, Queued__V1__JobSpec *spec,
                  const struct queued_submit_options *o, struct queued_submitted *ret,
                  struct err *err)
{
    Queued__V1__SubmitRequest request = QUEUED__V1__SUBMIT_REQUEST__INIT;
    ProtobufCMessage *reply = NULL;
    Queued__V1__SubmitReply *r;

    request.spec = spec;
    request.has_dry_run = o && o->is_dry_run;
    request.dry_run = request.has_dry_run;
    request.has_require_feasible = o && o->require_feasible;
    request.require_feasible = request.has_require_feasible;
    if (client_call(c, QUEUED__V1__METHOD__METHOD_SUBMIT, &request.base, &reply, err))
        return -1;
    r = (Queued__V1__SubmitReply *)reply;
    *ret = (struct queued_submitted){.gpus = r->gpus, .existed = r->existed};
    copy_text(ret->id, sizeof(ret->id), r->id);
    copy_text(ret->name, sizeof(ret->name), r->name);
    copy_text(ret->ns, sizeof(ret->ns), r->namespace_);
    copy_text(ret->tenant, sizeof(ret->tenant), r->tenant);
    copy_text(ret->warning, sizeof(ret->warning), r->header->text);
    protobuf_c_message_free_unpacked(reply, NULL);
    return 0;
}

int queued_submit(struct queued_client *c, const struct queued_spec *spec,
                  const struct queued_submit_options *options, struct queued_submitted *ret,
                  struct queued_error *error)
{
    struct arena arena = {0};
    Queued__V1__JobSpec *m = NULL;
    struct err err;
    int rc = spec_pack(&m, spec, &arena, &err);

    if (rc == 0)
        rc = submit(c, m, options, ret, &err);
    arena_fini(&arena);
    return rc ? client_fail(error, &err) : 0;
}

int queued_submit_text(struct queued_client *c, const char *job_text,
                       const struct queued_submit_options *options, struct queued_submitted *ret,
                       struct queued_error *error)
{
    struct yaml_doc *doc = NULL;
    struct spec_file f;
    struct err err;
    int rc;

    if (yaml_parse(&doc, "job", job_text, strlen(job_text), &err) || spec_yaml_load(&f, doc, &err))
        return client_fail(error, &err);
    if (f.n == 1) {
        rc = queued_submit(c, &f.specs[0], options, ret, error);
    } else {
        (void)err_set(&err, ERR_INVALID, "job: %zu jobs in the text; submit them one by one", f.n);
        rc = client_fail(error, &err);
    }
    spec_file_fini(&f);
    return rc;
}

int queued_get(struct queued_client *c, const char *job, struct queued_jobs **ret,
               struct queued_error *error)
{
    Queued__V1__GetRequest request = QUEUED__V1__GET_REQUEST__INIT;
    ProtobufCMessage *reply = NULL;
    Queued__V1__GetReply *r;
    struct err err;

    request.job = text(job);
    if (client_call(c, QUEUED__V1__METHOD__METHOD_GET, &request.base, &reply, &err))
        return client_fail(error, &err);
    r = (Queued__V1__GetReply *)reply;
    if (!r->job) {
        protobuf_c_message_free_unpacked(reply, NULL);
        (void)err_set(&err, ERR_INTERNAL, "the answer for job %.60s holds no job", job);
        return client_fail(error, &err);
    }
    *ret = wrap_jobs(reply, &r->job, 1, r->header);
    return 0;
}

struct queued_cursor {
    size_t len;
    uint8_t bytes[];
};

void queued_cursor_free(struct queued_cursor *cursor)
{
    free(cursor);
}

char *queued_cursor_text(const struct queued_cursor *cursor)
{
    struct str s = {0};

    for (size_t i = 0; i < cursor->len; i++)
        str_addf(&s, "%02x", cursor->bytes[i]);
    return str_take(&s);
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int queued_cursor_from_text(const char *hex, struct queued_cursor **ret, struct queued_error *error)
{
    size_t len = strlen(hex) / 2;
    struct queued_cursor *cursor = xmalloc(sizeof(*cursor) + len + 1);
    bool is_good = len > 0 && strlen(hex) == 2 * len;
    struct err err;

    cursor->len = len;
    for (size_t i = 0; is_good && i < len; i++) {
        int high = hex_digit(hex[2 * i]), low = hex_digit(hex[2 * i + 1]);

        is_good = high >= 0 && low >= 0;
        cursor->bytes[i] = (uint8_t)(is_good ? high * 16 + low : 0);
    }
    if (!is_good) {
        free(cursor);
        (void)err_set(&err, ERR_INVALID, "\"%.40s\" is no token of a list", hex);
        return client_fail(error, &err);
    }
    *ret = cursor;
    return 0;
}

static void move_cursor(struct queued_cursor **cursor, const Queued__V1__ListReply *r)
{
    free(*cursor);
    *cursor = NULL;
    if (!r->has_page_token || r->page_token.len == 0)
        return;
    *cursor = xmalloc(sizeof(**cursor) + r->page_token.len);
    (*cursor)->len = r->page_token.len;
    memcpy((*cursor)->bytes, r->page_token.data, r->page_token.len);
}

int queued_list(struct queued_client *c, const struct queued_query *query,
                struct queued_cursor **cursor, struct queued_jobs **ret, struct queued_error *error)
{
    Queued__V1__ListRequest request = QUEUED__V1__LIST_REQUEST__INIT;
    Queued__V1__JobFilter f;
    ProtobufCMessage *reply = NULL;
    struct arena arena = {0};
    Queued__V1__ListReply *r;
    struct err err;
    int rc;

    view_filter(&f, &query->filter, &arena);
    request.filter = &f;
    request.has_limit = query->limit > 0;
    request.limit = query->limit;
    request.has_full = query->is_full;
    request.full = query->is_full;
    request.has_page_token = *cursor != NULL;
    if (*cursor)
        request.page_token = (ProtobufCBinaryData){(*cursor)->len, (*cursor)->bytes};
    rc = client_call(c, QUEUED__V1__METHOD__METHOD_LIST, &request.base, &reply, &err);
    arena_fini(&arena);
    if (rc)
        return client_fail(error, &err);
    r = (Queued__V1__ListReply *)reply;
    move_cursor(cursor, r);
    *ret = wrap_jobs(reply, r->jobs, r->n_jobs, r->header);
    return 0;
}

/* Frees the reply. */
static void take_changed(ProtobufCMessage *reply, struct queued_changed *ret)
{
    const Queued__V1__ChangeReply *r = (const Queued__V1__ChangeReply *)reply;

    *ret = (struct queued_changed){0};
    copy_text(ret->id, sizeof(ret->id), r->id);
    copy_text(ret->name, sizeof(ret->name), r->name);
    copy_text(ret->state, sizeof(ret->state), r->state);
    protobuf_c_message_free_unpacked(reply, NULL);
}

static int change_call(struct queued_client *c, uint16_t method, ProtobufCMessage *request,
                       struct queued_changed *ret, struct queued_error *error)
{
    ProtobufCMessage *reply = NULL;
    struct err err;

    if (client_call(c, method, request, &reply, &err))
        return client_fail(error, &err);
    take_changed(reply, ret);
    return 0;
}

static void fill_change(Queued__V1__ChangeRequest *m, const struct queued_change *change)
{
    m->job = text(change->job);
    m->reason = text(change->reason);
    m->has_grace_us = change->grace_us != 0;
    m->grace_us = (uint64_t)change->grace_us;
}

int queued_change(struct queued_client *c, const struct queued_change *change,
                  struct queued_changed *ret, struct queued_error *error)
{
    Queued__V1__ChangeRequest request = QUEUED__V1__CHANGE_REQUEST__INIT;

    fill_change(&request, change);
    return change_call(c, (uint16_t)change->verb, &request.base, ret, error);
}

int queued_change_all(struct queued_client *c, const struct queued_change *changes, size_t n,
                      struct queued_changed *ret, struct queued_error *errors)
{
    Queued__V1__ChangeRequest requests[QUEUED_CHANGES_MAX];
    struct client_asked asked[QUEUED_CHANGES_MAX];
    int rc = 0;

    for (size_t i = 0; n > QUEUED_CHANGES_MAX && i < n; i++) {
        (void)err_set(&asked[0].err, ERR_INVALID, "%zu changes, at most %d at once", n,
                      QUEUED_CHANGES_MAX);
        rc = client_fail(&errors[i], &asked[0].err);
    }
    if (rc)
        return rc;
    for (size_t i = 0; i < n; i++) {
        queued__v1__change_request__init(&requests[i]);
        fill_change(&requests[i], &changes[i]);
        asked[i] = (struct client_asked){.method = (uint16_t)changes[i].verb,
                                         .request = &requests[i].base};
    }
    client_call_all(c, asked, n);
    for (size_t i = 0; i < n; i++) {
        errors[i].code = QUEUED_OK;
        if (asked[i].reply)
            take_changed(asked[i].reply, &ret[i]);
        else
            rc = client_fail(&errors[i], &asked[i].err);
    }
    return rc;
}

int queued_change_selected(struct queued_client *c, const struct queued_filter *filter,
                           const struct queued_change *change, char *ret_text,
                           struct queued_error *error)
{
    Queued__V1__SelectedRequest request = QUEUED__V1__SELECTED_REQUEST__INIT;
    Queued__V1__JobFilter f;
    ProtobufCMessage *reply = NULL;
    struct arena arena = {0};
    struct err err;
    int rc;

    view_filter(&f, filter, &arena);
    request.filter = &f;
    request.has_method = true;
    request.method = (uint32_t)change->verb;
    request.reason = text(change->reason);
    request.has_grace_us = change->grace_us != 0;
    request.grace_us = (uint64_t)change->grace_us;
    rc = client_call(c, QUEUED__V1__METHOD__METHOD_CHANGE_SELECTED, &request.base, &reply, &err);
    arena_fini(&arena);
    if (rc)
        return client_fail(error, &err);
    copy_text(ret_text, QUEUED_TEXT_MAX, ((const Queued__V1__ChangeReply *)reply)->header->text);
    protobuf_c_message_free_unpacked(reply, NULL);
    return 0;
}

int queued_update(struct queued_client *c, const struct queued_update *update,
                  struct queued_changed *ret, struct queued_error *error)
{
    Queued__V1__UpdateRequest request = QUEUED__V1__UPDATE_REQUEST__INIT;

    request.job = text(update->job);
    request.reason = text(update->reason);
    request.priority_class = text(update->priority_class);
    request.tenant = text(update->tenant);
    request.has_max_runtime_us = update->max_runtime_us != 0;
    request.max_runtime_us = (uint64_t)update->max_runtime_us;
    request.topology_required = text(update->topology_required);
    request.topology_preferred = text(update->topology_preferred);
    return change_call(c, QUEUED__V1__METHOD__METHOD_UPDATE, &request.base, ret, error);
}

struct why_box {
    struct queued_why pub; /* first: freed by its address */
    struct queued_job job;
    ProtobufCMessage *message;
    struct arena arena;
};

/* The answer of why and estimate. */
static int why_call(struct queued_client *c, uint16_t method, ProtobufCMessage *request,
                    struct queued_why **ret, struct queued_error *error)
{
    ProtobufCMessage *reply = NULL;
    struct why_box *box;
    Queued__V1__WhyReply *r;
    struct err err;

    if (client_call(c, method, request, &reply, &err))
        return client_fail(error, &err);
    r = (Queued__V1__WhyReply *)reply;
    if (!r->job) {
        protobuf_c_message_free_unpacked(reply, NULL);
        (void)err_set(&err, ERR_INTERNAL, "the answer holds no job");
        return client_fail(error, &err);
    }
    box = xcalloc(1, sizeof(*box));
    box->message = reply;
    box->job = view_job(&box->arena, r->job);
    box->pub = (struct queued_why){
        .job = &box->job,
        .asks = r->asks,
        .now = r->now,
        .closest = r->closest,
        .not_it = r->not_it,
        .next_step = r->next_step,
        .position_overall = r->position_overall,
    };
    *ret = &box->pub;
    return 0;
}

int queued_why(struct queued_client *c, const char *job, struct queued_why **ret,
               struct queued_error *error)
{
    Queued__V1__WhyRequest request = QUEUED__V1__WHY_REQUEST__INIT;

    request.job = text(job);
    return why_call(c, QUEUED__V1__METHOD__METHOD_WHY, &request.base, ret, error);
}

static void pack_added(Queued__V1__EstimateRequest *m, const struct queued_estimate_options *o,
                       struct arena *a)
{
    Queued__V1__Pair *pairs = arena_alloc(a, (o->n_added_domains + 1) * sizeof(*pairs));

    m->has_added_nodes = true;
    m->added_nodes = o->n_added;
    m->added_like = text(o->added_like);
    m->n_added_domains = o->n_added_domains;
    m->added_domains = arena_alloc(a, (o->n_added_domains + 1) * sizeof(Queued__V1__Pair *));
    for (size_t i = 0; i < o->n_added_domains; i++) {
        queued__v1__pair__init(&pairs[i]);
        pairs[i].key = text(o->added_domains[i].key);
        pairs[i].value = text(o->added_domains[i].value);
        m->added_domains[i] = &pairs[i];
    }
}

int queued_estimate(struct queued_client *c, const struct queued_spec *spec,
                    const struct queued_estimate_options *options, struct queued_why **ret,
                    struct queued_error *error)
{
    Queued__V1__EstimateRequest request = QUEUED__V1__ESTIMATE_REQUEST__INIT;
    struct arena arena = {0};
    struct err err;
    int rc;

    if (spec_pack(&request.spec, spec, &arena, &err)) {
        arena_fini(&arena);
        return client_fail(error, &err);
    }
    request.n_without_nodes = options ? options->n_without : 0;
    request.without_nodes = arena_alloc(&arena, (request.n_without_nodes + 1) * sizeof(char *));
    for (size_t i = 0; i < request.n_without_nodes; i++)
        request.without_nodes[i] = text(options->without[i]);
    if (options && options->n_added)
        pack_added(&request, options, &arena);
    rc = why_call(c, QUEUED__V1__METHOD__METHOD_ESTIMATE, &request.base, ret, error);
    arena_fini(&arena);
    return rc;
}

void queued_why_free(struct queued_why *why)
{
    struct why_box *box = (struct why_box *)why;

    if (!box)
        return;
    protobuf_c_message_free_unpacked(box->message, NULL);
    arena_fini(&box->arena);
    free(box);
}
