/* SPDX-License-Identifier: Apache-2.0 */
/* test_store_dump.c - a store as lines of JSON: beside a daemon, after its kill, and damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../fake/store_dir.h"

static char *dump(const struct store_dir *e, int want)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    struct err err = {0};
    int rc = store_lmdb_dump(e->dir, out, &err);

    fclose(out);
    if (rc != want)
        fail_msg("%d: %s", rc, err.text);
    return text;
}

static void a_dump_shows_jobs_with_placement_and_charge(void **state)
{
    struct store_dir *e = *state;
    struct store_lmdb *s = store_dir_open(e);
    char *text;

    store_fixture_run(&e->fix, 1);
    store_dir_commit(e, s);
    store_lmdb_close(s);
    text = dump(e, 0);
    assert_non_null(strstr(text, "{\"table\":\"jobs\",\"key\":\""));
    assert_non_null(strstr(text, "\"name\":\"pretrain-0001\",\"namespace\":\"vision\","
                                 "\"tenant\":\"vision\""));
    assert_non_null(strstr(text, "\"state\":\"Stopping\",\"outcome\":\"Failed\""));
    assert_non_null(strstr(text, "{\"role\":\"worker\",\"index\":1,\"node\":\"gpu-a2\",\"gpus\":8,"
                                 "\"rank\":3}"));
    assert_non_null(strstr(text, "{\"role\":\"head\",\"index\":0,\"node\":\"gpu-a1\",\"gpus\":0,"
                                 "\"rank\":1}"));
    assert_non_null(
        strstr(text, "\"charge\":{\"tenant\":\"vision\",\"gpus\":24,\"model\":\"H100\"}"));
    assert_non_null(strstr(text, "\"has_service\":true"));
    assert_null(strstr(text, "NCCL_DEBUG")); /* environments may hold secrets */
    free(text);
}

static int child_dumps(struct store_dir *e)
{
    char path[200];
    struct stat st;
    struct err err;
    FILE *out;

    (void)snprintf(path, sizeof(path), "%s/dump", e->base);
    out = fopen(path, "w");
    if (!out || store_lmdb_dump(e->dir, out, &err) < 0)
        return 1;
    fclose(out);
    return stat(path, &st) == 0 && st.st_size > 500 ? 0 : 2;
}

/* A dumper has not inherited the store: it is started by exec, or as here before the opening. */
static void a_dump_works_beside_a_daemon(void **state)
{
    struct store_dir *e = *state;
    struct store_lmdb *s;
    int go[2], status;
    char c = 0;
    pid_t pid;

    assert_int_equal(pipe(go), 0);
    pid = fork();
    if (pid == 0)
        _exit(read(go[0], &c, 1) == 1 ? child_dumps(e) : 3);
    s = store_dir_open(e);
    store_fixture_submit(&e->fix, 1);
    store_dir_commit(e, s);
    assert_int_equal(write(go[1], &c, 1), 1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    store_fixture_submit(&e->fix, 2);
    store_dir_commit(e, s);
    assert_int_equal(store_dir_jobs(e, s), 2);
    store_lmdb_close(s);
    (void)close(go[0]);
    (void)close(go[1]);
}

static void a_dump_after_a_kill_shows_what_was_told(void **state)
{
    struct store_dir *e = *state;
    uint32_t told = store_dir_kill(e, true, 1000, 0);
    char *text = dump(e, 0), name[40];

    assert_true(told > 0);
    (void)snprintf(name, sizeof(name), "\"name\":\"train-%u-%04x\"", told, told);
    assert_non_null(strstr(text, name));
    free(text);
}

static void a_dump_goes_on_after_a_damaged_record(void **state)
{
    struct store_dir *e = *state;
    char *text;

    store_dir_fill(e, 30);
    store_dir_damage_job(e, "train-17-0011");
    text = dump(e, -1);
    assert_non_null(strstr(text, "\"value\":null,\"damaged\":\"checksum does not match\""));
    assert_non_null(strstr(text, "\"name\":\"train-18-0012\""));
    free(text);
}

static void a_dump_of_nothing_is_not_found(void **state)
{
    struct store_dir *e = *state;
    struct err err;

    assert_int_equal(store_lmdb_dump(e->dir, stdout, &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
}

#define WITH(test) cmocka_unit_test_setup_teardown(test, store_dir_setup, store_dir_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH(a_dump_shows_jobs_with_placement_and_charge),
        WITH(a_dump_works_beside_a_daemon),
        WITH(a_dump_after_a_kill_shows_what_was_told),
        WITH(a_dump_goes_on_after_a_damaged_record),
        WITH(a_dump_of_nothing_is_not_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
