/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_version.c - queuectl version: of this program, and of the daemon with who it takes us for.
 */
#include <stdio.h>

#include "cli.h"
#include "util/mem.h"

static void print_text(const struct queued_server *s, const char *endpoint)
{
    (void)printf("queuectl  %s\n", queued_version());
    if (!s)
        return;
    (void)printf("queued    %s at %s\n", s->version ? s->version : "unknown", endpoint);
    (void)printf("you       %s%s\n", s->user ? s->user : "unknown", s->is_admin ? ", admin" : "");
    (void)printf("cluster   %s%s%s\n",
                 !s->is_cluster_up ? "not reachable"
                 : s->is_synced    ? "reachable"
                                   : "reachable, not all nodes and pods are read yet",
                 s->cluster_trouble && *s->cluster_trouble ? ": " : "",
                 s->cluster_trouble ? s->cluster_trouble : "");
}

static void print_document(const struct queued_server *s, const char *endpoint,
                           enum cli_format format)
{
    struct arena a = {0};
    struct document *d = document_map(&a), *part, *tenants;

    document_put_text(&a, d, "apiVersion", "gang.queued/v1");
    document_put_text(&a, d, "kind", "Version");
    part = document_put_map(&a, d, "client");
    document_put_text(&a, part, "version", queued_version());
    if (s) {
        part = document_put_map(&a, d, "server");
        document_put_text(&a, part, "version", s->version);
        document_put_text(&a, part, "endpoint", endpoint);
        document_put_text(&a, part, "user", s->user);
        document_put_bool(&a, part, "admin", s->is_admin);
        document_put_bool(&a, part, "clusterUp", s->is_cluster_up);
        document_put_bool(&a, part, "synced", s->is_synced);
        document_put_text(&a, part, "clusterTrouble", s->cluster_trouble);
        tenants = document_put_list(&a, part, "tenants");
        for (size_t i = 0; i < s->n_tenants; i++)
            document_add(&a, tenants, document_text(&a, s->tenants[i]));
    }
    cli_print(d, format);
    arena_fini(&a);
}

int cmd_version(int argc, char **argv)
{
    bool only_client = false;
    const struct cli_option options[] = {{"client", 0, OPTION_FLAG, &only_client}};
    const struct queued_server *server = NULL;
    struct queued_client *c = NULL;
    enum cli_format format;
    int first, rc = cli_parse(&(struct cli_options){"version", options, ARRAY_LEN(options)}, argc,
                              argv, &first);

    if (rc)
        return rc - 1;
    if (first < argc)
        return cli_usage("version: unexpected \"%s\"", argv[first]);
    if (cli_format(1u << FORMAT_TABLE | 1u << FORMAT_JSON | 1u << FORMAT_YAML, &format))
        return EXIT_USAGE;
    if (!only_client)
        rc = cli_connect(&c, cli_timeout_ms()); /* its own version is told anyway */
    if (c)
        server = queued_server(c);
    if (format == FORMAT_TABLE)
        print_text(server, c ? queued_endpoint(c) : "");
    else
        print_document(server, c ? queued_endpoint(c) : "", format);
    queued_close(c);
    return rc;
}
