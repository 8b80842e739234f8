/* SPDX-License-Identifier: Apache-2.0 */
/* store_record.c - keys, the header of values, and the small records.
 *
 * Jobs and specs are in store_job.c and store_spec.c; what a turn writes is in store_turn.c.
 */
#include "store/store_record.h"

#include <assert.h>
#include <string.h>

#include "store/store_pack.h"
#include "util/crc32c.h"

_Static_assert(TENANT_PATH_MAX + 1 + SUBMIT_KEY_MAX <= STORE_KEY_BYTES, "a submit key is a key");

static const char *const table_names[STORE_TABLES] = {
    [STORE_META] = "meta",         [STORE_JOBS] = "jobs",
    [STORE_SPECS] = "specs",       [STORE_KEYS] = "keys",
    [STORE_ANSWERS] = "answers",   [STORE_NOTES] = "notes",
    [STORE_ATTEMPTS] = "attempts", [STORE_QUARANTINE] = "quarantine",
    [STORE_TENANTS] = "tenants",   [STORE_DRAINS] = "drains",
    [STORE_WINDOWS] = "windows",
};

const char *store_table_name(enum store_table t)
{
    assert((unsigned)t < STORE_TABLES);
    return table_names[t];
}

/* ---- keys */

static void add_bytes(struct store_key *k, const void *p, size_t len)
{
    assert(k->len + len <= sizeof(k->bytes));
    memcpy(k->bytes + k->len, p, len);
    k->len += len;
}

static void add_number(struct store_key *k, uint64_t n, size_t n_bytes)
{
    for (size_t i = n_bytes; i > 0; i--) {
        uint8_t b = (uint8_t)(n >> (8 * (i - 1)));

        add_bytes(k, &b, 1);
    }
}

uint64_t store_key_number(struct store_bytes key, size_t at, size_t n_bytes)
{
    const uint8_t *p = key.p;
    uint64_t n = 0;

    assert(at + n_bytes <= key.len);
    for (size_t i = 0; i < n_bytes; i++)
        n = n << 8 | p[at + i];
    return n;
}

struct store_bytes store_bytes_of(const struct store_key *k)
{
    return (struct store_bytes){k->bytes, k->len};
}

void store_key_meta(struct store_key *ret)
{
    store_key_text(ret, "meta");
}

void store_key_u64(struct store_key *ret, uint64_t n)
{
    ret->len = 0;
    add_number(ret, n, 8);
}

uint64_t store_key_u64_of(struct store_bytes key)
{
    return store_key_number(key, 0, 8);
}

void store_key_text(struct store_key *ret, const char *text)
{
    ret->len = 0;
    add_bytes(ret, text, strlen(text));
}

void store_key_answer(struct store_key *ret, const struct answer *a)
{
    ret->len = 0;
    add_number(ret, (uint64_t)a->at, 8);
    add_number(ret, a->uid, 4);
    add_bytes(ret, a->request_id, sizeof(a->request_id));
}

void store_key_attempt(struct store_key *ret, struct job_id job, uint32_t attempt)
{
    ret->len = 0;
    add_number(ret, job.v, 8);
    add_number(ret, attempt, 4);
}

void store_key_quarantine(struct store_key *ret, enum store_table t, struct store_bytes key)
{
    size_t room;

    store_key_text(ret, store_table_name(t));
    add_bytes(ret, "/", 1);
    room = sizeof(ret->bytes) - ret->len;
    add_bytes(ret, key.p, key.len < room ? key.len : room); /* a foreign key may be longer */
}

/* ---- the header */

static void put_number(uint8_t *p, uint32_t n, size_t n_bytes)
{
    for (size_t i = 0; i < n_bytes; i++)
        p[i] = (uint8_t)(n >> (8 * (n_bytes - 1 - i)));
}

/* head: version and flags, 4 bytes. */
static uint32_t checksum(enum store_table t, struct store_bytes key, const uint8_t *head,
                         struct store_bytes body)
{
    uint8_t where[3] = {(uint8_t)t, (uint8_t)(key.len >> 8), (uint8_t)key.len};
    uint32_t crc = crc32c(0, where, sizeof(where));

    crc = crc32c(crc, key.p, key.len);
    crc = crc32c(crc, head, 4);
    return crc32c(crc, body.p, body.len);
}

