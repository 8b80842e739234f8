/* SPDX-License-Identifier: Apache-2.0 */
/* config.c - the schema of the configuration file, and its reading but for the tenants.
 *
 * Tables of keys, one a section. A section that is given replaces its default as a whole. Keys of
 * later versions are in the tables with the sentence that refuses them.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "config_read.h"
#include "util/mem.h"
#include "util/parse.h"
#include "util/str.h"

enum { SOCKET_PATH_MAX = 107 };

static const char *const role_words[] = {
    [ROLE_VIEWER] = "viewer",
    [ROLE_SUBMITTER] = "submitter",
    [ROLE_TENANT_ADMIN] = "tenant-admin",
    [ROLE_ADMIN] = "admin",
};

const char *config_role_word(enum config_role role)
{
    return role_words[role];
}

static bool is_endpoint(const char *s)
{
    uint64_t port;

    if (strncmp(s, "ipc:///", 7) == 0)
        return s[7] && strlen(s + 6) <= SOCKET_PATH_MAX;
    return strncmp(s, "tcp://127.0.0.1:", 16) == 0 &&
           parse_u64(s + 16, 1, UINT16_MAX, &port, NULL) == 0 && s[16] != '0';
}

/* "" : the account of the pod that we run in. */
static int read_kubeconfig(const struct yaml_at *at, void *out, struct err *err)
{
    const char *s;

    if (yaml_string(at, &s, err))
        return -1;
    if (*s)
        return config_read_path(at, out, err);
    *(char *)out = '\0';
    return 0;
}

/* One of two words into a bool. */
static int read_word(const struct yaml_at *at, const char *no, const char *yes, bool *out,
                     struct err *err)
{
    const char *s;

    if (yaml_string(at, &s, err))
        return -1;
    if (strcmp(s, no) != 0 && strcmp(s, yes) != 0)
        return yaml_fail(at, err, "\"%.40s\" is not known here; use %s or %s", s, no, yes);
    *out = strcmp(s, yes) == 0;
    return 0;
}

static int read_bind_mode(const struct yaml_at *at, void *out, struct err *err)
{
    return read_word(at, "bind", "direct", out, err);
}

static int read_events(const struct yaml_at *at, void *out, struct err *err)
{
    return read_word(at, "off", "pods", out, err);
}

/* ---- store, listen, kubernetes, insecureLoopback */

static const struct yaml_field store_fields[] = {
    {.key = "dir", .read = config_read_path, .offset = offsetof(struct config, store_dir)},
    {.key = "etcd", .refusal = NOT_YET},
};

static int read_rpc(const struct yaml_at *at, void *out, struct err *err)
{
    struct config *c = out;

    c->n_rpc = 0;
    return config_read_list(
        at,
        &(struct text_list){.first = c->rpc[0],
                            .size = sizeof(c->rpc[0]),
                            .max = CONFIG_LISTEN_MAX,
                            .n = &c->n_rpc,
                            .is_good = is_endpoint,
                            .form = "ipc:///PATH (at most 107 bytes) or tcp://127.0.0.1:PORT"},
        err);
}

static const struct yaml_field listen_fields[] = {
    {.key = "rpc", .read = read_rpc},
    {.key = "http", .refusal = NOT_YET},
};

static const struct yaml_field kubernetes_fields[] = {
    {.key = "kubeconfig", .read = read_kubeconfig, .offset = offsetof(struct config, kubeconfig)},
    {.key = "namespaces", .refusal = NOT_YET},
    {.key = "bindMode", .read = read_bind_mode, .offset = offsetof(struct config, is_bind_direct)},
    {.key = "events", .read = read_events, .offset = offsetof(struct config, has_pod_events)},
};

static const struct yaml_field loopback_fields[] = {
    {.key = "user",
     .read = config_read_user,
     .offset = offsetof(struct config, insecure_loopback_user)},
};

