/* SPDX-License-Identifier: Apache-2.0 */
/* store_lmdb.c - the store port over LMDB: commit of a turn, loading, reads.
 *
 * A commit is one write transaction; an error in it sticks, later calls do nothing, and the end
 * tells. Reads take short read transactions of their own.
 */
#include "store/store_lmdb.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "store/store_check.h"
#include "store/store_disk.h"
#include "store/store_env.h"
#include "store/store_load.h"
#include "util/log.h"
#include "util/mem.h"
#include "util/str.h"

enum {
    READER_CHECK_COMMITS = 1024, /* commits between two looks for readers that died */
};

struct store_lmdb {
    struct store_disk disk;
    struct store_env env;
    char created_by[STORE_CREATED_BY_MAX + 1];
    uint64_t n_commits;
};

/* ---- the sticky transaction */

struct batch {
    struct store_lmdb *s;
    MDB_txn *txn;
    MDB_cursor *cursors[STORE_TABLES];   /* where the last record was put; the transaction's */
    struct store_key last[STORE_TABLES]; /* no key is greater; of tables that grow at their end */
    int rc;                              /* the first error; nothing is done after it */
    enum store_table at;
    uint32_t n; /* changes */
};

static MDB_val val(struct store_bytes b)
{
    return (MDB_val){b.len, (void *)(uintptr_t)b.p}; /* LMDB does not write to it */
}

static void stick(struct batch *b, enum store_table t, int rc)
{
    b->n++;
    if (rc == 0 || b->rc)
        return;
    b->rc = rc;
    b->at = t;
}

/* Their keys are numbers that only grow: new records come behind all that there are. */
static bool grows_at_end(enum store_table t)
{
    return t == STORE_JOBS || t == STORE_SPECS || t == STORE_NOTES;
}

/* Open a cursor that stays: keys mostly come in order, and it finds the next place without a
 * search. */
static int open_place(struct batch *b, enum store_table t)
{
    int rc = mdb_cursor_open(b->txn, b->s->env.dbi[t], &b->cursors[t]);
    MDB_val k, v;

    if (rc || !grows_at_end(t))
        return rc;
    rc = mdb_cursor_get(b->cursors[t], &k, &v, MDB_LAST);
    b->last[t].len = rc ? 0 : k.mv_size; /* one of another length is never passed */
    if (rc == 0 && k.mv_size <= sizeof(b->last[t].bytes))
        memcpy(b->last[t].bytes, k.mv_data, k.mv_size);
    return rc == MDB_NOTFOUND ? 0 : rc;
}

/* MDB_APPEND when it is behind all of its table: LMDB need not look for its place. */
static unsigned is_behind(struct batch *b, enum store_table t, struct store_bytes key)
{
    struct store_key *last = &b->last[t];

    if (!grows_at_end(t) || key.len > sizeof(last->bytes) ||
        (last->len && (last->len != key.len || memcmp(key.p, last->bytes, key.len) <= 0)))
        return 0;
    memcpy(last->bytes, key.p, key.len);
    last->len = key.len;
    return MDB_APPEND;
}

static void batch_put(void *ctx, enum store_table t, struct store_bytes key,
                      struct store_bytes value)
{
    struct batch *b = ctx;
    MDB_val k = val(key), v = val(value);
    int rc = 0;

    if (b->rc)
        return;
    if (!b->cursors[t])
        rc = open_place(b, t);
    stick(b, t, rc ? rc : mdb_cursor_put(b->cursors[t], &k, &v, is_behind(b, t, key)));
}

/* Before records go: no cursor is left where one was. */
static void forget_place(struct batch *b, enum store_table t)
{
    if (b->cursors[t])
        mdb_cursor_close(b->cursors[t]);
    b->cursors[t] = NULL;
}

static void batch_del(void *ctx, enum store_table t, struct store_bytes key)
{
    struct batch *b = ctx;
    MDB_val k = val(key);
    int rc;

    if (b->rc)
        return;
    forget_place(b, t);
    rc = mdb_del(b->txn, b->s->env.dbi[t], &k, NULL);
    stick(b, t, rc == MDB_NOTFOUND ? 0 : rc); /* repeated after a crash */
}

