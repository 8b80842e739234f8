/* SPDX-License-Identifier: Apache-2.0 */
/* plugin_dir.c - credential plugins as shell scripts in a folder of their own. */
#include "plugin_dir.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/mem.h"

enum { GET_BYTES = 4096, PATHS = 4 };

static char dir[64];

void plugin_dir_init(void)
{
    (void)snprintf(dir, sizeof(dir), "/tmp/queued-test-plugin-XXXXXX");
    if (!mkdtemp(dir))
        abort(); /* no test without it */
}

void plugin_dir_fini(void)
{
    DIR *d = opendir(dir);
    const struct dirent *entry = d ? readdir(d) : NULL;

    for (; entry; entry = readdir(d))
        (void)unlink(plugin_path(entry->d_name)); /* which fails for "." and ".." */
    if (d)
        (void)closedir(d);
    (void)rmdir(dir);
}

const char *plugin_path(const char *name)
{
    static char paths[PATHS][320];
    static unsigned next;
    char *path = paths[next++ % PATHS];

    (void)snprintf(path, sizeof(paths[0]), "%s/%s", dir, name);
    return path;
}

void plugin_put(const char *name, const char *text, unsigned mode)
{
    char fresh[340];
    FILE *f;

    (void)snprintf(fresh, sizeof(fresh), "%s.new", plugin_path(name));
    f = fopen(fresh, "we");
    if (!f || fputs(text, f) < 0 || fclose(f) || chmod(fresh, mode) ||
        rename(fresh, plugin_path(name)))
        abort(); /* no test without it */
}

const char *plugin_get(const char *name)
{
    static char text[GET_BYTES];
    FILE *f = fopen(plugin_path(name), "re");
    size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

    if (f)
        (void)fclose(f); /* only read */
    text[n] = '\0';
    return text;
}

void plugin_config(struct kube_config *ret, const char *body, const char *more)
{
    char *script = xasprintf("#!/bin/sh\ncd %s || exit 9\n%s", dir, body);
    char *text = xasprintf("current-context: c\nclusters: [{name: s, cluster: {server: "
                           "'https://h'}}]\ncontexts: [{name: c, context: {cluster: s, user: u}}]\n"
                           "users: [{name: u, user: {exec: {command: ./plugin, apiVersion: "
                           "" PLUGIN_V1 ", interactiveMode: Never%s}}}]\n",
                           more);
    struct err err = {0};

    plugin_put("plugin", script, 0700);
    plugin_put("config", text, 0600);
    if (kube_config_load(ret, plugin_path("config"), &err)) {
        (void)fprintf(stderr, "%s\n", err.text);
        abort();
    }
    free(script);
    free(text);
}
