/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_record.c - libFuzzer target: any bytes as a stored record, through decoding and loading.
 *
 * First byte: the table, and with bit 7 the rest is the whole value; otherwise it is the protobuf
 * and gets a header with the right checksum, so that decoding is reached. Whatever comes, the
 * other job of the store is loaded. Seeds: corpus/record, the golden records.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../fake/fake_store.h"
#include "../fake/store_fixture.h"
#include "util/log.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { VICTIM = 2, OTHER = 1 };

static bool any_note(void *arg, const struct job_note *note)
{
    (void)arg;
    return note->to != 0;
}

/* A whole value around a protobuf; the caller frees it. */
static uint8_t *value_of(enum store_table t, struct store_bytes key, const uint8_t *data,
                         size_t size)
{
    uint8_t *value = calloc(1, STORE_HEADER_BYTES + size);

    value[1] = STORE_FORMAT;
    memcpy(value + STORE_HEADER_BYTES, data, size);
    fake_store_sign(t, key, value, STORE_HEADER_BYTES + size);
    return value;
}

/* The last record of the table, which is the victim's, gets the input as its value. */
static void replace(struct fake_store *store, enum store_table t, const uint8_t *data, size_t size,
                    bool is_raw)
{
    struct store_bytes key, old;
    uint8_t *value;

    if (!fake_store_at(store, t, fake_store_count(store, t) - 1, &key, &old))
        return;
    if (is_raw) {
        fake_store_set(store, t, key, (struct store_bytes){data, size});
        return;
    }
    value = value_of(t, key, data, size);
    fake_store_set(store, t, key, (struct store_bytes){value, STORE_HEADER_BYTES + size});
    free(value);
}

static void load(struct store_fixture *fix, struct fake_store *store)
{
    struct store_port port = fake_store_port(store);
    struct state *s = store_fixture_empty(fix);
    struct spec *spec = NULL;
    struct err err;

    (void)port.read_notes(port.ctx, (struct note_range){0, 10}, any_note, NULL, &err);
    if (port.read_spec(port.ctx, store_fixture_id(VICTIM), &spec, &err) == 0)
        spec_destroy(spec);
    if (port.load(port.ctx, s, &err) == 0)
        assert(state_job(s, store_fixture_id(OTHER)));
    else
        assert(err.code == ERR_REFUSED); /* a meta record of a newer format */
    state_destroy(s);
}

/* The store that every input begins with; made once. */
static const struct fake_store *base_store(struct store_fixture *fix)
{
    static struct fake_store *store;
    struct store_port port;
    struct err err;
    int rc;

    if (store)
        return store;
    log_setup(LOG_LEVEL_ERROR, false);
    store_fixture_init(fix);
    store = fake_store_create(1);
    port = fake_store_port(store);
    store_fixture_submit(fix, OTHER);
    store_fixture_run(fix, VICTIM);
    rc = port.commit_begin(port.ctx, fix->state, &fix->fx, &err);
    assert(rc == 0);
    return rc == 0 ? store : NULL;
}

static struct fake_store *copy(const struct fake_store *from)
{
    struct fake_store *to = fake_store_create(1);
    struct store_bytes key, value;

    for (int t = 0; t < STORE_TABLES; t++)
        for (size_t i = 0; fake_store_at(from, (enum store_table)t, i, &key, &value); i++)
            fake_store_set(to, (enum store_table)t, key, value);
    return to;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct store_fixture fix;
    struct fake_store *store;

    if (size < 1)
        return 0;
    store = copy(base_store(&fix));
    replace(store, (enum store_table)((data[0] & 0x7f) % STORE_QUARANTINE), data + 1, size - 1,
            data[0] & 0x80);
    load(&fix, store);
    fake_store_destroy(store);
    return 0;
}
