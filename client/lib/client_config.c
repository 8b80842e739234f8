/* SPDX-License-Identifier: Apache-2.0 */
/* client_config.c - the configuration of the daemon: a message around client_call(). */
#include <stdlib.h>

#include "client.h"
#include "util/mem.h"

struct config_box {
    struct queued_config pub; /* first: freed by its address */
    ProtobufCMessage *message;
};

int queued_config(struct queued_client *c, struct queued_config **ret, struct queued_error *error)
{
    Queued__V1__ConfigRequest request = QUEUED__V1__CONFIG_REQUEST__INIT;
    ProtobufCMessage *reply = NULL;
    const Queued__V1__ConfigReply *r;
    struct config_box *box;
    struct err err;

    if (client_call(c, QUEUED__V1__METHOD__METHOD_CONFIG, &request.base, &reply, &err))
        return client_fail(error, &err);
    r = (const Queued__V1__ConfigReply *)reply;
    box = xcalloc(1, sizeof(*box));
    box->message = reply;
    box->pub = (struct queued_config){
        .text = r->text ? r->text : "",
        .file = r->file ? r->file : "",
        .generation = r->generation,
        .reloads = r->reloads,
        .refusals = r->refusals,
        .refusal = r->refusal,
    };
    *ret = &box->pub;
    return 0;
}

void queued_config_free(struct queued_config *config)
{
    struct config_box *box = (struct config_box *)config;

    if (!box)
        return;
    protobuf_c_message_free_unpacked(box->message, NULL);
    free(box);
}
