/* SPDX-License-Identifier: Apache-2.0 */
/* submission.c - one request by formula, and its way into a state, by the daemon's functions. */
#include "submission.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "life/state_apply.h"
#include "queue.pb-c.h"
#include "rpc/rpc_digest.h"
#include "rpc/rpc_wire.h"
#include "spec/spec_check.h"
#include "util/mem.h"
#include "util/str.h"

size_t submission_make(uint64_t serial, unsigned client, unsigned slot, uint8_t **ret)
{
    static char name[] = "resnet-ddp", image[] = "registry.local/train:1", worker[] = "worker",
                model[] = "H100", shell[] = "/bin/sh", c[] = "-c",
                line[] = "exec torchrun --nnodes 4 train.py --epochs 90 --batch-size 256";
    char tenant[24], key[32], *models[] = {model}, *command[] = {shell, c, line};
    uint8_t id[REQUEST_ID_BYTES] = {0};
    Queued__V1__Role role = QUEUED__V1__ROLE__INIT, *roles[] = {&role};
    Queued__V1__JobSpec spec = QUEUED__V1__JOB_SPEC__INIT;
    Queued__V1__RequestHeader header = QUEUED__V1__REQUEST_HEADER__INIT;
    Queued__V1__SubmitRequest m = QUEUED__V1__SUBMIT_REQUEST__INIT;
    size_t size;

    (void)snprintf(tenant, sizeof(tenant), "bench-%u", (unsigned)(serial % SUBMISSION_TENANTS));
    (void)snprintf(key, sizeof(key), "key-%llu", (unsigned long long)serial);
    memcpy(id, &serial, sizeof(serial));
    id[8] = (uint8_t)client;
    id[9] = (uint8_t)slot;
    (void)memcpy(id + 10, (pid_t[]){getpid()}, sizeof(pid_t)); /* apart from an earlier run */
    header.has_request_id = true;
    header.request_id = (ProtobufCBinaryData){sizeof(id), id};
    role.name = worker;
    role.has_replicas = role.has_gpus = true;
    role.replicas = 4;
    role.gpus = 8;
    role.n_gpu_models = 1;
    role.gpu_models = models;
    role.image = image;
    role.n_command = ARRAY_LEN(command);
    role.command = command;
    spec.name = name;
    spec.tenant = tenant;
    spec.submit_key = key;
    spec.n_roles = 1;
    spec.roles = roles;
    m.header = &header;
    m.spec = &spec;
    size = queued__v1__submit_request__get_packed_size(&m);
    *ret = xmalloc(RPC_FRAME_BYTES + size);
    rpc_frame_write(*ret, RPC_SUBMIT, 0);
    (void)queued__v1__submit_request__pack(&m, *ret + RPC_FRAME_BYTES);
    return RPC_FRAME_BYTES + size;
}

void bare_queue_init(struct bare_queue *b)
{
    memset(b, 0, sizeof(*b));
    settings_defaults(&b->settings);
    b->settings.tenants = b->tenants;
    for (uint32_t i = 0; i < SUBMISSION_TENANTS; i++) {
        struct tenant_setting *t = &b->tenants[b->settings.n_tenants++];

        (void)snprintf(t->path, sizeof(t->path), "bench-%u", (unsigned)i);
        (void)snprintf(t->namespaces[0], sizeof(t->namespaces[0]), "bench-%u", (unsigned)i);
        t->parent = IX_NONE;
        t->n_namespaces = t->weight = 1;
        memset(t->quota.gpus, -1, sizeof(t->quota.gpus)); /* none is set */
        memset(t->limit.gpus, -1, sizeof(t->limit.gpus));
    }
    b->state = state_create(&b->settings);
}

void bare_queue_fini(struct bare_queue *b)
{
    effects_fini(&b->fx);
    state_destroy(b->state);
    arena_fini(&b->scratch);
}

int bare_queue_submit(struct bare_queue *b, struct err *err)
{
    struct event ev = {.kind = EV_JOB_SUBMIT, .at = b->state->now};
    struct ev_submit *submit = &ev.u.submit;
    struct rpc_request req;
    uint8_t *bytes;
    size_t len = submission_make(b->serial++, 0, 0, &bytes);
    int rc = rpc_wire_decode(&b->scratch, bytes, len, &req, err);

    free(bytes);
    if (rc == 0) {
        submit->spec = req.u.submit.spec;
        req.u.submit.spec = NULL;
        rpc_digest(submit->spec, submit->digest);
        rc = spec_check(submit->spec, &b->settings, err);
    }
    memcpy(submit->ref.request_id, req.request_id, sizeof(req.request_id));
    (void)str_copy(submit->caller.user, sizeof(submit->caller.user), "root");
    if (rc == 0 && state_admit(b->state, &ev, &b->fx))
        state_apply(b->state, &ev, &b->fx);
    event_fini(&ev);
    rpc_request_fini(&req);
    return rc;
}
