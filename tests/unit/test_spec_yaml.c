/* SPDX-License-Identifier: Apache-2.0 */
/* test_spec_yaml.c - both forms of a job file give the same spec; what is not acted on is refused
 * with its path, what is unknown with a suggestion; the printer's output reads back.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "spec_doc.h"
#include "spec_pack.h"
#include "spec_yaml.h"
#include "util/mem.h"

static struct spec_file load_text(const char *text)
{
    struct yaml_doc *doc = NULL;
    struct spec_file f = {0};
    struct err err;

    if (yaml_parse(&doc, "job.yaml", text, strlen(text), &err) || spec_yaml_load(&f, doc, &err))
        fail_msg("%s", err.text);
    return f;
}

static struct spec_file load_file(const char *path)
{
    struct yaml_doc *doc = NULL;
    struct spec_file f = {0};
    struct err err;

    if (yaml_parse_file(&doc, path, &err) || spec_yaml_load(&f, doc, &err))
        fail_msg("%s", err.text);
    return f;
}

static void assert_refused(const char *text, const char *want)
{
    struct yaml_doc *doc = NULL;
    struct spec_file f = {0};
    struct err err = {0};

    if (yaml_parse(&doc, "job.yaml", text, strlen(text), &err) == 0 &&
        spec_yaml_load(&f, doc, &err) == 0)
        fail_msg("was accepted: %s", text);
    assert_int_equal(err.code, ERR_INVALID);
    assert_null(f.doc);
    if (!strstr(err.text, want))
        fail_msg("\"%s\" lacks \"%s\"", err.text, want);
}

/* Packed bytes, which the caller frees. */
static uint8_t *pack(const struct queued_spec *s, size_t *len)
{
    struct arena a = {0};
    Queued__V1__JobSpec *m = NULL;
    struct err err;
    uint8_t *bytes;

    if (spec_pack(&m, s, &a, &err))
        fail_msg("%s", err.text);
    *len = queued__v1__job_spec__get_packed_size(m);
    bytes = xmalloc(*len);
    (void)queued__v1__job_spec__pack(m, bytes);
    arena_fini(&a);
    return bytes;
}

static void check_failure_policy(const struct queued_spec *s)
{
    assert_true(s->reset_after_us == INT64_C(7200000000));
    assert_true(s->backoff_us == INT64_C(10000000) && s->backoff_max_us == INT64_C(300000000));
    assert_string_equal(s->exit_zero, "done");
    assert_string_equal(s->checkpoint_signal, "SIGUSR1");
    assert_string_equal(s->checkpoint_path, "/ckpt/run7");
    assert_true(s->ttl_us == INT64_C(2592000000000) && s->pod_ttl_us == INT64_C(21600000000));
    assert_string_equal(s->keep_pods, "failed");
    assert_string_equal(s->rendezvous, "torch");
    assert_int_equal(s->rendezvous_port, 23456);
    assert_true(s->is_one_process && s->is_world_of_nodes);
    assert_string_equal(s->checkpoint_target, "leader");
    assert_true(s->before_end_us == INT64_C(600000000));
    assert_string_equal(s->completion, "min");
    assert_int_equal(s->completion_min, 2);
    assert_string_equal(s->failure_scope, "role");
    assert_true(s->has_exclude_nodes && !s->excludes_nodes);
    assert_int_equal(s->n_rules, 2);
    assert_int_equal(s->rules[0].n_codes, 2);
    assert_int_equal(s->rules[0].codes[1], 137);
    assert_string_equal(s->rules[0].action, "Fail");
    assert_string_equal(s->rules[1].reasons[1], "OOMKilled");
}

