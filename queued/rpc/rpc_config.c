/* SPDX-License-Identifier: Apache-2.0 */
/* rpc_config.c - the configuration in force, as text, and what became of the last readings. */
#include "rpc/rpc_call.h"
#include "rpc/rpc_message.h"
#include "rpc/rpc_spec.h"

int rpc_config_get(struct rpc_call *c, struct err *err)
{
    Queued__V1__ConfigReply m = QUEUED__V1__CONFIG_REPLY__INIT;
    struct rpc_config config = {0};

    (void)err;
    c->setup->config(c->setup->user_ctx, &config);
    m.header = rpc_message_head(c->out, &c->head);
    m.text = arena_strdup(&c->out->arena, str_text(&config.text));
    m.file = rpc_text(config.file);
    m.has_generation = m.has_reloads = m.has_refusals = true;
    m.generation = c->state->meta.config_generation;
    m.reloads = config.n_good;
    m.refusals = config.n_refused;
    m.refusal = *config.refusal ? rpc_text(config.refusal) : NULL;
    rpc_message_close(c->out, RPC_CONFIG, &m.base);
    str_fini(&config.text);
    return 0;
}