static void batch_del_below(void *ctx, enum store_table t, struct store_bytes key)
{
    struct batch *b = ctx;
    MDB_cursor *cursor = NULL;
    MDB_val k, v, end = val(key);
    int rc;

    if (b->rc)
        return;
    forget_place(b, t);
    rc = mdb_cursor_open(b->txn, b->s->env.dbi[t], &cursor);
    while (rc == 0) {
        rc = mdb_cursor_get(cursor, &k, &v, MDB_FIRST);
        if (rc || mdb_cmp(b->txn, b->s->env.dbi[t], &k, &end) >= 0)
            break;
        rc = mdb_cursor_del(cursor, 0);
    }
    if (cursor)
        mdb_cursor_close(cursor);
    stick(b, t, rc == MDB_NOTFOUND ? 0 : rc);
}

static int batch_begin(struct batch *b, struct store_lmdb *s, struct err *err)
{
    *b = (struct batch){.s = s};
    return store_env_begin(&s->env, true, &b->txn, err);
}

/* Commit, or abort when something failed: the one way out. */
static int batch_end(struct batch *b, struct err *err)
{
    const char *dir = b->s->env.dir;
    int rc;

    if (b->rc) {
        mdb_txn_abort(b->txn);
        return store_env_fail(dir, store_table_name(b->at), b->rc, err);
    }
    rc = mdb_txn_commit(b->txn);
    return rc ? store_env_fail(dir, "commit", rc, err) : 0;
}

/* ---- the port */

static int commit_begin(void *ctx, const struct state *state, const struct effects *fx,
                        struct err *err)
{
    struct store_lmdb *s = ctx;
    struct batch b;
    const struct store_sink sink = {
        .ctx = &b,
        .created_by = s->created_by,
        .put = batch_put,
        .del = batch_del,
        .del_below = batch_del_below,
    };

    if (batch_begin(&b, s, err) < 0)
        return -1;
    (void)store_records_put(state, fx, &sink);
    if (batch_end(&b, err) < 0)
        return -1;
    if (++s->n_commits % READER_CHECK_COMMITS == 0) {
        int dead;

        (void)mdb_reader_check(s->env.env, &dead); /* the next look may work */
    }
    return 0;
}

static bool is_acked(void *ctx)
{
    (void)ctx;
    return true; /* a commit that returned is on the disk */
}

static int read_spec(void *ctx, struct job_id id, struct spec **ret, struct err *err)
{
    struct store_lmdb *s = ctx;
    char text[JOB_ID_TEXT + 1];
    struct store_key key;
    MDB_txn *txn;
    MDB_val k, v;
    int rc;

    if (store_env_begin(&s->env, false, &txn, err) < 0)
        return -1;
    store_key_u64(&key, id.v);
    k = val(store_bytes_of(&key));
    rc = mdb_get(txn, s->env.dbi[STORE_SPECS], &k, &v);
    if (rc == MDB_NOTFOUND) {
        rc = err_set(err, ERR_NOT_FOUND, "the spec of job %s is not stored",
                     job_id_format(text, id));
    } else if (rc) {
        rc = store_env_fail(s->env.dir, "read a spec", rc, err);
    } else {
        rc = store_decode_spec(store_bytes_of(&key), (struct store_bytes){v.mv_data, v.mv_size},
                               ret, err);
        if (rc < 0 && err)
            err->code = ERR_INTERNAL;
        if (rc < 0)
            (void)err_wrap(err, "store %s: spec of job %s", s->env.dir, job_id_format(text, id));
    }
    mdb_txn_abort(txn);
    return rc;
}

struct note_reader {
    uint32_t left;
    bool (*fn)(void *arg, const struct job_note *note);
    void *arg;
    int rc;
    struct err *err;
};

static bool read_note(void *arg, struct store_bytes key, struct store_bytes value)
{
    struct note_reader *r = arg;
    struct job_note note;

    if (r->left == 0)
        return false;
    r->left--;
    r->rc = store_decode_note(key, value, &note, r->err);
    return r->rc == 0 && r->fn(r->arg, &note);
}

static int read_notes(void *ctx, struct note_range range,
                      bool (*fn)(void *arg, const struct job_note *note), void *arg,
                      struct err *err)
{
    struct store_lmdb *s = ctx;
    struct note_reader r = {.left = range.max, .fn = fn, .arg = arg, .err = err};
    struct store_key key;
    MDB_txn *txn;
    int rc;

    if (store_env_begin(&s->env, false, &txn, err) < 0)
        return -1;
    store_key_u64(&key, range.from);
    rc = store_env_walk(txn, s->env.dbi[STORE_NOTES], &key, read_note, &r);
    mdb_txn_abort(txn);
    if (rc)
        return store_env_fail(s->env.dir, "read events", rc, err);
    return r.rc < 0 ? err_wrap(err, "store %s: an event", s->env.dir) : 0;
}