static void check_env_refs(const struct queued_role *w)
{
    assert_int_equal(w->n_env_refs, 5);
    assert_string_equal(w->env_refs[0].env, "WANDB_API_KEY");
    assert_int_equal(w->env_refs[0].kind, QUEUED_REF_SECRET);
    assert_string_equal(w->env_refs[0].key, "token");
    assert_true(w->env_refs[1].is_optional && w->env_refs[1].kind == QUEUED_REF_CONFIG_MAP);
    assert_string_equal(w->env_refs[2].key, "spec.nodeName");
    assert_null(w->env_refs[3].env);
    assert_string_equal(w->env_refs[3].source, "keys");
    assert_string_equal(w->env_refs[4].prefix, "CFG_");
    assert_string_equal(w->pull_policy, "Always");
    assert_int_equal(w->n_pull_secrets, 2);
    assert_string_equal(w->pull_secrets[1], "mirror");
    assert_string_equal(w->service_account, "trainer");
    assert_string_equal(w->volumes[0].sub_path, "train/2012");
    assert_true(!w->volumes[3].is_in_memory && w->volumes[4].is_in_memory);
}

static void check_placement(const struct queued_role *w)
{
    assert_int_equal(w->n_affinity, 6); /* what is required first */
    assert_int_equal(w->affinity[1].term, 1);
    assert_string_equal(w->affinity[1].operator_, "DoesNotExist");
    assert_int_equal(w->affinity[2].term, 2);
    assert_string_equal(w->affinity[2].values[0], "7");
    assert_int_equal(w->affinity[2].weight, 0);
    assert_int_equal(w->affinity[3].term, 3);
    assert_int_equal(w->affinity[3].weight, 40);
    assert_string_equal(w->affinity[5].key, "old");
    assert_int_equal(w->affinity[5].term, 4);
    assert_int_equal(w->affinity[4].weight, 100);
    assert_int_equal(w->affinity[5].weight, 100);
    assert_true(!w->tolerations[1].has_seconds && w->tolerations[2].has_seconds);
    assert_int_equal(w->tolerations[2].seconds, 60);
    assert_int_equal(w->n_nodes, 2);
    assert_string_equal(w->excluded_nodes[0], "gpu-003");
    assert_string_equal(w->driver_min, "550.54");
    assert_string_equal(w->cuda_min, "12.4");
    assert_true(w->has_mixed_drivers);
    assert_string_equal(w->spread_key, "example.com/feed");
    assert_int_equal(w->spread_max_skew, 2);
    assert_true(w->is_spread_soft);
    assert_true(w->is_exclusive && w->is_leader);
}

static void what_time_changes_is_read_and_a_bad_deadline_refused(void **state)
{
    struct spec_file f = load_file("tests/data/jobs/canonical.yaml");
    const struct queued_spec *s = &f.specs[0];

    (void)state;
    assert_int_equal(s->max_wait_us, INT64_C(1800) * 1000000);
    assert_int_equal(s->deadline_us, INT64_C(1796090400) * 1000000);
    spec_file_fini(&f);
    assert_refused("apiVersion: gang.queued/v1\nkind: GangJob\nmetadata: {name: a}\n"
                   "spec:\n  deadline: tomorrow\n  roles:\n  - image: b\n",
                   "job.yaml:5:13: spec.deadline: \"tomorrow\" is no time");
    assert_refused("apiVersion: gang.queued/v1\nkind: GangJob\nmetadata: {name: a}\n"
                   "spec:\n  deadline: 1970-01-01T00:00:00Z\n  roles:\n  - image: b\n",
                   "job.yaml:5:13: spec.deadline: \"1970-01-01T00:00:00Z\" is past");
}