static int read_store(const struct yaml_at *at, void *out, struct err *err)
{
    struct config_reading *r = out;

    return yaml_walk(at, store_fields, ARRAY_LEN(store_fields), r->c, err);
}

static int read_listen(const struct yaml_at *at, void *out, struct err *err)
{
    struct config_reading *r = out;

    return yaml_walk(at, listen_fields, ARRAY_LEN(listen_fields), r->c, err);
}

static int read_kubernetes(const struct yaml_at *at, void *out, struct err *err)
{
    struct config_reading *r = out;

    return yaml_walk(at, kubernetes_fields, ARRAY_LEN(kubernetes_fields), r->c, err);
}

static int read_loopback(const struct yaml_at *at, void *out, struct err *err)
{
    struct config_reading *r = out;

    return yaml_walk(at, loopback_fields, ARRAY_LEN(loopback_fields), r->c, err);
}

/* ---- top */

static int read_node_lost(const struct yaml_at *at, void *out, struct err *err)
{
    struct config_reading *r = out;

    return config_read_duration(at, &r->c->settings.node_lost_us, err);
}

static int read_simulation(const struct yaml_at *at, void *out, struct err *err)
{
    struct config_reading *r = out;

    return config_read_bool(at, &r->c->settings.allow_simulation, err);
}

static int read_offset(const struct yaml_at *at, void *out, struct err *err)
{
    struct config_reading *r = out;

    return config_read_offset(at, &r->c->settings.utc_offset_min, err);
}

static int read_gpu_hours(const struct yaml_at *at, void *out, struct err *err)
{
    uint64_t hours;

    if (yaml_u64(at, 0, 1000000, &hours, err))
        return -1;
    *(uint64_t *)out = hours * GPU_HOUR_US;
    return 0;
}

static int read_reservations(const struct yaml_at *at, void *out, struct err *err)
{
    uint64_t n;

    if (yaml_u64(at, 1, BACKFILL_SLOTS_MAX, &n, err))
        return -1;
    *(uint32_t *)out = (uint32_t)n;
    return 0;
}

static const struct yaml_field backfill_fields[] = {
    {.key = "reservations",
     .read = read_reservations,
     .offset = offsetof(struct config, settings.backfill_reservations)},
};

static int read_backfill(const struct yaml_at *at, void *out, struct err *err)
{
    struct config_reading *r = out;

    return yaml_walk(at, backfill_fields, ARRAY_LEN(backfill_fields), r->c, err);
}

static const struct yaml_field preemption_fields[] = {
    {.key = "graceCap",
     .read = config_read_duration,
     .offset = offsetof(struct config, settings.grace_cap_us)},
    {.key = "minRuntime",
     .read = config_read_duration,
     .offset = offsetof(struct config, settings.min_runtime_us)},
    {.key = "maxLostGpuHours",
     .read = read_gpu_hours,
     .offset = offsetof(struct config, settings.max_lost_gpu_us)},
};

static int read_preemption(const struct yaml_at *at, void *out, struct err *err)
{
    struct config_reading *r = out;

    return yaml_walk(at, preemption_fields, ARRAY_LEN(preemption_fields), r->c, err);
}

static const struct yaml_field defrag_fields[] = {
    {.key = "gpuHoursPerDay",
     .read = read_gpu_hours,
     .offset = offsetof(struct config, settings.defrag_gpu_us)},
    {.key = "dryRun",
     .read = config_read_bool,
     .offset = offsetof(struct config, settings.is_defrag_dry)},
};

static int read_defrag(const struct yaml_at *at, void *out, struct err *err)
{
    struct config_reading *r = out;

    return yaml_walk(at, defrag_fields, ARRAY_LEN(defrag_fields), r->c, err);
}

