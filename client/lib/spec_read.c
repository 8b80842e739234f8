/* SPDX-License-Identifier: Apache-2.0 */
/* spec_read.c - readers of single fields of a job file, with the checks that need no daemon.
 *
 * Strings are borrowed from the tree, arrays come from its arena. What only the daemon can know
 * (tenants, classes, levels, models) is left to it.
 */
#include "spec_read.h"

#include <string.h>

#include "spec/limits.h"
#include "util/mem.h"
#include "util/parse.h"
#include "util/signals.h"
#include "util/str.h"

int read_text(const struct yaml_at *at, void *out, struct err *err)
{
    const char *s;

    if (yaml_string(at, &s, err))
        return -1;
    if (*s == '\0')
        return yaml_fail(at, err, "is empty; give a value or remove it");
    *(const char **)out = s;
    return 0;
}

int read_path(const struct yaml_at *at, void *out, struct err *err)
{
    const char *s;

    if (yaml_string(at, &s, err))
        return -1;
    if (s[0] != '/' || strchr(s, ':'))
        return yaml_fail(at, err, "\"%.60s\" must begin with / and hold no colon", s);
    *(const char **)out = s;
    return 0;
}

int read_duration(const struct yaml_at *at, void *out, struct err *err)
{
    const char *s;
    struct err why;
    usec_t v;

    if (yaml_string(at, &s, err))
        return -1;
    if (parse_duration(s, &v, &why))
        return yaml_fail(at, err, "%s", why.text);
    if (v == 0)
        return yaml_fail(at, err, "must be longer than 0; remove it for the default");
    *(int64_t *)out = v;
    return 0;
}

static int read_quantity(const struct yaml_at *at, int64_t scale, int64_t *ret, struct err *err)
{
    const char *s;
    struct err why;
    int64_t v;

    if (yaml_string(at, &s, err))
        return -1;
    if (parse_quantity(s, scale, &v, &why))
        return yaml_fail(at, err, "%s", why.text);
    if (v == 0)
        return yaml_fail(at, err, "must be more than 0; remove it for the default");
    *ret = v;
    return 0;
}

int read_bytes(const struct yaml_at *at, void *out, struct err *err)
{
    return read_quantity(at, 1, out, err);
}

/* GB and GiB as the makers of GPUs write them: the unit of a quantity with a B behind it. */
int read_gpu_memory(const struct yaml_at *at, void *out, struct err *err)
{
    char text[32];
    struct yaml_node node = *at->node;
    struct yaml_at plain = *at;
    size_t len = node.kind == YAML_SCALAR ? strlen(node.text) : 0;

    if (len < 3 || len >= sizeof(text) || node.text[len - 1] != 'B')
        return read_bytes(at, out, err);
    memcpy(text, node.text, len - 1);
    text[len - 1] = '\0';
    node.text = text;
    plain.node = &node;
    return read_bytes(&plain, out, err);
}

int read_cpu(const struct yaml_at *at, void *out, struct err *err)
{
    return read_quantity(at, 1000, out, err);
}

int read_flag(const struct yaml_at *at, void *out, struct err *err)
{
    return yaml_bool(at, out, err);
}

int read_preemptible(const struct yaml_at *at, void *draft, struct err *err)
{
    struct spec_draft *d = draft;

    d->spec.has_preemptible = true;
    return yaml_bool(at, &d->spec.is_preemptible, err);
}

static int read_dns_label(const struct yaml_at *at, size_t max, const char **ret, struct err *err)
{
    const char *s;

    if (yaml_string(at, &s, err))
        return -1;
    if (!str_is_dns_label(s, max, false))
        return yaml_fail(at, err,
                         "\"%.70s\" is no name; use at most %zu characters of a-z, 0-9 and -, "
                         "with no - at the ends",
                         s, max);
    *ret = s;
    return 0;
}

int read_level(const struct yaml_at *at, void *out, struct err *err)
{
    return read_dns_label(at, LABEL_MAX, out, err);
}

int read_job_name(const struct yaml_at *at, void *draft, struct err *err)
{
    struct spec_draft *d = draft;
    const char *s;

    if (yaml_string(at, &s, err))
        return -1;
    if (!str_is_dns_label(s, JOB_BASE_NAME_MAX, true))
        return yaml_fail(at, err,
                         "\"%.70s\" is no job name; use at most %d characters of a-z, 0-9 and -, "
                         "beginning with a letter",
                         s, JOB_BASE_NAME_MAX);
    d->spec.name = s;
    return 0;
}

/* Every name gets "-" and four characters: one that ends in "-" already is the same without. */
int read_generate_name(const struct yaml_at *at, void *draft, struct err *err)
{
    struct spec_draft *d = draft;
    const char *s;
    size_t len;

    if (yaml_string(at, &s, err))
        return -1;
    len = strlen(s);
    d->spec.name = arena_strndup(d->arena, s, len - (len && s[len - 1] == '-'));
    if (!str_is_dns_label(d->spec.name, JOB_BASE_NAME_MAX, true))
        return yaml_fail(at, err, "\"%.70s\" is no beginning of a job name", s);
    return 0;
}