static void the_canonical_form_gives_every_field(void **state)
{
    struct spec_file f = load_file("tests/data/jobs/canonical.yaml");
    const struct queued_spec *s = &f.specs[0];
    const struct queued_role *w = &s->roles[1];

    (void)state;
    assert_int_equal(f.n, 1);
    assert_string_equal(s->name, "everything");
    assert_string_equal(s->tenant, "foundation/pretrain");
    assert_string_equal(s->ns, "pretrain");
    assert_string_equal(s->submit_key, "run7/attempt-1");
    assert_true(s->max_runtime_us == INT64_C(5400000000));
    assert_true(s->max_queue_us == INT64_C(172800000000));
    assert_true(s->start_timeout_us == INT64_C(1200000000));
    assert_true(s->checkpoint_grace_us == INT64_C(300000000));
    assert_true(s->has_max_restarts && s->max_restarts == 0);
    check_failure_policy(s);
    assert_true(s->has_preemptible && !s->is_preemptible);
    assert_string_equal(s->preemption_policy, "LowerPriority");
    assert_true(s->max_lost_gpu_hours == 40 && s->is_movable);
    assert_string_equal(s->on_preemption, "end");
    assert_true(s->is_held);
    assert_int_equal(s->slice_size, 2);
    assert_string_equal(s->slice_level, "rack");
    assert_int_equal(s->n_depends_on, 2);
    assert_int_equal(s->n_licences, 2);
    assert_string_equal(s->licences[0].name, "abaqus");
    assert_int_equal(s->licences[0].amount, 2);
    assert_string_equal(s->depends_on[0].key, "data-refresh");
    assert_string_equal(s->depends_on[0].value, "succeeded");
    assert_string_equal(s->depends_on[1].value, "failed");
    assert_string_equal(s->topology_required, "block");
    assert_string_equal(s->topology_preferred, "rack");
    assert_int_equal(s->n_labels, 2);
    assert_string_equal(s->labels[1].key, "example.com/cost-center");
    assert_int_equal(s->n_annotations, 2);
    assert_int_equal(s->n_roles, 2);
    assert_true(s->roles[0].cpu_milli == 500);
    assert_int_equal(w->replicas, 4);
    assert_int_equal(w->gpus, 8);
    assert_true(w->gpu_memory_min == INT64_C(80000000000));
    check_placement(w);
    assert_int_equal(w->n_gpu_models, 2);
    assert_string_equal(w->gpu_models[1], "H200");
    assert_true(w->cpu_milli == 96000);
    assert_true(w->memory_bytes == INT64_C(1500) << 30);
    assert_true(w->extended[0].amount == 2);
    assert_int_equal(w->n_extended, 3);
    assert_string_equal(w->extended[1].name, "rdma");
    assert_string_equal(w->extended[2].name, "ephemeral-storage");
    assert_true(w->extended[2].amount == INT64_C(20) << 30);
    assert_int_equal(w->n_env, 3);
    check_env_refs(w);
    assert_string_equal(w->env[1].value, "");
    assert_string_equal(w->env[2].value, "1");
    assert_int_equal(w->n_volumes, 8);
    assert_int_equal(w->volumes[3].kind, QUEUED_VOLUME_EMPTY_DIR);
    assert_string_equal(w->volumes[5].path, "/export/home");
    assert_string_equal(w->volumes[6].name, "ckpt");
    assert_string_equal(w->volumes[7].name, "volume-07");
    assert_true(w->volumes[7].is_read_only);
    assert_string_equal(w->node_selector[0].key, "pool");
    assert_null(w->tolerations[1].key);
    spec_file_fini(&f);
}

static void the_short_form_means_what_the_canonical_one_says(void **state)
{
    static const char canonical[] =
        "apiVersion: gang.queued/v1\nkind: GangJob\n"
        "metadata: {name: resnet-ddp, labels: {project: vision-baselines}}\n"
        "spec:\n  tenant: vision\n  submitKey: k1\n  priorityClass: low\n  maxRuntime: 24h\n"
        "  topology: {required: block, preferred: rack}\n  checkpoint: {grace: 5m}\n"
        "  roles:\n  - replicas: 4\n    image: registry.example.com/vision/train:2.7.1-cu128\n"
        "    command: [/bin/sh, -c, \"exec torchrun train.py --data /data/imagenet --out /ckpt\"]\n"
        "    workingDir: /workspace\n    env: [{name: NCCL_DEBUG, value: WARN}]\n"
        "    volumes: [\"imagenet-ro:/data:ro\", \"vision-ckpt:/ckpt\"]\n"
        "    resources: {gpus: 8, gpuModel: H100, cpu: 96, memory: 1500Gi, shm: 64Gi}\n";
    struct spec_file a = load_file("tests/data/jobs/short.yaml"), b = load_text(canonical);
    size_t a_len, b_len;
    uint8_t *a_bytes = pack(&a.specs[0], &a_len), *b_bytes = pack(&b.specs[0], &b_len);

    (void)state;
    assert_int_equal(a_len, b_len);
    assert_memory_equal(a_bytes, b_bytes, a_len);
    free(a_bytes);
    free(b_bytes);
    spec_file_fini(&a);
    spec_file_fini(&b);
}

