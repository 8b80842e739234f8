/* SPDX-License-Identifier: Apache-2.0 */
/* store_dump.c - every record as a line of JSON, for people and tests.
 *
 * Reads records, not the state: no configuration, no cluster, and a store that the daemon would
 * refuse still shows what can be read. Environment values of specs are left out, as they may
 * hold secrets.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "store/store_env.h"
#include "store/store_lmdb.h"
#include "store/store_pack.h"
#include "util/mem.h"

struct dump {
    FILE *out;
    enum store_table table;
    struct str line;
    uint64_t n_damaged;
    char first[ERR_TEXT_MAX]; /* what was wrong with the first of them */
};

/* ---- pieces of JSON; each member but the first begins with a comma */

static void add_name(struct str *b, const char *name)
{
    str_addf(b, "%s\"%s\":", b->len && b->s[b->len - 1] == '{' ? "" : ",", name);
}

static void add_text(struct str *b, const char *name, const char *value)
{
    if (!value || !*value)
        return;
    add_name(b, name);
    str_add_json(b, value);
}

static void add_int(struct str *b, const char *name, int64_t value)
{
    add_name(b, name);
    str_addf(b, "%" PRId64, value);
}

static void add_nonzero(struct str *b, const char *name, int64_t value)
{
    if (value)
        add_int(b, name, value);
}

static void add_flag(struct str *b, const char *name, bool value)
{
    add_name(b, name);
    str_add(b, value ? "true" : "false");
}

static void add_id(struct str *b, const char *name, uint64_t id)
{
    char text[JOB_ID_TEXT + 1];

    if (id)
        add_text(b, name, job_id_format(text, (struct job_id){id}));
}

static void add_hex(struct str *b, const char *name, const void *p, size_t len)
{
    const uint8_t *bytes = p;

    add_name(b, name);
    str_add(b, "\"");
    for (size_t i = 0; i < len; i++)
        str_addf(b, "%02x", bytes[i]);
    str_add(b, "\"");
}

static void add_state(struct str *b, const char *name, uint32_t state)
{
    if (state)
        add_text(b, name, job_state_name((enum job_state)state));
}

/* ---- one function a table: the members of "value" */

static void add_placement(struct str *b, const Queued__Record__JobRecord *r)
{
    uint32_t i = 0;

    add_name(b, "placement");
    str_add(b, "[");
    for (size_t role = 0; role < r->n_roles; role++) {
        const Queued__Record__JobRoleRecord *k = r->roles[role];

        for (uint32_t index = 0; index < k->replicas && i < r->n_member_node; index++, i++) {
            uint32_t at = r->member_node[i];

            str_add(b, i ? ",{" : "{");
            add_text(b, "role", k->name);
            add_int(b, "index", index);
            add_text(b, "node", at < r->n_nodes ? r->nodes[at] : "");
            add_int(b, "gpus", k->gpus);
            add_int(b, "rank", i < r->n_member_rank ? r->member_rank[i] : 0);
            str_add(b, "}");
        }
    }
    str_add(b, "]");
}

static void add_charge(struct str *b, const Queued__Record__JobRecord *r)
{
    if (!r->charged_gpus && !r->charged_parts)
        return;
    add_name(b, "charge");
    str_add(b, "{");
    add_text(b, "tenant", r->tenant);
    add_int(b, "gpus", r->charged_gpus);
    if (r->charged_parts)
        add_int(b, "parts", r->charged_parts); /* of one GPU more (spec/mig.h) */
    for (size_t i = 0; i < r->n_roles; i++) {
        if (r->roles[i]->model) {
            add_text(b, "model", r->roles[i]->model);
            break;
        }
    }
    str_add(b, "}");
}

static void add_roles_of_job(struct str *b, const Queued__Record__JobRecord *r)
{
    add_name(b, "roles");
    str_add(b, "[");
    for (size_t i = 0; i < r->n_roles; i++) {
        str_add(b, i ? ",{" : "{");
        add_text(b, "name", r->roles[i]->name);
        add_int(b, "replicas", r->roles[i]->replicas);
        add_int(b, "gpus", r->roles[i]->gpus);
        add_text(b, "model", r->roles[i]->model);
        str_add(b, "}");
    }
    str_add(b, "]");
}

