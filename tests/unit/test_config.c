/* SPDX-License-Identifier: Apache-2.0 */
/* test_config.c - the configuration file: what is read, what is refused and with which words, that
 * what is printed is read back, and that the manual page names the same keys as the schema.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "config.h"
#include "config_diff.h"
#include "config_doubts.h"
#include "config_read.h"
#include "util/mem.h"
#include "util/str.h"

#define MINUTE_US (60 * USEC_PER_SEC)

/* config_load() of a text. */
static int load(struct config **ret, const char *text, struct err *err)
{
    char path[] = "/tmp/queued-config-XXXXXX";
    int fd = mkstemp(path);
    int rc;

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    rc = config_load(ret, path, err);
    unlink(path);
    return rc;
}

static struct config *must_load(const char *text)
{
    struct config *c = NULL;
    struct err err = {0};

    if (load(&c, text, &err))
        fail_msg("%s", err.text);
    return c;
}

static const char full[] =
    "store: {dir: /srv/queued}\n"
    "listen: {rpc: [\"ipc:///run/q.sock\", tcp://127.0.0.1:7000]}\n"
    "insecureLoopback: {user: alice}\n"
    "kubernetes: {kubeconfig: /etc/kubeconfig, bindMode: direct, events: off}\n"
    "levels:\n"
    "- name: fabric\n"
    "  levels: [{name: block, labels: [gang.queued/block]}, {name: rack, labels: [a/rack, b/rack], "
    "cost: 7}]\n"
    "tenants:\n"
    "- {name: vision, quota: {H100: 64}, limit: {H100: 96, A100: 0}, weight: 2, namespaces: "
    "[vision],\n"
    "   serviceAccounts: [trainer, s3], autoTolerations: [nvidia.com/gpu], tolerations: [\"*\"], "
    "maxRuntime: 24h, userLimits: "
    "{pending: 1000, "
    "running: {H100: 32}}, lendable: {H100: 24}, windows: [{name: night, days: [mon-wed, fri], "
    "from: 20:00, to: 06:30, fit: true, quota: {H100: 80}}, {name: weekend, days: [sat-mon], "
    "limit: {A100: 8}}]}\n"
    "- name: foundation\n"
    "  quota: {H100: 1024}\n"
    "  namespaces: [foundation]\n"
    "  children: [{name: pretrain, weight: 3, children: [{name: moe}]}, {name: eval, maxRuntime: "
    "1h30m}]\n"
    "models: {H100: [NVIDIA-H100-80GB-HBM3], A100: [NVIDIA-A100-SXM4-80GB, A100-B]}\n"
    "classes: {low: 100, normal: 500, high: {value: 800, kubernetes: gang-high}}\n"
    "nodeLostTimeout: 90s\n"
    "utcOffset: -05:30\n"
    "backfill: {reservations: 3}\n"
    "preemption: {graceCap: 20m, minRuntime: 5m, maxLostGpuHours: 32}\n"
    "defragmentation: {gpuHoursPerDay: 40, dryRun: true}\n"
    "weights: {topology: 0.75, packing: 1}\n"
    "fairShare: {halfLife: 12h, users: true, priorityScope: cluster}\n"
    "allowSimulation: true\n"
    "licences: {abaqus: 12, matlab: 0}\n"
    "pools: [{name: big, selector: {gpu: H100, zone: a}, exclusive: [foundation/eval, vision]},\n"
    "  {name: rest, selector: {zone: a}}]\n"
    "users: [{name: alice, tenants: [vision, foundation/pretrain], role: tenant-admin}, {name: "
    "bob, role: viewer}]\n";

static void collect(const void *ctx, const char *text)
{
    struct str *const *b = ctx;

    str_addf(*b, "%.*s\n", (int)strcspn(text, ";"), text);
}

