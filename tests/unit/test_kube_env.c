/* SPDX-License-Identifier: Apache-2.0 */
/* test_kube_env.c - by what the pods of a job find each other: torch, mpi, ray or nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kube/kube_json.h"
#include "kube/kube_pod.h"
#include "util/mem.h"

#define HOST(pod) "train-ab12-" pod ".train-ab12.vision.svc"

/* A launcher and two workers, the second of which has rank 0. */
struct site {
    struct spec *spec;
    struct gang gang;
    struct gang_pod pods[3];
    cJSON *pod; /* the last that was looked at */
};

static void site_init(struct site *w, uint32_t gpus)
{
    struct spec *s = spec_create();

    s->roles = arena_alloc(&s->arena, 2 * sizeof(*s->roles));
    s->n_roles = 2;
    s->roles[0] =
        (struct spec_role){.name = "launcher", .replicas = 1, .shm_bytes = 0, .image = "mpi:1"};
    s->roles[1] = (struct spec_role){
        .name = "worker", .replicas = 2, .gpus = gpus, .shm_bytes = 0, .image = "train:1"};
    *w = (struct site){.spec = s};
    w->pods[0] = (struct gang_pod){.member = 0, .role = 0, .rank = 2, .node = "n0"};
    w->pods[1] = (struct gang_pod){.member = 1, .role = 1, .index = 0, .rank = 1, .node = "n1"};
    w->pods[2] = (struct gang_pod){.member = 2, .role = 1, .index = 1, .rank = 0, .node = "n2"};
    w->gang = (struct gang){.job = {32},
                            .job_name = "train-ab12",
                            .ns = "vision",
                            .tenant = "vision",
                            .attempt = 1,
                            .spec = s,
                            .cpu_milli = {1000, 1000},
                            .memory_bytes = {INT64_C(1) << 30, INT64_C(1) << 30},
                            .role_names = {"launcher", "worker"},
                            .kubernetes_class = "",
                            .has_service = true,
                            .n_pods = 3,
                            .size = 3,
                            .pods = w->pods};
}

static void site_fini(struct site *w)
{
    cJSON_Delete(w->pod);
    spec_destroy(w->spec);
}

static void look(struct site *w, uint32_t pod)
{
    struct str out = {0};

    cJSON_Delete(w->pod);
    kube_pod_json(&out, &w->gang, &w->pods[pod]);
    w->pod = cJSON_Parse(out.s);
    assert_non_null(w->pod);
    str_fini(&out);
}

/* A variable of the pod that was looked at. */
static const char *env(const struct site *w, const char *name)
{
    const cJSON *list = json_path(w->pod, "spec.containers"), *item;

    cJSON_ArrayForEach(item, json_path(list->child, "env"))
    {
        if (!strcmp(json_text(item, "name"), name))
            return json_text(item, "value");
    }
    return "(none)";
}

static void torch_has_the_port_and_the_world_that_the_job_says(void **state)
{
    struct site w;

    (void)state;
    site_init(&w, 8);
    look(&w, 2);
    assert_string_equal(env(&w, "MASTER_PORT"), "29500");
    assert_string_equal(env(&w, "WORLD_SIZE"), "(none)"); /* 8 processes: torchrun numbers them */
    w.spec->rendezvous_port = 23456;
    w.spec->is_world_of_nodes = true;
    look(&w, 1);
    assert_string_equal(env(&w, "MASTER_PORT"), "23456");
    assert_string_equal(env(&w, "PET_MASTER_PORT"), "23456");
    assert_string_equal(env(&w, "WORLD_SIZE"), "2");
    assert_string_equal(env(&w, "RANK"), "1");
    assert_string_equal(env(&w, "LOCAL_RANK"), "(none)");
    assert_string_equal(env(&w, "QUEUED_WORLD_SIZE"), "16");
    site_fini(&w);
}

static void one_process_a_pod_knows_its_rank(void **state)
{
    struct site w;

    (void)state;
    for (uint32_t gpus = 1; gpus <= 8; gpus += 7) {
        site_init(&w, gpus);
        w.spec->is_one_process = gpus == 8;
        look(&w, 1);
        assert_string_equal(env(&w, "PET_NPROC_PER_NODE"), "1");
        assert_string_equal(env(&w, "WORLD_SIZE"), "2");
        assert_string_equal(env(&w, "RANK"), "1");
        assert_string_equal(env(&w, "LOCAL_RANK"), "0");
        assert_string_equal(env(&w, "LOCAL_WORLD_SIZE"), "1");
        assert_string_equal(env(&w, "QUEUED_WORLD_SIZE"), "2");
        look(&w, 0);
        assert_string_equal(env(&w, "RANK"), "(none)");
        site_fini(&w);
    }
}