/* Pairs of the first and last of a range. */
static void add_ranges(struct str *b, const char *name, const uint32_t *v, size_t n)
{
    if (n == 0)
        return;
    add_name(b, name);
    str_add(b, "[");
    for (size_t i = 0; i < n; i++)
        str_addf(b, "%s%u", i ? "," : "", v[i]);
    str_add(b, "]");
}

static void add_parts(struct str *b, const Queued__Record__JobRecord *r)
{
    if (r->n_array_parts == 0)
        return;
    add_name(b, "array_parts");
    for (size_t i = 0; i < r->n_array_parts; i++) {
        const Queued__Record__ArrayPartRecord *p = r->array_parts[i];

        str_add(b, i ? ",{" : "[{");
        add_int(b, "kind", p->kind);
        add_int(b, "verb", p->verb);
        add_ranges(b, "indices", p->indices, p->n_indices);
        add_text(b, "text", p->text);
        add_text(b, "priority_class", p->priority_class);
        add_nonzero(b, "priority", p->priority);
        add_nonzero(b, "max_runtime_us", p->max_runtime_us);
        str_add(b, "}");
    }
    str_add(b, "]");
}

static void dump_job(struct str *b, struct store_bytes key, const ProtobufCMessage *m)
{
    const Queued__Record__JobRecord *r = (const Queued__Record__JobRecord *)m;

    add_id(b, "id", store_key_number(key, 0, 8));
    add_text(b, "name", r->name);
    add_text(b, "namespace", r->namespace_);
    add_text(b, "tenant", r->tenant);
    add_text(b, "user", r->user);
    add_int(b, "uid", r->uid);
    add_text(b, "priority_class", r->priority_class);
    add_int(b, "priority", r->priority);
    add_text(b, "submit_key", r->submit_key);
    add_state(b, "state", r->state);
    add_state(b, "outcome", r->outcome);
    add_text(b, "reason", r->reason_code);
    add_text(b, "reason_text", r->reason_text);
    add_int(b, "attempt", r->attempt);
    add_int(b, "restarts", r->restarts);
    add_nonzero(b, "config_generation", (int64_t)r->config_generation);
    add_int(b, "checkpointed_at", r->checkpointed_at);
    add_int(b, "stop_grace_us", r->stop_grace_us);
    add_int(b, "submitted_at", r->submitted_at);
    add_int(b, "state_since", r->state_since);
    add_nonzero(b, "not_before", r->not_before);
    add_nonzero(b, "attempt_at", r->attempt_at);
    add_nonzero(b, "running_at", r->running_at);
    add_nonzero(b, "ended_at", r->ended_at);
    if (r->has_exit_code && r->exit_code >= 0)
        add_int(b, "exit_code", r->exit_code);
    if (r->array)
        add_id(b, "array", r->array);
    if (r->array)
        add_int(b, "array_index", r->array_index);
    add_ranges(b, "array_waiting", r->array_waiting, r->n_array_waiting);
    add_ranges(b, "array_succeeded", r->array_succeeded, r->n_array_succeeded);
    add_ranges(b, "array_failed", r->array_failed, r->n_array_failed);
    add_nonzero(b, "array_cancelled", r->array_cancelled);
    add_parts(b, r);
    add_flag(b, "has_service", r->has_service);
    add_flag(b, "has_budget", r->has_budget);
    add_flag(b, "has_pods", r->has_pods);
    add_roles_of_job(b, r);
    add_placement(b, r);
    add_charge(b, r);
}

static void add_strings(struct str *b, const char *name, char *const *v, size_t n)
{
    if (n == 0)
        return;
    add_name(b, name);
    str_add(b, "[");
    for (size_t i = 0; i < n; i++) {
        str_add(b, i ? "," : "");
        str_add_json(b, v[i]);
    }
    str_add(b, "]");
}

