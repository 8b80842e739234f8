/* SPDX-License-Identifier: Apache-2.0 */
/* spec_yaml.c - a job file as specs: which form a document has, and the canonical one.
 *
 * A document with apiVersion, kind, metadata or spec is canonical, any other one short.
 */
#include "spec_yaml.h"

#include <string.h>

#include "spec/limits.h"
#include "spec_read.h"
#include "util/mem.h"
#include "util/parse.h"
#include "util/str.h"

#define API_VERSION "gang.queued/v1"
#define KIND        "GangJob"

static int read_constant(const struct yaml_at *at, const char *want, struct err *err)
{
    const char *s;

    if (yaml_string(at, &s, err))
        return -1;
    if (strcmp(s, want) != 0)
        return yaml_fail(at, err, "\"%.60s\" is not known; write %s", s, want);
    return 0;
}

static int read_api_version(const struct yaml_at *at, void *out, struct err *err)
{
    (void)out;
    return read_constant(at, API_VERSION, err);
}

static int read_kind(const struct yaml_at *at, void *out, struct err *err)
{
    (void)out;
    return read_constant(at, KIND, err);
}

static const struct yaml_field metadata_fields[] = {
    {"name", read_job_name, 0, false, NULL},
    {"labels", read_labels, 0, false, NULL},
    {"annotations", read_annotations, 0, false, NULL},
    {"generateName", read_generate_name, 0, false, NULL},
    {"namespace", NULL, 0, false, "belongs to spec: write spec.namespace"},
};

static int read_metadata(const struct yaml_at *at, void *out, struct err *err)
{
    bool is_map = at->node->kind == YAML_MAP;
    bool has_name = is_map && yaml_get(at->node, "name");
    bool has_other = is_map && yaml_get(at->node, "generateName");

    if (has_name && has_other)
        return yaml_fail(at, err, "has name and generateName; keep one of them");
    if (is_map && !has_name && !has_other)
        return yaml_fail(at, err, "\"name\" is missing; add it");
    return yaml_walk(at, metadata_fields, ARRAY_LEN(metadata_fields), out, err);
}

static const struct yaml_field gang_fields[] = {
    {"startTimeout", read_duration, offsetof(struct spec_draft, spec.start_timeout_us), false,
     NULL},
};

static int read_gang(const struct yaml_at *at, void *out, struct err *err)
{
    return yaml_walk(at, gang_fields, ARRAY_LEN(gang_fields), out, err);
}

static int read_slice_size(const struct yaml_at *at, void *out, struct err *err)
{
    struct spec_draft *d = out;
    uint64_t v;

    if (yaml_u64(at, 1, JOB_PODS_MAX, &v, err))
        return -1;
    d->spec.slice_size = (uint32_t)v;
    return 0;
}

static const struct yaml_field slice_fields[] = {
    {"size", read_slice_size, 0, true, NULL},
    {"required", read_level, offsetof(struct spec_draft, spec.slice_level), true, NULL},
};

static int read_slice(const struct yaml_at *at, void *out, struct err *err)
{
    return yaml_walk(at, slice_fields, ARRAY_LEN(slice_fields), out, err);
}

static const struct yaml_field topology_fields[] = {
    {"required", read_level, offsetof(struct spec_draft, spec.topology_required), false, NULL},
    {"preferred", read_level, offsetof(struct spec_draft, spec.topology_preferred), false, NULL},
    {"slice", read_slice, 0, false, NULL},
    {"maxWait", read_duration, offsetof(struct spec_draft, spec.max_wait_us), false, NULL},
};

static int read_topology(const struct yaml_at *at, void *out, struct err *err)
{
    if (at->node->kind == YAML_SCALAR)
        return yaml_fail(at, err,
                         "is a map here, like {required: rack}; \"required:rack\" belongs "
                         "to the short form");
    return yaml_walk(at, topology_fields, ARRAY_LEN(topology_fields), out, err);
}

static int read_policy(const struct yaml_at *at, void *out, struct err *err)
{
    return read_word(at, "Never", "LowerPriority", out, err);
}

static int read_on_preemption(const struct yaml_at *at, void *out, struct err *err)
{
    return read_word(at, "requeue", "end", out, err);
}

static int read_step(const struct yaml_at *at, void *out, struct err *err)
{
    struct spec_draft *d = out;
    uint64_t v;

    if (yaml_u64(at, 1, JOB_PODS_MAX, &v, err))
        return -1;
    d->spec.elastic_step = (uint32_t)v;
    return 0;
}

