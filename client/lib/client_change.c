/* SPDX-License-Identifier: Apache-2.0 */
/* client_change.c - hold, release, requeue: one request and reply for all verbs of a job. */
#include "client.h"
#include "util/str.h"

static void copy_text(char *dst, size_t size, const char *src)
{
    (void)str_copy(dst, size, src ? src : ""); /* the daemon's names fit */
}

static char *text(const char *s)
{
    union {
        const char *in;
        char *out; /* protobuf-c declares what it only reads as writable */
    } u = {s};

    return u.out;
}

int queued_change(struct queued_client *c, const struct queued_change *change,
                  struct queued_changed *ret, struct queued_error *error)
{
    Queued__V1__ChangeRequest request = QUEUED__V1__CHANGE_REQUEST__INIT;
    ProtobufCMessage *reply = NULL;
    Queued__V1__ChangeReply *r;
    struct err err;

    request.job = text(change->job);
    request.reason = text(change->reason);
    if (client_call(c, (uint16_t)change->verb, &request.base, &reply, &err))
        return client_fail(error, &err);
    r = (Queued__V1__ChangeReply *)reply;
    *ret = (struct queued_changed){0};
    copy_text(ret->id, sizeof(ret->id), r->id);
    copy_text(ret->name, sizeof(ret->name), r->name);
    copy_text(ret->state, sizeof(ret->state), r->state);
    protobuf_c_message_free_unpacked(reply, NULL);
    return 0;
}
