/* SPDX-License-Identifier: Apache-2.0 */
/* rpc_out.h - from the core to the bytes of an answer. Protobuf types stay behind this header.
 *
 * A struct rpc_out is reused: rpc_out_begin(), perhaps some rpc_out_add_*(), then one of the
 * closing functions leaves the whole frame in bytes/len until the next begin. What was added
 * must live until then.
 */
#ifndef QUEUED_RPC_RPC_OUT_H
#define QUEUED_RPC_RPC_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/effect.h"
#include "view/estimate.h"
#include "view/explain.h"
#include "spec/spec.h"
#include "core/state.h"
#include "rpc/rpc_wire.h"
#include "util/arena.h"
#include "util/pack.h"
#include "util/vec.h"

struct rpc_out {
    struct arena arena;       /* of the message under construction */
    VEC(void *) items;        /* messages of a list */
    size_t items_bytes;       /* packed size of them */
    VEC(struct spec *) specs; /* owned, of the messages */
    struct pack pack;
    uint8_t *bytes; /* the frame, in pack */
    size_t len;
};

/* What every answer says. */
struct rpc_head {
    uint8_t request_id[REQUEST_ID_BYTES];
    const uint8_t *instance; /* 16 bytes */
    enum err_code code;
    const char *text; /* "" none */
    uint32_t retry_after_ms;
    uint64_t as_of_seq;
};

/* A job and what is known about it beside its record. */
struct rpc_job_view {
    const struct state *state;
    const struct job *job;
    const struct explain *why;  /* NULL: its own reason is shown */
    const struct estimate *eta; /* NULL: it does not wait */
    const struct spec *spec;    /* NULL: no labels, no spec */
    bool full;                  /* attempts, and spec when there is one */
    bool is_index;              /* an index of this array, which has no job */
    uint32_t index;
};

struct rpc_hello {
    const char *user;
    bool is_admin;
    uint32_t n_tenants;
    const char *const *tenants;
    const struct state *state;
};

struct rpc_submitted {
    char id[JOB_ID_TEXT + 1]; /* "" in a dry run */
    const char *name, *ns, *tenant;
    uint64_t gpus;
    bool existed;
};

void rpc_out_fini(struct rpc_out *o);
void rpc_out_begin(struct rpc_out *o);

/* An answer that has only its head: errors. method: as received. */
void rpc_out_head(struct rpc_out *o, uint16_t method, const struct rpc_head *h);
void rpc_out_hello(struct rpc_out *o, const struct rpc_head *h, const struct rpc_hello *hello);
void rpc_out_submit(struct rpc_out *o, const struct rpc_head *h, const struct rpc_submitted *s);
/* What was changed. */
struct rpc_changed {
    const struct state *state;
    const struct job *job; /* NULL: it is no longer known */
    const char *part;      /* these indices of it; "" the whole */
};

/* NULL: no job. */
void rpc_out_change(struct rpc_out *o, enum rpc_method method, const struct rpc_head *h,
                    const struct rpc_changed *what);
void rpc_out_get(struct rpc_out *o, const struct rpc_head *h, const struct rpc_job_view *v);
/* Of why and estimate. */
void rpc_out_why(struct rpc_out *o, enum rpc_method method, const struct rpc_head *h,
                 const struct rpc_job_view *v);

void rpc_out_add_job(struct rpc_out *o, const struct rpc_job_view *v);
/* Takes a spec (may be NULL) over that a message speaks of. */
void rpc_out_keep(struct rpc_out *o, struct spec *spec);
/* token NULL: the last page. */
void rpc_out_list(struct rpc_out *o, const struct rpc_head *h, const uint8_t *token);

void rpc_out_add_note(struct rpc_out *o, const struct job_note *note);
void rpc_out_watch(struct rpc_out *o, const struct rpc_head *h, uint64_t complete_through,
                   uint64_t oldest_seq);

/* jobs: names, borrowed until the answer is closed. */
void rpc_out_add_node(struct rpc_out *o, const struct state *s, const struct node *n,
                      const char *const *jobs, uint32_t n_jobs);
void rpc_out_nodes(struct rpc_out *o, const struct rpc_head *h, bool more);
void rpc_out_topology(struct rpc_out *o, const struct rpc_head *h, const struct state *s);
void rpc_out_add_tenant(struct rpc_out *o, const struct state *s, uint32_t tenant, usec_t now);
void rpc_out_tenants(struct rpc_out *o, const struct rpc_head *h);

#endif
