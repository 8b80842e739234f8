/* SPDX-License-Identifier: Apache-2.0 */
/* reconfig.c - looks at the file, reads it, and hands its settings to the core as an event. */
#include "reconfig.h"

#include <inttypes.h>
#include <string.h>

#include "config_doubts.h"
#include "notify.h"
#include "util/log.h"
#include "util/str.h"

static struct file_mark mark_of(const char *path)
{
    struct file_mark m = {0};
    struct stat st;

    if (stat(path, &st) == 0)
        m = (struct file_mark){st.st_dev, st.st_ino, st.st_size, st.st_mtim};
    return m;
}

static bool is_same(const struct file_mark *a, const struct file_mark *b)
{
    return a->dev == b->dev && a->ino == b->ino && a->size == b->size &&
           a->at.tv_sec == b->at.tv_sec && a->at.tv_nsec == b->at.tv_nsec;
}

void reconfig_init(struct reconfig *r, const char *path, struct config *boot, struct inbox *inbox)
{
    *r = (struct reconfig){.path = path, .inbox = inbox, .boot = boot, .now = boot};
    r->read = r->seen = mark_of(path);
}

void reconfig_fini(struct reconfig *r)
{
    config_changes_fini(&r->changes);
    config_destroy(r->next);
    if (r->now != r->boot)
        config_destroy(r->now);
    config_destroy(r->boot);
}

/* Names those that need a restart. */
static int check_changes(const struct reconfig *r, struct err *err)
{
    struct str paths = {0};

    if (r->changes.n_restart == 0)
        return 0;
    for (size_t i = 0; i < r->changes.list.n; i++)
        if (r->changes.list.v[i].needs_restart)
            str_addf(&paths, "%s%s", paths.len ? ", " : "", r->changes.list.v[i].path);
    err_set(err, ERR_INVALID,
            "%s: %.400s: read at the start only; restart to take the file over, or put it back",
            r->path, str_text(&paths));
    str_fini(&paths);
    return -1;
}

static void refuse(struct reconfig *r, const struct err *why)
{
    r->n_refused++;
    r->refusal = *why;
    log_error("the configuration was not taken over: the one before stays in force",
              "file=%s err=\"%s\"", r->path, why->text);
    notify_state("READY=1\nSTATUS=the last configuration was refused, see the log");
}

/* Nothing of it is different. */
static void keep(struct reconfig *r)
{
    r->n_good++;
    log_info("the configuration was read again, nothing has changed", "file=%s", r->path);
    notify_state("READY=1");
}

static void read_again(struct reconfig *r)
{
    struct config *c = NULL;
    struct event ev = {.kind = EV_SETTINGS};
    struct err err;

    r->is_asked = false;
    r->read = mark_of(r->path);
    notify_reloading();
    if (config_load(&c, r->path, &err)) {
        refuse(r, &err);
        return;
    }
    config_changes_fini(&r->changes);
    config_diff(r->now, c, &r->changes);
    ev.u.config = (struct ev_config){&c->settings, config_digest(c)};
    if (check_changes(r, &err)) {
        refuse(r, &err);
    } else if (r->changes.list.n == 0) {
        r->refusal = (struct err){0};
        keep(r);
    } else if (inbox_push(r->inbox, &ev)) {
        r->next = c;
        return;
    } else {
        r->is_asked = true; /* the inbox is full: later */
    }
    config_destroy(c);
}

void reconfig_look(struct reconfig *r, bool is_asked)
{
    struct file_mark now = mark_of(r->path);
    bool is_still = is_same(&now, &r->seen);

    r->seen = now;
    r->is_asked |= is_asked;
    if (!r->next && (r->is_asked || (now.ino && is_still && !is_same(&now, &r->read))))
        read_again(r);
}

static void log_doubt(const void *ctx, const char *text)
{
    (void)ctx;
    log_warn("the configuration says what can hardly be meant", "doubt=\"%s\"", text);
}

void reconfig_log_doubts(const struct settings *s)
{
    (void)config_doubts(s, log_doubt, NULL);
}

void reconfig_taken(struct reconfig *r, uint64_t generation)
{
    for (size_t i = 0; i < r->changes.list.n; i++) {
        const struct config_change *c = &r->changes.list.v[i];

        log_info("configuration changed", "key=%s was=\"%s\" now=\"%s\"", c->path,
                 c->was ? c->was : "", c->now ? c->now : "");
    }
    reconfig_log_doubts(&r->next->settings);
    log_info("the configuration was reloaded", "file=%s generation=%" PRIu64 " changes=%zu",
             r->path, generation, r->changes.list.n);
    if (r->now != r->boot)
        config_destroy(r->now);
    r->now = r->next;
    r->next = NULL;
    r->n_good++;
    r->refusal = (struct err){0};
    notify_state("READY=1\nSTATUS=");
}