static void dump_spec(struct str *b, struct store_bytes key, const ProtobufCMessage *m)
{
    const Queued__Record__SpecRecord *r = (const Queued__Record__SpecRecord *)m;

    add_id(b, "id", store_key_number(key, 0, 8));
    add_text(b, "name", r->name);
    add_text(b, "namespace", r->namespace_);
    add_text(b, "tenant", r->tenant);
    add_text(b, "priority_class", r->priority_class);
    add_int(b, "max_runtime_us", r->max_runtime_us);
    add_text(b, "topology_required", r->topology_required);
    add_text(b, "topology_preferred", r->topology_preferred);
    add_int(b, "max_restarts", r->max_restarts);
    add_name(b, "roles");
    str_add(b, "[");
    for (size_t i = 0; i < r->n_roles; i++) {
        const Queued__Record__RoleRecord *role = r->roles[i];

        str_add(b, i ? ",{" : "{");
        add_text(b, "name", role->name);
        add_int(b, "replicas", role->replicas);
        add_nonzero(b, "min_replicas", role->min_replicas);
        add_int(b, "gpus", role->gpus);
        add_text(b, "image", role->image);
        add_strings(b, "command", role->command, role->n_command);
        str_add(b, "}");
    }
    str_add(b, "]");
}

static void dump_key(struct str *b, struct store_bytes key, const ProtobufCMessage *m)
{
    const Queued__Record__KeyRecord *r = (const Queued__Record__KeyRecord *)m;

    (void)key;
    add_text(b, "key", r->key);
    add_id(b, "job", r->job);
    add_hex(b, "digest", r->digest.data, r->digest.len);
    add_nonzero(b, "drop_at", r->drop_at);
}

static void dump_tenant(struct str *b, struct store_bytes key, const ProtobufCMessage *m)
{
    const Queued__Record__TenantRecord *r = (const Queued__Record__TenantRecord *)m;

    (void)key;
    add_nonzero(b, "stopped_at", r->stopped_at);
    add_text(b, "stopped_why", r->stopped_why);
    add_nonzero(b, "pace", r->pace);
    add_nonzero(b, "pace_runs", r->pace_runs);
    add_name(b, "past");
    str_add(b, "[");
    for (size_t i = 0; i < r->n_past; i++) {
        str_add(b, i ? ",{" : "{");
        add_text(b, "model", r->past[i]->model);
        add_int(b, "gpus_milli", (int64_t)(r->past[i]->value * 125 >> 29)); /* * 1000 / 2^32 */
        add_int(b, "stamp", r->past[i]->stamp);
        str_add(b, "}");
    }
    str_add(b, "]");
}

static void dump_answer(struct str *b, struct store_bytes key, const ProtobufCMessage *m)
{
    const Queued__Record__AnswerRecord *r = (const Queued__Record__AnswerRecord *)m;

    if (key.len == 8 + 4 + REQUEST_ID_BYTES) {
        add_int(b, "at", (int64_t)store_key_number(key, 0, 8));
        add_int(b, "uid", (int64_t)store_key_number(key, 8, 4));
        add_hex(b, "request_id", (const uint8_t *)key.p + 12, REQUEST_ID_BYTES);
    }
    add_id(b, "job", r->job);
    add_text(b, "code", err_word((int)r->code));
    add_flag(b, "is_again", r->is_again);
    add_text(b, "text", r->text);
}

static void dump_note(struct str *b, struct store_bytes key, const ProtobufCMessage *m)
{
    const Queued__Record__NoteRecord *r = (const Queued__Record__NoteRecord *)m;

    add_int(b, "seq", (int64_t)store_key_number(key, 0, 8));
    add_int(b, "at", r->at);
    add_id(b, "job", r->job);
    add_text(b, "job_name", r->job_name);
    add_text(b, "tenant", r->tenant);
    add_state(b, "from", r->from);
    add_state(b, "to", r->to);
    add_int(b, "attempt", r->attempt);
    add_text(b, "reason", r->reason);
    add_text(b, "text", r->text);
}