/* A decimal 0..1 with at most three digits behind the point, read as per mille. */
static int read_weight(const struct yaml_at *at, void *out, struct err *err)
{
    uint32_t *ret = out, value, unit = 100;
    const char *text;

    if (yaml_string(at, &text, err))
        return -1;
    value = *text == '1' ? 1000 : 0;
    if (text[0] == '0' || text[0] == '1') {
        const char *s = text + 1;

        if (s[0] == '.' && s[1])
            for (s++; unit && *s >= '0' && *s <= '9'; s++, unit /= 10)
                value += (uint32_t)(*s - '0') * unit;
        if (!*s && value <= 1000) {
            *ret = value;
            return 0;
        }
    }
    return yaml_fail(at, err, "'%s' is not a decimal from 0 to 1 such as 0.8 or 0.125", text);
}

/* A duration, or 0. */
static int read_half_life(const struct yaml_at *at, void *out, struct err *err)
{
    const char *text;

    if (yaml_string(at, &text, err))
        return -1;
    if (strcmp(text, "0") != 0)
        return config_read_duration(at, out, err);
    *(usec_t *)out = 0;
    return 0;
}

static int read_scope(const struct yaml_at *at, void *out, struct err *err)
{
    return read_word(at, "tenant", "cluster", out, err);
}

static const struct yaml_field fair_share_fields[] = {
    {.key = "halfLife",
     .read = read_half_life,
     .offset = offsetof(struct config, settings.half_life_us)},
    {.key = "priorityScope",
     .read = read_scope,
     .offset = offsetof(struct config, settings.is_priority_first)},
    {.key = "users",
     .read = config_read_bool,
     .offset = offsetof(struct config, settings.shares_users)},
};

static int read_fair_share(const struct yaml_at *at, void *out, struct err *err)
{
    struct config_reading *r = out;

    return yaml_walk(at, fair_share_fields, ARRAY_LEN(fair_share_fields), r->c, err);
}

static const struct yaml_field weight_fields[] = {
    {.key = "topology",
     .read = read_weight,
     .offset = offsetof(struct config, settings.weight_topology)},
    {.key = "packing",
     .read = read_weight,
     .offset = offsetof(struct config, settings.weight_packing)},
    {.key = "tenantLoad", .refusal = NOT_YET},
};

static int read_weights(const struct yaml_at *at, void *out, struct err *err)
{
    struct config_reading *r = out;

    return yaml_walk(at, weight_fields, ARRAY_LEN(weight_fields), r->c, err);
}

static int keep_tenants(const struct yaml_at *at, void *out, struct err *err)
{
    struct config_reading *r = out;

    (void)err; /* read later */
    r->tenants = at->node;
    return 0;
}

static int keep_users(const struct yaml_at *at, void *out, struct err *err)
{
    struct config_reading *r = out;

    (void)err; /* read later */
    r->users = at->node;
    return 0;
}

static int keep_pools(const struct yaml_at *at, void *out, struct err *err)
{
    struct config_reading *r = out;

    (void)err; /* read later */
    r->pools = at->node;
    return 0;
}

static const struct yaml_field top_fields[] = {
    {.key = "store", .read = read_store},
    {.key = "listen", .read = read_listen},
    {.key = "kubernetes", .read = read_kubernetes},
    {.key = "levels", .read = config_read_levels},
    {.key = "models", .read = config_read_models},
    {.key = "resources", .read = config_read_resources},
    {.key = "licences", .read = config_read_licences},
    {.key = "classes", .read = config_read_classes},
    {.key = "nodeLostTimeout", .read = read_node_lost},
    {.key = "backfill", .read = read_backfill},
    {.key = "preemption", .read = read_preemption},
    {.key = "defragmentation", .read = read_defrag},
    {.key = "allowSimulation", .read = read_simulation},
    {.key = "insecureLoopback", .read = read_loopback},
    {.key = "tenants", .read = keep_tenants},
    {.key = "users", .read = keep_users},
    {.key = "weights", .read = read_weights},
    {.key = "fairShare", .read = read_fair_share},
    {.key = "pools", .read = keep_pools},
    {.key = "utcOffset", .read = read_offset},
};

/* ---- users, after the tenants that they name */

