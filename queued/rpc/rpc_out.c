/* SPDX-License-Identifier: Apache-2.0 */
/* rpc_out.c - answers: head, frame, and the messages about jobs as a whole. */
#include "rpc/rpc_out.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/array.h"
#include "rpc/rpc_array.h"
#include "rpc/rpc_message.h"
#include "rpc/rpc_spec.h"

static void drop_specs(struct rpc_out *o)
{
    for (size_t i = 0; i < o->specs.n; i++)
        spec_destroy(o->specs.v[i]);
    o->specs.n = 0;
}

void rpc_out_fini(struct rpc_out *o)
{
    drop_specs(o);
    arena_fini(&o->arena);
    vec_fini(&o->items);
    vec_fini(&o->specs);
    pack_fini(&o->pack);
    *o = (struct rpc_out){0};
}

void rpc_out_begin(struct rpc_out *o)
{
    drop_specs(o);
    arena_reset(&o->arena);
    o->items.n = 0;
    o->items_bytes = 0;
    o->len = 0;
}

Queued__V1__ReplyHeader *rpc_message_head(struct rpc_out *o, const struct rpc_head *h)
{
    Queued__V1__ReplyHeader *m = arena_alloc(&o->arena, sizeof(*m));

    queued__v1__reply_header__init(m);
    m->has_request_id = true;
    m->request_id.len = REQUEST_ID_BYTES;
    m->request_id.data = (uint8_t *)rpc_text((const char *)h->request_id);
    m->has_server_instance = true;
    m->server_instance.len = REQUEST_ID_BYTES;
    m->server_instance.data = (uint8_t *)rpc_text((const char *)h->instance);
    m->has_code = true;
    m->code = (uint32_t)h->code;
    m->text = *h->text ? rpc_text(h->text) : NULL;
    m->has_retry_after_ms = h->retry_after_ms > 0;
    m->retry_after_ms = h->retry_after_ms;
    m->has_as_of_seq = true;
    m->as_of_seq = h->as_of_seq;
    return m;
}

void rpc_message_add(struct rpc_out *o, ProtobufCMessage *m)
{
    *vec_push(&o->items) = m;
    o->items_bytes += protobuf_c_message_get_packed_size(m) + 4;
}

void rpc_message_close(struct rpc_out *o, uint16_t method, const ProtobufCMessage *m)
{
    o->bytes = pack_message(&o->pack, RPC_FRAME_BYTES, m, &o->len);
    rpc_frame_write(o->bytes, method, RPC_FLAG_REPLY);
}

void rpc_out_head(struct rpc_out *o, uint16_t method, const struct rpc_head *h)
{
    /* all replies have their header as field 1, so one type serves for every method */
    Queued__V1__TenantsReply m = QUEUED__V1__TENANTS_REPLY__INIT;

    m.header = rpc_message_head(o, h);
    rpc_message_close(o, method, &m.base);
}

void rpc_out_hello(struct rpc_out *o, const struct rpc_head *h, const struct rpc_hello *hello)
{
    Queued__V1__HelloReply m = QUEUED__V1__HELLO_REPLY__INIT;
    const struct state *s = hello->state;

    m.header = rpc_message_head(o, h);
    m.version = rpc_text(QUEUED_VERSION);
    m.has_minor_max = m.has_spec_bytes_max = m.has_list_page_max = true;
    m.minor_max = RPC_MINOR;
    m.spec_bytes_max = SPEC_BYTES_MAX;
    m.list_page_max = LIST_PAGE_MAX;
    m.user = rpc_text(hello->user);
    m.has_is_admin = m.has_cluster_up = m.has_synced = true;
    m.is_admin = hello->is_admin;
    m.cluster_up = s->is_cluster_up;
    m.synced = s->is_synced;
    m.cluster_trouble = *s->cluster_trouble ? rpc_text(s->cluster_trouble) : NULL;
    m.n_tenants = hello->n_tenants;
    m.tenants = arena_alloc(&o->arena, hello->n_tenants * sizeof(*m.tenants));
    for (uint32_t i = 0; i < hello->n_tenants; i++)
        m.tenants[i] = rpc_text(hello->tenants[i]);
    rpc_message_close(o, RPC_HELLO, &m.base);
}

void rpc_out_submit(struct rpc_out *o, const struct rpc_head *h, const struct rpc_submitted *s)
{
    Queued__V1__SubmitReply m = QUEUED__V1__SUBMIT_REPLY__INIT;

    m.header = rpc_message_head(o, h);
    m.id = *s->id ? rpc_text(s->id) : NULL;
    m.name = *s->name ? rpc_text(s->name) : NULL;
    m.namespace_ = *s->ns ? rpc_text(s->ns) : NULL;
    m.tenant = *s->tenant ? rpc_text(s->tenant) : NULL;
    m.has_gpus = m.has_existed = true;
    m.gpus = s->gpus;
    m.existed = s->existed;
    rpc_message_close(o, RPC_SUBMIT, &m.base);
}

