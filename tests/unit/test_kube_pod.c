/* SPDX-License-Identifier: Apache-2.0 */
/* test_kube_pod.c - pods as facts, and the JSON of a gang's pods, service and bindings.
 *
 * The whole JSON of one pod is held against tests/golden/kube-pod.json, looked for from the root
 * of the tree.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kube/kube_json.h"
#include "kube/kube_pod.h"
#include "util/mem.h"

/* ---- facts */

static struct pod_fact *fact_of(const char *spec, const char *status, const char *labels)
{
    char *text = xasprintf("{\"metadata\":{\"name\":\"p\",\"namespace\":\"n\",\"uid\":\"u\","
                           "\"labels\":{%s}},\"spec\":{%s},\"status\":{%s}}",
                           labels, spec, status);
    cJSON *o = cJSON_Parse(text);
    struct arena scratch = {0};
    struct object_fields fields;
    struct pod_fact *p;

    assert_non_null(o);
    pod_fields_json(&scratch, o, &fields);
    p = kube_pod_fact(&fields);
    arena_fini(&scratch);
    cJSON_Delete(o);
    free(text);
    return p;
}

static bool is_daemon(const char *owners)
{
    char *text = xasprintf("{\"metadata\":{\"name\":\"p\",\"namespace\":\"n\",\"uid\":\"u\","
                           "\"ownerReferences\":[%s]},\"spec\":{}}",
                           owners);
    cJSON *o = cJSON_Parse(text);
    struct arena scratch = {0};
    struct object_fields fields;
    struct pod_fact *p;
    bool is;

    assert_non_null(o);
    pod_fields_json(&scratch, o, &fields);
    p = kube_pod_fact(&fields);
    is = p->is_daemon;
    pod_fact_destroy(p);
    arena_fini(&scratch);
    cJSON_Delete(o);
    free(text);
    return is;
}

static void pods_of_daemon_sets_and_static_ones_are_told_apart(void **state)
{
    (void)state;
    assert_false(is_daemon(""));
    assert_false(is_daemon("{\"kind\":\"ReplicaSet\",\"controller\":true}"));
    assert_false(is_daemon("{\"kind\":\"DaemonSet\"}"));
    assert_true(is_daemon("{\"kind\":\"X\"},{\"kind\":\"DaemonSet\",\"controller\":true}"));
    assert_true(is_daemon("{\"kind\":\"Node\",\"controller\":true}"));
}

static int64_t request(const char *spec, const char *name)
{
    struct pod_fact *p = fact_of(spec, "", "");
    int64_t amount = 0;

    for (uint32_t i = 0; i < p->n_requests; i++)
        if (!strcmp(p->requests[i].name, name))
            amount = p->requests[i].amount;
    pod_fact_destroy(p);
    return amount;
}

#define CPU(n)     "{\"resources\":{\"requests\":{\"cpu\":\"" n "\"}}}"
#define SIDECAR(n) "{\"restartPolicy\":\"Always\",\"resources\":{\"requests\":{\"cpu\":\"" n "\"}}}"

