/* SPDX-License-Identifier: Apache-2.0 */
/* spec_short.c - the short form of a job file: flat keys, one implied role.
 *
 * Expands to the same spec as the canonical form; keys of the canonical form are answered with the
 * short one that is meant.
 */
#include <string.h>

#include "spec/limits.h"
#include "spec_read.h"
#include "spec_yaml.h"
#include "util/mem.h"
#include "util/str.h"

/* The role comes after the job, so that one table serves both with offsets. */
struct short_draft {
    struct spec_draft job;
    struct role_draft role;
};

/* One word of "required:block preferred:rack". */
static int read_wish(char *word, struct queued_spec *s)
{
    char *colon = strchr(word, ':');
    const char **slot;

    if (!colon || colon[1] == '\0')
        return -1;
    *colon = '\0';
    slot = strcmp(word, "required") == 0    ? &s->topology_required
           : strcmp(word, "preferred") == 0 ? &s->topology_preferred
                                            : NULL;
    if (!slot || *slot || !str_is_dns_label(colon + 1, LABEL_MAX, false))
        return -1;
    *slot = colon + 1;
    return 0;
}

int spec_read_topology(const char *text, struct arena *arena, struct queued_spec *s)
{
    char *word, *rest = arena_strdup(arena, text);

    if (strcmp(text, "any") == 0) {
        s->topology_preferred = "any";
        return 0;
    }
    for (word = strtok_r(rest, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        if (read_wish(word, s))
            return -1;
    return s->topology_required || s->topology_preferred ? 0 : -1;
}

static int read_topology(const struct yaml_at *at, void *draft, struct err *err)
{
    struct short_draft *d = draft;
    const char *text;

    if (yaml_string(at, &text, err))
        return -1;
    if (spec_read_topology(text, d->job.arena, &d->job.spec))
        return yaml_fail(at, err, "\"%.60s\" is no topology; write " SPEC_TOPOLOGY_FORM, text);
    return 0;
}

static int read_run(const struct yaml_at *at, void *draft, struct err *err)
{
    struct short_draft *d = draft;
    const char **v = arena_alloc(d->role.arena, 3 * sizeof(*v));

    v[0] = "/bin/sh";
    v[1] = "-c";
    if (read_text(at, &v[2], err))
        return -1;
    d->role.role.command = v;
    d->role.role.n_command = 3;
    return 0;
}

#define JOB  offsetof(struct short_draft, job)
#define ROLE offsetof(struct short_draft, role)

static const struct yaml_field fields[] = {
    {"name", read_job_name, JOB, true, NULL},
    {"tenant", read_tenant, JOB, false, NULL},
    {"nodes", read_replicas, ROLE, false, NULL},
    {"gpus", read_gpus, ROLE, false, NULL},
    {"gpuModel", read_gpu_models, ROLE, false, NULL},
    {"cpu", read_cpu, offsetof(struct short_draft, role.role.cpu_milli), false, NULL},
    {"memory", read_bytes, offsetof(struct short_draft, role.role.memory_bytes), false, NULL},
    {"shm", read_bytes, offsetof(struct short_draft, role.role.shm_bytes), false, NULL},
    {"time", read_duration, offsetof(struct short_draft, job.spec.max_runtime_us), false, NULL},
    {"topology", read_topology, 0, false, NULL},
    {"image", read_text, offsetof(struct short_draft, role.role.image), true, NULL},
    {"workdir", read_path, offsetof(struct short_draft, role.role.working_dir), false, NULL},
    {"env", read_env_map, ROLE, false, NULL},
    {"volumes", read_volumes, ROLE, false, NULL},
    {"checkpoint", read_checkpoint, JOB, false, NULL},
    {"labels", read_labels, JOB, false, NULL},
    {"priority", read_text, offsetof(struct short_draft, job.spec.priority_class), false, NULL},
    {"preemptible", read_preemptible, JOB, false, NULL},
    {"key", read_submit_key, JOB, false, NULL},
    {"run", read_run, 0, false, NULL},
    {"replicas", NULL, 0, false, "is written nodes in the short form"},
    {"maxRuntime", NULL, 0, false, "is written time in the short form"},
    {"workingDir", NULL, 0, false, "is written workdir in the short form"},
    {"priorityClass", NULL, 0, false, "is written priority in the short form"},
    {"submitKey", NULL, 0, false, "is written key in the short form"},
    {"command", NULL, 0, false, "is written run in the short form"},
    {"metadata", NULL, 0, false, "belongs to the canonical form; add apiVersion and kind"},
    {"spec", NULL, 0, false, "belongs to the canonical form; add apiVersion and kind"},
    {"roles", NULL, 0, false, "belongs to the canonical form; add apiVersion, kind and spec"},
};

int spec_short_read(const struct yaml_at *at, struct spec_draft *d, struct err *err)
{
    struct short_draft s = {.job = *d, .role = {.arena = d->arena}};
    struct queued_role *role;

    if (yaml_walk(at, fields, ARRAY_LEN(fields), &s, err))
        return -1;
    role = arena_alloc(d->arena, sizeof(*role));
    *role = s.role.role;
    *d = s.job;
    d->spec.roles = role;
    d->spec.n_roles = 1;
    return 0;
}