struct store_bytes store_pack(struct pack *p, enum store_table t, struct store_bytes key,
                              const ProtobufCMessage *m)
{
    size_t len;
    uint8_t *head = pack_message(p, STORE_HEADER_BYTES, m, &len);
    struct store_bytes body = {head + STORE_HEADER_BYTES, len - STORE_HEADER_BYTES};

    put_number(head, STORE_FORMAT, 2);
    put_number(head + 2, 0, 2); /* flags */
    put_number(head + 4, checksum(t, key, head, body), 4);
    return (struct store_bytes){head, len};
}

int store_record_check(enum store_table t, struct store_bytes key, struct store_bytes value,
                       struct err *err)
{
    const uint8_t *p = value.p;
    uint64_t version, flags, crc;

    if (value.len < STORE_HEADER_BYTES)
        return err_set(err, ERR_INVALID, "value of %zu bytes, a header alone has %d", value.len,
                       STORE_HEADER_BYTES);
    version = store_key_number(value, 0, 2);
    flags = store_key_number(value, 2, 2);
    crc = store_key_number(value, 4, 4);
    if (crc !=
        checksum(t, key, p,
                 (struct store_bytes){p + STORE_HEADER_BYTES, value.len - STORE_HEADER_BYTES}))
        return err_set(err, ERR_INVALID, "checksum does not match");
    if (version > STORE_FORMAT || flags)
        return err_set(err, ERR_REFUSED,
                       "written in format %u with flags %u by a newer version, this one reads "
                       "format %d",
                       (unsigned)version, (unsigned)flags, STORE_FORMAT);
    if (version == 0)
        return err_set(err, ERR_INVALID, "format 0 does not exist");
    return 0;
}

ProtobufCMessage *store_unpack(enum store_table t, struct store_bytes key, struct store_bytes value,
                               const ProtobufCMessageDescriptor *d, struct err *err)
{
    const uint8_t *p = value.p;
    ProtobufCMessage *m;

    if (store_record_check(t, key, value, err) < 0)
        return NULL;
    m = protobuf_c_message_unpack(d, NULL, value.len - STORE_HEADER_BYTES, p + STORE_HEADER_BYTES);
    if (!m)
        (void)err_set(err, ERR_INVALID, "%s does not unpack", d->short_name);
    return m;
}

/* ---- text */

char *store_text(const char *s)
{
    return s && *s ? (char *)(uintptr_t)s : NULL; /* packing does not write to it */
}

int store_take_text(char *dst, size_t size, const char *src, const char *what, struct err *err)
{
    if (!str_copy(dst, size, src ? src : ""))
        return err_set(err, ERR_INVALID, "%s is longer than %zu bytes", what, size - 1);
    return 0;
}

/* ---- small records: decoding */

static int bad_key(const char *table, size_t len, struct err *err)
{
    return err_set(err, ERR_INVALID, "a key of %zu bytes does not belong in table %s", len, table);
}

int store_decode_meta(struct store_bytes key, struct store_bytes value, struct store_meta *ret,
                      char created_by[STORE_CREATED_BY_MAX + 1], struct err *err)
{
    ProtobufCMessage *m =
        store_unpack(STORE_META, key, value, &queued__record__meta_record__descriptor, err);
    const Queued__Record__MetaRecord *r = (const Queued__Record__MetaRecord *)m;
    struct store_meta meta = {0};
    int rc = -1;

    if (!m)
        return -1;
    if (r->format > STORE_FORMAT) {
        (void)err_set(err, ERR_REFUSED, "format %u, this version reads %d", r->format,
                      STORE_FORMAT);
        goto out;
    }
    if (store_take_text(meta.cluster_uid, sizeof(meta.cluster_uid), r->cluster_uid, "cluster uid",
                        err) < 0 ||
        store_take_text(created_by, STORE_CREATED_BY_MAX + 1, r->created_by, "version", err) < 0)
        goto out;
    meta.last_id.v = r->last_id;
    meta.next_seq = r->next_seq;
    meta.oldest_seq = r->oldest_seq;
    meta.foreign_from.v = r->foreign_from;
    meta.moves_day = r->moves_day;
    meta.moves_lost = r->moves_lost;
    meta.config_generation = r->config_generation;
    meta.config_digest = r->config_digest;
    meta.foreign_to.v = r->foreign_to;
    *ret = meta;
    rc = 0;
out:
    protobuf_c_message_free_unpacked(m, NULL);
    return rc;
}

int store_decode_key(struct store_bytes key, struct store_bytes value, struct store_submit_key *ret,
                     struct err *err)
{
    ProtobufCMessage *m =
        store_unpack(STORE_KEYS, key, value, &queued__record__key_record__descriptor, err);
    const Queued__Record__KeyRecord *r = (const Queued__Record__KeyRecord *)m;
    struct store_submit_key k = {0};
    int rc = -1;

