/* SPDX-License-Identifier: Apache-2.0 */
/* explain_tenant.c - the reasons that are about tenants and users: limit, quota, what is not lent.
 */
#include "view/explain_say.h"

#include "core/backfill.h"
#include "core/cycle.h"
#include "core/share.h"
#include "spec/week.h"
#include "util/str.h"

bool explain_stopped(const struct state *s, const struct job *j, struct explain *x)
{
    uint32_t at = tenant_stopped(&s->tenants, j->tenant_ix);
    char t[FORMAT_MAX];

    if (at != IX_NONE)
        say(x, "QueueStopped", "tenant %s is stopped since %s %s", s->settings->tenants[at].path,
            format_time(t, s->tenants.v[at].stopped_at), s->tenants.v[at].stopped_why);
    return at != IX_NONE;
}

static void say_shut(const struct state *s, uint32_t at, usec_t opens, struct explain *x)
{
    const struct tenant_setting *t = &s->settings->tenants[at];
    char text[WEEK_TEXT_MAX], when[FORMAT_MAX];
    struct str windows = {0};

    for (uint32_t i = 0; i < t->n_windows; i++)
        str_addf(&windows, "%s%s", i ? "; " : "", week_text(text, &t->windows[i]));
    say(x, "BeginTime", "jobs of %s start in its windows only (%.90s UTC%s); the next is at %s",
        t->path, str_text(&windows), week_offset_text(text, s->settings->utc_offset_min),
        opens < INT64_MAX ? format_time(when, opens) : "no time that suits its parents");
    next_step(x, "'queuectl tenant get %s' shows the windows; the job keeps its age", t->path);
    str_fini(&windows);
}

static void say_too_long(const struct job *j, usec_t left, usec_t opens, usec_t takes,
                         struct explain *x)
{
    char when[FORMAT_MAX], run[FORMAT_MAX], in[FORMAT_MAX];
    usec_t longest = left - (takes - j->max_runtime_us);

    say(x, "BeginTime", "the window of %s closes in %s and jobs have to fit; this one may take %s",
        j->tenant, format_duration(in, left), format_duration(run, takes));
    if (longest >= 60 * USEC_PER_SEC)
        next_step(x, "a maxRuntime of at most %s would fit; else it starts no earlier than %s",
                  format_duration(run, longest / (60 * USEC_PER_SEC) * 60 * USEC_PER_SEC),
                  format_time(when, opens));
    else
        next_step(x, "starts no earlier than %s", format_time(when, opens));
}

static void say_never_fits(const struct state *s, const struct job *j, usec_t takes,
                           struct explain *x)
{
    usec_t longest = week_longest(s->settings, j->tenant_ix);
    char run[FORMAT_MAX], most[FORMAT_MAX];

    say(x, "BeginTime", "may take %s, and no window of %s is open for that long: can never run",
        format_duration(run, takes), j->tenant);
    if (longest > takes - j->max_runtime_us)
        next_step(x, "'queuectl update --max-runtime': at most %s would fit",
                  format_duration(most, longest - (takes - j->max_runtime_us)));
    else
        next_step(x, "have the windows of %s changed, or choose another tenant", j->tenant);
}

bool explain_opening(const struct state *s, const struct job *j, usec_t now, struct explain *x)
{
    const struct settings *st = s->settings;
    usec_t takes = backfill_end_from(j, now) - now, closes = week_closes(st, j->tenant_ix, now),
           opens = week_next(st, j->tenant_ix, now, takes);
    uint32_t shut = week_shut(st, j->tenant_ix, now);

    if (opens == now)
        return false;
    number(x, "needed_s", (uint64_t)takes / USEC_PER_SEC);
    if (opens < INT64_MAX)
        number(x, "opens_s", (uint64_t)(opens - now) / USEC_PER_SEC);
    if (shut == IX_NONE)
        number(x, "window_s", (uint64_t)(closes - now) / USEC_PER_SEC);
    if (opens == INT64_MAX && week_longest(st, j->tenant_ix))
        say_never_fits(s, j, takes, x);
    else if (shut != IX_NONE)
        say_shut(s, shut, opens, x);
    else
        say_too_long(j, closes - now, opens, takes, x);
    return true;
}

