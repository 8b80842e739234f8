/* SPDX-License-Identifier: Apache-2.0 */
/* cli_options.c - tables of options over getopt_long, and the options that every command has.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "print_path.h"
#include "util/mem.h"
#include "util/parse.h"
#include "util/str.h"

enum { OPTIONS_MAX = 32, CODE_BASE = 1000 };

/* The common options, set once per process. */
static struct {
    const char *endpoint;
    const char *timeout;
    const char *color;
    const char *output;
    bool help;
    uint64_t timeout_ms;
    const char *template, *columns; /* of output */
} common;

static const struct cli_option common_options[] = {
    {"endpoint", 0, OPTION_TEXT, &common.endpoint}, {"timeout", 0, OPTION_TEXT, &common.timeout},
    {"color", 0, OPTION_TEXT, &common.color},       {"output", 'o', OPTION_TEXT, &common.output},
    {"help", 'h', OPTION_FLAG, &common.help},
};

/* What getopt_long wants, made of both tables. */
struct parser {
    const struct cli_option *all[OPTIONS_MAX];
    struct option longs[OPTIONS_MAX + 1];
    char shorts[2 * OPTIONS_MAX + 2];
    size_t n;
};

static void add_option(struct parser *p, const struct cli_option *o)
{
    size_t len = strlen(p->shorts);

    if (p->n == OPTIONS_MAX)
        abort(); /* a table of ours is too long */
    p->longs[p->n] = (struct option){
        .name = o->name,
        .has_arg = o->kind == OPTION_FLAG    ? no_argument
                   : o->kind == OPTION_MAYBE ? optional_argument
                                             : required_argument,
        .val = CODE_BASE + (int)p->n,
    };
    p->all[p->n++] = o;
    if (!o->letter)
        return;
    p->shorts[len] = o->letter;
    if (o->kind != OPTION_FLAG)
        p->shorts[len + 1] = ':';
}

static const struct cli_option *option_of(const struct parser *p, int code)
{
    if (code >= CODE_BASE)
        return p->all[code - CODE_BASE];
    for (size_t i = 0; i < p->n; i++)
        if (p->all[i]->letter == (char)code)
            return p->all[i];
    return NULL;
}

static void store(const struct cli_option *o, const char *value)
{
    struct cli_texts *texts = o->out;

    if (o->kind == OPTION_FLAG)
        *(bool *)o->out = true;
    else if (o->kind == OPTION_REPEATED)
        *vec_push(texts) = value;
    else
        *(const char **)o->out = value ? value : "";
}

static int fail_option(const char *command, const struct parser *p, char **argv)
{
    const char *names[OPTIONS_MAX];
    const char *given = optind > 0 ? argv[optind - 1] : "";
    const char *near;

    for (size_t i = 0; i < p->n; i++)
        names[i] = p->longs[i].name;
    near = strncmp(given, "--", 2) == 0 ? str_nearest(given + 2, names, p->n) : NULL;
    if (optopt >= CODE_BASE)
        return cli_usage("%s: --%s has a wrong value; see queuectl %s --help", command,
                         p->longs[optopt - CODE_BASE].name, command);
    if (near)
        return cli_usage("%s: there is no option %s; did you mean --%s?", command, given, near);
    if (optopt)
        return cli_usage("%s: -%c is no option, or its value is missing; see queuectl %s --help",
                         command, optopt, command);
    return cli_usage("%s: there is no option %s; see queuectl %s --help", command, given, command);
}

static int check_common(const char *command)
{
    struct err err;
    usec_t t;

    if (common.color && strcmp(common.color, "never") != 0 && strcmp(common.color, "auto") != 0 &&
        strcmp(common.color, "always") != 0)
        return cli_usage("%s: --color %s: write auto, always or never", command, common.color);
    if (!common.timeout)
        return 0;
    if (parse_duration(common.timeout, &t, &err))
        return cli_usage("%s: --timeout: %s", command, err.text);
    if (t < USEC_PER_MSEC || t / USEC_PER_MSEC > UINT32_MAX)
        return cli_usage("%s: --timeout %s: write 1ms to 7w", command, common.timeout);
    common.timeout_ms = (uint64_t)(t / USEC_PER_MSEC);
    return 0;
}

static const struct cli_command *this_command(const char *name)
{
    for (size_t i = 0; i < cli_n_commands; i++)
        if (strcmp(cli_commands[i].name, name) == 0)
            return &cli_commands[i];
    return NULL;
}

/* "job/NAME", as other commands write it, is NAME. */
static void strip_kind(const char *command, int argc, char **argv)
{
    const char *kind = cli_operands(command);
    size_t len = strlen(kind);

    for (int i = optind; i < argc; i++)
        if (strncmp(argv[i], kind, len) == 0)
            argv[i] += len;
}

/* Was a long option written out? Half of one may be the whole of another command's, like --time. */
static bool is_whole(const struct cli_option *o, char **argv)
{
    const char *given = argv[optind - (optarg && optarg == argv[optind - 1] ? 2 : 1)];

    return strcspn(given, "=") == strlen("--") + strlen(o->name);
}