static void a_quota_above_a_limit_is_told(void **state)
{
    struct config *c = must_load(
        "models: {H100: [a], A100: [b]}\n"
        "tenants:\n"
        "- {name: a, quota: {H100: 64, A100: 8}, limit: {H100: 32}}\n"
        "- {name: b, limit: {H100: 8, A100: 8}, children: [{name: in, quota: {H100: 9, A100: "
        "8}}]}\n"
        "- {name: c, quota: {H100: 8}, limit: {H100: 8}, windows: [{name: day, limit: {H100: 4}},\n"
        "  {name: night, quota: {H100: 4}}]}\n"
        "- {name: d, quota: {H100: 8}}\n");
    struct str b = {0}, *to = &b;

    (void)state;
    assert_int_equal(config_doubts(&c->settings, collect, &to), 3);
    assert_string_equal(str_text(&b), "tenants[a].quota.H100: the limit of a is less: the quota is "
                                      "never used in full\n"
                                      "tenants[c].windows[day].quota.H100: the limit of c is less: "
                                      "the quota is never used in full\n"
                                      "tenants[b/in].quota.H100: the limit of b is less: the quota "
                                      "is never used in full\n");
    str_fini(&b);
    config_destroy(c);
}

static void an_empty_file_gives_the_defaults(void **state)
{
    struct config *c = must_load("{}\n");

    (void)state;
    assert_string_equal(c->store_dir, "/var/lib/queued");
    assert_int_equal(c->n_rpc, 1);
    assert_string_equal(c->rpc[0], "ipc:///run/queued/queued.sock");
    assert_string_equal(c->kubeconfig, "");
    assert_false(c->is_bind_direct);
    assert_true(c->has_pod_events);
    assert_int_equal(c->settings.n_hierarchies, 2);
    assert_int_equal(c->settings.n_tenants, 0);
    assert_int_equal(c->settings.node_lost_us, 5 * MINUTE_US);
    assert_true(settings_class(&c->settings, "normal") != IX_NONE);
    assert_false(c->settings.allow_simulation);
    assert_int_equal(c->settings.defrag_gpu_us, 0);
    config_destroy(c);
}

static void all_keys_arrive(void **state)
{
    struct config *c = must_load(full);
    const struct settings *s = &c->settings;
    const struct config_user *u;

    (void)state;
    assert_string_equal(c->store_dir, "/srv/queued");
    assert_int_equal(c->n_rpc, 2);
    assert_string_equal(c->rpc[1], "tcp://127.0.0.1:7000");
    assert_string_equal(c->insecure_loopback_user, "alice");
    assert_string_equal(c->kubeconfig, "/etc/kubeconfig");
    assert_true(c->is_bind_direct);
    assert_false(c->has_pod_events);
    assert_int_equal(s->n_hierarchies, 1);
    assert_int_equal(s->hierarchies[0].n_levels, 2);
    assert_int_equal(s->hierarchies[0].levels[0].cost, 2000); /* of the default level block */
    assert_int_equal(s->hierarchies[0].levels[1].cost, 7);
    assert_string_equal(s->hierarchies[0].levels[1].labels[1], "b/rack");
    assert_int_equal(s->n_models, 2);
    assert_int_equal(settings_product(s, "A100-B"), 1);
    assert_int_equal(s->n_classes, 3);
    assert_string_equal(s->classes[2].kubernetes, "gang-high");
    assert_int_equal(s->node_lost_us, 90 * USEC_PER_SEC);
    assert_int_equal(s->grace_cap_us, 20 * MINUTE_US);
    assert_int_equal(s->min_runtime_us, 5 * MINUTE_US);
    assert_int_equal(s->backfill_reservations, 3);
    assert_int_equal(s->max_lost_gpu_us, 32 * GPU_HOUR_US);
    assert_int_equal(s->defrag_gpu_us, 40 * 60 * MINUTE_US);
    assert_true(s->is_defrag_dry);
    assert_int_equal(s->weight_topology, 750);
    assert_int_equal(s->weight_packing, 1000);
    assert_int_equal(s->half_life_us, 12 * 60 * MINUTE_US);
    assert_true(s->is_priority_first);
    assert_true(s->shares_users);
    assert_int_equal(s->n_pools, 2);
    assert_string_equal(s->pools[0].name, "big");
    assert_int_equal(s->pools[0].n_labels, 2);
    assert_string_equal(s->pools[0].labels[1].key, "zone");
    assert_string_equal(s->pools[0].labels[1].value, "a");
    assert_int_equal(s->pools[0].exclusive[0], settings_tenant(s, "foundation/eval"));
    assert_int_equal(s->pools[1].n_exclusive, 0);
    assert_int_equal(settings_closed_pools(s, settings_tenant(s, "foundation")), 1);
    assert_int_equal(settings_closed_pools(s, settings_tenant(s, "vision")), 0);
    assert_true(s->allow_simulation);
    u = config_user(c, "alice");
    assert_non_null(u);
    assert_int_equal(u->role, ROLE_TENANT_ADMIN);
    assert_string_equal(u->tenants[1], "foundation/pretrain");
    assert_int_equal(config_user(c, "bob")->n_tenants, 0);
    assert_null(config_user(c, "carol"));
    config_destroy(c);
}

