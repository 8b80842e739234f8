/* SPDX-License-Identifier: Apache-2.0 */
/* spec_volume.c - the volumes of a role: {name, pvc: CLAIM, mountPath} or "CLAIM:/path[:ro]".
 *
 * Exactly one source each; names and mount paths are unique in the role.
 */
#include <assert.h>
#include <string.h>

#include "spec/limits.h"
#include "spec_read.h"
#include "util/mem.h"
#include "util/str.h"

static int set_source(const struct yaml_at *at, struct queued_volume *v,
                      enum queued_volume_kind kind, struct err *err)
{
    if (v->kind)
        return yaml_fail(at, err, "a volume has one source; split it into two volumes");
    v->kind = kind;
    return 0;
}

int read_object_name(const struct yaml_at *at, void *out, struct err *err)
{
    const char *s;

    if (yaml_string(at, &s, err))
        return -1;
    if (!str_is_dns_subdomain(s))
        return yaml_fail(at, err, "\"%.60s\" is no name of an object in Kubernetes", s);
    *(const char **)out = s;
    return 0;
}

static int read_named(const struct yaml_at *at, struct queued_volume *v,
                      enum queued_volume_kind kind, struct err *err)
{
    return set_source(at, v, kind, err) || read_object_name(at, &v->source, err) ? -1 : 0;
}

static int read_pvc(const struct yaml_at *at, void *out, struct err *err)
{
    return read_named(at, out, QUEUED_VOLUME_PVC, err);
}

static int read_config_map(const struct yaml_at *at, void *out, struct err *err)
{
    return read_named(at, out, QUEUED_VOLUME_CONFIG_MAP, err);
}

static int read_secret(const struct yaml_at *at, void *out, struct err *err)
{
    return read_named(at, out, QUEUED_VOLUME_SECRET, err);
}

static int read_medium(const struct yaml_at *at, void *out, struct err *err)
{
    const char *s;

    if (yaml_string(at, &s, err))
        return -1;
    if (*s && strcmp(s, "Memory") != 0)
        return yaml_fail(at, err, "\"%.40s\" is no medium; use Memory or remove it", s);
    *(bool *)out = *s != '\0';
    return 0;
}

static const struct yaml_field empty_dir_fields[] = {
    {"sizeLimit", read_bytes, offsetof(struct queued_volume, size_bytes), false, NULL},
    {"medium", read_medium, offsetof(struct queued_volume, is_in_memory), false, NULL},
};

static int read_empty_dir(const struct yaml_at *at, void *out, struct err *err)
{
    if (set_source(at, out, QUEUED_VOLUME_EMPTY_DIR, err))
        return -1;
    return yaml_walk(at, empty_dir_fields, ARRAY_LEN(empty_dir_fields), out, err);
}

static const struct yaml_field nfs_fields[] = {
    {"server", read_text, offsetof(struct queued_volume, source), true, NULL},
    {"path", read_path, offsetof(struct queued_volume, path), true, NULL},
    {"readOnly", NULL, 0, false, "write readOnly beside mountPath"},
};

static int read_nfs(const struct yaml_at *at, void *out, struct err *err)
{
    if (set_source(at, out, QUEUED_VOLUME_NFS, err))
        return -1;
    return yaml_walk(at, nfs_fields, ARRAY_LEN(nfs_fields), out, err);
}

static int read_sub_path(const struct yaml_at *at, void *out, struct err *err)
{
    const char *s;

    if (read_text(at, &s, err))
        return -1;
    if (*s == '/' || strstr(s, ".."))
        return yaml_fail(at, err, "must be relative and without \"..\"");
    *(const char **)out = s;
    return 0;
}