static void an_elastic_gang_has_no_size_to_tell(void **state)
{
    struct site w;

    (void)state;
    site_init(&w, 1);
    w.spec->roles[1].min_replicas = 1;
    look(&w, 1);
    assert_string_equal(env(&w, "PET_NNODES"), "1:2");
    assert_string_equal(env(&w, "WORLD_SIZE"), "(none)");
    site_fini(&w);
}

static void torch_without_gpus_is_for_all_pods_when_it_is_asked_for(void **state)
{
    struct site w;

    (void)state;
    site_init(&w, 0);
    look(&w, 0);
    assert_string_equal(env(&w, "MASTER_ADDR"), "(none)");
    w.spec->rendezvous = "torch";
    look(&w, 0);
    assert_string_equal(env(&w, "MASTER_ADDR"), HOST("worker-1"));
    assert_string_equal(env(&w, "WORLD_SIZE"), "3");
    assert_string_equal(env(&w, "RANK"), "2");
    site_fini(&w);
}

static void without_a_rendezvous_only_the_variables_of_the_daemon_are_set(void **state)
{
    struct site w;

    (void)state;
    site_init(&w, 8);
    w.spec->rendezvous = "none";
    look(&w, 1);
    assert_string_equal(env(&w, "MASTER_ADDR"), "(none)");
    assert_string_equal(env(&w, "PET_NNODES"), "(none)");
    assert_string_equal(env(&w, "QUEUED_NODES"), "3");
    site_fini(&w);
}

static void ray_is_told_where_its_head_is(void **state)
{
    struct site w;

    (void)state;
    site_init(&w, 8);
    w.spec->rendezvous = "ray";
    look(&w, 1);
    assert_string_equal(env(&w, "RAY_ADDRESS"), HOST("launcher-0") ":6379");
    assert_string_equal(env(&w, "MASTER_ADDR"), "(none)");
    site_fini(&w);
}

static const char *hostfile(const struct site *w)
{
    const cJSON *note = json_get(json_path(w->pod, "metadata.annotations"), "gang.queued/hostfile");

    return cJSON_IsString(note) ? note->valuestring : "(none)";
}

static void the_launcher_of_mpi_has_a_file_of_hosts_and_slots(void **state)
{
    struct site w;
    char *printed;

    (void)state;
    site_init(&w, 8);
    w.spec->rendezvous = "mpi";
    look(&w, 0);
    assert_string_equal(env(&w, "QUEUED_HOSTFILE"), "/etc/queued/hostfile");
    assert_string_equal(env(&w, "OMPI_MCA_orte_default_hostfile"), "/etc/queued/hostfile");
    assert_string_equal(env(&w, "QUEUED_WORLD_SIZE"), "16");
    assert_string_equal(hostfile(&w), HOST("worker-1") " slots=8\n" HOST("worker-0") " slots=8\n");
    printed = cJSON_PrintUnformatted(w.pod);
    assert_non_null(strstr(printed, "\"volumeMounts\":[{\"name\":\"queued-hosts\",\"mountPath\":"
                                    "\"/etc/queued/hostfile\",\"subPath\":\"hostfile\","
                                    "\"readOnly\":true}]"));
    assert_non_null(strstr(printed, "\"metadata.annotations['gang.queued/hostfile']\""));
    free(printed);
    look(&w, 1);
    assert_string_equal(env(&w, "QUEUED_HOSTFILE"), "(none)");
    assert_string_equal(env(&w, "MASTER_ADDR"), "(none)");
    assert_string_equal(hostfile(&w), "(none)");
    site_fini(&w);
}

static void mpi_without_gpus_has_a_slot_a_pod_but_for_the_launcher(void **state)
{
    struct site w;

    (void)state;
    site_init(&w, 0);
    w.spec->rendezvous = "mpi";
    look(&w, 0);
    assert_string_equal(env(&w, "QUEUED_WORLD_SIZE"), "2");
    assert_string_equal(hostfile(&w), HOST("worker-1") " slots=1\n" HOST("worker-0") " slots=1\n");
    site_fini(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(torch_has_the_port_and_the_world_that_the_job_says),
        cmocka_unit_test(one_process_a_pod_knows_its_rank),
        cmocka_unit_test(an_elastic_gang_has_no_size_to_tell),
        cmocka_unit_test(torch_without_gpus_is_for_all_pods_when_it_is_asked_for),
        cmocka_unit_test(without_a_rendezvous_only_the_variables_of_the_daemon_are_set),
        cmocka_unit_test(ray_is_told_where_its_head_is),
        cmocka_unit_test(the_launcher_of_mpi_has_a_file_of_hosts_and_slots),
        cmocka_unit_test(mpi_without_gpus_has_a_slot_a_pod_but_for_the_launcher),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