static void fill_part(struct rpc_out *o, const struct rpc_changed *what, Queued__V1__ChangeReply *m)
{
    size_t size = strlen(what->job->name) + strlen(what->part) + 3;
    char *name = arena_alloc(&o->arena, size);
    struct indices part;

    (void)snprintf(name, size, "%s[%s]", what->job->name, what->part);
    m->name = name;
    if (!what->job->array || indices_parse(&part, what->part, NULL))
        return;
    m->state = rpc_text(job_state_name(rpc_array_state(what->state, what->job, &part)));
    indices_fini(&part);
}

void rpc_out_change(struct rpc_out *o, enum rpc_method method, const struct rpc_head *h,
                    const struct rpc_changed *what)
{
    Queued__V1__ChangeReply m = QUEUED__V1__CHANGE_REPLY__INIT;
    const struct job *job = what ? what->job : NULL;
    char id[JOB_ID_TEXT + 1];

    m.header = rpc_message_head(o, h);
    if (job) {
        m.id = rpc_text(job_id_format(id, job->id));
        m.name = rpc_text(job->name);
        m.state = rpc_text(job_state_name(array_shown_state(job)));
    }
    if (job && *what->part)
        fill_part(o, what, &m);
    rpc_message_close(o, (uint16_t)method, &m.base);
}

void rpc_out_get(struct rpc_out *o, const struct rpc_head *h, const struct rpc_job_view *v)
{
    Queued__V1__GetReply m = QUEUED__V1__GET_REPLY__INIT;

    m.header = rpc_message_head(o, h);
    m.job = rpc_message_job(&o->arena, v);
    rpc_message_close(o, RPC_GET, &m.base);
}

static char *line(const char *s)
{
    return *s ? rpc_text(s) : NULL;
}

void rpc_out_why(struct rpc_out *o, enum rpc_method method, const struct rpc_head *h,
                 const struct rpc_job_view *v)
{
    Queued__V1__WhyReply m = QUEUED__V1__WHY_REPLY__INIT;
    const struct explain *why = v->why;

    m.header = rpc_message_head(o, h);
    m.job = rpc_message_job(&o->arena, v);
    if (why) {
        m.asks = line(why->asks);
        m.now = line(why->now);
        m.closest = line(why->closest);
        m.not_it = line(why->not_it);
        m.next_step = line(why->next_step);
        m.has_position_overall = why->position_overall > 0;
        m.position_overall = why->position_overall;
    }
    rpc_message_close(o, (uint16_t)method, &m.base);
}

void rpc_out_add_job(struct rpc_out *o, const struct rpc_job_view *v)
{
    rpc_message_add(o, &rpc_message_job(&o->arena, v)->base);
}

void rpc_out_keep(struct rpc_out *o, struct spec *spec)
{
    if (spec)
        *vec_push(&o->specs) = spec;
}

void rpc_out_list(struct rpc_out *o, const struct rpc_head *h, const uint8_t *token)
{
    Queued__V1__ListReply m = QUEUED__V1__LIST_REPLY__INIT;

    m.header = rpc_message_head(o, h);
    m.n_jobs = o->items.n;
    m.jobs = (Queued__V1__Job **)o->items.v;
    if (token) {
        m.has_page_token = true;
        m.page_token.len = RPC_TOKEN_BYTES;
        m.page_token.data = (uint8_t *)rpc_text((const char *)token);
    }
    rpc_message_close(o, RPC_LIST, &m.base);
}

void rpc_out_add_note(struct rpc_out *o, const struct job_note *note)
{
    Queued__V1__JobEvent *m = arena_alloc(&o->arena, sizeof(*m));
    char id[JOB_ID_TEXT + 1];

    queued__v1__job_event__init(m);
    m->has_seq = m->has_at_us = m->has_attempt = true;
    m->seq = note->seq;
    m->at_us = (uint64_t)note->at;
    m->job_id = arena_strdup(&o->arena, job_id_format(id, note->job));
    m->job_name = arena_strdup(&o->arena, note->job_name);
    m->tenant = arena_strdup(&o->arena, note->tenant);
    m->from = rpc_text(note->from ? job_state_name(note->from) : "");
    m->to = rpc_text(job_state_name(note->to));
    m->attempt = note->attempt;
    m->reason = arena_strdup(&o->arena, note->reason);
    m->text = arena_strdup(&o->arena, note->text);
    rpc_message_add(o, &m->base);
}

void rpc_out_watch(struct rpc_out *o, const struct rpc_head *h, uint64_t complete_through,
                   uint64_t oldest_seq)
{
    Queued__V1__WatchReply m = QUEUED__V1__WATCH_REPLY__INIT;

    m.header = rpc_message_head(o, h);
    m.n_events = o->items.n;
    m.events = (Queued__V1__JobEvent **)o->items.v;
    m.has_complete_through = true;
    m.complete_through = complete_through;
    m.has_oldest_seq = oldest_seq > 0;
    m.oldest_seq = oldest_seq;
    rpc_message_close(o, RPC_WATCH, &m.base);
}