static void every_tenant_is_found_and_at_once_nearly_always(void **state)
{
    enum { MANY = 1000 };
    struct config *c = must_load("tenants: [{name: a0, namespaces: [a0]}]\n");
    struct settings *s = &c->settings;
    unsigned n_found = 0;

    (void)state;
    free(s->tenants);
    free(s->slots);
    s->tenants = xcalloc(MANY, sizeof(*s->tenants));
    s->n_tenants = MANY;
    for (unsigned i = 0; i < MANY; i++)
        (void)snprintf(s->tenants[i].path, sizeof(s->tenants[i].path), "team-%u/t%u", i / 7, i);
    settings_index_tenants(s);
    for (uint32_t i = 0; i < MANY; i++) {
        assert_int_equal(settings_tenant(s, s->tenants[i].path), i);
        for (uint32_t slot = 0; slot < s->n_slots; slot++)
            n_found += s->slots[slot] == i;
    }
    assert_in_range(n_found, MANY * 9 / 10, MANY); /* the others are searched for */
    assert_int_equal(settings_tenant(s, "team-1"), IX_NONE);
    s->n_tenants = 10; /* an index of other tenants does no harm */
    assert_int_equal(settings_tenant(s, "team-0/t3"), 3);
    assert_int_equal(settings_tenant(s, "team-1/t11"), IX_NONE);
    s->n_slots = 0;
    assert_int_equal(settings_tenant(s, "team-0/t3"), 3);
    config_destroy(c);
}

static void tenants_are_paths_with_parents_before_children(void **state)
{
    struct config *c = must_load(full);
    const struct settings *s = &c->settings;
    uint32_t moe = settings_tenant(s, "foundation/pretrain/moe");
    uint32_t eval = settings_tenant(s, "foundation/eval");
    uint32_t vision = settings_tenant(s, "vision");

    (void)state;
    assert_int_equal(s->n_tenants, 5);
    assert_true(moe != IX_NONE && eval != IX_NONE && vision != IX_NONE);
    for (uint32_t i = 0; i < s->n_tenants; i++)
        assert_true(s->tenants[i].parent == IX_NONE || s->tenants[i].parent < i);
    assert_int_equal(s->tenants[moe].parent, settings_tenant(s, "foundation/pretrain"));
    assert_int_equal(s->tenants[moe].weight, 1);
    assert_int_equal(s->tenants[moe].quota.gpus[0], -1);
    assert_string_equal(settings_namespace(s, moe), "foundation");
    assert_int_equal(settings_max_runtime(s, eval), 90 * MINUTE_US);
    assert_int_equal(s->tenants[vision].limit.gpus[0], 96);
    assert_int_equal(s->tenants[vision].limit.gpus[1], 0);
    assert_int_equal(s->tenants[vision].quota.gpus[1], -1);
    assert_int_equal(s->tenants[vision].max_pending, 1000);
    assert_int_equal(s->tenants[vision].user_limit.gpus[0], 32);
    assert_int_equal(s->tenants[vision].user_limit.gpus[1], 0);
    assert_int_equal(s->tenants[vision].unlent.gpus[0], 64 - 24);
    assert_string_equal(s->tenants[vision].tolerations[0], "*");
    assert_int_equal(s->tenants[vision].n_windows, 2);
    assert_int_equal(s->tenants[vision].windows[0].days, 0x17);
    assert_int_equal(s->tenants[vision].windows[0].from_min, 20 * 60);
    assert_int_equal(s->tenants[vision].windows[0].to_min, 6 * 60 + 30);
    assert_true(s->tenants[vision].windows[0].must_fit);
    assert_int_equal(s->tenants[vision].windows[0].quota.gpus[0], 80);
    assert_int_equal(s->tenants[vision].windows[0].unlent.gpus[0], 80 - 24);
    assert_int_equal(s->tenants[vision].windows[0].limit.gpus[0], -1);
    assert_int_equal(s->tenants[vision].windows[1].days, 0x61);
    assert_int_equal(s->tenants[vision].windows[1].to_min, 24 * 60);
    assert_int_equal(s->tenants[vision].windows[1].limit.gpus[1], 8);
    assert_int_equal(s->utc_offset_min, -5 * 60 - 30);
    assert_string_equal(s->tenants[vision].auto_tolerations[0], "nvidia.com/gpu");
    assert_int_equal(s->tenants[vision].n_accounts, 2);
    assert_string_equal(s->tenants[vision].accounts[1], "s3");
    config_destroy(c);
}

