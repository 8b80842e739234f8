/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_links.c - libFuzzer target: any bytes as a pair matrix of GPUs: refused with a sentence that
 * begins with a line, or whole and symmetric. Seeds in corpus/links.
 */
#include <stdint.h>
#include <stdlib.h>

#include "util/gpu_links.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void want(bool is_true)
{
    if (!is_true)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gpu_links x;
    struct gpu_link_facts f;
    struct err err = {0};

    if (gpu_links_parse((const char *)data, size, &x, &err)) {
        want(err.text[0] >= '1' && err.text[0] <= '9');
        return 0;
    }
    want(x.n_gpus >= 1 && x.n_gpus <= LINK_GPUS_MAX && x.n_nics <= LINK_NICS_MAX);
    for (uint32_t i = 0; i < x.n_gpus + x.n_nics; i++)
        for (uint32_t k = 0; k < x.n_gpus + x.n_nics; k++)
            want(x.distance[i][k] == x.distance[k][i] && !x.distance[i][k] == (i == k));
    if (x.n_gpus > 8)
        return 0;
    gpu_links_facts(&x, &f);
    want(f.clique <= f.connected && f.connected <= x.n_gpus && f.sets[1].mask == 1);
    return 0;
}