static const struct yaml_field volume_fields[] = {
    {"name", read_level, offsetof(struct queued_volume, name), true, NULL},
    {"mountPath", read_path, offsetof(struct queued_volume, mount_path), true, NULL},
    {"readOnly", read_flag, offsetof(struct queued_volume, is_read_only), false, NULL},
    {"pvc", read_pvc, 0, false, NULL},
    {"configMap", read_config_map, 0, false, NULL},
    {"secret", read_secret, 0, false, NULL},
    {"emptyDir", read_empty_dir, 0, false, NULL},
    {"nfs", read_nfs, 0, false, NULL},
    {"hostPath", NULL, 0, false, SPEC_LATER},
    {"subPath", read_sub_path, offsetof(struct queued_volume, sub_path), false, NULL},
};

struct volumes {
    struct arena *arena;
    struct queued_volume *v;
    size_t n;
};

static bool has_name(const struct volumes *l, const char *name)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->v[i].name && strcmp(l->v[i].name, name) == 0)
            return true;
    return false;
}

/* The claim's name where it can be one, else volume-0, volume-1 ... */
static const char *make_name(const struct volumes *l, const char *claim)
{
    char buf[32] = "volume-";

    if (str_is_dns_label(claim, LABEL_MAX, false) && !has_name(l, claim))
        return claim;
    buf[7] = (char)('0' + l->n / 10);
    buf[8] = (char)('0' + l->n % 10);
    return arena_strdup(l->arena, buf);
}

/* "CLAIM:/path[:ro]" */
static int read_short(const struct yaml_at *at, const struct volumes *l, struct queued_volume *v,
                      struct err *err)
{
    const char *text = at->node->text;
    size_t claim_len = strcspn(text, ":");
    const char *path = text + claim_len + (text[claim_len] == ':');
    size_t path_len = strcspn(path, ":");
    const char *rest = path + path_len;

    v->source = arena_strndup(l->arena, text, claim_len);
    v->mount_path = arena_strndup(l->arena, path, path_len);
    if (!str_is_dns_subdomain(v->source) || v->mount_path[0] != '/' ||
        (*rest && strcmp(rest, ":ro") != 0))
        return yaml_fail(at, err, "\"%.80s\" is no volume; write CLAIM:/path or CLAIM:/path:ro",
                         text);
    v->kind = QUEUED_VOLUME_PVC;
    v->is_read_only = *rest != '\0';
    v->name = make_name(l, v->source);
    return 0;
}

static int add_volume(const struct yaml_at *at, const char *key, void *out, struct err *err)
{
    struct volumes *l = out;
    struct queued_volume v = {0};
    int rc;

    (void)key;
    if (at->node->kind == YAML_SCALAR)
        rc = read_short(at, l, &v, err);
    else
        rc = yaml_walk(at, volume_fields, ARRAY_LEN(volume_fields), &v, err);
    if (rc)
        return -1;
    if (!v.kind && yaml_get(at->node, "emptyDir"))
        v.kind = QUEUED_VOLUME_EMPTY_DIR; /* "emptyDir:" with nothing after it */
    if (!v.kind)
        return yaml_fail(at, err, "has no source; add pvc, configMap, secret, emptyDir or nfs");
    assert(v.name && v.mount_path); /* both forms demand them */
    if (has_name(l, v.name))
        return yaml_fail(at, err, "a volume %.63s exists already; choose another name", v.name);
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->v[i].mount_path, v.mount_path) == 0)
            return yaml_fail(at, err, "%.80s is mounted twice; choose another mountPath",
                             v.mount_path);
    l->v[l->n++] = v;
    return 0;
}

int read_volumes(const struct yaml_at *at, void *draft, struct err *err)
{
    struct role_draft *d = draft;
    struct volumes l = {.arena = d->arena};

    if (at->node->kind != YAML_LIST)
        return yaml_fail(at, err, "must be a list, like [\"CLAIM:/path:ro\"]");
    if (at->node->n > ROLE_VOLUMES_MAX)
        return yaml_fail(at, err, "has more than %d entries", ROLE_VOLUMES_MAX);
    l.v = arena_alloc(d->arena, (at->node->n + 1) * sizeof(*l.v));
    if (yaml_each(at, add_volume, &l, err))
        return -1;
    d->role.volumes = l.v;
    d->role.n_volumes = l.n;
    return 0;
}