static char *print(const struct config *c)
{
    char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);

    config_print(c, f);
    fclose(f);
    return text;
}

static void what_is_printed_is_read_back(void **state)
{
    static const char *const files[] = {full, "{}\n"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        struct config *c = must_load(files[i]);
        char *first = print(c);
        struct config *again = must_load(first);
        char *second = print(again);

        assert_string_equal(first, second);
        assert_int_equal(again->settings.n_tenants, c->settings.n_tenants);
        config_destroy(c);
        config_destroy(again);
        free(first);
        free(second);
    }
}

static const struct {
    const char *file;
    const char *text; /* a part of the error, with place and path */
} bad[] = {
    {"stroe: {}\n", ":1:1: stroe: unknown key; did you mean store?"},
    {"store: {dir: /a}\nstore: {dir: /b}\n", ":2:1: "},
    {"store: {etcd: [a]}\n", ":1:9: store.etcd: is not acted on by this version; remove it"},
    {"weights: {topology: 1.001}\n", ":1:21: weights.topology: '1.001' is not a decimal from 0"},
    {"weights: {packing: .5}\n", "weights.packing: '.5' is not a decimal from 0 to 1"},
    {"weights: {packing: 0.1234}\n", "weights.packing: '0.1234' is not a decimal"},
    {"weights: {tenantLoad: 0.1}\n", "weights.tenantLoad: is not acted on"},
    {"fairShare: {users: yes}\n", ":1:20: fairShare.users: expected true or false"},
    {"fairShare: {halfLife: 0s}\n", "must be at least 1s"},
    {"fairShare: {priorityScope: all}\n",
     ":1:28: fairShare.priorityScope: \"all\" is not known here; use tenant or cluster"},
    {"licences: {Abaqus: 1}\n", "is not a name of a licence"},
    {"licences: {abaqus: -1}\n", "licences.abaqus"},
    {"pools: [{name: p}]\n", "pools[0]: \"selector\" is missing"},
    {"pools: [{selector: {a: b}}]\n", "pools[0]: \"name\" is missing"},
    {"pools: [{name: p, selector: {}}]\n", "pools[0].selector: expected at least one label"},
    {"pools: [{name: p, selector: {/b: c}}]\n", "is not a label key"},
    {"pools: [{name: p, selector: {a: \"b c\"}}]\n", "pools[0].selector.a: \"b c\" is not a label"},
    {"pools:\n- {name: p, selector: {a: b}}\n- {name: p, selector: {a: c}}\n",
     ":3:10: pools[1].name: there is a pool \"p\" already"},
    {"pools:\n- {name: p, selector: {a: b}, exclusive: [vision]}\n",
     ":2:43: pools[0].exclusive[0]: there is no tenant \"vision\"; add it"},
    {"tenants: [{name: v}]\npools: [{name: p, selector: {a: b}, exclusive: [v, v]}]\n",
     "pools[0].exclusive[1]: \"v\" is listed twice"},
    {"kubernetes: {namespaces: [a]}\n", "kubernetes.namespaces: is not acted on"},
    {"kubernetes: {bindMode: fast}\n",
     ":1:24: kubernetes.bindMode: \"fast\" is not known here; use bind or direct"},
    {"kubernetes: {events: on}\n", "kubernetes.events: \"on\" is not known here; use off or pods"},
    {"listen: {http: \"127.0.0.1:9180\"}\n", "listen.http: is not acted on"},
    {"listen: {rpc: []}\n", "listen.rpc: needs at least one address"},
    {"listen: {rpc: [tcp://0.0.0.0:1]}\n", "listen.rpc[0]: \"tcp://0.0.0.0:1\" is not ipc:///PATH"},
    {"listen: {rpc: [tcp://127.0.0.1:65536]}\n", "listen.rpc[0]: \"tcp://127.0.0.1:65536\" is not"},
    {"listen: {rpc: [tcp://127.0.0.1:7]}\n", "set insecureLoopback: {user: NAME}"},
    {"store: {dir: here}\n", ":1:14: store.dir: \"here\" is not an absolute path"},
    {"levels: []\n", "levels: expected a list of hierarchies"},
    {"levels: [{name: a, levels: [{name: host, labels: [x]}]}]\n", "has a meaning of its own"},
    {"levels: [{name: a, levels: [{name: r, labels: [x]}, {name: r, labels: [y]}]}]\n",
     "levels[0].levels[1]: there is a level \"r\" already"},
    {"levels: [{name: a, levels: [{name: r}]}]\n", "\"labels\" is missing"},
    {"levels: [{name: a, levels: [{name: r, labels: []}]}]\n", "needs at least one label key"},
    {"models: {cpu: [x]}\n", "is not a model name"},
    {"models: {A: [x], B: [x]}\n", "models.B: product \"x\" belongs to A already"},
    {"classes: {low: 1}\n", "classes: \"normal\" is missing"},
    {"classes: {normal: high}\n", "classes.normal: "},
    {"nodeLostTimeout: 300\n", ":1:18: nodeLostTimeout: "},
    {"nodeLostTimeout: 10ms\n", "must be at least 1s"},
    {"allowSimulation: yes\n", "expected true or false"},
    {"tenants: [{quota: {H100: 1}}]\n", "tenants[0]: \"name\" is missing; add it"},
    {"tenants: [{name: Vision}]\n", "tenants[0].name: \"Vision\" is not a DNS label"},
    {"tenants: [{name: a}, {name: a}]\n", ":1:22: tenants[1]: there is a tenant \"a\" already"},
    {"tenants: [{name: a, namespaces: [n]}, {name: b, namespaces: [m, n]}]\n",
     "tenants[1]: namespace \"n\" belongs to tenant \"a\" already"},
    {"tenants: [{name: a, quota: {H900: 1}}]\n", "tenants[0].quota.H900: \"H900\" is not a model"},
    {"tenants: [{name: a, quota: {cpu: 1}}]\n", "tenants[0].quota.cpu: is not acted on"},
    {"tenants: [{name: a, quota: {H100: -1}}]\n", "tenants[0].quota.H100: "},
    {"tenants: [{name: a, quota: {H100: 0x10}}]\n", "tenants[0].quota.H100: "},
    {"tenants: [{name: a, lendable: {H900: 1}}]\n", "tenants[0].lendable.H900: \"H900\" is not a"},
    {"tenants: [{name: a, windows: {days: [mon]}}]\n", "windows: expected a list of windows"},
    {"tenants: [{name: a, windows: [{days: [mon]}]}]\n", "windows[0]: \"name\" is missing"},
    {"tenants: [{name: a, windows: [{name: n, days: [monday]}]}]\n", "\"monday\" is no day; write"},
    {"tenants: [{name: a, windows: [{name: n, days: []}]}]\n", "windows[0].days: expected a list"},
    {"tenants: [{name: a, windows: [{name: n, from: 8:00}]}]\n",
     ":1:47: tenants[0].windows[0].from: \"8:00\" is no time of the day; write 00:00 to 24:00"},
    {"tenants: [{name: a, windows: [{name: n, to: 24:01}]}]\n", "\"24:01\" is no time of the day"},
    {"tenants: [{name: a, windows: [{name: n, to: 12:60}]}]\n", "\"12:60\" is no time of the day"},
    {"tenants: [{name: a, windows: [{name: n, from: 08:00, to: 08:00}]}]\n",
     "windows[0]: begins when it ends"},
    {"tenants: [{name: a, windows: [{name: n, limit: {H900: 1}}]}]\n", "\"H900\" is not a model"},
    {"tenants: [{name: a, windows: [{name: n}, {name: n}]}]\n", "there is a window \"n\" already"},
    {"utcOffset: 01:00\n", "utcOffset: \"01:00\" is no offset from UTC; write +01:00 or -05:30"},
    {"utcOffset: +14:01\n", "is no offset from UTC"},
    {"tenants: [{name: a, autoTolerations: [\"*\"]}]\n", "tenants[0].autoTolerations"},
    {"tenants: [{name: a, serviceAccounts: [\"no name\"]}]\n", "tenants[0].serviceAccounts"},
    {"tenants: [{name: a, userLimits: {running: {H100: 0}}}]\n",
     "tenants[0].userLimits.running: must be at least 1"},
    {"tenants: [{name: a, children: [{name: b, wieght: 1}]}]\n",
     "tenants[0].children[0].wieght: unknown key; did you mean weight?"},
    {"users: [{name: a}]\n", "users[0]: \"role\" is missing"},
    {"users: [{name: a, role: king}]\n", "users[0].role: \"king\" is no role"},
    {"users: [{name: a, role: viewer, tenants: [b]}]\n", "there is no tenant \"b\""},
    {"users: [{name: a, role: viewer}, {name: a, role: admin}]\n", "user \"a\" is there already"},
    {"{}\n---\n{}\n", "expected one YAML document, found 2"},
    {"- a\n", ":1:1: expected a map"},
};

