/* SPDX-License-Identifier: Apache-2.0 */
/* store_env.c - open LMDB as it is trusted, and turn its codes into sentences. */
#include "store/store_env.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "util/mem.h"

#define MAP_BYTES (UINT64_C(64) << 30)

enum { READERS_MAX = 256, MAP_STEP_BYTES = 1 << 20 };

/* LMDB's locks belong to the process: a second environment would drop those of the first. */
static bool is_open;

size_t store_env_map_bytes(void)
{
    struct rlimit lim;
    uint64_t bytes = MAP_BYTES;

    if (getrlimit(RLIMIT_AS, &lim) == 0 && lim.rlim_cur != RLIM_INFINITY &&
        lim.rlim_cur / 2 < bytes)
        bytes = lim.rlim_cur / 2;
    return (size_t)(bytes / MAP_STEP_BYTES * MAP_STEP_BYTES);
}

static enum err_code code_of(int rc)
{
    switch (rc) {
    case MDB_MAP_FULL:
    case ENOSPC:
    case EDQUOT:
        return ERR_EXHAUSTED;
    case EACCES:
    case EPERM:
    case EROFS:
        return ERR_DENIED;
    case MDB_INVALID:
    case MDB_CORRUPTED:
    case MDB_PAGE_NOTFOUND:
    case MDB_VERSION_MISMATCH:
    case MDB_PANIC:
    case MDB_INCOMPATIBLE:
        return ERR_INVALID;
    default:
        return ERR_UNAVAILABLE;
    }
}

static const char *remedy_of(int rc)
{
    switch (code_of(rc)) {
    case ERR_EXHAUSTED:
        return rc == MDB_MAP_FULL ? "raise the limit of address space (RLIMIT_AS)"
                                  : "make room on its disk";
    case ERR_DENIED:
        return "give its files to the daemon's user and mount it writable";
    case ERR_INVALID:
        return "the store is damaged: restore a backup";
    default:
        return rc == ENOMEM ? "raise the limit of address space (RLIMIT_AS)" : "check its disk";
    }
}

int store_env_fail(const char *dir, const char *step, int rc, struct err *err)
{
    return err_set(err, code_of(rc), "store %s: %s: %s; %s", dir, step, mdb_strerror(rc),
                   remedy_of(rc));
}

/* Tables of a transaction; what does not exist is made or marked as absent. */
static int open_tables(struct store_env *e, MDB_txn *txn, bool write, const char **step)
{
    for (int t = 0; t < STORE_TABLES; t++) {
        int rc = mdb_dbi_open(txn, store_table_name((enum store_table)t), write ? MDB_CREATE : 0,
                              &e->dbi[t]);

        e->has[t] = rc == 0;
        if (rc && (write || rc != MDB_NOTFOUND)) {
            *step = "open its tables";
            return rc;
        }
    }
    *step = "commit";
    return 0;
}

static int open_env(struct store_env *e, bool write, size_t map_bytes, const char **step)
{
    MDB_txn *txn = NULL;
    int rc;

    *step = "create environment";
    rc = mdb_env_create(&e->env);
    if (rc)
        return rc;
    *step = "configure";
    rc = mdb_env_set_mapsize(e->env, map_bytes);
    if (!rc)
        rc = mdb_env_set_maxdbs(e->env, STORE_TABLES);
    if (!rc)
        rc = mdb_env_set_maxreaders(e->env, READERS_MAX);
    if (rc)
        return rc;
    *step = "open its files";
    rc = mdb_env_open(e->env, e->dir, MDB_NOTLS | (write ? 0 : MDB_RDONLY), 0600);
    if (rc)
        return rc;
    *step = "begin";
    rc = mdb_txn_begin(e->env, NULL, write ? 0 : MDB_RDONLY, &txn);
    if (rc)
        return rc;
    rc = open_tables(e, txn, write, step);
    if (rc) {
        mdb_txn_abort(txn);
        return rc;
    }
    return mdb_txn_commit(txn);
}

int store_env_open(struct store_env *e, const char *dir, bool write, size_t map_bytes,
                   struct err *err)
{
    const char *step = "";
    int rc;

    *e = (struct store_env){0};
    if (is_open)
        return err_set(err, ERR_UNAVAILABLE,
                       "store %s: this process has a store open already; close it first", dir);
    e->dir = xstrdup(dir);
    e->pid = getpid();
    is_open = true;
    rc = open_env(e, write, map_bytes ? map_bytes : store_env_map_bytes(), &step);
    if (rc) {
        (void)store_env_fail(dir, step, rc, err);
        store_env_close(e);
        return -1;
    }
    return 0;
}

void store_env_close(struct store_env *e)
{
    if (!e->dir)
        return;
    if (e->env && e->pid == getpid())
        mdb_env_close(e->env);
    free(e->dir);
    *e = (struct store_env){0};
    is_open = false;
}

int store_env_begin(const struct store_env *e, bool write, MDB_txn **ret, struct err *err)
{
    int rc;

    assert(e->pid == getpid()); /* a child would write on its parent's locks */
    rc = mdb_txn_begin(e->env, NULL, write ? 0 : MDB_RDONLY, ret);
    return rc ? store_env_fail(e->dir, "begin", rc, err) : 0;
}

int store_env_walk(MDB_txn *txn, MDB_dbi dbi, const struct store_key *from,
                   bool (*fn)(void *arg, struct store_bytes key, struct store_bytes value),
                   void *arg)
{
    MDB_cursor *cursor = NULL;
    MDB_val key = {0}, value;
    int rc = mdb_cursor_open(txn, dbi, &cursor);

    if (rc)
        return rc;
    if (from) {
        key = (MDB_val){from->len, (void *)(uintptr_t)from->bytes}; /* only read */
        rc = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
    } else {
        rc = mdb_cursor_get(cursor, &key, &value, MDB_FIRST);
    }
    while (rc == 0) {
        if (!fn(arg, (struct store_bytes){key.mv_data, key.mv_size},
                (struct store_bytes){value.mv_data, value.mv_size}))
            break;
        rc = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
    }
    mdb_cursor_close(cursor);
    return rc == MDB_NOTFOUND ? 0 : rc;
}

uint64_t store_env_file_bytes(const struct store_env *e)
{
    MDB_envinfo info;
    MDB_stat st;

    if (mdb_env_info(e->env, &info) || mdb_env_stat(e->env, &st))
        return 0;
    return (uint64_t)(info.me_last_pgno + 1) * st.ms_psize;
}

/* A record of the list of free pages begins with its length. */
static bool count_free(void *arg, struct store_bytes key, struct store_bytes value)
{
    size_t n = 0;

    (void)key;
    if (value.len >= sizeof(n))
        memcpy(&n, value.p, sizeof(n));
    *(uint64_t *)arg += n;
    return true;
}

bool store_env_is_low(const struct store_env *e)
{
    MDB_envinfo info;
    MDB_stat st;
    MDB_txn *txn;
    uint64_t limit, used, unused = 0;

    if (mdb_env_info(e->env, &info) || mdb_env_stat(e->env, &st))
        return false;
    limit = info.me_mapsize / 5 * 4;
    used = (uint64_t)(info.me_last_pgno + 1) * st.ms_psize;
    if (used <= limit || store_env_begin(e, false, &txn, NULL) < 0)
        return false;
    (void)store_env_walk(txn, 0, NULL, count_free, &unused); /* unread: counted as used */
    mdb_txn_abort(txn);
    return used - unused * st.ms_psize > limit;
}