/* The one order that there is, so saying it is allowed. */
static int read_shrink_first(const struct yaml_at *at, void *out, struct err *err)
{
    const char *s;

    (void)out;
    if (yaml_string(at, &s, err))
        return -1;
    return strcmp(s, "highestIndex") == 0 ? 0
                                          : yaml_fail(at, err, "\"%.40s\" must be highestIndex", s);
}

static const struct yaml_field elastic_fields[] = {
    {"step", read_step, 0, false, NULL},
    {"growCooldown", read_duration, offsetof(struct spec_draft, spec.grow_cooldown_us), false,
     NULL},
    {"shrinkFirst", read_shrink_first, 0, false, NULL},
};

static int read_elastic(const struct yaml_at *at, void *out, struct err *err)
{
    return yaml_walk(at, elastic_fields, ARRAY_LEN(elastic_fields), out, err);
}

static int read_lost(const struct yaml_at *at, void *out, struct err *err)
{
    struct spec_draft *d = out;
    uint64_t v;

    if (yaml_u64(at, 1, 1000000, &v, err))
        return -1;
    d->spec.max_lost_gpu_hours = (uint32_t)v;
    return 0;
}

static const struct yaml_field preemption_fields[] = {
    {"policy", read_policy, offsetof(struct spec_draft, spec.preemption_policy), false, NULL},
    {"maxLostGpuHours", read_lost, 0, false, NULL},
    {"movable", read_flag, offsetof(struct spec_draft, spec.is_movable), false, NULL},
};

static int read_preemption(const struct yaml_at *at, void *out, struct err *err)
{
    return yaml_walk(at, preemption_fields, ARRAY_LEN(preemption_fields), out, err);
}

/* true, false, or a number of pods. */
static int read_pdb(const struct yaml_at *at, void *out, struct err *err)
{
    struct spec_draft *d = out;
    const char *s;
    uint64_t v;

    if (at->node->kind != YAML_SCALAR || yaml_string(at, &s, err))
        return yaml_fail(at, err, "is true, false or a number of pods");
    d->spec.has_pdb = d->spec.wants_pdb = true;
    d->spec.min_available = 0;
    if (strchr(s, '%'))
        return yaml_fail(at, err,
                         "\"%.40s\": Kubernetes takes percentages only for pods of its own "
                         "controllers; write a number of pods",
                         s);
    if (*s < '0' || *s > '9')
        return yaml_bool(at, &d->spec.wants_pdb, err);
    if (yaml_u64(at, 1, JOB_PODS_MAX, &v, err))
        return -1;
    d->spec.min_available = (uint32_t)v;
    return 0;
}

static const struct yaml_field disruption_fields[] = {{"pdb", read_pdb, 0, true, NULL}};

static int read_disruption(const struct yaml_at *at, void *out, struct err *err)
{
    return yaml_walk(at, disruption_fields, ARRAY_LEN(disruption_fields), out, err);
}

struct roles {
    const struct spec_draft *draft;
    struct queued_role *v;
    size_t n;
};

static const char *role_name(const struct queued_role *r)
{
    return r->name ? r->name : "worker";
}

static int add_role(const struct yaml_at *at, const char *key, void *out, struct err *err)
{
    struct roles *l = out;
    struct queued_role *r = &l->v[l->n];

    (void)key;
    if (role_read(at, l->draft, r, err))
        return -1;
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(role_name(&l->v[i]), role_name(r)) == 0)
            return yaml_fail(at, err, "a role named %.20s exists already; give each its own name",
                             role_name(r));
    l->n++;
    return 0;
}

static int read_roles(const struct yaml_at *at, void *out, struct err *err)
{
    struct spec_draft *d = out;
    struct roles l = {.draft = d};

    if (at->node->kind != YAML_LIST || at->node->n == 0)
        return yaml_fail(at, err, "must be a list with at least one role");
    if (at->node->n > JOB_ROLES_MAX)
        return yaml_fail(at, err, "has more than %d roles", JOB_ROLES_MAX);
    l.v = arena_alloc(d->arena, at->node->n * sizeof(*l.v));
    if (yaml_each(at, add_role, &l, err))
        return -1;
    d->spec.roles = l.v;
    d->spec.n_roles = l.n;
    return 0;
}

