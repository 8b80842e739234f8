/* SPDX-License-Identifier: Apache-2.0 */
/* crashpoint.c - preloaded into the daemon: kills it right before or right after one commit.
 *
 * The test maps the same file, named by QUEUED_CRASH_FILE: it reads how many commits were begun
 * and sets at which one, counted from there, the process ends, as by kill -9. Without that file
 * nothing is changed. Only for tests.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BEFORE = 1, AFTER = 2 };

/* What the test and we share; lib/crashpoint.py has the same layout. */
struct plan {
    _Atomic uint64_t count; /* commits begun since the test set it to 0 */
    _Atomic uint64_t at;    /* the commit to die at; 0: none */
    _Atomic uint64_t side;
};

/* liblmdb's function, without its header: the shim needs no more of it. */
struct MDB_txn;
int mdb_txn_commit(struct MDB_txn *txn);

static struct plan *plan_of(void)
{
    static struct plan *plan;
    const char *path = getenv("QUEUED_CRASH_FILE");
    void *p;
    int fd;

    if (plan || !path)
        return plan;
    fd = open(path, O_RDWR | O_CLOEXEC);
    p = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(*plan), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED) {
        perror("crashpoint");
        abort();
    }
    close(fd);
    plan = p;
    return plan;
}

static void die_if(const struct plan *plan, uint64_t number, uint64_t side)
{
    if (plan && plan->at == number && plan->side == side)
        (void)kill(getpid(), SIGKILL); /* does not come back */
}

int mdb_txn_commit(struct MDB_txn *txn)
{
    int (*real)(struct MDB_txn *);
    void *f = dlsym(RTLD_NEXT, "mdb_txn_commit");
    struct plan *plan = plan_of();
    uint64_t number = plan ? atomic_fetch_add(&plan->count, 1) + 1 : 0;
    int rc;

    memcpy(&real, &f, sizeof(f));
    die_if(plan, number, BEFORE);
    rc = real(txn);
    die_if(plan, number, AFTER);
    return rc;
}
