/* SPDX-License-Identifier: Apache-2.0 */
/* test_store_lmdb.c - the real store in a directory of its own: locks, damage, full and read-only
 * disks, and what a killed daemon leaves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../fake/store_dir.h"
#include "store/store_disk.h"
#include "store/store_env.h"
#include "util/mem.h"

/* The text of a refused opening. */
static enum err_code refused(const struct store_dir *e, char text[ERR_TEXT_MAX])
{
    struct store_lmdb *s = NULL;
    struct err err = {0};

    assert_int_equal(store_lmdb_open(&s, e->dir, &err), -1);
    assert_null(s);
    memcpy(text, err.text, ERR_TEXT_MAX);
    return err.code;
}

/* ---- plain use */

static void what_was_committed_is_there_after_reopening(void **state)
{
    struct store_dir *e = *state;
    struct store_lmdb *s;
    struct store_port port;
    struct spec *spec = NULL;
    struct err err;

    store_dir_fill(e, 20);
    s = store_dir_open(e);
    port = store_lmdb_port(s);
    assert_int_equal(store_dir_jobs(e, s), 20);
    assert_int_equal(port.read_spec(port.ctx, store_fixture_id(7), &spec, &err), 0);
    assert_string_equal(spec->name, "train-7");
    spec_destroy(spec);
    assert_int_equal(port.read_spec(port.ctx, store_fixture_id(70), &spec, &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    store_lmdb_close(s);
}

/* Of a record that is damaged, or not ours. */
static void a_key_of_another_length_at_the_end_stops_no_commit(void **state)
{
    static uint8_t far[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    static char text[] = "foreign";
    struct store_dir *e = *state;
    struct store_env env;
    struct store_lmdb *s;
    struct err err;
    MDB_val k = {sizeof(far), far}, v = {sizeof(text), text};
    MDB_txn *txn;

    store_dir_fill(e, 20);
    assert_int_equal(store_env_open(&env, e->dir, true, 0, &err), 0);
    assert_int_equal(store_env_begin(&env, true, &txn, &err), 0);
    assert_int_equal(mdb_put(txn, env.dbi[STORE_NOTES], &k, &v, 0), 0);
    assert_int_equal(mdb_txn_commit(txn), 0);
    store_env_close(&env);
    s = store_dir_open(e);
    store_fixture_submit(&e->fix, 21);
    store_fixture_submit(&e->fix, 22);
    store_dir_commit(e, s);
    assert_int_equal(store_dir_jobs(e, s), 22);
    store_lmdb_close(s);
}

struct span {
    uint64_t first, last;
};

static bool see_note(void *arg, const struct job_note *note)
{
    struct span *s = arg;

    if (!s->first)
        s->first = note->seq;
    s->last = note->seq;
    return true;
}

static void events_are_read_from_a_number_and_trimmed_below_one(void **state)
{
    struct store_dir *e = *state;
    struct store_lmdb *s;
    struct store_port port;
    struct span span = {0};
    struct err err;

    store_dir_fill(e, 20);
    s = store_dir_open(e);
    port = store_lmdb_port(s);
    assert_int_equal(port.read_notes(port.ctx, (struct note_range){5, 10}, see_note, &span, &err),
                     0);
    assert_int_equal(span.first, 5);
    assert_int_equal(span.last, 14);
    effects_add(&e->fix.fx, EFFECT_DROP_EVENTS, store_fixture_id(0))->u.below_seq = 18;
    store_dir_commit(e, s);
    span = (struct span){0};
    assert_int_equal(port.read_notes(port.ctx, (struct note_range){0, 100}, see_note, &span, &err),
                     0);
    assert_int_equal(span.first, 18);
    assert_int_equal(span.last, 20);
    store_lmdb_close(s);
}

static void files_are_for_their_owner_only(void **state)
{
    struct store_dir *e = *state;
    static const char *const names[] = {"data.mdb", "lock.mdb", "lock", "ballast"};
    mode_t old = umask(0);
    struct stat st;

    store_lmdb_close(store_dir_open(e));
    (void)umask(old);
    assert_int_equal(stat(e->dir, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        char path[128];

        (void)snprintf(path, sizeof(path), "%s/%s", e->dir, names[i]);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 0777, 0600);
    }
}

/* ---- one daemon at a time, local disks only */

static void a_second_store_in_one_process_is_refused(void **state)
{
    struct store_dir *e = *state;
    struct store_lmdb *s = store_dir_open(e);
    char text[ERR_TEXT_MAX], own[32];
    FILE *out = tmpfile();
    struct err err;

    assert_int_equal(refused(e, text), ERR_UNAVAILABLE);
    (void)snprintf(own, sizeof(own), "(pid %ld)", (long)getpid());
    assert_non_null(strstr(text, "is in use by another daemon"));
    assert_non_null(strstr(text, own));
    assert_int_equal(store_lmdb_dump(e->dir, out, &err), -1); /* would drop our locks */
    assert_int_equal(err.code, ERR_UNAVAILABLE);
    fclose(out);
    store_lmdb_close(s);
    store_lmdb_close(store_dir_open(e));
}

static int child_opens(struct store_dir *e)
{
    struct store_lmdb *s = NULL;
    struct err err = {0};

    /* what the child inherits must not make its own opening fail: only the lock may */
    if (store_lmdb_open(&s, e->dir, &err) == 0)
        return 1;
    return err.code == ERR_UNAVAILABLE && strstr(err.text, "in use by another daemon") ? 0 : 2;
}

static void a_second_daemon_is_refused_and_told_who_holds_it(void **state)
{
    struct store_dir *e = *state;
    struct store_lmdb *s = store_dir_open(e);

    assert_int_equal(store_dir_in_child(child_opens, e), 0);
    store_lmdb_close(s);
}

static void network_file_systems_are_refused_by_name(void **state)
{
    (void)state;
    assert_string_equal(store_disk_refuses(0x6969), "NFS");
    assert_string_equal(store_disk_refuses(0xff534d42), "CIFS");
    assert_string_equal(store_disk_refuses((unsigned long)(int)0xff534d42), "CIFS"); /* signed */
    assert_string_equal(store_disk_refuses(0x65735546), "FUSE");
    assert_null(store_disk_refuses(0xef53));     /* ext4 */
    assert_null(store_disk_refuses(0x58465342)); /* xfs */
    assert_null(store_disk_refuses(0x01021994)); /* tmpfs */
    assert_null(store_disk_refuses(0x794c7630)); /* overlay */
}

static int child_without_rights(struct store_dir *e)
{
    struct store_lmdb *s = NULL;
    struct err err = {0};

    if (geteuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0))
        return 3;
    if (store_lmdb_open(&s, e->dir, &err) == 0)
        return 1;
    return err.code == ERR_DENIED && strstr(err.text, "give the directory to the daemon's user")
               ? 0
               : 2;
}

static void a_directory_without_rights_is_refused_with_a_remedy(void **state)
{
    struct store_dir *e = *state;

    store_dir_fill(e, 1);
    assert_int_equal(chmod(e->base, 0755), 0);
    assert_int_equal(chmod(e->dir, 0555), 0);
    assert_int_equal(store_dir_in_child(child_without_rights, e), 0);
    assert_int_equal(chmod(e->dir, 0700), 0);
}

static void a_missing_parent_is_told(void **state)
{
    struct store_dir *e = *state;
    char text[ERR_TEXT_MAX];

    (void)snprintf(e->dir, sizeof(e->dir), "%s/no/store", e->base);
    assert_int_equal(refused(e, text), ERR_UNAVAILABLE);
    assert_non_null(strstr(text, "make its parent directory"));
}

/* ---- damage */

static void a_file_cut_in_half_is_refused(void **state)
{
    struct store_dir *e = *state;
    char text[ERR_TEXT_MAX], path[128];

    store_dir_fill(e, 300);
    (void)snprintf(path, sizeof(path), "%s/data.mdb", e->dir);
    assert_int_equal(truncate(path, store_dir_bytes(e) / 2 / 4096 * 4096), 0);
    assert_int_equal(refused(e, text), ERR_INVALID);
    assert_non_null(strstr(text, "is damaged"));
    assert_non_null(strstr(text, "restore a backup"));
}

static void a_file_that_lost_all_is_refused_and_one_that_was_being_made_is_not(void **state)
{
    struct store_dir *e = *state;
    char text[ERR_TEXT_MAX], path[256], ballast[256];

    store_dir_fill(e, 3);
    (void)snprintf(path, sizeof(path), "%s/data.mdb", e->dir);
    (void)snprintf(ballast, sizeof(ballast), "%s/ballast", e->dir);
    if (access(ballast, F_OK)) /* there is too little room for one here */
        skip();
    assert_int_equal(truncate(path, 0), 0);
    assert_int_equal(refused(e, text), ERR_INVALID);
    assert_non_null(strstr(text, "its data.mdb is empty; restore a backup"));
    assert_int_equal(unlink(ballast), 0); /* as after a crash in the first start */
    store_lmdb_close(store_dir_open(e));
}

static void a_zeroed_meta_page_is_refused(void **state)
{
    static const char zeros[4096];
    struct store_dir *e = *state;
    char text[ERR_TEXT_MAX];

    store_dir_fill(e, 3);
    store_dir_change(e, 0, zeros, sizeof(zeros));
    assert_int_equal(refused(e, text), ERR_INVALID);
    assert_non_null(strstr(text, "restore a backup"));
}

/* Each page of the file in turn gets a header of noise. Whatever LMDB does then, this process
 * lives, and what it opens has all jobs or says that it is damaged. */
static void a_noisy_page_header_never_kills_the_opener(void **state)
{
    struct store_dir *e = *state;
    uint8_t noise[16], old[16];
    unsigned n_refused = 0, n_opened = 0;
    char path[128];
    off_t size;
    int fd;

    store_dir_fill(e, 30);
    (void)snprintf(path, sizeof(path), "%s/data.mdb", e->dir);
    size = store_dir_bytes(e);
    for (off_t page = 2; page < size / 4096; page += 1 + size / 4096 / 40) {
        struct store_lmdb *s = NULL;
        struct err err = {0};

        for (size_t i = 0; i < sizeof(noise); i++)
            noise[i] = (uint8_t)(0xa5 + 37 * i + (size_t)page);
        fd = open(path, O_RDONLY);
        assert_int_equal(pread(fd, old, sizeof(old), page * 4096), sizeof(old));
        (void)close(fd);
        store_dir_change(e, page * 4096, noise, sizeof(noise));
        if (store_lmdb_open(&s, e->dir, &err) == 0) {
            n_opened++; /* a page that is free */
            assert_int_equal(store_dir_jobs(e, s), 30);
            store_lmdb_close(s);
        } else {
            n_refused++;
            assert_int_equal(err.code, ERR_INVALID);
        }
        store_dir_change(e, page * 4096, old, sizeof(old));
    }
    assert_true(n_refused > 0);
    assert_true(n_opened > 0);
}

static void flipped_value_bytes_cost_one_job(void **state)
{
    struct store_dir *e = *state;
    struct store_lmdb *s;

    store_dir_fill(e, 30);
    store_dir_damage_job(e, "train-17-0011");
    s = store_dir_open(e);
    assert_int_equal(store_dir_jobs(e, s), 29);
    store_lmdb_close(s);
    s = store_dir_open(e); /* what was moved is moved for good */
    assert_int_equal(store_dir_jobs(e, s), 29);
    store_lmdb_close(s);
}

/* ---- full */

static void a_full_map_fails_the_commit_and_the_store_opens_again(void **state)
{
    struct store_dir *e = *state;
    struct store_lmdb *s = NULL;
    struct store_port port;
    struct err err = {0};
    uint32_t n = 0;
    bool was_low = false;

    assert_int_equal(store_lmdb_open_sized(&s, e->dir, 1 << 20, &err), 0);
    port = store_lmdb_port(s);
    assert_false(store_lmdb_is_low(s));
    while (n < 5000) {
        store_fixture_submit(&e->fix, ++n);
        if (port.commit_begin(port.ctx, e->fix.state, &e->fix.fx, &err) < 0)
            break;
        effects_clear(&e->fix.fx);
        was_low = was_low || store_lmdb_is_low(s);
    }
    assert_true(n > 10 && n < 5000);
    assert_int_equal(err.code, ERR_EXHAUSTED);
    assert_non_null(strstr(err.text, "RLIMIT_AS"));
    assert_true(was_low); /* it was told before */
    store_lmdb_close(s);
    assert_int_equal(store_lmdb_open_sized(&s, e->dir, 4 << 20, &err), 0);
    assert_int_equal(store_dir_jobs(e, s), n - 1);
    store_lmdb_close(s);
}

/* On a disk of 3 MB: low is told before anything fails, what goes on is stored thanks to the
 * ballast, and when the disk is really full the commit fails and nothing stored is lost. */
static void a_full_disk_is_told_before_and_loses_nothing(void **state)
{
    struct store_dir *e = *state;
    struct store_lmdb *s = NULL;
    struct store_port port;
    struct err err = {0};
    uint32_t n = 0, low_at = 0;

    if (mount("none", e->base, "tmpfs", 0, "size=3m") < 0) {
        fprintf(stderr, "SKIPPED: no mount of a small disk: %s\n", strerror(errno));
        skip();
    }
    s = store_dir_open(e);
    port = store_lmdb_port(s);
    while (n < 20000) {
        store_fixture_submit(&e->fix, ++n);
        if (port.commit_begin(port.ctx, e->fix.state, &e->fix.fx, &err) < 0)
            break;
        effects_clear(&e->fix.fx);
        if (!low_at && store_lmdb_is_low(s))
            low_at = n;
    }
    store_lmdb_close(s);
    assert_int_equal(err.code, ERR_EXHAUSTED);
    assert_non_null(strstr(err.text, "make room on its disk"));
    assert_true(low_at > 0 && n > low_at + 50); /* the ballast carried on */
    s = store_dir_open(e);                      /* on the full disk */
    assert_true(store_lmdb_is_low(s));
    assert_int_equal(store_dir_jobs(e, s), n - 1);
    store_lmdb_close(s);
    assert_int_equal(mount("none", e->base, "tmpfs", MS_REMOUNT, "size=12m"), 0);
    s = store_dir_open(e);
    assert_false(store_lmdb_is_low(s));
    store_lmdb_close(s);
    assert_int_equal(umount(e->base), 0);
}

static void a_read_only_disk_is_refused_with_a_remedy(void **state)
{
    struct store_dir *e = *state;
    char text[ERR_TEXT_MAX];

    if (mount("none", e->base, "tmpfs", 0, "size=3m") < 0) {
        fprintf(stderr, "SKIPPED: no mount of a small disk: %s\n", strerror(errno));
        skip();
    }
    store_dir_fill(e, 1);
    assert_int_equal(mount("none", e->base, "tmpfs", MS_REMOUNT | MS_RDONLY, "size=3m"), 0);
    assert_int_equal(refused(e, text), ERR_DENIED);
    assert_non_null(strstr(text, "mount it writable"));
    assert_int_equal(umount(e->base), 0);
}

/* ---- kill */

static void twenty_kills_lose_nothing_that_was_told(void **state)
{
    struct store_dir *e = *state;
    uint32_t told = 0;
    unsigned seed = 7;

    for (int i = 0; i < 20; i++) {
        struct store_lmdb *s;
        size_t n;

        told = store_dir_kill(e, i % 2, (useconds_t)rand_r(&seed) % 16000, told);
        s = store_dir_open(e);
        n = store_dir_jobs(e, s);
        store_lmdb_close(s);
        if (n < told || n > told + 1) /* one may be stored and not told yet */
            fail_msg("kill %d: %u told, %zu stored", i, told, n);
        told = (uint32_t)n;
    }
    assert_true(told >= 10);
}

#define WITH(test) cmocka_unit_test_setup_teardown(test, store_dir_setup, store_dir_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH(what_was_committed_is_there_after_reopening),
        WITH(a_key_of_another_length_at_the_end_stops_no_commit),
        WITH(events_are_read_from_a_number_and_trimmed_below_one),
        WITH(files_are_for_their_owner_only),
        WITH(a_second_store_in_one_process_is_refused),
        WITH(a_second_daemon_is_refused_and_told_who_holds_it),
        cmocka_unit_test(network_file_systems_are_refused_by_name),
        WITH(a_directory_without_rights_is_refused_with_a_remedy),
        WITH(a_missing_parent_is_told),
        WITH(a_file_cut_in_half_is_refused),
        WITH(a_file_that_lost_all_is_refused_and_one_that_was_being_made_is_not),
        WITH(a_zeroed_meta_page_is_refused),
        WITH(a_noisy_page_header_never_kills_the_opener),
        WITH(flipped_value_bytes_cost_one_job),
        WITH(a_full_map_fails_the_commit_and_the_store_opens_again),
        WITH(a_full_disk_is_told_before_and_loses_nothing),
        WITH(a_read_only_disk_is_refused_with_a_remedy),
        WITH(twenty_kills_lose_nothing_that_was_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