static void the_effective_request_is_what_the_kubelet_counts(void **state)
{
    static const struct {
        const char *spec;
        int64_t cpu;
    } rows[] = {
        {"\"containers\":[" CPU("1") "," CPU("500m") "]", 1500},
        {"\"initContainers\":[" CPU("4") "],\"containers\":[" CPU("1") "]", 4000},
        {"\"initContainers\":[" CPU("1") "],\"containers\":[" CPU("2") "]", 2000},
        {"\"initContainers\":[" SIDECAR("1") "],\"containers\":[" CPU("2") "]", 3000},
        {"\"initContainers\":[" SIDECAR("1") "," CPU("3") "],\"containers\":[" CPU("2") "]", 4000},
        {"\"initContainers\":[" CPU("3") "," SIDECAR("1") "],\"containers\":[" CPU("1") "]", 3000},
        {"\"containers\":[" CPU("1") "],\"overhead\":{\"cpu\":\"250m\"}", 1250},
        {"\"containers\":[" CPU("1") "],\"resources\":{\"requests\":{\"cpu\":\"3\"}}", 3000},
        {"\"containers\":[{\"resources\":{\"limits\":{\"cpu\":\"2\"}}}]", 2000},
        {"\"containers\":[{}]", 0},
        {"", 0},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (request(rows[i].spec, "cpu") != rows[i].cpu)
            fail_msg("row %zu: %lld", i, (long long)request(rows[i].spec, "cpu"));
    assert_int_equal(
        request("\"containers\":[{\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"8\"},"
                "\"requests\":{\"nvidia.com/gpu\":\"8\"}}}]",
                "nvidia.com/gpu"),
        8);
}

#define OURS(id, attempt)                                                                          \
    "\"gang.queued/job-id\":\"" id "\",\"gang.queued/role\":\"worker\",\"gang.queued/index\":"     \
    "\"3\",\"gang.queued/attempt\":\"" attempt "\""

static void our_labels_say_whose_pod_it_is(void **state)
{
    struct pod_fact *p =
        fact_of("\"nodeName\":\"n1\"", "\"phase\":\"Running\"", OURS("0000000000010", "2"));

    (void)state;
    assert_int_equal(p->job.v, 32);
    assert_string_equal(p->role, "worker");
    assert_int_equal(p->index, 3);
    assert_int_equal(p->attempt, 2);
    assert_int_equal(p->phase, POD_RUNNING);
    assert_string_equal(p->node, "n1");
    pod_fact_destroy(p);
}

static void labels_that_do_not_parse_make_a_foreign_pod(void **state)
{
    static const char *const labels[] = {
        "",
        OURS("1", "2"),
        OURS("0000000000010", "-2"),
        OURS("0000000000010", ""),
        OURS("zzzzzzzzzzzzz", "1"),
        "\"gang.queued/job-id\":\"0000000000010\",\"gang.queued/attempt\":\"1\"",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(labels); i++) {
        struct pod_fact *p = fact_of("", "", labels[i]);

        assert_int_equal(p->job.v, 0);
        pod_fact_destroy(p);
    }
}

static void the_end_of_the_first_container_counts(void **state)
{
    struct pod_fact *p =
        fact_of("\"containers\":[{\"name\":\"main\"},{\"name\":\"side\"}]",
                "\"phase\":\"Failed\",\"containerStatuses\":[{\"name\":\"side\",\"state\":{"
                "\"terminated\":{\"exitCode\":1}}},{\"name\":\"main\",\"state\":{\"terminated\":{"
                "\"exitCode\":137,\"reason\":\"OOMKilled\"}}}]",
                "");

    (void)state;
    assert_int_equal(p->phase, POD_FAILED);
    assert_int_equal(p->exit_code, 137);
    assert_string_equal(p->reason, "OOMKilled");
    pod_fact_destroy(p);
    p = fact_of("", "\"phase\":\"Failed\",\"reason\":\"UnexpectedAdmissionError\"", "");
    assert_int_equal(p->exit_code, -1);
    assert_string_equal(p->reason, "UnexpectedAdmissionError");
    pod_fact_destroy(p);
}

static void an_end_by_a_drain_is_not_that_of_the_container(void **state)
{
    static const char status[] =
        "\"phase\":\"Failed\",\"conditions\":[{\"type\":\"DisruptionTarget\",\"status\":\"%s\"}],"
        "\"containerStatuses\":[{\"name\":\"main\",\"state\":{\"terminated\":{"
        "\"exitCode\":143,\"reason\":\"Error\"}}}]";
    const char *const values[] = {"True", "False"}, *const reasons[] = {"DisruptionTarget",
                                                                        "Error"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(values); i++) {
        char *text = xasprintf(status, values[i]);
        struct pod_fact *p = fact_of("\"containers\":[{\"name\":\"main\"}]", text, "");

        assert_string_equal(p->reason, reasons[i]);
        pod_fact_destroy(p);
        free(text);
    }
}

/* ---- JSON */

struct fixture {
    struct spec *spec;
    struct gang gang;
    struct gang_pod pods[3];
};

static struct spec_pairs pair_of(struct spec *s, const char *key, const char *value)
{
    struct spec_pairs p = {.v = arena_alloc(&s->arena, sizeof(*p.v)), .n = 1};

    p.v[0] = (struct spec_pair){key, value};
    return p;
}

static void fill_worker(struct spec *s, struct spec_role *r)
{
    static const char *command[] = {"python", "train.py", "--say", "\"hi\"\n"};
    static const char *pull_secrets[] = {"registry", "mirror"};
    static const struct spec_env_ref refs[] = {
        {.kind = SPEC_REF_SECRET, .source = "keys"},
        {.env = "NODE", .kind = SPEC_REF_FIELD, .key = "spec.nodeName"},
        {.env = "TOKEN", .kind = SPEC_REF_SECRET, .source = "wandb", .key = "token"},
        {.env = "M", .kind = SPEC_REF_CONFIG_MAP, .source = "c", .key = "m", .may_lack = true},
        {.prefix = "C_", .kind = SPEC_REF_CONFIG_MAP, .source = "c", .may_lack = true},
    };

    *r = (struct spec_role){.name = "worker",
                            .replicas = 2,
                            .gpus = 8,
                            .shm_bytes = -1,
                            .image = "registry.example/train:1",
                            .command = {command, 4},
                            .working_dir = "/work",
                            .n_extended = 1,
                            .n_volumes = 2,
                            .n_tolerations = 3,
                            .is_exclusive = true};
    r->env = pair_of(s, "MASTER_PORT", "1234");
    r->extended = arena_alloc(&s->arena, sizeof(*r->extended));
    r->extended[0] = (struct spec_extended){"rdma/hca", 4};
    r->volumes = arena_alloc(&s->arena, 2 * sizeof(*r->volumes));
    r->volumes[0] = (struct spec_volume){.name = "data",
                                         .kind = SPEC_VOLUME_PVC,
                                         .source = "imagenet",
                                         .mount_path = "/data",
                                         .size_bytes = -1,
                                         .read_only = true};
    r->volumes[0].sub_path = "train";
    r->volumes[1] = (struct spec_volume){.name = "scratch",
                                         .kind = SPEC_VOLUME_EMPTY_DIR,
                                         .mount_path = "/scratch",
                                         .in_memory = true,
                                         .size_bytes = INT64_C(10) << 30};
    r->env_refs = arena_alloc(&s->arena, sizeof(refs));
    memcpy(r->env_refs, refs, sizeof(refs));
    r->n_env_refs = ARRAY_LEN(refs);
    r->pull_policy = "Always";
    r->pull_secrets = (struct spec_strings){pull_secrets, 2};
    r->service_account = "trainer";
    r->tolerations = arena_alloc(&s->arena, 3 * sizeof(*r->tolerations));
    r->tolerations[0] =
        (struct spec_toleration){.key = "nvidia.com/gpu", .exists = true, .effect = "NoSchedule"};
    r->tolerations[1] = (struct spec_toleration){.key = "team", .value = "a"};
    r->tolerations[2] = (struct spec_toleration){
        .key = "sick", .exists = true, .effect = "NoExecute", .is_limited = true, .seconds = 90};
}

static void setup(struct fixture *f)
{
    struct spec *s = spec_create();

    s->roles = arena_alloc(&s->arena, 2 * sizeof(*s->roles));
    s->n_roles = 2;
    s->roles[0] = (struct spec_role){
        .name = "launcher", .replicas = 1, .shm_bytes = -1, .image = "registry.example/mpi:1"};
    fill_worker(s, &s->roles[1]);
    s->labels = pair_of(s, "team", "vision");
    s->annotations = pair_of(s, "note", "a \"quoted\" one");
    *f = (struct fixture){.spec = s};
    f->pods[0] = (struct gang_pod){.member = 0, .role = 0, .rank = 2, .node = "n0"};
    f->pods[1] = (struct gang_pod){.member = 1, .role = 1, .index = 0, .rank = 1, .node = "n1"};
    f->pods[2] = (struct gang_pod){.member = 2, .role = 1, .index = 1, .rank = 0, .node = "n2"};
    f->gang = (struct gang){.job = {32},
                            .job_name = "train-ab12",
                            .ns = "vision",
                            .tenant = "foundation/pretrain",
                            .attempt = 2,
                            .spec = s,
                            .cpu_milli = {500, 90500},
                            .memory_bytes = {INT64_C(1) << 30, INT64_C(800) << 30},
                            .role_names = {"launcher", "worker"},
                            .kubernetes_class = "gang-high",
                            .grace_us = 1500 * USEC_PER_MSEC,
                            .latest_end_us = INT64_C(1796000000) * USEC_PER_SEC,
                            .has_service = true,
                            .n_pods = 3,
                            .size = 3,
                            .score = 935,
                            .pods = f->pods};
}

static cJSON *pod_json(const struct fixture *f, int i)
{
    struct str out = {0};
    cJSON *o;

    kube_pod_json(&out, &f->gang, &f->gang.pods[i]);
    o = cJSON_Parse(out.s);
    if (!o)
        fail_msg("not JSON: %s", out.s);
    str_fini(&out);
    return o;
}

static const char *env(const cJSON *pod, const char *name)
{
    const cJSON *c = cJSON_GetArrayItem(json_path(pod, "spec.containers"), 0), *e;
    const char *found = NULL;

    cJSON_ArrayForEach(e, json_get(c, "env"))
    {
        if (strcmp(json_text(e, "name"), name))
            continue;
        if (found)
            fail_msg("%s is there twice", name);
        found = json_text(e, "value");
    }
    return found ? found : "(none)";
}

static void pods_that_are_written_together_are_as_those_written_alone(void **state)
{
    struct kube_env *env;
    struct fixture f;

    (void)state;
    setup(&f);
    env = kube_env_create(&f.gang);
    for (uint32_t i = 0; i < f.gang.n_pods; i++) {
        struct str together = {0}, alone = {0};

        f.gang.score = 100 + i; /* placed anew in between */
        kube_pod_write(&together, env, &f.gang.pods[i], false);
        kube_pod_json(&alone, &f.gang, &f.gang.pods[i]);
        assert_string_equal(together.s, alone.s);
        str_fini(&together);
        str_fini(&alone);
    }
    kube_env_destroy(env);
    spec_destroy(f.spec);
}

static void a_pod_is_as_the_golden_file_has_it(void **state)
{
    struct fixture f;
    cJSON *pod;
    char *printed, golden[16384] = "";
    FILE *in = fopen("tests/golden/kube-pod.json", "r");

    (void)state;
    setup(&f);
    pod = pod_json(&f, 1);
    printed = cJSON_Print(pod);
    if (!in)
        fail_msg("no tests/golden/kube-pod.json here; run from the root of the tree\n%s", printed);
    golden[fread(golden, 1, sizeof(golden) - 1, in)] = '\0';
    (void)fclose(in);
    if (strlen(golden) && golden[strlen(golden) - 1] == '\n')
        golden[strlen(golden) - 1] = '\0';
    assert_string_equal(printed, golden);
    free(printed);
    cJSON_Delete(pod);
    spec_destroy(f.spec);
}

static void torch_sees_the_pods_with_gpus_only(void **state)
{
    struct fixture f;
    cJSON *launcher, *first, *second;

    (void)state;
    setup(&f);
    launcher = pod_json(&f, 0);
    second = pod_json(&f, 1);
    first = pod_json(&f, 2);
    assert_string_equal(env(first, "NODE_RANK"), "0");
    assert_string_equal(env(second, "NODE_RANK"), "1");
    assert_string_equal(env(second, "NNODES"), "2");
    assert_string_equal(env(second, "PET_NPROC_PER_NODE"), "8");
    assert_string_equal(env(second, "MASTER_ADDR"), "train-ab12-worker-1.train-ab12.vision.svc");
    assert_string_equal(env(launcher, "MASTER_ADDR"), "(none)");
    assert_string_equal(env(launcher, "QUEUED_NODES"), "3");
    assert_string_equal(env(launcher, "QUEUED_WORLD_SIZE"), "16");
    assert_string_equal(env(launcher, "QUEUED_HOSTS"),
                        "train-ab12-worker-1.train-ab12.vision.svc,"
                        "train-ab12-worker-0.train-ab12.vision.svc,"
                        "train-ab12-launcher-0.train-ab12.vision.svc");
    cJSON_Delete(launcher);
    cJSON_Delete(first);
    cJSON_Delete(second);
    spec_destroy(f.spec);
}

static void hosts_that_would_fill_the_store_of_the_cluster_are_left_out(void **state)
{
    struct gang_pod *pods = xcalloc(4000, sizeof(*pods));
    struct fixture f;

    (void)state;
    setup(&f);
    f.gang.pods = pods;
    for (uint32_t i = 0; i < 4000; i++) {
        cJSON *pod;

        pods[i] = (struct gang_pod){.member = i, .role = 1, .index = i, .rank = i, .node = "n0"};
        if ((i + 1) % 400)
            continue;
        f.gang.n_pods = f.gang.size = i + 1;
        pod = pod_json(&f, 0);
        assert_true((i + 1) * strlen(env(pod, "QUEUED_HOSTS")) <= 32 << 20);
        assert_int_equal(strcmp(env(pod, "QUEUED_HOSTS"), "(none)") == 0, i + 1 > 400);
        cJSON_Delete(pod);
    }
    free(pods);
    spec_destroy(f.spec);
}

static void what_the_user_set_is_left_alone(void **state)
{
    struct fixture f;
    cJSON *pod;

    (void)state;
    setup(&f);
    pod = pod_json(&f, 1);
    assert_string_equal(env(pod, "MASTER_PORT"), "1234");
    assert_string_equal(env(pod, "PET_MASTER_PORT"), "29500");
    cJSON_Delete(pod);
    spec_destroy(f.spec);
}

static void a_single_pod_needs_no_service_and_no_rendezvous(void **state)
{
    struct fixture f;
    cJSON *pod;

    (void)state;
    setup(&f);
    f.gang.pods = &f.pods[1];
    f.gang.n_pods = f.gang.size = f.spec->roles[1].replicas = 1;
    f.pods[1].rank = 0;
    f.gang.has_service = false;
    pod = pod_json(&f, 0);
    assert_null(json_path(pod, "spec.subdomain"));
    assert_string_equal(env(pod, "MASTER_ADDR"), "(none)");
    assert_string_equal(env(pod, "QUEUED_MASTER_ADDR"), "train-ab12-worker-0");
    cJSON_Delete(pod);
    spec_destroy(f.spec);
}

static void an_elastic_gang_is_told_between_which_sizes_it_is_and_where_to_meet(void **state)
{
    struct fixture f;
    cJSON *pod;

    (void)state;
    setup(&f);
    f.spec->roles[1].min_replicas = 1;
    f.spec->max_restarts = 5;
    f.gang.n_pods = 2; /* one worker of two */
    pod = pod_json(&f, 1);
    assert_string_equal(env(pod, "PET_NNODES"), "1:2");
    assert_string_equal(env(pod, "PET_RDZV_BACKEND"), "c10d");
    assert_string_equal(env(pod, "PET_RDZV_ENDPOINT"),
                        "train-ab12-worker-0.train-ab12.vision.svc:29500");
    assert_string_equal(env(pod, "PET_RDZV_ID"), "0000000000010-2");
    assert_string_equal(env(pod, "PET_MAX_RESTARTS"), "5");
    assert_string_equal(env(pod, "QUEUED_NODES"), "2");
    cJSON_Delete(pod);
    f.spec->roles[1].min_replicas = 0;
    f.gang.n_pods = 3;
    pod = pod_json(&f, 1);
    assert_string_equal(env(pod, "PET_RDZV_BACKEND"), "(none)");
    cJSON_Delete(pod);
    spec_destroy(f.spec);
}

static const char *shm(const struct fixture *f, int i, cJSON **pod)
{
    const cJSON *v;

    *pod = pod_json(f, i);
    v = cJSON_GetArrayItem(json_path(*pod, "spec.volumes"), 0);
    return strcmp(json_text(v, "name"), "queued-shm") ? "" : json_text(v, "emptyDir.sizeLimit");
}

static void shared_memory_follows_the_memory_or_the_wish(void **state)
{
    struct fixture f;
    cJSON *pod;

    (void)state;
    setup(&f);
    assert_string_equal(shm(&f, 1, &pod), "200Gi");
    cJSON_Delete(pod);
    assert_string_equal(shm(&f, 0, &pod), "256Mi");
    cJSON_Delete(pod);
    f.gang.memory_bytes[1] = INT64_C(2) << 30;
    assert_string_equal(shm(&f, 1, &pod), "1Gi");
    cJSON_Delete(pod);
    f.spec->roles[1].shm_bytes = INT64_C(64) << 30;
    assert_string_equal(shm(&f, 1, &pod), "64Gi");
    cJSON_Delete(pod);
    f.spec->roles[1].volumes[1].mount_path = "/dev/shm";
    assert_string_equal(shm(&f, 1, &pod), "");
    cJSON_Delete(pod);
    spec_destroy(f.spec);
}

static void service_and_binding_name_what_they_are_for(void **state)
{
    struct fixture f;
    struct str out = {0};

    (void)state;
    setup(&f);
    kube_service_json(&out, &f.gang);
    assert_string_equal(
        out.s, "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"train-ab12\","
               "\"namespace\":\"vision\",\"labels\":{\"app.kubernetes.io/managed-by\":\"queued\","
               "\"gang.queued/job\":\"train-ab12\",\"gang.queued/job-id\":\"0000000000010\","
               "\"gang.queued/tenant\":\"foundation.pretrain\"}},\"spec\":{\"clusterIP\":\"None\","
               "\"publishNotReadyAddresses\":true,\"selector\":{\"gang.queued/job-id\":"
               "\"0000000000010\"}}}");
    str_clear(&out);
    f.gang.min_available = 3;
    kube_budget_json(&out, &f.gang, "train-ab12");
    assert_string_equal(
        out.s, "{\"apiVersion\":\"policy/v1\",\"kind\":\"PodDisruptionBudget\",\"metadata\":"
               "{\"name\":\"train-ab12\",\"namespace\":\"vision\",\"labels\":"
               "{\"app.kubernetes.io/managed-by\":\"queued\","
               "\"gang.queued/job\":\"train-ab12\",\"gang.queued/job-id\":\"0000000000010\","
               "\"gang.queued/tenant\":\"foundation.pretrain\"}},\"spec\":{\"minAvailable\":3,"
               "\"selector\":{\"matchLabels\":{\"gang.queued/job-id\":\"0000000000010\"}}}}");
    str_clear(&out);
    kube_binding_json(&out, &f.gang, &f.pods[2], "uid-1");
    assert_string_equal(out.s,
                        "{\"apiVersion\":\"v1\",\"kind\":\"Binding\",\"metadata\":{\"name\":"
                        "\"train-ab12-worker-1-2\",\"namespace\":\"vision\",\"uid\":\"uid-1\","
                        "\"annotations\":{\"gang.queued/placement\":\"n2\"}},"
                        "\"target\":{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"name\":\"n2\"}}");
    str_fini(&out);
    spec_destroy(f.spec);
}

static void a_placed_pod_names_its_node_and_is_the_same_otherwise(void **state)
{
    struct fixture f;
    struct str bound = {0}, placed = {0};
    cJSON *a, *b;

    (void)state;
    setup(&f);
    kube_pod_json(&bound, &f.gang, &f.pods[2]);
    kube_pod_json_placed(&placed, &f.gang, &f.pods[2]);
    a = cJSON_Parse(bound.s);
    b = cJSON_Parse(placed.s);
    assert_string_equal(json_text(a, "spec.nodeName"), "");
    assert_string_equal(json_text(b, "spec.nodeName"), "n2");
    cJSON_DeleteItemFromObjectCaseSensitive(cJSON_GetObjectItem(b, "spec"), "nodeName");
    assert_true(cJSON_Compare(a, b, true));
    cJSON_Delete(a);
    cJSON_Delete(b);
    str_fini(&bound);
    str_fini(&placed);
    spec_destroy(f.spec);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_effective_request_is_what_the_kubelet_counts),
        cmocka_unit_test(our_labels_say_whose_pod_it_is),
        cmocka_unit_test(labels_that_do_not_parse_make_a_foreign_pod),
        cmocka_unit_test(the_end_of_the_first_container_counts),
        cmocka_unit_test(an_end_by_a_drain_is_not_that_of_the_container),
        cmocka_unit_test(pods_that_are_written_together_are_as_those_written_alone),
        cmocka_unit_test(a_pod_is_as_the_golden_file_has_it),
        cmocka_unit_test(pods_of_daemon_sets_and_static_ones_are_told_apart),
        cmocka_unit_test(torch_sees_the_pods_with_gpus_only),
        cmocka_unit_test(hosts_that_would_fill_the_store_of_the_cluster_are_left_out),
        cmocka_unit_test(what_the_user_set_is_left_alone),
        cmocka_unit_test(an_elastic_gang_is_told_between_which_sizes_it_is_and_where_to_meet),
        cmocka_unit_test(a_single_pod_needs_no_service_and_no_rendezvous),
        cmocka_unit_test(shared_memory_follows_the_memory_or_the_wish),
        cmocka_unit_test(service_and_binding_name_what_they_are_for),
        cmocka_unit_test(a_placed_pod_names_its_node_and_is_the_same_otherwise),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