static void faults_are_refused_with_place_and_path(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct config *c = NULL;
        struct err err = {0};

        if (load(&c, bad[i].file, &err) == 0)
            fail_msg("accepted: %s", bad[i].file);
        assert_null(c);
        assert_int_equal(err.code, ERR_INVALID);
        if (!strstr(err.text, bad[i].text))
            fail_msg("%s\n  wanted: %s\n  got:    %s", bad[i].file, bad[i].text, err.text);
    }
}

static void a_deep_tree_of_tenants_is_refused(void **state)
{
    struct str text = {0};
    struct config *c = NULL;
    struct err err = {0};

    (void)state;
    str_add(&text, "tenants: ");
    for (int i = 0; i <= TENANT_DEPTH_MAX; i++)
        str_addf(&text, "[{name: t%d, children: ", i);
    str_add(&text, "[]");
    for (int i = 0; i <= TENANT_DEPTH_MAX; i++)
        str_add(&text, "}]");
    assert_int_equal(load(&c, str_text(&text), &err), -1);
    assert_non_null(strstr(err.text, "nested at most 8 deep"));
    str_fini(&text);
}

static void a_missing_file_is_named(void **state)
{
    struct config *c = NULL;
    struct err err = {0};

    (void)state;
    assert_int_equal(config_load(&c, "/nonexistent/queued.yaml", &err), -1);
    assert_non_null(strstr(err.text, "/nonexistent/queued.yaml"));
}

