/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_wire.c - libFuzzer target: any bytes as a request, through decoding and spec_check().
 *
 * What decodes as a submission must survive its way back to a message. Seeds: corpus/wire, the
 * golden requests. The method of the frame chooses the decoder, so one target serves all.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "spec/settings.h"
#include "rpc/rpc_check.h"
#include "rpc/rpc_spec.h"
#include "rpc/rpc_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct tenant_setting tenant = {.path = "foundation",
                                       .parent = IX_NONE,
                                       .weight = 1,
                                       .n_namespaces = 1,
                                       .namespaces = {"foundation"}};

static const struct settings *site(void)
{
    static struct settings s;

    if (s.n_tenants == 0) {
        settings_defaults(&s);
        memset(tenant.quota.gpus, 0xff, sizeof(tenant.quota.gpus)); /* -1: not set */
        memset(tenant.limit.gpus, 0xff, sizeof(tenant.limit.gpus));
        s.n_tenants = 1;
        s.tenants = &tenant;
    }
    return &s;
}

/* A spec that was accepted goes back to bytes that are accepted. */
static void go_back(const struct spec *spec)
{
    struct arena a = {0};
    Queued__V1__JobSpec *m = rpc_spec_to(&a, spec);
    size_t size = queued__v1__job_spec__get_packed_size(m);
    uint8_t *bytes = arena_alloc(&a, size + 1);

    if (queued__v1__job_spec__pack(m, bytes) != size)
        abort();
    arena_fini(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena scratch = {0};
    struct rpc_request r;
    struct err err;

    if (rpc_wire_decode(&scratch, data, size, &r, &err) == 0 && r.method == RPC_SUBMIT) {
        if (!r.u.submit.spec->tenant)
            r.u.submit.spec->tenant = "foundation";
        go_back(r.u.submit.spec);
        (void)spec_check(r.u.submit.spec, site(), &err); /* either answer is right */
    }
    if (scratch.used > RPC_UNPACK_BYTES_MAX)
        abort();
    rpc_request_fini(&r);
    arena_fini(&scratch);
    return 0;
}