int cli_parse(const struct cli_options *options, int argc, char **argv, int *ret_first)
{
    const char *command = options->command;
    struct parser p = {0};
    int code;

    for (size_t i = 0; i < options->n; i++)
        add_option(&p, &options->v[i]);
    for (size_t i = 0; i < ARRAY_LEN(common_options); i++)
        add_option(&p, &common_options[i]);
    opterr = 0;
    for (code = getopt_long(argc, argv, p.shorts, p.longs, NULL); code != -1;
         code = getopt_long(argc, argv, p.shorts, p.longs, NULL)) {
        const struct cli_option *o = option_of(&p, code);

        if (!o)
            return 1 + fail_option(command, &p, argv);
        if (code >= CODE_BASE && !is_whole(o, argv))
            return 1 +
                   cli_usage("%s: options are written out: did you mean --%s?", command, o->name);
        store(o, optarg);
    }
    if (common.help && this_command(command))
        return 1 + cmd_help(2, (char *[]){argv[0], argv[0]});
    *ret_first = optind;
    strip_kind(command, argc, argv);
    code = check_common(command);
    return code ? 1 + code : 0;
}

const char *cli_template(void)
{
    return common.template;
}

const char *cli_columns(void)
{
    return common.columns;
}

/* 1: -o asks for a part of JSON; -1 after a message; 0: for something else. */
static int take_part(const char *wish)
{
    static const char path[] = "jsonpath=", columns[] = "custom-columns=";
    struct err err;

    if (strncmp(wish, path, sizeof(path) - 1) == 0) {
        common.template = wish + sizeof(path) - 1;
        if (path_check(common.template, &err) == 0)
            return 1;
    } else if (strncmp(wish, columns, sizeof(columns) - 1) == 0) {
        common.columns = wish + sizeof(columns) - 1;
        if (path_check_columns(common.columns, &err) == 0)
            return 1;
    } else {
        return 0;
    }
    (void)cli_usage("-o %.16s...: %s", wish, err.text);
    return -1;
}

int cli_format(unsigned allowed, enum cli_format *ret)
{
    static const char *const names[] = {
        [FORMAT_TABLE] = "table", [FORMAT_WIDE] = "wide", [FORMAT_JSON] = "json",
        [FORMAT_YAML] = "yaml",   [FORMAT_NAME] = "name", [FORMAT_JSONL] = "jsonl",
        [FORMAT_CSV] = "csv",
    };
    const char *wish = common.output ? common.output : getenv("QUEUED_OUTPUT");
    struct str known = {0};
    int part;

    *ret = FORMAT_TABLE;
    if (!wish || !*wish)
        return 0;
    part = allowed & 1u << FORMAT_JSON ? take_part(wish) : 0;
    if (part) {
        *ret = FORMAT_JSON;
        return part > 0 ? 0 : -1;
    }
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (!(allowed & 1u << i))
            continue;
        str_addf(&known, "%s%s", known.len ? ", " : "", names[i]);
        if (strcmp(names[i], wish) == 0) {
            *ret = (enum cli_format)i;
            str_fini(&known);
            return 0;
        }
    }
    if (allowed & 1u << FORMAT_JSON)
        str_add(&known, ", jsonpath=..., custom-columns=...");
    if (common.output)
        (void)cli_usage("-o %s: this command writes %s", wish, str_text(&known));
    str_fini(&known);
    return common.output ? -1 : 0; /* $QUEUED_OUTPUT is a wish, -o an order */
}

uint64_t cli_timeout_ms(void)
{
    return common.timeout_ms;
}

bool cli_use_color(void)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

    if (common.color && strcmp(common.color, "auto") != 0)
        return strcmp(common.color, "always") == 0;
    if ((no_color && *no_color) || !term || strcmp(term, "dumb") == 0)
        return false;
    return isatty(STDOUT_FILENO) == 1;
}

void cli_texts_fini(struct cli_texts *t)
{
    vec_fini(t);
}

int cli_connect(struct queued_client **ret, uint64_t timeout_ms)
{
    struct queued_options o = {.endpoint = common.endpoint};
    struct queued_error e;

    o.connect_ms = (uint32_t)timeout_ms;
    o.call_ms = (uint32_t)timeout_ms;
    return queued_connect(ret, &o, &e) ? cli_error(&e) : 0;
}

int cli_pairs(struct cli_texts *texts, struct queued_pair **ret, size_t *ret_n, struct arena *a)
{
    VEC(struct queued_pair) pairs = {0};
    size_t n;

    for (size_t i = 0; i < texts->n; i++) {
        char *rest = arena_strdup(a, texts->v[i]);

        if (texts->v[i][strspn(texts->v[i], ",")] == '\0') { /* it would select everything */
            vec_fini(&pairs);
            (void)cli_usage("\"%s\": write KEY=VALUE", texts->v[i]);
            return -1;
        }
        for (char *one = strtok_r(rest, ",", &rest); one; one = strtok_r(NULL, ",", &rest)) {
            char *equals = strchr(one, '=');

            if (!equals || equals == one) {
                vec_fini(&pairs);
                (void)cli_usage("\"%s\": write KEY=VALUE", one);
                return -1;
            }
            *equals = '\0';
            *vec_push(&pairs) = (struct queued_pair){one, equals + 1};
        }
    }
    n = pairs.n;
    *ret = arena_alloc(a, (n + 1) * sizeof(**ret));
    if (n)
        memcpy(*ret, pairs.v, n * sizeof(**ret));
    *ret_n = n;
    vec_fini(&pairs);
    return 0;
}