static void topology_any_is_a_wish_too(void **state)
{
    struct spec_file f = load_text("name: a\nimage: b\ntopology: any\n");

    (void)state;
    assert_string_equal(f.specs[0].topology_preferred, "any");
    assert_null(f.specs[0].topology_required);
    spec_file_fini(&f);
}

static void a_file_may_hold_several_jobs(void **state)
{
    struct spec_file f = load_file("tests/data/jobs/several.yaml");

    (void)state;
    assert_int_equal(f.n, 2);
    assert_string_equal(f.specs[1].name, "two");
    spec_file_fini(&f);
    f = load_file("tests/data/jobs/short.json");
    assert_int_equal(f.specs[0].roles[0].replicas, 2);
    spec_file_fini(&f);
}

static void check_round_trip(const char *path, enum queued_format format)
{
    struct spec_file f = load_file(path), again;
    struct arena a = {0};
    Queued__V1__JobSpec *m = NULL;
    size_t len, again_len;
    uint8_t *bytes = pack(&f.specs[0], &len), *again_bytes;
    char *text;

    assert_int_equal(spec_pack(&m, &f.specs[0], &a, NULL), 0);
    text = queued_spec_text((const struct queued_stored_spec *)(const void *)m, format);
    again = load_text(text);
    again_bytes = pack(&again.specs[0], &again_len);
    if (len != again_len || memcmp(bytes, again_bytes, len) != 0)
        fail_msg("differs after: %s", text);
    free(text);
    free(bytes);
    free(again_bytes);
    arena_fini(&a);
    spec_file_fini(&again);
    spec_file_fini(&f);
}

static void what_is_printed_reads_back_to_the_same_spec(void **state)
{
    (void)state;
    check_round_trip("tests/data/jobs/canonical.yaml", QUEUED_YAML);
    check_round_trip("tests/data/jobs/canonical.yaml", QUEUED_JSON);
    check_round_trip("tests/data/jobs/short.yaml", QUEUED_YAML);
    check_round_trip("tests/data/jobs/elastic.yaml", QUEUED_YAML);
    check_round_trip("tests/data/jobs/guarded.yaml", QUEUED_YAML);
    check_round_trip("tests/data/jobs/guarded.yaml", QUEUED_JSON);
    check_round_trip("tests/data/jobs/spares.yaml", QUEUED_YAML);
    check_round_trip("tests/data/jobs/launcher.yaml", QUEUED_YAML);
    check_round_trip("tests/data/jobs/array.yaml", QUEUED_YAML);
    check_round_trip("tests/data/jobs/array-params.yaml", QUEUED_YAML);
}

static void parameters_are_read_from_a_file_beside_the_job(void **state)
{
    struct spec_file f = load_file("tests/data/jobs/array-params.yaml");

    (void)state;
    assert_int_equal(f.n, 3);
    assert_int_equal(f.specs[0].n_array_params, 3);
    assert_string_equal(f.specs[0].array_params[0], "{\"lr\":\"0.1\",\"note\":\"a, \\\"b\\\"\"}");
    assert_string_equal(f.specs[0].array_params[2], "{\"lr\":\"0.001\",\"note\":\"\"}");
    assert_int_equal(f.specs[1].n_array_params, 2);
    assert_string_equal(f.specs[1].array_params[1], "--lr 0.01");
    assert_string_equal(f.specs[2].array_params[1], "{\"lr\":\"0.2\",\"steps\":\"7\"}");
    spec_file_fini(&f);
}

#define HEAD "apiVersion: gang.queued/v1\nkind: GangJob\nmetadata: {name: a}\n"
#define ROLE "  roles:\n  - image: b\n"

