/* SPDX-License-Identifier: Apache-2.0 */
/* standin.h - the whole state of the stand-in API server and the request it serves.
 *
 * One thread: the HTTP library, the simulated kubelets and the watches all run from one loop in
 * standin.c, so nothing here has a lock.
 */
#ifndef QUEUED_STANDIN_H
#define QUEUED_STANDIN_H

#include <microhttpd.h>
#include <stdio.h>

#include "si_proto.h"
#include "si_store.h"
#include "si_util.h"

enum verb {
    VERB_GET,
    VERB_LIST,
    VERB_WATCH,
    VERB_CREATE,
    VERB_BIND,
    VERB_UPDATE,
    VERB_PATCH,
    VERB_DELETE,
    VERB_EVICT,
    VERB_OTHER,
    VERB_COUNT
};

struct watch;
struct timer;
struct fault;
struct node_use;

struct options {
    uint16_t port;
    const char *port_file;
    const char *kubeconfig;
    const char *nodes_file;
    const char *objects_file;
    const char *namespaces;
    const char *state_file;
    const char *audit_file;
    const char *token;
    const char *tls_cert;
    const char *tls_key;
    const char *client_ca;
    const char *gpu_model;
    uint64_t make_nodes;
    uint64_t node_gpus;
    uint64_t blocks;
    uint64_t racks_per_block;
    uint64_t history;     /* events kept */
    uint64_t bookmark_us; /* between two bookmarks of a watch */
    bool no_kubelet;
    enum proto_mode proto;
};

/* What goes back. Zeroed means: nothing decided yet. */
struct reply {
    unsigned status;
    const char *type; /* NULL = application/json */
    struct strbuf body;
    unsigned retry_after; /* seconds, 0 = no header */
    struct watch *watch;  /* set = stream this one, body is unused */
};

struct request {
    struct MHD_Connection *connection;
    char *method;
    char *path; /* decoded; cut into the texts below */
    struct strbuf body;
    bool is_routed;
    bool is_suspended;
    bool is_plain; /* not below /api or /apis: name holds the whole path */
    bool has_resource;
    enum verb verb;
    enum res_id res;
    bool is_events_v1;   /* events through the events.k8s.io group */
    bool wants_proto;    /* and is given it where there is a table */
    const char *ns;      /* "" when not in the path */
    const char *name;    /* "" when not in the path */
    const char *sub;     /* "" when not in the path */
    struct fault *fault; /* borrowed; stays until the end of the process */
    bool is_lost;        /* carry out, then close without an answer */
    uint64_t cut_bytes;  /* close after so many bytes of the answer; UINT64_MAX = never */
    uint64_t wake_us;
    struct request *next_delayed;
    struct reply reply;
};

struct standin {
    struct options options;
    struct store store;
    struct MHD_Daemon *daemon;
    char *tls_texts[3]; /* certificate, key, CA: the daemon borrows them */
    bool has_resumed;   /* a connection was resumed, which the library does not count as work */
    struct watch *watches;
    struct request *delayed;
    struct timer *timers; /* binary heap by due time */
    size_t timer_count;
    size_t timer_cap;
    uint64_t timer_seq;
    struct node_use *node_uses; /* hash by node name */
    uint32_t pod_ips;
    struct fault *faults;
    struct fault *old_faults; /* cleared, but a request may still point at them */
    FILE *audit;
    uint64_t violations;
    uint64_t requests[VERB_COUNT][RES_COUNT + 1];
};

/* Names of the verbs, as in fault rules and statistics. */
extern const char *const verb_names[VERB_COUNT];

/* Query parameter of the request, NULL when not sent. */
const char *request_query(const struct request *req, const char *name);
/* Query parameter that is "1" or "true". */
bool request_flag(const struct request *req, const char *name);

#endif