static int read_condition(const struct yaml_at *at, void *out, struct err *err)
{
    static const char *const words[] = {"succeeded", "finished", "started", "failed"};
    const char *s;

    if (yaml_string(at, &s, err))
        return -1;
    *(const char **)out = s;
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (strcmp(words[i], s) == 0)
            return 0;
    return yaml_fail(at, err,
                     "\"%.40s\" is no condition; use succeeded, finished, started or failed", s);
}

static const struct yaml_field dependency_fields[] = {
    {"job", read_text, offsetof(struct queued_pair, key), true, NULL},
    {"condition", read_condition, offsetof(struct queued_pair, value), false, NULL},
};

struct depends {
    struct queued_pair *v;
    size_t n;
};

static int add_dependency(const struct yaml_at *at, const char *key, void *out, struct err *err)
{
    struct depends *l = out;
    struct queued_pair *p = &l->v[l->n++];

    (void)key;
    p->value = "succeeded";
    return yaml_walk(at, dependency_fields, ARRAY_LEN(dependency_fields), p, err);
}

static int read_depends(const struct yaml_at *at, void *out, struct err *err)
{
    struct spec_draft *d = out;
    struct depends l = {0};

    if (at->node->kind != YAML_LIST)
        return yaml_fail(at, err, "must be a list, like [{job: a, condition: succeeded}]");
    if (at->node->n > JOB_DEPENDS_MAX)
        return yaml_fail(at, err, "has more than %d entries", JOB_DEPENDS_MAX);
    l.v = arena_alloc(d->arena, (at->node->n + 1) * sizeof(*l.v));
    if (yaml_each(at, add_dependency, &l, err))
        return -1;
    d->spec.depends_on = l.v;
    d->spec.n_depends_on = l.n;
    return 0;
}

static int read_deadline(const struct yaml_at *at, void *out, struct err *err)
{
    struct spec_draft *d = out;
    struct err why;
    const char *s;
    usec_t t;

    if (yaml_string(at, &s, err))
        return -1;
    if (parse_time(s, &t, &why))
        return yaml_fail(at, err, "%s", why.text);
    if (t <= 0)
        return yaml_fail(at, err, "\"%.40s\" is past; write a time that comes", s);
    d->spec.deadline_us = t;
    return 0;
}

static int add_licence(const struct yaml_at *at, const char *key, void *out, struct err *err)
{
    struct spec_draft *d = out;
    struct queued_amount *v = (struct queued_amount *)d->spec.licences;
    uint64_t amount;

    if (!str_is_dns_label(key, LABEL_MAX, false))
        return yaml_fail(at, err, "\"%.80s\" is no name of a licence", key);
    if (yaml_u64(at, 1, LICENCE_COUNT_MAX, &amount, err))
        return -1;
    v[d->spec.n_licences++] = (struct queued_amount){key, (int64_t)amount};
    return 0;
}

static int read_licences(const struct yaml_at *at, void *out, struct err *err)
{
    struct spec_draft *d = out;

    if (at->node->kind != YAML_MAP)
        return yaml_fail(at, err, "must be a map, like {abaqus: 2}");
    if (at->node->n > LICENCES_MAX)
        return yaml_fail(at, err, "has more than %d entries", LICENCES_MAX);
    d->spec.licences = arena_alloc(d->arena, (at->node->n + 1) * sizeof(*d->spec.licences));
    return yaml_each(at, add_licence, d, err);
}

#define SPEC(field) offsetof(struct spec_draft, spec.field)

static int read_rendezvous_type(const struct yaml_at *at, void *out, struct err *err)
{
    const char *s;

    if (yaml_string(at, &s, err))
        return -1;
    if (strcmp(s, "torch") != 0 && strcmp(s, "mpi") != 0 && strcmp(s, "ray") != 0 &&
        strcmp(s, "none") != 0)
        return yaml_fail(at, err, "\"%.40s\" is none of torch, mpi, ray, none", s);
    *(const char **)out = s;
    return 0;
}

static int read_rendezvous_port(const struct yaml_at *at, void *out, struct err *err)
{
    uint64_t port;

    if (yaml_u64(at, 1, UINT16_MAX, &port, err))
        return -1;
    *(uint32_t *)out = (uint32_t)port;
    return 0;
}