static int read_role(const struct yaml_at *at, void *out, struct err *err)
{
    struct config_user *u = out;
    const char *s;

    if (yaml_string(at, &s, err))
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(role_words); i++) {
        if (strcmp(s, role_words[i]) == 0) {
            u->role = (enum config_role)i;
            return 0;
        }
    }
    return yaml_fail(at, err, "\"%.40s\" is no role; use viewer, submitter, tenant-admin or admin",
                     s);
}

static int read_user_tenants(const struct yaml_at *at, void *out, struct err *err)
{
    struct config_user *u = out;

    u->tenants = xcalloc(at->node->n + 1, sizeof(*u->tenants));
    return config_read_list(at,
                            &(struct text_list){.first = u->tenants[0],
                                                .size = sizeof(u->tenants[0]),
                                                .max = TENANTS_MAX,
                                                .n = &u->n_tenants,
                                                .form = "the path of a tenant"},
                            err);
}

static const struct yaml_field user_fields[] = {
    {.key = "name",
     .read = config_read_user,
     .offset = offsetof(struct config_user, name),
     .is_required = true},
    {.key = "tenants", .read = read_user_tenants},
    {.key = "role", .read = read_role, .is_required = true},
};

static int read_user(const struct yaml_at *at, const char *key, void *out, struct err *err)
{
    struct config *c = out;
    struct config_user *u = &c->users[c->n_users];

    (void)key;    /* a list has none */
    c->n_users++; /* before anything fails, so that config_destroy() sees it */
    if (yaml_walk(at, user_fields, ARRAY_LEN(user_fields), u, err))
        return -1;
    for (uint32_t i = 0; i + 1 < c->n_users; i++)
        if (strcmp(c->users[i].name, u->name) == 0)
            return yaml_fail(at, err, "user \"%s\" is there already; join the two entries",
                             u->name);
    for (uint32_t i = 0; i < u->n_tenants; i++)
        if (settings_tenant(&c->settings, u->tenants[i]) == IX_NONE)
            return yaml_fail(at, err,
                             "user \"%s\": there is no tenant \"%s\"; add it or correct the path",
                             u->name, u->tenants[i]);
    return 0;
}

static int read_users(struct config_reading *r, struct err *err)
{
    struct yaml_at at = {r->doc, r->users, "users"};

    if (!r->users)
        return 0;
    if (at.node->kind != YAML_LIST)
        return yaml_fail(&at, err, "expected a list of users");
    if (at.node->n > CONFIG_USERS_MAX)
        return yaml_fail(&at, err, "at most %d users", CONFIG_USERS_MAX);
    r->c->users = xcalloc(at.node->n + 1, sizeof(*r->c->users));
    return yaml_each(&at, read_user, r->c, err);
}

/* ---- the whole */

static const struct config_section own_sections[] = {
    {"", top_fields, ARRAY_LEN(top_fields)},
    {"store", store_fields, ARRAY_LEN(store_fields)},
    {"listen", listen_fields, ARRAY_LEN(listen_fields)},
    {"kubernetes", kubernetes_fields, ARRAY_LEN(kubernetes_fields)},
    {"backfill", backfill_fields, ARRAY_LEN(backfill_fields)},
    {"preemption", preemption_fields, ARRAY_LEN(preemption_fields)},
    {"defragmentation", defrag_fields, ARRAY_LEN(defrag_fields)},
    {"weights", weight_fields, ARRAY_LEN(weight_fields)},
    {"fairShare", fair_share_fields, ARRAY_LEN(fair_share_fields)},
    {"insecureLoopback", loopback_fields, ARRAY_LEN(loopback_fields)},
    {"users[]", user_fields, ARRAY_LEN(user_fields)},
    {NULL, NULL, 0},
};