    if (!m)
        return -1;
    if (store_take_text(k.text, sizeof(k.text), r->key, "submit key", err) < 0)
        goto out;
    if (!strchr(k.text, '\n') || r->digest.len != sizeof(k.digest) || r->job == 0) {
        (void)err_set(err, ERR_INVALID, "submit key without tenant, digest or job");
        goto out;
    }
    memcpy(k.digest, r->digest.data, sizeof(k.digest));
    k.job.v = r->job;
    k.drop_at = r->drop_at;
    *ret = k;
    rc = 0;
out:
    protobuf_c_message_free_unpacked(m, NULL);
    return rc;
}

int store_decode_drain(struct store_bytes key, struct store_bytes value, struct cluster *c,
                       struct err *err)
{
    ProtobufCMessage *m =
        store_unpack(STORE_DRAINS, key, value, &queued__record__drain_record__descriptor, err);
    const Queued__Record__DrainRecord *r = (const Queued__Record__DrainRecord *)m;
    char node[NODE_NAME_MAX + 1] = "", text[REASON_TEXT_MAX + 1];
    int rc = -1;

    if (!m)
        return -1;
    if (key.len >= sizeof(node)) {
        (void)bad_key("drains", key.len, err);
        goto out;
    }
    memcpy(node, key.p, key.len);
    if (!str_is_dns_subdomain(node)) {
        (void)err_set(err, ERR_INVALID, "the key is no name of a node");
        goto out;
    }
    if (store_take_text(text, sizeof(text), r->text, "reason", err) < 0)
        goto out;
    cluster_drain(c, node, text, r->since);
    rc = 0;
out:
    protobuf_c_message_free_unpacked(m, NULL);
    return rc;
}

int store_decode_answer(struct store_bytes key, struct store_bytes value, struct answer *ret,
                        struct err *err)
{
    enum { KEY_BYTES = 8 + 4 + REQUEST_ID_BYTES };
    ProtobufCMessage *m =
        store_unpack(STORE_ANSWERS, key, value, &queued__record__answer_record__descriptor, err);
    const Queued__Record__AnswerRecord *r = (const Queued__Record__AnswerRecord *)m;
    struct answer a = {0};
    int rc = -1;

    if (!m)
        return -1;
    if (key.len != KEY_BYTES) {
        (void)bad_key("answers", key.len, err);
        goto out;
    }
    a.at = (usec_t)store_key_number(key, 0, 8);
    a.uid = (uint32_t)store_key_number(key, 8, 4);
    memcpy(a.request_id, (const uint8_t *)key.p + 12, sizeof(a.request_id));
    a.job.v = r->job;
    a.code = (enum err_code)r->code;
    a.is_again = r->is_again;
    a.text = r->text && *r->text ? xstrdup(r->text) : NULL;
    *ret = a;
    rc = 0;
out:
    protobuf_c_message_free_unpacked(m, NULL);
    return rc;
}

static int take_note(struct job_note *n, const Queued__Record__NoteRecord *r, struct err *err)
{
    if (store_take_text(n->job_name, sizeof(n->job_name), r->job_name, "job name", err) < 0 ||
        store_take_text(n->tenant, sizeof(n->tenant), r->tenant, "tenant", err) < 0 ||
        store_take_text(n->reason, sizeof(n->reason), r->reason, "reason", err) < 0 ||
        store_take_text(n->text, sizeof(n->text), r->text, "text", err) < 0)
        return -1;
    if (r->from >= JOB_OUTCOME || r->to == 0 || r->to >= JOB_OUTCOME)
        return err_set(err, ERR_INVALID, "no such states: %u to %u", r->from, r->to);
    n->at = r->at;
    n->job.v = r->job;
    n->uid = r->uid;
    n->from = (enum job_state)r->from;
    n->to = (enum job_state)r->to;
    n->attempt = r->attempt;
    return 0;
}

int store_decode_note(struct store_bytes key, struct store_bytes value, struct job_note *ret,
                      struct err *err)
{
    ProtobufCMessage *m =
        store_unpack(STORE_NOTES, key, value, &queued__record__note_record__descriptor, err);
    struct job_note n = {0};
    int rc;

    if (!m)
        return -1;
    if (key.len != 8) {
        rc = bad_key("notes", key.len, err);
    } else {
        n.seq = store_key_number(key, 0, 8);
        rc = take_note(&n, (const Queued__Record__NoteRecord *)m, err);
    }
    protobuf_c_message_free_unpacked(m, NULL);
    if (rc == 0)
        *ret = n;
    return rc;
}