static int read_processes(const struct yaml_at *at, void *out, struct err *err)
{
    const char *s;

    if (yaml_string(at, &s, err))
        return -1;
    if (strcmp(s, "pod") != 0)
        return yaml_fail(at, err, "\"%.40s\" is not pod: one process in each", s);
    *(bool *)out = true;
    return 0;
}

static int read_world_size(const struct yaml_at *at, void *out, struct err *err)
{
    const char *s;

    if (read_word(at, "processes", "nodes", &s, err))
        return -1;
    *(bool *)out = strcmp(s, "nodes") == 0;
    return 0;
}

static int read_rendezvous_backend(const struct yaml_at *at, void *out, struct err *err)
{
    struct spec_draft *d = out;

    d->says_c10d = true;
    return read_default(at, "c10d", err);
}

static const struct yaml_field rendezvous_fields[] = {
    {"type", read_rendezvous_type, SPEC(rendezvous), false, NULL},
    {"port", read_rendezvous_port, SPEC(rendezvous_port), false, NULL},
    {"backend", read_rendezvous_backend, 0, false, NULL},
    {"container", NULL, 0, false, SPEC_LATER},
    {"processes", read_processes, SPEC(is_one_process), false, NULL},
    {"worldSize", read_world_size, SPEC(is_world_of_nodes), false, NULL},
};

static int read_rendezvous(const struct yaml_at *at, void *out, struct err *err)
{
    return yaml_walk(at, rendezvous_fields, ARRAY_LEN(rendezvous_fields), out, err);
}

static int read_end_policy(const struct yaml_at *at, void *out, struct err *err)
{
    const char *s;

    if (yaml_string(at, &s, err))
        return -1;
    if (strcmp(s, "all") != 0 && strcmp(s, "leader") != 0 && strcmp(s, "min") != 0)
        return yaml_fail(at, err, "\"%.40s\" is none of all, leader, min", s);
    *(const char **)out = strcmp(s, "all") == 0 ? NULL : s;
    return 0;
}

static int read_least(const struct yaml_at *at, void *out, struct err *err)
{
    uint64_t v;

    if (yaml_u64(at, 1, JOB_PODS_MAX, &v, err))
        return -1;
    *(uint32_t *)out = (uint32_t)v;
    return 0;
}

static const struct yaml_field completion_fields[] = {
    {"policy", read_end_policy, SPEC(completion), true, NULL},
    {"n", read_least, SPEC(completion_min), false, NULL},
};

static int read_completion(const struct yaml_at *at, void *out, struct err *err)
{
    const struct spec_draft *d = out;
    bool is_min;

    if (yaml_walk(at, completion_fields, ARRAY_LEN(completion_fields), out, err))
        return -1;
    is_min = d->spec.completion && strcmp(d->spec.completion, "min") == 0;
    if (is_min != (d->spec.completion_min > 0))
        return yaml_fail(at, err, "n, the pods that must succeed, goes with policy min");
    return 0;
}

static const struct yaml_field spec_fields[] = {
    {"tenant", read_tenant, 0, false, NULL},
    {"namespace", read_namespace, 0, false, NULL},
    {"submitKey", read_submit_key, 0, false, NULL},
    {"priorityClass", read_text, SPEC(priority_class), false, NULL},
    {"maxRuntime", read_duration, SPEC(max_runtime_us), false, NULL},
    {"maxQueueTime", read_duration, SPEC(max_queue_us), false, NULL},
    {"gang", read_gang, 0, false, NULL},
    {"topology", read_topology, 0, false, NULL},
    {"roles", read_roles, 0, true, NULL},
    {"failurePolicy", read_failure_policy, 0, false, NULL},
    {"checkpoint", read_checkpoint, 0, false, NULL},
    {"preemptible", read_preemptible, 0, false, NULL},
    {"preemption", read_preemption, 0, false, NULL},
    {"hold", read_flag, SPEC(is_held), false, NULL},
    {"startAfter", NULL, 0, false, SPEC_LATER},
    {"deadline", read_deadline, 0, false, NULL},
    {"dependsOn", read_depends, 0, false, NULL},
    {"licences", read_licences, 0, false, NULL},
    {"rendezvous", read_rendezvous, 0, false, NULL},
    {"completion", read_completion, 0, false, NULL},
    {"onPreemption", read_on_preemption, SPEC(on_preemption), false, NULL},
    {"elastic", read_elastic, 0, false, NULL},
    {"array", read_array, 0, false, NULL},
    {"cleanup", read_cleanup, 0, false, NULL},
    {"logs", NULL, 0, false, SPEC_LATER},
    {"disruption", read_disruption, 0, false, NULL},
    {"utilizationPolicy", NULL, 0, false, SPEC_LATER},
    {"notify", NULL, 0, false, SPEC_LATER},
};