/* NAME_gpus where it is whole GPUs, else NAME_gpus_milli. */
static void amount(struct explain *x, const char *name, uint64_t parts)
{
    static const struct {
        const char *name, *gpus, *milli;
    } v[] = {{"needed", "needed_gpus", "needed_gpus_milli"},
             {"limit", "limit_gpus", "limit_gpus_milli"},
             {"quota", "quota_gpus", "quota_gpus_milli"},
             {"used", "used_gpus", "used_gpus_milli"}};
    size_t i = 0;

    while (i + 1 < ARRAY_LEN(v) && strcmp(v[i].name, name) != 0)
        i++;
    if (parts % GPU_PARTS)
        number(x, v[i].milli, mig_milli(parts));
    else
        number(x, v[i].gpus, parts / GPU_PARTS);
}

/* Where a limit stops a role, on the last of its models; at IX_NONE: nowhere. */
struct full {
    uint32_t at;
    bool is_user; /* it is the limit of one user there */
    uint32_t model;
    uint64_t need;
};

static struct full find_full(const struct state *s, const struct job *j, uint32_t role, bool ever)
{
    const struct demand_role *r = &j->demand->roles[role];
    uint32_t n = r->n_models ? r->n_models : s->settings->n_models;
    struct full f = {.at = IX_NONE};

    for (uint32_t i = 0; i < n && r->takes_gpus; i++) {
        uint32_t m = r->n_models ? r->models[i] : i;
        uint32_t at = IX_NONE;

        /* a gang that takes any model is tried on those that the cluster has */
        if (m >= s->settings->n_models ||
            (r->n_models == 0 && !cluster_has_model(&s->cluster, r, m)))
            continue;
        f.need = parts_together(j->demand, r, m);
        if (ever ? tenant_could_admit(&s->tenants, j->tenant_ix, m, f.need, &at)
                 : tenant_admits(&s->tenants, j->tenant_ix, m, f.need, &at))
            f.is_user = true;
        if (at == IX_NONE &&
            (ever || tenant_admits_user(&s->tenants, job_account(j), m, f.need, &at)))
            return (struct full){.at = IX_NONE};
        f.at = at;
        f.model = m;
    }
    return f;
}

/* Limits of the tenant: can never fit, or is full now. */
bool explain_limit(const struct state *s, const struct job *j, struct explain *x, bool ever)
{
    struct full f = {.at = IX_NONE};
    const struct tenant_setting *t;
    const struct account *user;
    const char *model;
    uint64_t used, limit;
    char texts[3][FORMAT_MAX];

    for (uint32_t r = 0; r < j->demand->n_roles && f.at == IX_NONE; r++)
        f = find_full(s, j, r, ever);
    if (f.at == IX_NONE)
        return false;
    t = &s->settings->tenants[f.at];
    model = s->settings->models[f.model].name;
    user = f.is_user ? tenant_account(&s->tenants, (struct account_key){f.at, j->uid}) : NULL;
    used = user ? user->used[f.model] : s->tenants.v[f.at].used[f.model];
    limit = user ? tenant_user_limit(&s->tenants, f.at, f.model)
                 : (uint64_t)tenant_own_limit(&s->tenants, f.at, f.model);
    amount(x, "needed", f.need);
    amount(x, "limit", limit);
    amount(x, "used", used);
    if (ever) {
        say(x, "ExceedsTenantLimit", "needs %s %s, limit of %s is %s: can never run",
            mig_text(texts[0], f.need), model, t->path, mig_text(texts[1], limit));
        next_step(x, "ask for less, or have the limit of %s raised", t->path);
    } else {
        say(x, "TenantLimit", "%s%s%s uses %s of its limit of %s %s, this needs %s",
            user ? j->user : "", user ? " in " : "", t->path, mig_text(texts[0], used),
            mig_text(texts[1], limit), model, mig_text(texts[2], f.need));
        next_step(x, "starts when gangs of %s end; 'queuectl list --tenant %s' shows them", t->path,
                  t->path);
    }
    return true;
}