static void a_generated_name_is_a_name_with_or_without_its_dash(void **state)
{
    static const char *const beginnings[] = {"train", "train-"};
    char text[256];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(beginnings); i++) {
        struct spec_file f;

        (void)snprintf(text, sizeof(text),
                       "apiVersion: gang.queued/v1\nkind: GangJob\nmetadata: {generateName: %s}\n"
                       "spec:\n" ROLE,
                       beginnings[i]);
        f = load_text(text);
        assert_string_equal(f.specs[0].name, "train");
        spec_file_fini(&f);
    }
    assert_refused("apiVersion: gang.queued/v1\nkind: GangJob\nmetadata: {generateName: -}\n"
                   "spec:\n" ROLE,
                   "metadata.generateName: \"-\" is no beginning");
    assert_refused("apiVersion: gang.queued/v1\nkind: GangJob\nmetadata: {}\nspec:\n" ROLE,
                   "metadata: \"name\" is missing");
    assert_refused("apiVersion: gang.queued/v1\nkind: GangJob\n"
                   "metadata: {name: a, generateName: b}\nspec:\n" ROLE,
                   "keep one of them");
}

static void what_happens_anyway_may_be_said(void **state)
{
    static const char said[] =
        HEAD "spec:\n  rendezvous: {type: torch, port: 29500}\n"
             "  checkpoint: {signal: SIGTERM, target: all}\n"
             "  roles:\n  - {image: b, replicas: %d, resources: {gpus: 8}}\n";
    char text[512];
    struct spec_file f;

    (void)state;
    (void)snprintf(text, sizeof(text), said, 2);
    f = load_text(text);
    spec_file_fini(&f);
    assert_refused("name: a\nimage: b\ncheckpoint: {signal: SIGKILL}\n",
                   "checkpoint.signal: \"SIGKILL\" is none of SIGTERM, SIGINT");
    assert_refused("name: a\nimage: b\ncheckpoint: {target: most}\n",
                   "checkpoint.target: \"most\" must be all or leader");
    assert_refused(HEAD "spec:\n  rendezvous: {type: torch, backend: c10d}\n  roles:\n"
                        "  - {image: b, replicas: 2, resources: {gpus: 8}}\n",
                   "spec.rendezvous.backend is not acted on");
    f = load_text(HEAD "spec:\n  rendezvous: {type: torch, backend: c10d}\n  roles:\n"
                       "  - {image: b, replicas: 2, minReplicas: 1, resources: {gpus: 8}}\n");
    spec_file_fini(&f);
    assert_refused(HEAD "spec:\n  completion: {policy: most}\n" ROLE,
                   "spec.completion.policy: \"most\" is none of all, leader, min");
    assert_refused(HEAD "spec:\n  completion: {policy: min}\n" ROLE, "goes with policy min");
}

static void the_names_of_the_rendezvous_are_free_without_one(void **state)
{
    static const char job[] = HEAD "spec:\n  roles:\n  - {image: b, env: [{name: %s, value: x}]}\n"
                                   "  rendezvous: {type: %s}\n";
    char text[512];
    struct spec_file f;

    (void)state;
    (void)snprintf(text, sizeof(text), job, "MASTER_ADDR", "none");
    f = load_text(text);
    assert_string_equal(f.specs[0].rendezvous, "none");
    spec_file_fini(&f);
    (void)snprintf(text, sizeof(text), job, "QUEUED_NODES", "none");
    assert_refused(text, "QUEUED_NODES is set by the daemon");
    assert_refused(HEAD "spec:\n  rendezvous: {type: nccl}\n" ROLE,
                   "spec.rendezvous.type: \"nccl\" is none of torch, mpi, ray, none");
}

