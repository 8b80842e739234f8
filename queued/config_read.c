/* SPDX-License-Identifier: Apache-2.0 */
/* config_read.c - readers of single values of the configuration. */
#include "config_read.h"

#include <string.h>

#include "util/parse.h"
#include "util/str.h"

bool is_label(const char *s)
{
    return str_is_dns_label(s, LABEL_MAX, false);
}

bool is_label_key(const char *s)
{
    size_t len = strlen(s);
    size_t name = strcspn(s, "/");

    name = s[name] ? len - name - 1 : len;
    return len <= LABEL_KEY_MAX && name > 0 && name <= LABEL_MAX && s[0] != '/' &&
           strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./") == len;
}

static bool is_absolute(const char *s)
{
    return s[0] == '/' && s[1];
}

static bool is_user_name(const char *s)
{
    return *s && strlen(s) <= USER_NAME_MAX && !strpbrk(s, " \t\n\"'\\/:");
}

int config_read_text(const struct yaml_at *at, char *dst, struct text_list *form, struct err *err)
{
    const char *s;

    if (yaml_string(at, &s, err))
        return -1;
    if (strlen(s) >= form->size || (form->is_good && !form->is_good(s)))
        return yaml_fail(at, err, "\"%.80s\" is not %s", s, form->form);
    memcpy(dst, s, strlen(s) + 1);
    return 0;
}

int config_read_path(const struct yaml_at *at, void *out, struct err *err)
{
    return config_read_text(at, out,
                            &(struct text_list){.size = CONFIG_PATH_MAX + 1,
                                                .is_good = is_absolute,
                                                .form = "an absolute path of at most 255 bytes"},
                            err);
}

int config_read_user(const struct yaml_at *at, void *out, struct err *err)
{
    return config_read_text(at, out,
                            &(struct text_list){.size = USER_NAME_MAX + 1,
                                                .is_good = is_user_name,
                                                .form = "a user name"},
                            err);
}

int config_read_label(const struct yaml_at *at, void *out, struct err *err)
{
    return config_read_text(at, out,
                            &(struct text_list){.size = LABEL_MAX + 1,
                                                .is_good = is_label,
                                                .form = "a DNS label (a-z, 0-9, -; at most 63)"},
                            err);
}

static int read_item(const struct yaml_at *item, const char *key, void *out, struct err *err)
{
    struct text_list *list = out;
    char *dst = list->first + *list->n * list->size;

    (void)key; /* lists have none */
    if (*list->n == list->max)
        return yaml_fail(item, err, "at most %u entries are allowed here", list->max);
    if (config_read_text(item, dst, list, err))
        return -1;
    for (uint32_t i = 0; i < *list->n; i++)
        if (strcmp(list->first + i * list->size, dst) == 0)
            return yaml_fail(item, err, "\"%.80s\" is listed twice; remove one", dst);
    (*list->n)++;
    return 0;
}

int config_read_list(const struct yaml_at *at, struct text_list *list, struct err *err)
{
    if (at->node->kind != YAML_LIST)
        return yaml_fail(at, err, "expected a list; write [...]");
    return yaml_each(at, read_item, list, err);
}

int config_read_duration(const struct yaml_at *at, void *out, struct err *err)
{
    const char *s;
    usec_t d;
    struct err why;

    if (yaml_string(at, &s, err))
        return -1;
    if (parse_duration(s, &d, &why))
        return yaml_fail(at, err, "%s", why.text);
    if (d < USEC_PER_SEC)
        return yaml_fail(at, err, "must be at least 1s");
    *(usec_t *)out = d;
    return 0;
}

int config_read_bool(const struct yaml_at *at, void *out, struct err *err)
{
    return yaml_bool(at, out, err);
}