/* Not preemptible: on none of a role's models is there room inside the quota. */
bool explain_quota(const struct state *s, const struct job *j, struct explain *x)
{
    for (uint32_t r = 0; r < j->demand->n_roles && !j->demand->is_preemptible; r++) {
        const struct demand_role *role = &j->demand->roles[r];
        uint64_t need = 0, quota;
        char texts[3][FORMAT_MAX];
        uint32_t n = role->n_models ? role->n_models : s->settings->n_models;
        uint32_t full = IX_NONE, at;

        for (uint32_t i = 0; i < n && role->takes_gpus; i++) {
            uint32_t m = role->n_models ? role->models[i] : i;

            if (m >= s->settings->n_models ||
                (!role->n_models && !cluster_has_model(&s->cluster, role, m)))
                continue;
            need = parts_together(j->demand, role, m);
            full = tenant_in_quota(&s->tenants, j->tenant_ix, m, need) ? IX_NONE : m;
            if (full == IX_NONE)
                break;
        }
        if (full == IX_NONE)
            continue;
        quota = tenant_quota(&s->tenants, j->tenant_ix, full, &at);
        at = at == IX_NONE ? j->tenant_ix : at;
        amount(x, "needed", need);
        amount(x, "quota", quota);
        amount(x, "used", s->tenants.v[at].used[full]);
        if (need > tenant_most_quota(&s->tenants, j->tenant_ix, full))
            say(x, "QuotaExhausted",
                "is not preemptible and needs %s %s inside the quota of %s, which is %s: can "
                "never run",
                mig_text(texts[0], need), s->settings->models[full].name,
                s->settings->tenants[at].path, mig_text(texts[1], quota));
        else
            say(x, "QuotaExhausted",
                "is not preemptible and needs %s %s inside the quota; %s uses %s of %s",
                mig_text(texts[0], need), s->settings->models[full].name,
                s->settings->tenants[at].path, mig_text(texts[1], s->tenants.v[at].used[full]),
                mig_text(texts[2], quota));
        next_step(x, "say preemptible: true to use what is idle beyond the quota");
        return true;
    }
    return false;
}

/* Beyond the quota, there are enough GPUs for a role, but not beside what others do not lend. */
bool explain_unlent(const struct state *s, const struct job *j, struct explain *x)
{
    uint64_t need = 0, free = 0, unlent = 0;
    uint32_t n = s->settings->n_models;

    for (uint32_t at = 0; at < n * j->demand->n_roles && s->tenants.has_unlent; at++) {
        const struct demand_role *role = &j->demand->roles[at / n];
        uint32_t m = at % n;

        need = need_together(j->demand, role);
        unlent = cycle_unlent(s, &s->cluster, j, m, &free);
        if (need && (!role->n_models || memchr(role->models, (int)m, role->n_models)) &&
            free >= need * GPU_PARTS && free < need * GPU_PARTS + unlent &&
            !tenant_in_quota(&s->tenants, j->tenant_ix, m, parts_together(j->demand, role, m)))
            break;
        need = 0;
    }
    unlent =
        (unlent + GPU_PARTS - 1) / GPU_PARTS; /* of a GPU that is used in part nothing is left */
    number(x, "needed_gpus", need);
    number(x, "unlent_gpus", unlent);
    say(x, "TenantShare",
        "needs %llu GPUs beyond the quota; %llu are free, of which %llu are kept for tenants that "
        "do not lend them",
        (unsigned long long)need, (unsigned long long)(free / GPU_PARTS),
        (unsigned long long)unlent);
    next_step(x, "'queuectl quota' shows who keeps them; starts when more are free");
    return need > 0;
}

/* Milli of a share in units of 2^-SHARE_BITS. */
static unsigned milli_of(uint64_t share)
{
    return (unsigned)(share * 125 >> (SHARE_BITS - 3));
}

void explain_users(const struct state *s, const struct job *j, struct explain *x)
{
    const struct job *first = NULL;
    unsigned mine = milli_of(j->turn_share), its;

    for (size_t i = 0; i < s->positions->order.n && s->settings->shares_users && !first; i++) {
        const struct job *o = s->positions->order.v[i];

        if (o->tenant_ix == j->tenant_ix && o->position == 1)
            first = o;
    }
    if (!first || first->uid == j->uid || first->priority != j->priority)
        return;
    its = milli_of(first->turn_share);
    (void)snprintf(
        x->now, sizeof(x->now),
        "%s; of %s goes first %s of %s, to a share of %u.%03u; this and what %s has before "
        "it make %u.%03u",
        x->text, j->tenant, first->name, first->user, its / 1000, its % 1000, j->user, mine / 1000,
        mine % 1000);
    number(x, "share_milli", mine);
    number(x, "first_share_milli", its);
}