static void mig_devices_are_a_profile_and_a_number(void **state)
{
    (void)state;
    assert_refused(HEAD "spec:\n" ROLE "    resources: {mig: 1}\n",
                   "spec.roles[0].resources.mig: ");
    assert_refused(HEAD "spec:\n" ROLE "    resources: {mig: {count: 1}}\n", "profile");
    assert_refused(HEAD "spec:\n" ROLE "    resources: {mig: {profile: 1G/10}}\n",
                   "\"1G/10\" is no MIG profile; write it like 1g.10gb");
    assert_refused(HEAD "spec:\n" ROLE "    resources: {mig: {profile: 1g.10gb, count: 0}}\n",
                   "spec.roles[0].resources.mig.count: ");
}

static void what_is_not_acted_on_is_refused_with_its_path(void **state)
{
    static const char *const in_spec[] = {
        "startAfter",
        "logs",
        "notify",
        "utilizationPolicy",
    };
    static const char *const in_role[] = {
        "template",
        "secrets",
        "ports",
    };
    char text[512], want[256];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(in_spec); i++) {
        (void)snprintf(text, sizeof(text), HEAD "spec:\n  %s: x\n" ROLE, in_spec[i]);
        (void)snprintf(want, sizeof(want), "job.yaml:5:3: spec.%s: is not acted on", in_spec[i]);
        assert_refused(text, want);
    }
    for (size_t i = 0; i < ARRAY_LEN(in_role); i++) {
        (void)snprintf(text, sizeof(text), HEAD "spec:\n" ROLE "    %s: x\n", in_role[i]);
        (void)snprintf(want, sizeof(want), "job.yaml:7:5: spec.roles[0].%s: is not acted on",
                       in_role[i]);
        assert_refused(text, want);
    }
}

