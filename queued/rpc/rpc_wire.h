/* SPDX-License-Identifier: Apache-2.0 */
/* rpc_wire.h - bytes of a frame -> struct request, in types of the core.
 *
 * Protobuf types end behind this header: everything is copied, the unpacked message is gone
 * when rpc_wire_decode() returns. Bytes come from strangers: any of them gives a request or
 * an error, within RPC_UNPACK_BYTES_MAX of memory.
 */
#ifndef QUEUED_RPC_RPC_WIRE_H
#define QUEUED_RPC_RPC_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/event.h"
#include "spec/ids.h"
#include "spec/limits.h"
#include "spec/spec.h"
#include "util/arena.h"
#include "util/err.h"

enum {
    RPC_MAJOR = 1,
    RPC_MINOR = 0,
    RPC_FRAME_BYTES = 8, /* "QD", major, minor, method, flags */
    RPC_FLAG_REPLY = 1,
    RPC_MESSAGE_MAX = 64 * 1024, /* one frame from a client */
    RPC_PART_MAX = 1024,         /* a job with indices of it: NAME[3-9,12] */
    RPC_REPLY_MAX = 8 * 1024 * 1024,
    RPC_UNPACK_BYTES_MAX = 1024 * 1024,
    RPC_DEADLINE_MS_MAX = 24 * 3600 * 1000,
    RPC_GRACE_MAX_S = 24 * 3600, /* of a cancel */
    RPC_VALUE_MAX = 32 * 1024,   /* environment value, argument */
    RPC_PATH_MAX = 1024,
    RPC_IMAGE_MAX = 512,
    RPC_STATES_MAX = 16,
    RPC_FILTER_LABELS_MAX = 8,
    RPC_TOKEN_BYTES = 24, /* of a list page */
    RPC_CREDIT_MAX = 1000000,
};

/* Numbers of the wire (proto/queue.proto). */
enum rpc_method {
    RPC_NONE,
    RPC_HELLO,
    RPC_SUBMIT,
    RPC_CANCEL,
    RPC_GET,
    RPC_LIST,
    RPC_WHY,
    RPC_WATCH,
    RPC_NODES,
    RPC_TOPOLOGY,
    RPC_TENANTS,
    RPC_HOLD,
    RPC_RELEASE,
    RPC_REQUEUE,
    RPC_PREEMPT,
    RPC_UPDATE,
    RPC_DRAIN,
    RPC_UNDRAIN,
    RPC_TENANT_STOP = 25,
    RPC_TENANT_RESUME,
    RPC_ESTIMATE = 30,
    RPC_RESERVE,
    RPC_UNRESERVE,
    RPC_RESERVATIONS,
    RPC_CHECKPOINTED = 80,
    RPC_DEFRAG = 90,
    RPC_CONFIG = 130,
    RPC_CHANGE_SELECTED = 230,
    RPC_METHODS, /* numbers between may be unused */
};

/* Which jobs; strings belong to the request. */
struct rpc_filter {
    bool all;
    const char *tenant; /* "" any; with its subtree */
    const char *user;   /* "" any */
    uint32_t states;    /* bit 1 << enum job_state; 0: any */
    struct spec_pairs labels;
    const char *array; /* its indices; "": no index. List only */
};

struct rpc_request {
    enum rpc_method method;               /* RPC_NONE: the frame did not say, or is none of ours */
    uint16_t method_number;               /* as received, for the answer */
    uint8_t request_id[REQUEST_ID_BYTES]; /* zeros when it could not be read */
    uint32_t deadline_ms;                 /* 0: none */
    struct arena arena;                   /* of the strings below */
    const char *job;                      /* cancel, hold ..., update, get, why, watch ("": any) */
    struct rpc_filter filter;             /* list, watch */
    union {
        struct {
            struct spec *spec; /* owned; may be taken by setting it to NULL */
            bool is_dry_run, require_feasible;
        } submit;
        struct {
            struct spec *spec; /* as above */
            const char **without;
            uint32_t n_without;
            uint32_t n_added;
            const char *like;
            struct spec_pairs domains;
        } estimate;
        struct {
            const char *reason;
            usec_t grace_us; /* cancel only; 0: the job's */
            uint32_t method; /* of CHANGE_SELECTED: what is done to each */
        } change;            /* cancel, hold ... */
        struct {             /* "" and 0: stays */
            const char *reason, *priority_class, *tenant, *required, *preferred;
            usec_t max_runtime_us;
        } update;
        struct {
            const char *node, *reason;
        } drain; /* and undrain; of a tenant: stop and resume */
        struct {
            const char *name, *tenant, *domain, *reason;
            usec_t from, to;
            const char **nodes;
            uint32_t n_nodes;
            struct spec_pairs labels;
            bool is_dry_run;
        } window; /* reserve, unreserve */
        struct {
            uint32_t limit; /* 1..LIST_PAGE_MAX */
            uint8_t token[RPC_TOKEN_BYTES];
            bool has_token, full;
        } list;
        struct {
            uint64_t after_seq;
            bool from_now;
            uint32_t credit; /* 1.. */
        } watch;
        struct {
            const char *after; /* "" from the first */
            uint32_t limit;
        } nodes;
    } u;
};

/* Decode one payload. ret is always filled as far as the bytes allow and must be given to
 * rpc_request_fini(), also after -1 (INVALID); method_number and request_id then say what to
 * answer to. scratch: an arena of the caller for the unpacked message, reset here. */
int rpc_wire_decode(struct arena *scratch, const void *bytes, size_t len, struct rpc_request *ret,
                    struct err *err);
void rpc_request_fini(struct rpc_request *r);

/* Write the frame header of an answer. minor: ours. */
void rpc_frame_write(uint8_t frame[RPC_FRAME_BYTES], uint16_t method, uint16_t flags);

#endif
