/* SPDX-License-Identifier: Apache-2.0 */
/* outbox_port.h - who carries out the effects of a turn once it is stored. */
#ifndef QUEUED_PORT_OUTBOX_PORT_H
#define QUEUED_PORT_OUTBOX_PORT_H

#include "core/effect.h"

struct outbox_port {
    void *ctx;
    void (*run)(void *ctx, const struct effects *fx);
};

#endif
