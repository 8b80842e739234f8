/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_spec.c - any bytes as a job file: they are refused, or give a spec that packs, prints and
 * reads back to the same bytes. Seeds in corpus/spec.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "spec_doc.h"
#include "spec_pack.h"
#include "spec_yaml.h"
#include "util/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Packed bytes; NULL when too large for the wire. *ret_text: its canonical job file. */
static uint8_t *pack(const struct queued_spec *spec, size_t *ret_len, char **ret_text)
{
    struct arena arena = {0};
    Queued__V1__JobSpec *m = NULL;
    uint8_t *bytes = NULL;

    if (spec_pack(&m, spec, &arena, NULL) == 0) {
        *ret_len = queued__v1__job_spec__get_packed_size(m);
        bytes = xmalloc(*ret_len + 1);
        (void)queued__v1__job_spec__pack(m, bytes);
        *ret_text =
            queued_spec_text((const struct queued_stored_spec *)(const void *)m, QUEUED_YAML);
    }
    arena_fini(&arena);
    return bytes;
}

static void check_round_trip(const struct queued_spec *spec)
{
    struct yaml_doc *doc = NULL;
    struct spec_file again;
    char *text = NULL, *again_text = NULL;
    size_t len = 0, again_len = 0;
    uint8_t *bytes = pack(spec, &len, &text), *again_bytes;

    if (!bytes)
        return;
    if (yaml_parse(&doc, "again", text, strlen(text), NULL) || spec_yaml_load(&again, doc, NULL))
        abort();
    again_bytes = pack(&again.specs[0], &again_len, &again_text);
    if (!again_bytes || len != again_len || memcmp(bytes, again_bytes, len) != 0)
        abort();
    free(bytes);
    free(text);
    free(again_bytes);
    free(again_text);
    spec_file_fini(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct yaml_doc *doc = NULL;
    struct spec_file f;
    struct err err;

    if (yaml_parse(&doc, "fuzz", (const char *)data, size, &err))
        return 0;
    if (spec_yaml_load(&f, doc, &err))
        return 0;
    for (size_t i = 0; i < f.n; i++)
        check_round_trip(&f.specs[i]);
    spec_file_fini(&f);
    return 0;
}