int read_tenant(const struct yaml_at *at, void *draft, struct err *err)
{
    struct spec_draft *d = draft;
    char part[TENANT_PATH_MAX + 1];
    const char *s;

    if (yaml_string(at, &s, err))
        return -1;
    for (const char *p = s; p; p = strchr(p, '/') ? strchr(p, '/') + 1 : NULL) {
        size_t len = strcspn(p, "/");

        if (strlen(s) > TENANT_PATH_MAX)
            return yaml_fail(at, err, "is longer than %d characters", TENANT_PATH_MAX);
        memcpy(part, p, len);
        part[len] = '\0';
        if (!str_is_dns_label(part, LABEL_MAX, false))
            return yaml_fail(at, err, "\"%.70s\" is no tenant; write it like foundation/pretrain",
                             s);
    }
    d->spec.tenant = s;
    return 0;
}

int read_namespace(const struct yaml_at *at, void *draft, struct err *err)
{
    struct spec_draft *d = draft;

    return read_dns_label(at, LABEL_MAX, &d->spec.ns, err);
}

int read_submit_key(const struct yaml_at *at, void *draft, struct err *err)
{
    struct spec_draft *d = draft;
    const char *s;

    if (yaml_string(at, &s, err))
        return -1;
    if (*s == '\0' || strlen(s) > SUBMIT_KEY_MAX)
        return yaml_fail(at, err, "must have 1 to %d characters", SUBMIT_KEY_MAX);
    d->spec.submit_key = s;
    return 0;
}

/* ---- lists and maps */

struct texts {
    struct arena *arena;
    const char **v;
    size_t n;
};

static int add_text(const struct yaml_at *at, const char *key, void *out, struct err *err)
{
    struct texts *t = out;

    (void)key;
    return yaml_string(at, &t->v[t->n++], err);
}

int read_texts(const struct yaml_at *at, struct arena *arena, const char *const **ret,
               size_t *ret_n, struct err *err)
{
    struct texts t = {.arena = arena};

    if (at->node->kind != YAML_LIST)
        return yaml_fail(at, err, "must be a list, like [\"python\", \"train.py\"]");
    if (at->node->n > ROLE_ARGS_MAX)
        return yaml_fail(at, err, "has more than %d entries", ROLE_ARGS_MAX);
    t.v = arena_alloc(arena, (at->node->n + 1) * sizeof(*t.v));
    if (yaml_each(at, add_text, &t, err))
        return -1;
    *ret = t.v;
    *ret_n = t.n;
    return 0;
}

struct pairs {
    const struct pairs_wish *wish;
    struct queued_pair *v;
    size_t n;
};

static int add_pair(const struct yaml_at *at, const char *key, void *out, struct err *err)
{
    struct pairs *p = out;
    const char *value = "";

    if (at->node->kind != YAML_NULL && yaml_string(at, &value, err))
        return -1;
    if (p->wish->check && p->wish->check(at, key, value, err))
        return -1;
    p->v[p->n++] = (struct queued_pair){key, value};
    return 0;
}

int read_pairs(const struct yaml_at *at, const struct pairs_wish *wish,
               const struct queued_pair **ret, size_t *ret_n, struct err *err)
{
    struct pairs p = {.wish = wish};

    if (at->node->kind != YAML_MAP)
        return yaml_fail(at, err, "must be a map, like {key: value}");
    if (at->node->n > wish->max)
        return yaml_fail(at, err, "has more than %zu entries", wish->max);
    p.v = arena_alloc(wish->arena, (at->node->n + 1) * sizeof(*p.v));
    if (yaml_each(at, add_pair, &p, err))
        return -1;
    *ret = p.v;
    *ret_n = p.n;
    return 0;
}

/* A name of Kubernetes: letters, digits, -, _, . with letters or digits at the ends. */
static bool is_qualified(const char *s, size_t len)
{
    static const char inner[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";

    if (len == 0 || len > LABEL_MAX || strspn(s, inner) < len)
        return false;
    return !strchr("-_.", s[0]) && !strchr("-_.", s[len - 1]);
}

static int check_key(const struct yaml_at *at, const char *key, struct err *err)
{
    const char *slash = strchr(key, '/');
    const char *name = slash ? slash + 1 : key;
    char prefix[LABEL_KEY_MAX + 1] = "";

    if (strlen(key) > LABEL_KEY_MAX)
        return yaml_fail(at, err, "the key is longer than %d characters", LABEL_KEY_MAX);
    if (slash)
        memcpy(prefix, key, (size_t)(slash - key)); /* the rest is zero */
    if (!is_qualified(name, strlen(name)) || (slash && !str_is_dns_subdomain(prefix)))
        return yaml_fail(at, err, "\"%.80s\" is no key; write name or example.com/name", key);
    return 0;
}

static int check_label(const struct yaml_at *at, const char *key, const char *value,
                       struct err *err)
{
    if (check_key(at, key, err))
        return -1;
    if (strncmp(key, "gang.queued/", 12) == 0)
        return yaml_fail(at, err, "the prefix gang.queued/ belongs to the daemon; use another key");
    if (*value && !is_qualified(value, strlen(value)))
        return yaml_fail(at, err,
                         "\"%.70s\" is no label value; at most %d letters, digits, -, _ and .",
                         value, LABEL_MAX);
    return 0;
}

/* The daemon decides on the annotations of simulated kubelets. */
static int check_annotation(const struct yaml_at *at, const char *key, const char *value,
                            struct err *err)
{
    static const char *const simulation[] = {"gang.queued/run-duration", "gang.queued/fail-after",
                                             "gang.queued/start-delay", "gang.queued/stop-delay"};

    (void)value;
    if (check_key(at, key, err))
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(simulation); i++)
        if (strcmp(simulation[i], key) == 0)
            return 0;
    if (strncmp(key, "gang.queued/", 12) == 0)
        return yaml_fail(at, err, "the prefix gang.queued/ belongs to the daemon; use another key");
    return 0;
}