static int read_spec(const struct yaml_at *at, void *out, struct err *err)
{
    return yaml_walk(at, spec_fields, ARRAY_LEN(spec_fields), out, err);
}

static const struct yaml_field top_fields[] = {
    {"apiVersion", read_api_version, 0, true, NULL},
    {"kind", read_kind, 0, true, NULL},
    {"metadata", read_metadata, 0, true, NULL},
    {"spec", read_spec, 0, true, NULL},
    {"status", NULL, 0, false, "is written by the daemon; remove it"},
};

static bool is_canonical(const struct yaml_node *root)
{
    return yaml_get(root, "apiVersion") || yaml_get(root, "kind") || yaml_get(root, "metadata") ||
           yaml_get(root, "spec");
}

static int check_pods(const struct yaml_at *at, const struct queued_spec *s, struct err *err)
{
    uint64_t pods = 0;

    for (size_t i = 0; i < s->n_roles; i++)
        pods += s->roles[i].replicas ? s->roles[i].replicas : 1;
    if (pods > JOB_PODS_MAX)
        return yaml_fail(at, err, "%llu pods in all roles together; at most %d are allowed",
                         (unsigned long long)pods, JOB_PODS_MAX);
    return 0;
}

static int check_rendezvous(const struct yaml_at *at, const struct spec_draft *d, struct err *err)
{
    bool is_elastic = false;

    for (size_t i = 0; i < d->spec.n_roles; i++) {
        const struct queued_role *r = &d->spec.roles[i];
        uint32_t replicas = r->replicas ? r->replicas : 1;

        is_elastic |= r->gpus && r->min_replicas && r->min_replicas < replicas;
    }
    if (d->says_c10d && !is_elastic)
        return yaml_fail(at, err,
                         "spec.rendezvous.backend is not acted on by this version but in elastic "
                         "jobs; remove it");
    return 0;
}

/* May the job name its variables as the rendezvous does? It matters before its roles are read. */
static bool has_no_rendezvous(const struct yaml_node *root)
{
    static const char *const path[] = {"spec", "rendezvous", "type"};
    const struct yaml_node *at = root;

    for (size_t i = 0; i < ARRAY_LEN(path) && at; i++)
        at = at->kind == YAML_MAP ? yaml_get(at, path[i]) : NULL;
    return at && at->kind == YAML_SCALAR && strcmp(at->text, "none") == 0;
}

static int read_document(struct yaml_doc *doc, struct yaml_node *root, struct queued_spec *ret,
                         struct err *err)
{
    struct yaml_at at = {doc, root, ""};
    struct spec_draft d = {.arena = &doc->arena, .has_no_rendezvous = has_no_rendezvous(root)};
    int rc;

    if (is_canonical(root))
        rc = yaml_walk(&at, top_fields, ARRAY_LEN(top_fields), &d, err);
    else
        rc = spec_short_read(&at, &d, err);
    if (rc || check_pods(&at, &d.spec, err) || check_rendezvous(&at, &d, err))
        return -1;
    *ret = d.spec;
    return 0;
}

int spec_yaml_load(struct spec_file *ret, struct yaml_doc *doc, struct err *err)
{
    struct spec_file f = {.doc = doc};

    f.specs = arena_alloc(&doc->arena, (doc->n + 1) * sizeof(*f.specs));
    for (size_t i = 0; i < doc->n; i++) {
        if (doc->roots[i]->kind == YAML_NULL)
            continue;
        if (read_document(doc, doc->roots[i], &f.specs[f.n], err))
            goto fail;
        f.n++;
    }
    if (f.n == 0) {
        (void)err_set(err, ERR_INVALID, "%s: no job in it; see queued-job(5) for an example",
                      doc->file);
        goto fail;
    }
    *ret = f;
    return 0;

fail:
    yaml_destroy(doc);
    return -1;
}

void spec_file_fini(struct spec_file *f)
{
    yaml_destroy(f->doc);
    *f = (struct spec_file){0};
}