bool config_key(size_t i, char *buf, size_t size, bool *ret_is_refused)
{
    const struct config_section *const parts[] = {own_sections,           config_level_sections,
                                                  config_name_sections,   config_tenant_sections,
                                                  config_window_sections, config_pool_sections};

    for (size_t p = 0; p < ARRAY_LEN(parts); p++) {
        for (const struct config_section *s = parts[p]; s->path; s++) {
            if (i < s->n) {
                (void)snprintf(buf, size, "%s%s%s", s->path, *s->path ? "." : "", s->fields[i].key);
                *ret_is_refused = s->fields[i].refusal != NULL;
                return true;
            }
            i -= s->n;
        }
    }
    return false;
}

static int check_whole(const struct config_reading *r, struct err *err)
{
    const struct config *c = r->c;
    struct yaml_at at = {r->doc, r->doc->roots[0], "listen.rpc"};

    if (c->settings.backfill_reservations * (c->settings.n_models + 1) > BACKFILL_SLOTS_MAX) {
        at.path = "backfill.reservations";
        return yaml_fail(&at, err, "at most %u with %u models",
                         BACKFILL_SLOTS_MAX / (c->settings.n_models + 1), c->settings.n_models);
    }
    if (c->n_rpc == 0)
        return yaml_fail(&at, err, "needs at least one address");
    for (uint32_t i = 0; i < c->n_rpc; i++)
        if (strncmp(c->rpc[i], "tcp:", 4) == 0 && !*c->insecure_loopback_user)
            return yaml_fail(
                &at, err,
                "%s tells nobody's name; set insecureLoopback: {user: NAME} for tests, or use "
                "ipc:///PATH",
                c->rpc[i]);
    return 0;
}

static struct config *config_new(void)
{
    struct config *c = xcalloc(1, sizeof(*c));

    settings_defaults(&c->settings);
    (void)str_copy(c->store_dir, sizeof(c->store_dir), "/var/lib/queued");
    (void)str_copy(c->rpc[0], sizeof(c->rpc[0]), "ipc:///run/queued/queued.sock");
    c->n_rpc = 1;
    c->has_pod_events = true;
    return c;
}

static int read_doc(struct config **ret, const struct yaml_doc *doc, struct err *err)
{
    struct config_reading r = {.c = config_new(), .doc = doc};
    struct yaml_at at = {doc, doc->n ? doc->roots[0] : NULL, ""};

    if (doc->n != 1) {
        err_set(err, ERR_INVALID, "%s: expected one YAML document, found %zu", doc->file, doc->n);
    } else if (!yaml_walk(&at, top_fields, ARRAY_LEN(top_fields), &r, err) &&
               !config_read_tenants(&r, err) && !config_read_pools(&r, err) &&
               !read_users(&r, err) && !check_whole(&r, err)) {
        *ret = r.c;
        return 0;
    }
    config_destroy(r.c);
    return -1;
}

int config_load(struct config **ret, const char *path, struct err *err)
{
    struct yaml_doc *doc = NULL;
    int rc;

    if (yaml_parse_file(&doc, path, err)) {
        if (err->code == ERR_NOT_FOUND)
            err_set(err, ERR_NOT_FOUND,
                    "%s: there is no such file; name another with --config, see queued.conf(5)",
                    path);
        return -1;
    }
    rc = read_doc(ret, doc, err);
    yaml_destroy(doc);
    return rc;
}

int config_parse(struct config **ret, const char *name, const char *text, size_t len,
                 struct err *err)
{
    struct yaml_doc *doc = NULL;
    int rc;

    if (yaml_parse(&doc, name, text, len, err))
        return -1;
    rc = read_doc(ret, doc, err);
    yaml_destroy(doc);
    return rc;
}

void config_destroy(struct config *c)
{
    if (!c)
        return;
    for (uint32_t i = 0; i < c->n_users; i++)
        free(c->users[i].tenants);
    free(c->users);
    free(c->settings.tenants);
    free(c->settings.slots);
    free(c->settings.pools);
    free(c);
}

const struct config_user *config_user(const struct config *c, const char *name)
{
    for (uint32_t i = 0; i < c->n_users; i++)
        if (strcmp(c->users[i].name, name) == 0)
            return &c->users[i];
    return NULL;
}