int read_labels(const struct yaml_at *at, void *draft, struct err *err)
{
    struct spec_draft *d = draft;
    struct pairs_wish wish = {d->arena, JOB_LABELS_MAX, check_label};

    return read_pairs(at, &wish, &d->spec.labels, &d->spec.n_labels, err);
}

int read_annotations(const struct yaml_at *at, void *draft, struct err *err)
{
    struct spec_draft *d = draft;
    struct pairs_wish wish = {d->arena, JOB_LABELS_MAX, check_annotation};

    return read_pairs(at, &wish, &d->spec.annotations, &d->spec.n_annotations, err);
}

int read_word(const struct yaml_at *at, const char *one, const char *two, const char **ret,
              struct err *err)
{
    const char *s;

    if (yaml_string(at, &s, err))
        return -1;
    if (strcmp(s, one) != 0 && strcmp(s, two) != 0)
        return yaml_fail(at, err, "\"%.40s\" must be %s or %s", s, one, two);
    *ret = strcmp(s, one) == 0 ? one : two;
    return 0;
}

static int read_exit_zero(const struct yaml_at *at, void *out, struct err *err)
{
    return read_word(at, "requeue", "done", out, err);
}

int read_default(const struct yaml_at *at, const char *word, struct err *err)
{
    const char *s;

    if (yaml_string(at, &s, err))
        return -1;
    return strcmp(s, word) == 0
               ? 0
               : yaml_fail(at, err, "is not acted on by this version but as %s; remove it", word);
}

/* SIGTERM comes without being asked for. */
static int read_signal(const struct yaml_at *at, void *out, struct err *err)
{
    const char *s;

    if (yaml_string(at, &s, err))
        return -1;
    if (!signal_of(s))
        return yaml_fail(at, err, "\"%.20s\" is none of " SIGNAL_NAMES, s);
    *(const char **)out = strcmp(s, "SIGTERM") == 0 ? NULL : s;
    return 0;
}

static int read_target(const struct yaml_at *at, void *out, struct err *err)
{
    const char **target = out;

    if (read_word(at, "all", "leader", target, err))
        return -1;
    if (strcmp(*target, "all") == 0)
        *target = NULL;
    return 0;
}

static int read_keep_pods(const struct yaml_at *at, void *out, struct err *err)
{
    const char *s;

    if (yaml_string(at, &s, err))
        return -1;
    if (strcmp(s, "all") != 0 && strcmp(s, "failed") != 0 && strcmp(s, "none") != 0)
        return yaml_fail(at, err, "\"%.40s\" is none of all, failed, none", s);
    *(const char **)out = strcmp(s, "all") == 0 ? NULL : s;
    return 0;
}

static const struct yaml_field cleanup_fields[] = {
    {"ttlAfterFinish", read_duration, offsetof(struct spec_draft, spec.ttl_us), false, NULL},
    {"podTTL", read_duration, offsetof(struct spec_draft, spec.pod_ttl_us), false, NULL},
    {"keepPods", read_keep_pods, offsetof(struct spec_draft, spec.keep_pods), false, NULL},
};

int read_cleanup(const struct yaml_at *at, void *draft, struct err *err)
{
    return yaml_walk(at, cleanup_fields, ARRAY_LEN(cleanup_fields), draft, err);
}

static const struct yaml_field checkpoint_fields[] = {
    {"grace", read_duration, offsetof(struct spec_draft, spec.checkpoint_grace_us), false, NULL},
    {"signal", read_signal, offsetof(struct spec_draft, spec.checkpoint_signal), false, NULL},
    {"target", read_target, offsetof(struct spec_draft, spec.checkpoint_target), false, NULL},
    {"path", read_path, offsetof(struct spec_draft, spec.checkpoint_path), false, NULL},
    {"exitZero", read_exit_zero, offsetof(struct spec_draft, spec.exit_zero), false, NULL},
    {"beforeEnd", read_duration, offsetof(struct spec_draft, spec.before_end_us), false, NULL},
};

int read_checkpoint(const struct yaml_at *at, void *draft, struct err *err)
{
    return yaml_walk(at, checkpoint_fields, ARRAY_LEN(checkpoint_fields), draft, err);
}