/* ---- loading: one write transaction, committed only when something is moved */

static int source_walk(void *ctx, enum store_table t,
                       bool (*fn)(void *arg, struct store_bytes key, struct store_bytes value),
                       void *arg, struct err *err)
{
    struct batch *b = ctx;
    int rc = store_env_walk(b->txn, b->s->env.dbi[t], NULL, fn, arg);

    return rc ? store_env_fail(b->s->env.dir, store_table_name(t), rc, err) : 0;
}

static bool source_get(void *ctx, enum store_table t, struct store_bytes key,
                       struct store_bytes *ret)
{
    struct batch *b = ctx;
    MDB_val k = val(key), v;

    if (mdb_get(b->txn, b->s->env.dbi[t], &k, &v))
        return false;
    *ret = (struct store_bytes){v.mv_data, v.mv_size};
    return true;
}

static int load(void *ctx, struct state *state, struct err *err)
{
    struct store_lmdb *s = ctx;
    struct store_loaded done;
    struct batch b;
    const struct store_source src = {
        .ctx = &b,
        .walk = source_walk,
        .get = source_get,
        .put = batch_put,
        .del = batch_del,
    };

    if (batch_begin(&b, s, err) < 0)
        return -1;
    if (store_load(&src, s->env.dir, state, &done, err) < 0) {
        mdb_txn_abort(b.txn);
        return -1;
    }
    if (*done.created_by)
        (void)str_copy(s->created_by, sizeof(s->created_by), done.created_by);
    log_info("store loaded", "store=%s jobs=%u keys=%u answers=%u quarantined=%u", s->env.dir,
             done.jobs, done.keys, done.answers, done.quarantined);
    if (b.n == 0) {
        mdb_txn_abort(b.txn); /* nothing to write */
        return 0;
    }
    return batch_end(&b, err);
}

struct store_port store_lmdb_port(struct store_lmdb *s)
{
    return (struct store_port){
        .ctx = s,
        .commit_begin = commit_begin,
        .is_acked = is_acked,
        .read_spec = read_spec,
        .read_notes = read_notes,
        .load = load,
    };
}

/* ---- opening */

/* Length of a file of the store; -1: it is not there. */
static off_t length_of(const char *dir, const char *name)
{
    char *path = xasprintf("%s/%s", dir, name);
    struct stat st;
    off_t len = stat(path, &st) == 0 ? st.st_size : -1;

    free(path);
    return len;
}

/* Is there something to check? A file without a byte is one that was being made; the ballast comes
 * when it has been, so that beside it the file has lost what was in it. */
static int look_at_data(const char *dir, bool *ret_has, struct err *err)
{
    off_t len = length_of(dir, "data.mdb");

    *ret_has = len > 0;
    if (len != 0 || length_of(dir, "ballast") < 0)
        return 0;
    return err_set(err, ERR_INVALID,
                   "store %s is damaged: its data.mdb is empty; restore a backup, or delete the "
                   "file to begin without jobs",
                   dir);
}

int store_lmdb_open_sized(struct store_lmdb **ret, const char *dir, size_t map_bytes,
                          struct err *err)
{
    struct store_lmdb *s = xcalloc(1, sizeof(*s));
    bool has_data = false;
    int dead;

    (void)str_copy(s->created_by, sizeof(s->created_by), QUEUED_VERSION);
    if (store_disk_open(&s->disk, dir, err) < 0)
        goto fail;
    if (look_at_data(dir, &has_data, err) < 0 ||
        (has_data && store_check(dir, map_bytes, s->disk.lock_fd, err) < 0))
        goto fail;
    if (store_env_open(&s->env, dir, true, map_bytes, err) < 0)
        goto fail;
    /* LMDB never flushes the directory: without this a new store may be gone after a power cut. */
    if (store_disk_sync(&s->disk, err) < 0)
        goto fail;
    (void)mdb_reader_check(s->env.env, &dead); /* looked at again while commits go on */
    store_disk_fill(&s->disk);
    *ret = s;
    return 0;
fail:
    store_lmdb_close(s);
    return -1;
}

int store_lmdb_open(struct store_lmdb **ret, const char *dir, struct err *err)
{
    return store_lmdb_open_sized(ret, dir, 0, err);
}

void store_lmdb_close(struct store_lmdb *s)
{
    if (!s)
        return;
    store_env_close(&s->env);
    store_disk_close(&s->disk);
    free(s);
}

bool store_lmdb_is_low(struct store_lmdb *s)
{
    return store_disk_is_low(&s->disk, store_env_is_low(&s->env));
}
