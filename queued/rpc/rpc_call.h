/* SPDX-License-Identifier: Apache-2.0 */
/* rpc_call.h - one request on its way through its handler, and the handlers.
 *
 * A handler answers at once (c->out holds the frame), leaves a token for a later answer
 * (c->is_later), or returns -1 with the error to answer. It sees the state through a const
 * pointer: changes are events.
 */
#ifndef QUEUED_RPC_RPC_CALL_H
#define QUEUED_RPC_RPC_CALL_H

#include "rpc/rpc_auth.h"
#include "rpc/rpc_out.h"
#include "rpc/rpc_token.h"

struct rpc_watches;

struct rpc_call {
    const struct rpc_setup *setup;
    const struct state *state;
    const struct rpc_who *who;
    struct rpc_request *req;
    uint32_t peer;
    usec_t now;
    struct rpc_head head; /* of the answer; filled in for success */
    struct rpc_out *out;  /* begun */
    struct rpc_tokens *tokens;
    struct rpc_watches *watches;
    struct estimates *estimates;
    uint64_t work; /* jobs, nodes and stored records that were looked at */
    bool is_later; /* no answer now */
};

enum { RPC_RETRY_MS = 200 };

/* rpc_job.c */
int rpc_job_submit(struct rpc_call *c, struct err *err);
int rpc_job_change(struct rpc_call *c, struct err *err); /* cancel, hold ... */
/* rpc_list.c: of all jobs that match */
int rpc_job_change_selected(struct rpc_call *c, struct err *err);
/* rpc_job.c: what a changing method does to a job, and how it is called; NULL: it is none. */
const char *rpc_job_verb(uint32_t method, enum job_verb *ret);
/* What the later answer to this call needs, but for the fields of a dry run. */
struct rpc_pending rpc_job_pending(const struct rpc_call *c);
/* Put an event, whose ref this is, with a token into the inbox. On failure it stays the caller's.
 */
int rpc_job_post(struct rpc_call *c, struct event *ev, struct request_ref *ref,
                 const struct rpc_pending *p, struct err *err);
/* rpc_update.c */
int rpc_job_update(struct rpc_call *c, struct err *err);
/* rpc_job.c */
int rpc_job_get(struct rpc_call *c, struct err *err);
int rpc_job_why(struct rpc_call *c, struct err *err);
/* The job that a caller means by name, id or prefix among those they see.
 * -1 NOT_FOUND, or INVALID when several match. */
int rpc_job_find(struct rpc_call *c, const char *what, const struct job **ret, struct err *err);
/* The same, or indices of an array; ret_part is empty where it is a job of its own. */
int rpc_job_find_part(struct rpc_call *c, const char *what, const struct job **ret,
                      struct indices *ret_part, struct err *err);
/* What the answer names of it. */
void rpc_job_part_text(const struct indices *part, struct rpc_pending *p);
/* Why a job is where it is, when that is to be computed; else NULL. Fills buf. */
const struct explain *rpc_job_explain(struct rpc_call *c, const struct job *j, struct explain *buf);
/* When it will start, of one that waits; else NULL. Fills buf. */
const struct estimate *rpc_job_estimate(struct rpc_call *c, const struct job *j,
                                        struct estimate *buf);
int rpc_job_try(struct rpc_call *c, struct err *err); /* estimate */
/* rpc_list.c */
int rpc_job_list(struct rpc_call *c, struct err *err);
/* Do the labels of the stored spec match all wanted ones? */
bool rpc_labels_match(const struct store_port *store, struct job_id id,
                      const struct spec_pairs *wanted);
/* rpc_watch.c */
int rpc_watch_open(struct rpc_call *c, struct err *err);
/* rpc_node.c */
int rpc_node_drain(struct rpc_call *c, struct err *err); /* and undrain */
int rpc_node_list(struct rpc_call *c, struct err *err);
int rpc_node_topology(struct rpc_call *c, struct err *err);
/* rpc_tenant.c */
int rpc_tenant_hello(struct rpc_call *c, struct err *err);
int rpc_tenant_list(struct rpc_call *c, struct err *err);
int rpc_tenant_stop(struct rpc_call *c, struct err *err); /* and resume */
/* rpc_window.c */
int rpc_window_change(struct rpc_call *c, struct err *err); /* reserve and unreserve */
int rpc_window_list(struct rpc_call *c, struct err *err);
/* rpc_defrag.c */
int rpc_defrag_plan(struct rpc_call *c, struct err *err);
/* rpc_config.c */
int rpc_config_get(struct rpc_call *c, struct err *err);

#endif
