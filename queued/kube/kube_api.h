/* SPDX-License-Identifier: Apache-2.0 */
/* kube_api.h - what an answer of the API server means, when to ask again, and how its paths look.
 *
 * The HTTP code decides first, then the reason: bodies of proxies and of flow control are no
 * Status objects. A write without a clear answer may have been carried out.
 */
#ifndef QUEUED_KUBE_KUBE_API_H
#define QUEUED_KUBE_KUBE_API_H

#include "core/event.h"
#include "kube/kube_http.h"

enum api_verdict {
    API_OK,      /* 2xx */
    API_RETRY,   /* not carried out: ask again after api_backoff() */
    API_UNKNOWN, /* no clear answer: read back before doing it again */
    API_REFUSED, /* carried out never as asked: status says why */
};

/* A Status object, or what can be said without one. */
struct api_status {
    int code;              /* HTTP code; 0 none */
    char reason[48];       /* "AlreadyExists"; "" */
    char kind[48];         /* details.kind */
    char cause[48];        /* reason of the first cause */
    char message[512];     /* never empty for a failure */
    usec_t retry_after_us; /* of the header or of details; -1 none */
};

enum api_verdict api_classify(const struct http_answer *answer, struct api_status *ret);
/* The Status object in text, JSON or protobuf with its envelope; anything else is none. What is
 * missing of message, code and retry_after_us stays as it is in ret. */
void api_read_status(const char *text, size_t len, struct api_status *ret);
/* Does the API server itself say that the object is not there? A proxy's 404 does not count. */
bool api_is_not_found(const struct api_status *status);
/* Kind of a refused create: quota and missing things can change, invalid pods cannot. */
enum refusal_kind api_refusal(const struct api_status *status);

/* Waiting time before the next try: base doubling to cap, times a random 1..2. */
struct api_backoff {
    unsigned n; /* failures in a row */
};

#define API_BACKOFF_BASE_US (800 * USEC_PER_MSEC)
#define API_BACKOFF_CAP_US  (30 * USEC_PER_SEC)
/* No server makes us wait longer, whatever it sends; with the random part it is five minutes. */
#define API_RETRY_AFTER_MAX_US (240 * USEC_PER_SEC)

/* What all back-offs of one adapter share. */
struct api_pace {
    uint64_t rng;   /* any state but 0 */
    usec_t base_us; /* 0: API_BACKOFF_BASE_US */
};

/* retry_after_us: at least this long, up to API_RETRY_AFTER_MAX_US; -1 none. */
usec_t api_backoff_next(struct api_backoff *b, usec_t retry_after_us, struct api_pace *pace);
/* What a server asked for, within the bound, and up to a quarter more by chance. */
usec_t api_retry_after(usec_t retry_after_us, struct api_pace *pace);
/* The first wait without its random part. */
usec_t api_pace_base(const struct api_pace *pace);
uint64_t api_random(struct api_pace *pace);

#define API_BUDGETS "poddisruptionbudgets"
/* Ask for the metadata alone: an answer to a create tells its uid. */
#define API_ACCEPT_SMALL                                                                           \
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"

/* "/api/v1/namespaces/NS/RESOURCE[/NAME]", of API_BUDGETS that of their group; name NULL: the
 * collection. Caller frees. Names are escaped where they hold anything but the characters of DNS
 * names. */
char *api_path(const char *ns, const char *resource, const char *name);

#endif