static void mistakes_are_answered_with_place_path_and_remedy(void **state)
{
    static const char *const rows[][2] = {
        {"name: a\nimage: b\ngpu: 8\n", "job.yaml:3:1: gpu: unknown key; did you mean gpus?"},
        {"name: a\nimage: b\nmaxRuntime: 2h\n", "maxRuntime: is written time in the short form"},
        {"name: Abc\nimage: b\n", "job.yaml:1:7: name: \"Abc\" is no job name"},
        {"name: 4you\nimage: b\n", "beginning with a letter"},
        {"name: a\n", "job.yaml:1:1: \"image\" is missing"},
        {"image: b\n", "\"name\" is missing"},
        {"name: a\nimage: b\nnodes: 0\n", "job.yaml:3:8: nodes: 0 is out of range"},
        {"name: a\nimage: b\ngpus: 65\n", "gpus: 65 is out of range; allowed are 0 to 64"},
        {"name: a\nimage: b\ntime: 24\n", "time: \"24\" is no duration"},
        {"name: a\nimage: b\ntime: 0\n", "time: must be longer than 0"},
        {"name: a\nimage: b\nmemory: 4GB\n", "memory: \"4GB\" is no quantity"},
        {"name: a\nimage: b\ntopology: rack\n", "\"rack\" is no topology; write required:LEVEL"},
        {"name: a\nimage: b\ntopology: required:a required:b\n", "is no topology"},
        {"name: a\nimage: b\ntopology: required:No_Level\n", "is no topology"},
        {"name: a\nimage: b\nvolumes: [\"x\"]\n", "\"x\" is no volume; write CLAIM:/path"},
        {"name: a\nimage: b\nvolumes: [\"x:/a\", \"y:/a\"]\n", "volumes[1]: /a is mounted twice"},
        {"name: a\nimage: b\nenv: {MASTER_ADDR: x}\n",
         "job.yaml:3:20: env.MASTER_ADDR: MASTER_ADDR is set by the daemon"},
        {"name: a\nimage: b\nenv: {PET_NNODES: 2}\n", "PET_NNODES is set by the daemon"},
        {"name: a\nimage: b\nenv: {QUEUED_ANY: 2}\n", "QUEUED_ANY is set by the daemon"},
        {"name: a\nimage: b\nenv: {WORLD_SIZE: 2}\n", "WORLD_SIZE is set by the daemon"},
        {"name: a\nimage: b\nlabels: {gang.queued/x: y}\n", "belongs to the daemon"},
        {"name: a\nimage: b\nlabels: {x: \"a b\"}\n", "is no label value"},
        {"name: a\nimage: b\ntenant: a//b\n", "\"a//b\" is no tenant"},
        {HEAD "spec:\n  teant: x\n" ROLE, "spec.teant: unknown key; did you mean tenant?"},
        {HEAD "spec: {roles: []}\n", "spec.roles: must be a list with at least one role"},
        {HEAD "spec: {tenant: x}\n", "spec: \"roles\" is missing"},
        {HEAD "spec:\n" ROLE "  - image: c\n", "a role named worker exists already"},
        {HEAD "spec:\n" ROLE "    command: python x\n", "spec.roles[0].command: must be a list"},
        {HEAD "spec:\n" ROLE "    env: {A: b}\n", "spec.roles[0].env: must be a list"},
        {HEAD "spec:\n" ROLE "    env: [{name: A}, {name: A}]\n", "A is set twice"},
        {HEAD "spec:\n" ROLE "    volumes: [{name: a, mountPath: /a}]\n", "has no source"},
        {HEAD "spec:\n" ROLE "    volumes: [{name: a, pvc: x, secret: y, mountPath: /a}]\n",
         "a volume has one source"},
        {HEAD "spec:\n  array: {indices: 0-1, paramsFrom: {file: none.csv}}\n" ROLE,
         "spec.array.paramsFrom.file: none.csv: No such file"},
        {HEAD "spec:\n  array: {indices: 0-1, paramsFrom: {file: tests/data/jobs/odd.csv}}\n" ROLE,
         "line 3 does not have one field for each"},
        {HEAD "spec:\n  array: {indices: 0-1, paramsFrom: {file: /dev/zero}}\n" ROLE,
         "larger than 131072 bytes"},
        {HEAD "spec:\n  array: {indices: 0-1, paramsFrom: {lines: []}}\n" ROLE, "has no lines"},
        {HEAD "spec:\n  array: {indices: 0-1, paramsFrom: {configMap: a, key: b}}\n" ROLE,
         "spec.array.paramsFrom.configMap: is not read by this version; name the same lines"},
        {HEAD "spec:\n  topology: required:rack\n" ROLE, "belongs to the short form"},
        {HEAD "spec:\n  failurePolicy: {scope: host}\n" ROLE,
         "spec.failurePolicy.scope: \"host\" is no scope; use gang, role or pod"},
        {HEAD "spec:\n  failurePolicy: {rules: [{onExitCodes: [0], action: Fail}]}\n" ROLE,
         "spec.failurePolicy.rules[0].onExitCodes[0]: 0 is out of range; allowed are 1 to 255"},
        {HEAD "spec:\n  failurePolicy: {rules: [{onReason: [A], action: fail}]}\n" ROLE,
         "spec.failurePolicy.rules[0].action: \"fail\" is no action; use Restart, RestartFree"},
        {HEAD "spec:\n  failurePolicy: {rules: [{action: Fail}]}\n" ROLE,
         "spec.failurePolicy.rules[0]: needs either onExitCodes or onReason"},
        {HEAD "spec:\n  failurePolicy: {rules: [{onLogPattern: X, action: Fail}]}\n" ROLE,
         "spec.failurePolicy.rules[0].onLogPattern: is not acted on"},
        {HEAD "spec:\n  roles:\n  - {image: b, replicas: 9000}\n"
              "  - {name: c, image: b, replicas: 9000}\n",
         "18000 pods in all roles together"},
        {"apiVersion: v1\nkind: Pod\n", "job.yaml:1:13: apiVersion: \"v1\" is not known"},
        {"kind: GangJob\n", "\"apiVersion\" is missing"},
        {"", "no job in it"},
        {"- a\n", "expected a map"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_refused(rows[i][0], rows[i][1]);
}

static void set_changes_the_tree_before_it_is_read(void **state)
{
    static const char text[] = HEAD "spec:\n" ROLE "  - {name: c, image: d}\n";
    static const char *const sets[] = {
        "spec.maxRuntime=2h",
        "spec.roles[1].replicas=3",
        "spec.roles[0].resources.gpus=8",
        "metadata.labels[\"example.com/a\"]=x=y",
        "spec.roles[0].image=z",
    };
    struct yaml_doc *doc = NULL;
    struct spec_file f;
    struct err err;

    (void)state;
    assert_int_equal(yaml_parse(&doc, "job.yaml", text, strlen(text), &err), 0);
    for (size_t i = 0; i < ARRAY_LEN(sets); i++)
        if (spec_set(doc, sets[i], &err))
            fail_msg("%s", err.text);
    assert_int_equal(spec_set(doc, "spec.roles[7].gpus=1", &err), -1);
    assert_non_null(strstr(err.text, "there is no \"7\""));
    assert_int_equal(spec_set(doc, "spec.roles.gpus=1", &err), -1);
    assert_int_equal(spec_set(doc, "maxRuntime", &err), -1);
    assert_int_equal(spec_set(doc, "a[=1", &err), -1);
    assert_int_equal(spec_yaml_load(&f, doc, &err), -1); /* x=y is no label value */
    assert_string_equal(err.text, "command line: metadata.labels[\"example.com/a\"]: \"x=y\" is no "
                                  "label value; at most 63 letters, digits, -, _ and .");

    assert_int_equal(yaml_parse(&doc, "job.yaml", text, strlen(text), &err), 0);
    assert_int_equal(spec_set(doc, sets[0], &err), 0);
    assert_int_equal(spec_set(doc, sets[1], &err), 0);
    assert_int_equal(spec_set(doc, sets[2], &err), 0);
    assert_int_equal(spec_yaml_load(&f, doc, &err), 0);
    assert_true(f.specs[0].max_runtime_us == INT64_C(7200000000));
    assert_int_equal(f.specs[0].roles[1].replicas, 3);
    assert_int_equal(f.specs[0].roles[0].gpus, 8);
    spec_file_fini(&f);
}

static void a_spec_too_large_for_the_wire_is_refused(void **state)
{
    char *big = xmalloc(SPEC_PACKED_MAX + 1);
    struct queued_role role = {.image = "b", .n_args = 1, .args = (const char *const[]){big}};
    struct queued_spec s = {.name = "a", .n_roles = 1, .roles = &role};
    struct arena a = {0};
    Queued__V1__JobSpec *m = NULL;
    struct err err;

    (void)state;
    memset(big, 'x', SPEC_PACKED_MAX);
    big[SPEC_PACKED_MAX] = '\0';
    assert_int_equal(spec_pack(&m, &s, &a, &err), -1);
    assert_int_equal(err.code, ERR_INVALID);
    assert_non_null(strstr(err.text, "at most 49152 are allowed"));
    big[100] = '\0';
    assert_int_equal(spec_pack(&m, &s, &a, &err), 0);
    arena_fini(&a);
    free(big);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_canonical_form_gives_every_field),
        cmocka_unit_test(what_time_changes_is_read_and_a_bad_deadline_refused),
        cmocka_unit_test(the_short_form_means_what_the_canonical_one_says),
        cmocka_unit_test(topology_any_is_a_wish_too),
        cmocka_unit_test(a_file_may_hold_several_jobs),
        cmocka_unit_test(what_is_printed_reads_back_to_the_same_spec),
        cmocka_unit_test(parameters_are_read_from_a_file_beside_the_job),
        cmocka_unit_test(a_generated_name_is_a_name_with_or_without_its_dash),
        cmocka_unit_test(what_happens_anyway_may_be_said),
        cmocka_unit_test(the_names_of_the_rendezvous_are_free_without_one),
        cmocka_unit_test(mig_devices_are_a_profile_and_a_number),
        cmocka_unit_test(what_is_not_acted_on_is_refused_with_its_path),
        cmocka_unit_test(mistakes_are_answered_with_place_path_and_remedy),
        cmocka_unit_test(set_changes_the_tree_before_it_is_read),
        cmocka_unit_test(a_spec_too_large_for_the_wire_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