/* The source of the page; tests run in the root of the tree. */
static char *manual(void)
{
    struct str text = {0};
    char buf[4096];
    size_t n;
    FILE *f = fopen("docs/man/queued.conf.5.scd", "r");

    assert_non_null(f);
    while ((n = fread(buf, 1, sizeof(buf), f)) > 0)
        str_add_bytes(&text, buf, n);
    fclose(f);
    return str_take(&text);
}

static void the_manual_names_each_key_of_the_schema(void **state)
{
    char *page = manual();
    char key[128];
    bool is_refused;
    size_t i;

    (void)state;
    for (i = 0; config_key(i, key, sizeof(key), &is_refused); i++) {
        char *wanted = xasprintf(is_refused ? "\n- %s\n" : "\n*%s*", key);

        if (!strstr(page, wanted))
            fail_msg("docs/man/queued.conf.5.scd lacks %s", wanted);
        free(wanted);
    }
    assert_true(i > 40);
    free(page);
}

static void the_schema_has_each_key_of_the_manual(void **state)
{
    char *page = manual();
    char *save = NULL;

    (void)state;
    for (char *line = strtok_r(page, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        char want[128], key[128];
        bool is_refused, is_known = false;

        if (sscanf(line, "*%127[^* ]*", want) != 1 || strcmp(want, "queued") == 0)
            continue; /* the page it refers to is no key */
        for (size_t i = 0; !is_known && config_key(i, key, sizeof(key), &is_refused); i++)
            is_known = !is_refused && strcmp(key, want) == 0;
        if (!is_known)
            fail_msg("docs/man/queued.conf.5.scd: %s is not accepted", want);
    }
    free(page);
}

/* The changes between two texts as "path: was -> now" lines, restarts with an exclamation mark. */
static char *diff(const char *was, const char *now)
{
    struct config *a = must_load(was), *b = must_load(now);
    struct config_changes changes = {0};
    struct str s = {0};

    config_diff(a, b, &changes);
    assert_int_equal(config_digest(a) != config_digest(b), changes.list.n > 0);
    for (size_t i = 0; i < changes.list.n; i++) {
        const struct config_change *c = &changes.list.v[i];

        str_addf(&s, "%s%s: %s -> %s\n", c->needs_restart ? "!" : "", c->path,
                 c->was ? c->was : "-", c->now ? c->now : "-");
    }
    config_changes_fini(&changes);
    config_destroy(a);
    config_destroy(b);
    return str_take(&s);
}

static void windows_are_compared_key_by_key(void **state)
{
    char *got =
        diff("tenants: [{name: a, windows: [{name: w, from: 20:00, fit: true}, {name: x}]}]\n",
             "utcOffset: +01:00\n"
             "tenants: [{name: a, windows: [{name: x}, {name: w, from: 21:00, days: [sun]}]}]\n");

    (void)state;
    assert_string_equal(got,
                        "tenants[a].windows: [w, x] -> [x, w]\n"
                        "tenants[a].windows[w].days: [mon, tue, wed, thu, fri, sat, sun] -> [sun]\n"
                        "tenants[a].windows[w].fit: true -> false\n"
                        "tenants[a].windows[w].from: 20:00 -> 21:00\n"
                        "utcOffset: +00:00 -> +01:00\n");
    free(got);
}

static void a_difference_is_named_by_its_key(void **state)
{
    static const char base[] =
        "models: {H100: [p], A100: [q]}\n"
        "tenants: [{name: a, children: [{name: b, quota: {H100: 8}}]}]\n"
        "pools: [{name: x, selector: {k: v}}, {name: y, selector: {k: w}}]\n";
    static const struct {
        const char *now, *changes;
    } rows[] = {
        {"models: {H100: [p], A100: [q]}\n"
         "tenants: [{name: a, children: [{name: b, quota: {H100: 9, A100: 1}}]}]\n"
         "pools: [{name: x, selector: {k: v}}, {name: y, selector: {k: w}}]\n",
         "tenants[a].children[b].quota.A100: - -> 1\n"
         "tenants[a].children[b].quota.H100: 8 -> 9\n"},
        /* the order is what matters */
        {"models: {A100: [q], H100: [p]}\n"
         "tenants: [{name: a, children: [{name: b, quota: {H100: 8}}]}]\n"
         "pools: [{name: y, selector: {k: w}}, {name: x, selector: {k: v}}]\n",
         "!models: [H100, A100] -> [A100, H100]\npools: [x, y] -> [y, x]\n"},
        {"models: {H100: [p, r], A100: [q]}\n"
         "tenants: [{name: a}]\n"
         "pools: [{name: x, selector: {k: v}}]\n"
         "store: {dir: /s}\n"
         "listen: {rpc: [\"ipc:///x\"]}\n"
         "kubernetes: {bindMode: direct}\n"
         "insecureLoopback: {user: u}\n",
         "!insecureLoopback: - -> [user]\n!insecureLoopback.user: - -> u\n"
         "!kubernetes.bindMode: bind -> direct\n"
         "!listen.rpc: [ipc:///run/queued/queued.sock] -> [ipc:///x]\n"
         "!models.H100: [p] -> [p, r]\n"
         "pools: [x, y] -> [x]\npools[y].exclusive: [] -> -\npools[y].name: y -> -\n"
         "pools[y].selector.k: w -> -\n"
         "!store.dir: /var/lib/queued -> /s\n"
         "tenants[a].children: [b] -> -\ntenants[a].children[b].name: b -> -\n"
         "tenants[a].children[b].quota.H100: 8 -> -\ntenants[a].children[b].weight: 1 -> -\n"},
    };
    char *none = diff(full, full);

    (void)state;
    assert_string_equal(none, "");
    free(none);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char *got = diff(base, rows[i].now);

        assert_string_equal(got, rows[i].changes);
        free(got);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_difference_is_named_by_its_key),
        cmocka_unit_test(windows_are_compared_key_by_key),
        cmocka_unit_test(a_quota_above_a_limit_is_told),
        cmocka_unit_test(an_empty_file_gives_the_defaults),
        cmocka_unit_test(all_keys_arrive),
        cmocka_unit_test(every_tenant_is_found_and_at_once_nearly_always),
        cmocka_unit_test(tenants_are_paths_with_parents_before_children),
        cmocka_unit_test(what_is_printed_is_read_back),
        cmocka_unit_test(faults_are_refused_with_place_and_path),
        cmocka_unit_test(a_deep_tree_of_tenants_is_refused),
        cmocka_unit_test(a_missing_file_is_named),
        cmocka_unit_test(the_manual_names_each_key_of_the_schema),
        cmocka_unit_test(the_schema_has_each_key_of_the_manual),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
