/* SPDX-License-Identifier: Apache-2.0 */
/* test_spec_rendezvous.c - what a job may say of how its pods find each other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "spec/spec.h"
#include "util/mem.h"

#include "../fake/fake_site.h"

static struct settings settings;

static int set_up(void **state)
{
    (void)state;
    site_settings_init(&settings);
    (void)site_tenant(&settings, "t");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    site_settings_fini(&settings);
    return 0;
}

struct row {
    const char *type;
    uint32_t port, pods, min_pods;
    bool is_one_process, is_world_of_nodes;
    const char *env;  /* that the job sets */
    const char *want; /* part of the error; NULL: it is good */
};

static void each_fault_is_refused_with_its_path(void **state)
{
    static const struct row rows[] = {
        {NULL, 0, 2, 0, false, false, NULL, NULL},
        {NULL, 23456, 2, 0, true, true, NULL, NULL},
        {"torch", 23456, 1, 0, true, true, NULL, NULL},
        {"mpi", 0, 2, 0, true, false, NULL, NULL},
        {"ray", 7000, 2, 0, false, false, NULL, NULL},
        {"none", 0, 2, 0, false, false, "MASTER_ADDR", NULL},
        {"nccl", 0, 2, 0, false, false, NULL, "spec.rendezvous.type: must be torch"},
        {"mpi", 1, 2, 0, false, false, NULL, "spec.rendezvous.port: goes with"},
        {NULL, 1, 1, 0, false, false, NULL, "spec.rendezvous.port: goes with"},
        {"torch", 65536, 2, 0, false, false, NULL, "spec.rendezvous.port: must be"},
        {"mpi", 0, 2, 1, false, false, NULL, "spec.rendezvous.type: mpi has a file"},
        {"mpi", 0, MPI_PODS_MAX + 1, 0, false, false, NULL, "spec.rendezvous.type: mpi is for"},
        {"none", 0, 2, 0, true, false, NULL, "spec.rendezvous.processes: goes with"},
        {NULL, 0, 1, 0, false, true, NULL, "spec.rendezvous.worldSize: goes with"},
        {"torch", 0, 2, 1, false, true, NULL, "spec.rendezvous.worldSize: goes with"},
        {"none", 0, 2, 0, false, false, "QUEUED_NODES", "spec.roles[0].env: QUEUED_NODES"},
        {"mpi", 0, 2, 0, false, false, "MASTER_ADDR", "spec.roles[0].env: MASTER_ADDR"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct spec *s = site_spec("job", rows[i].pods, 8);
        struct spec_pair pair = {rows[i].env, "x"};
        struct err err = {.code = ERR_OK};
        int rc;

        s->rendezvous = rows[i].type;
        s->rendezvous_port = rows[i].port;
        s->is_one_process = rows[i].is_one_process;
        s->is_world_of_nodes = rows[i].is_world_of_nodes;
        s->roles[0].min_replicas = rows[i].min_pods;
        if (rows[i].env)
            s->roles[0].env = (struct spec_pairs){&pair, 1};
        rc = spec_check(s, &settings, &err);
        if (rows[i].want ? rc == 0 || !strstr(err.text, rows[i].want) : rc != 0)
            fail_msg("row %zu: %d, %s", i, rc, err.text);
        spec_destroy(s);
    }
}

static void the_default_said_aloud_is_the_same_job(void **state)
{
    struct spec *s = site_spec("job", 2, 8);

    (void)state;
    s->rendezvous = "torch";
    s->rendezvous_port = RENDEZVOUS_PORT;
    assert_int_equal(spec_check(s, &settings, NULL), 0);
    assert_null(s->rendezvous);
    assert_int_equal(s->rendezvous_port, 0);
    spec_destroy(s);
    s = site_spec("job", 1, 8); /* one pod has none of itself */
    s->rendezvous = "torch";
    assert_int_equal(spec_check(s, &settings, NULL), 0);
    assert_string_equal(s->rendezvous, "torch");
    spec_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_fault_is_refused_with_its_path),
        cmocka_unit_test(the_default_said_aloud_is_the_same_job),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
