/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_update.c - queuectl update, prioritize: waiting jobs ask for something else. */
#include <stdio.h>

#include "change_jobs.h"
#include "cli.h"
#include "spec_yaml.h"
#include "util/mem.h"
#include "util/parse.h"

static void print_updated(const struct queued_changed *j)
{
    (void)printf("job/%s changed (%s)\n", j->name, j->state);
}

static int run(const struct queued_update *update, const char *const *names, size_t n)
{
    struct job_change x = {.update = update, .print = print_updated};
    struct queued_client *c = NULL;
    int rc;

    if (change_format(&x))
        return EXIT_USAGE;
    rc = cli_connect(&c, cli_timeout_ms());
    if (rc == 0)
        rc = change_jobs(&x, c, names, n);
    queued_close(c);
    return rc;
}

/* The options as an update. 0, or the exit code after a message. */
static int read_update(const char *time, const char *topology, struct arena *a,
                       struct queued_update *u)
{
    struct queued_spec wish = {0};
    struct err err;

    if (time && (parse_duration(time, &u->max_runtime_us, &err) || u->max_runtime_us <= 0))
        return cli_usage("update: --max-runtime %s: write a time like 2h or 1d12h", time);
    if (topology && spec_read_topology(topology, a, &wish))
        return cli_usage("update: --topology \"%s\": write " SPEC_TOPOLOGY_FORM, topology);
    u->topology_required = wish.topology_required;
    u->topology_preferred = wish.topology_preferred;
    if (!u->priority_class && !u->tenant && !time && !topology)
        return cli_usage("update: say what to change: --priority-class, --tenant, --max-runtime "
                         "or --topology");
    return 0;
}

int cmd_update(int argc, char **argv)
{
    struct queued_update u = {0};
    const char *time = NULL, *topology = NULL;
    struct arena a = {0};
    const struct cli_option options[] = {
        {"priority-class", 0, OPTION_TEXT, &u.priority_class},
        {"tenant", 0, OPTION_TEXT, &u.tenant},
        {"max-runtime", 0, OPTION_TEXT, &time},
        {"topology", 0, OPTION_TEXT, &topology},
        {"reason", 0, OPTION_TEXT, &u.reason},
    };
    int first, rc = cli_parse(&(struct cli_options){"update", options, ARRAY_LEN(options)}, argc,
                              argv, &first);

    if (rc)
        return rc - 1;
    if (first >= argc)
        return cli_usage("update: name the jobs; 'queuectl list' shows them");
    rc = read_update(time, topology, &a, &u);
    if (rc == 0)
        rc = run(&u, (const char *const *)&argv[first], (size_t)(argc - first));
    arena_fini(&a);
    return rc;
}

int cmd_prioritize(int argc, char **argv)
{
    struct queued_update u = {0};
    const struct cli_option options[] = {{"reason", 0, OPTION_TEXT, &u.reason}};
    int first, rc = cli_parse(&(struct cli_options){"prioritize", options, ARRAY_LEN(options)},
                              argc, argv, &first);

    if (rc)
        return rc - 1;
    if (argc - first < 2)
        return cli_usage("prioritize: name the jobs and then their new class, as in "
                         "'queuectl prioritize JOB low'");
    u.priority_class = argv[argc - 1];
    return run(&u, (const char *const *)&argv[first], (size_t)(argc - first - 1));
}
