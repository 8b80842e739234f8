/* SPDX-License-Identifier: Apache-2.0 */
/* node_objects.c - paths from the root of the tree, and files read whole. */
#include "node_objects.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/mem.h"
#include "util/str.h"

char *recording_read(const char *dir, const char *name)
{
    char *path = xasprintf("%s/%s", dir, name);
    FILE *f = fopen(path, "r");
    struct str text = {0};
    char buf[4096];
    size_t n;

    if (!f) {
        fprintf(stderr, "RECORDING MISSING: %s (run from the root of the tree)\n", path);
        abort();
    }
    do {
        n = fread(buf, 1, sizeof(buf), f);
        str_add_bytes(&text, buf, n);
    } while (n);
    (void)fclose(f);
    free(path);
    return str_take(&text);
}

char *node_objects_dir(void)
{
    const char *shared = getenv("QUEUED_SHARED");
    char *dir = xasprintf("%s/data/nodes", shared ? shared : "../shared");
    char *index = xasprintf("%s/index.tsv", dir);
    bool is_here = !access(index, R_OK);

    free(index);
    if (is_here)
        return dir;
    printf("SKIPPED: node objects of %s are not here, only those of " OWN_NODES " are read\n", dir);
    (void)fflush(stdout);
    free(dir);
    return NULL;
}