static void dump_attempt(struct str *b, struct store_bytes key, const ProtobufCMessage *m)
{
    const Queued__Record__AttemptRecord *r = (const Queued__Record__AttemptRecord *)m;

    add_id(b, "job", store_key_number(key, 0, 8));
    if (key.len >= 12)
        add_int(b, "attempt", (int64_t)store_key_number(key, 8, 4));
    add_text(b, "name", r->name);
    add_text(b, "tenant", r->tenant);
    add_text(b, "user", r->user);
    add_int(b, "gpus", (int64_t)r->gpus);
    add_nonzero(b, "parts", r->parts);
    add_text(b, "model", r->model);
    add_int(b, "pods", r->pods);
    add_int(b, "nodes", r->nodes);
    add_nonzero(b, "decided_at", r->decided_at);
    add_nonzero(b, "running_at", r->running_at);
    add_nonzero(b, "ended_at", r->ended_at);
    add_state(b, "state", r->state);
    add_int(b, "exit_code", r->exit_code);
    add_text(b, "reason", r->reason);
    add_nonzero(b, "config_generation", (int64_t)r->config_generation);
}

static void dump_drain(struct str *b, struct store_bytes key, const ProtobufCMessage *m)
{
    const Queued__Record__DrainRecord *r = (const Queued__Record__DrainRecord *)m;

    (void)key;
    add_text(b, "text", r->text);
    add_int(b, "since", r->since);
}

static void dump_window(struct str *b, struct store_bytes key, const ProtobufCMessage *m)
{
    const Queued__Record__WindowRecord *r = (const Queued__Record__WindowRecord *)m;

    (void)key;
    add_text(b, "tenant", r->tenant);
    add_int(b, "from", r->from);
    add_int(b, "to", r->to);
    add_int(b, "made_at", r->made_at);
    add_text(b, "nodes", r->nodes);
    add_text(b, "text", r->text);
}

static void dump_meta(struct str *b, struct store_bytes key, const ProtobufCMessage *m)
{
    const Queued__Record__MetaRecord *r = (const Queued__Record__MetaRecord *)m;

    (void)key;
    add_int(b, "format", r->format);
    add_text(b, "created_by", r->created_by);
    add_id(b, "last_id", r->last_id);
    add_int(b, "next_seq", (int64_t)r->next_seq);
    add_int(b, "oldest_seq", (int64_t)r->oldest_seq);
    add_text(b, "cluster_uid", r->cluster_uid);
    add_nonzero(b, "config_generation", (int64_t)r->config_generation);
    if (r->foreign_to) {
        add_id(b, "foreign_from", r->foreign_from);
        add_id(b, "foreign_to", r->foreign_to);
    }
}

static const struct dump_row {
    const ProtobufCMessageDescriptor *type;
    void (*fn)(struct str *b, struct store_bytes key, const ProtobufCMessage *m);
    size_t key_bytes; /* least */
} rows[STORE_TABLES] = {
    [STORE_META] = {&queued__record__meta_record__descriptor, dump_meta, 0},
    [STORE_JOBS] = {&queued__record__job_record__descriptor, dump_job, 8},
    [STORE_SPECS] = {&queued__record__spec_record__descriptor, dump_spec, 8},
    [STORE_KEYS] = {&queued__record__key_record__descriptor, dump_key, 0},
    [STORE_ANSWERS] = {&queued__record__answer_record__descriptor, dump_answer, 0},
    [STORE_NOTES] = {&queued__record__note_record__descriptor, dump_note, 8},
    [STORE_TENANTS] = {&queued__record__tenant_record__descriptor, dump_tenant, 1},
    [STORE_DRAINS] = {&queued__record__drain_record__descriptor, dump_drain, 0},
    [STORE_WINDOWS] = {&queued__record__window_record__descriptor, dump_window, 0},
    [STORE_ATTEMPTS] = {&queued__record__attempt_record__descriptor, dump_attempt, 8},
};

/* ---- lines */

static void add_key(struct str *b, enum store_table t, struct store_bytes key)
{
    char text[STORE_KEY_BYTES + 1] = "";

    switch (t) {
    case STORE_JOBS:
    case STORE_SPECS:
        if (key.len == 8) {
            add_id(b, "key", store_key_number(key, 0, 8));
            return;
        }
        break;
    case STORE_META:
    case STORE_KEYS:
    case STORE_TENANTS:
    case STORE_DRAINS:
    case STORE_WINDOWS:
        memcpy(text, key.p, key.len < STORE_KEY_BYTES ? key.len : STORE_KEY_BYTES);
        add_text(b, "key", text);
        return;
    default:
        break;
    }
    add_hex(b, "key", key.p, key.len);
}

static void add_value(struct dump *d, struct store_bytes key, struct store_bytes value)
{
    const struct dump_row *row = &rows[d->table];
    ProtobufCMessage *m = NULL;
    struct err err;

    if (!row->type) { /* quarantine: bytes that nothing is known of */
        add_name(&d->line, "value");
        str_add(&d->line, "{");
        add_hex(&d->line, "bytes", value.p, value.len);
        str_add(&d->line, "}");
        return;
    }
    if (key.len < row->key_bytes)
        (void)err_set(&err, ERR_INVALID, "a key of %zu bytes", key.len);
    else
        m = store_unpack(d->table, key, value, row->type, &err);
    if (!m) {
        if (d->n_damaged++ == 0)
            (void)str_copy(d->first, sizeof(d->first), err.text);
        str_add(&d->line, ",\"value\":null");
        add_text(&d->line, "damaged", err.text);
        return;
    }
    add_name(&d->line, "value");
    str_add(&d->line, "{");
    row->fn(&d->line, key, m);
    str_add(&d->line, "}");
    protobuf_c_message_free_unpacked(m, NULL);
}

static bool dump_record(void *arg, struct store_bytes key, struct store_bytes value)
{
    struct dump *d = arg;

    str_clear(&d->line);
    str_add(&d->line, "{");
    add_text(&d->line, "table", store_table_name(d->table));
    add_key(&d->line, d->table, key);
    add_value(d, key, value);
    str_add(&d->line, "}\n");
    return fwrite(d->line.s, 1, d->line.len, d->out) == d->line.len;
}

static int dump_tables(struct dump *d, const struct store_env *e, struct err *err)
{
    MDB_txn *txn;
    int rc = 0;

    if (store_env_begin(e, false, &txn, err) < 0)
        return -1;
    for (int t = 0; t < STORE_TABLES && rc == 0; t++) {
        d->table = (enum store_table)t;
        if (e->has[t])
            rc = store_env_walk(txn, e->dbi[t], NULL, dump_record, d);
    }
    mdb_txn_abort(txn);
    if (rc)
        return store_env_fail(e->dir, "read", rc, err);
    if (fflush(d->out) == EOF || ferror(d->out))
        return err_set(err, ERR_UNAVAILABLE, "dump store %s: write: %s", e->dir, strerror(errno));
    return 0;
}

int store_lmdb_dump(const char *dir, FILE *out, struct err *err)
{
    struct dump d = {.out = out};
    char *path = xasprintf("%s/data.mdb", dir);
    struct store_env e;
    struct stat st;
    int rc;

    rc = stat(path, &st);
    free(path);
    if (rc < 0)
        return err_set(err, ERR_NOT_FOUND, "no store in %s: data.mdb: %s", dir, strerror(errno));
    if (st.st_size == 0)
        return 0; /* its daemon was killed while it made the store */
    if (store_env_open(&e, dir, false, 0, err) < 0)
        return -1;
    rc = dump_tables(&d, &e, err);
    store_env_close(&e);
    str_fini(&d.line);
    if (rc == 0 && d.n_damaged)
        rc = err_set(err, ERR_INVALID, "store %s: %" PRIu64 " damaged records, the first: %.200s",
                     dir, d.n_damaged, d.first);
    return rc;
}
