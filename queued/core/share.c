/* SPDX-License-Identifier: Apache-2.0 */
/* share.c - the usage that orders tenants and the users of one. */
#include "core/share.h"

#include <string.h>

#include "core/order.h"
#include "util/decay.h"

__extension__ typedef unsigned __int128 wide_t;

enum { STEPS_OF_HALF_LIFE = 1 << 16 };

uint64_t share_usage(const struct share_past *p, uint64_t parts, usec_t half_life, usec_t now)
{
    uint64_t held = share_held(parts);

    if (half_life == 0)
        return 0;
    if (p->value >= held)
        return held + decay(p->value - held, now - p->stamp, half_life);
    return held - decay(held - p->value, now - p->stamp, half_life);
}

void share_settle(struct tenants *t, uint32_t ix, uint32_t model, usec_t now)
{
    struct share_past *p = &t->v[ix].past[model];

    p->value = share_usage(p, t->v[ix].own[model], t->settings->half_life_us, now);
    p->stamp = now > p->stamp ? now : p->stamp; /* a clock that was set back stands still */
}

void share_refresh(struct tenants *t, usec_t now)
{
    const struct settings *s = t->settings;

    if (s->half_life_us == 0 ||
        (now >= t->usage_at && now - t->usage_at < s->half_life_us / STEPS_OF_HALF_LIFE))
        return;
    t->usage_at = now;
    t->share_gen++;
    for (uint32_t i = 0; i < s->n_tenants; i++)
        for (uint32_t m = 0; m < s->n_models; m++)
            t->v[i].usage[m] = t->v[i].own_usage[m] =
                share_usage(&t->v[i].past[m], t->v[i].own[m], s->half_life_us, now);
    for (uint32_t i = s->n_tenants; i-- > 0;) /* children come after their parents */
        for (uint32_t m = 0; m < s->n_models && s->tenants[i].parent != IX_NONE; m++)
            t->v[s->tenants[i].parent].usage[m] += t->v[i].usage[m];
}

void share_settle_user(struct user_share *u, uint32_t model, usec_t half_life, usec_t now)
{
    struct share_past *p = &u->past[model];

    p->value = share_usage(p, u->own[model], half_life, now);
    p->stamp = now > p->stamp ? now : p->stamp;
}

void share_charge_user(struct state *s, const struct job *j, uint32_t model, int64_t parts,
                       usec_t at)
{
    struct user_share *u = tenant_user(&s->tenants, job_account(j));

    share_settle_user(u, model, s->settings->half_life_us, at);
    u->own[model] += (uint64_t)parts;
    u->saved_turn = s->tenants.users_turn = s->turn;
}

struct user_share *share_user(const struct tenants *t, const struct job *j)
{
    struct user_share *u;

    if (!t->settings->shares_users)
        return NULL;
    u = tenant_account(t, job_account(j))->share;
    for (uint32_t m = 0; m < t->settings->n_models && u->usage_at != t->usage_at; m++)
        u->usage[m] = share_usage(&u->past[m], u->own[m], t->settings->half_life_us, t->usage_at);
    u->usage_at = t->usage_at;
    return u;
}

uint64_t share_load(const struct tenants *t, uint32_t ix, bool is_own, uint32_t model)
{
    const struct tenant *v = &t->v[ix];

    return is_own ? share_held(v->own[model]) + v->own_usage[model]
                  : share_held(v->used[model]) + v->usage[model];
}

/* Model that a candidate's GPUs are judged by, before it is placed: the first it may use. */
static uint32_t judged_model(const struct state *s, const struct demand *d)
{
    for (uint32_t r = 0; r < d->n_roles; r++) {
        const struct demand_role *role = &d->roles[r];

        if (!role->takes_gpus)
            continue;
        if (role->n_models)
            return role->models[0] < MODELS_MAX ? role->models[0] : IX_NONE;
        for (uint32_t m = 0; m < s->settings->n_models; m++)
            if (cluster_has_model(&s->cluster, role, m))
                return m;
    }
    return IX_NONE;
}

static uint64_t load_of(const struct state *s, const struct contender *c, uint32_t model)
{
    if (c->user)
        return share_held(c->user->own[model] + c->user->ahead[model]) + c->user->usage[model];
    return share_load(&s->tenants, c->tenant, c->is_own, model);
}

/* Dominant share with so many parts more of a model. */
static struct standing dominant(const struct state *s, const struct contender *c, uint32_t model,
                                uint64_t parts)
{
    struct standing st = {.total = 1, .weight = 1};

    for (uint32_t m = 0; m < s->settings->n_models; m++) {
        uint64_t total = (uint64_t)s->cluster.model_parts[m];
        uint64_t load = load_of(s, c, m) + share_held(m == model ? parts : 0);

        if (!load)
            continue; /* no more than the least that it stands with */
        total = total ? total : GPU_PARTS;
        if ((wide_t)load * st.total > (wide_t)st.load * total) {
            st.load = load;
            st.total = total;
        }
    }
    return st;
}

static struct standing standing_of(const struct state *s, const struct contender *c)
{
    uint32_t model = judged_model(s, c->job->demand), judge = IX_NONE;
    uint64_t parts = model == IX_NONE ? 0 : demand_parts(c->job->demand, model);
    struct standing st = dominant(s, c, model, parts);

    if (!c->is_own && !c->user)
        st.weight = s->settings->tenants[c->tenant].weight;
    if (model != IX_NONE && !c->user) {
        uint64_t quota = tenant_quota(&s->tenants, c->tenant, model, &judge);
        uint64_t used = s->tenants.v[judge == IX_NONE ? c->tenant : judge].used[model];

        st.is_over = used + parts > quota;
    }
    return st;
}

/* load * GPU_PARTS / total, which fits where the product does not. */
static uint64_t per_gpu(uint64_t load, uint64_t total)
{
    return load / total * GPU_PARTS + load % total * GPU_PARTS / total;
}

void share_line_up(const struct state *s, struct job *const *v, size_t n)
{
    struct user_share *u;

    for (size_t i = 0; i < n && s->settings->shares_users; i++) {
        struct contender c = {.job = v[i], .tenant = v[i]->tenant_ix};
        uint32_t model = judged_model(s, v[i]->demand);
        struct standing st;

        u = c.user = v[i]->tenant_ix == IX_NONE ? NULL : share_user(&s->tenants, v[i]);
        if (!u || model == IX_NONE)
            continue;
        st = standing_of(s, &c);
        v[i]->turn_share = per_gpu(st.load, st.total);
        u->ahead[model] += demand_parts(v[i]->demand, model);
    }
    for (size_t i = 0; i < n && s->settings->shares_users; i++) {
        u = v[i]->tenant_ix == IX_NONE ? NULL : share_user(&s->tenants, v[i]);
        if (u)
            memset(u->ahead, 0, sizeof(u->ahead));
    }
}

void share_weigh(const struct state *s, struct contender *c)
{
    c->standing = standing_of(s, c);
}

bool share_goes_first(const struct state *s, const struct contender *a, const struct contender *b)
{
    struct standing x = a->standing, y = b->standing;
    wide_t left = (wide_t)x.load * y.total * y.weight, right = (wide_t)y.load * x.total * x.weight;

    if ((s->settings->is_priority_first || a->user) && a->job->priority != b->job->priority)
        return a->job->priority > b->job->priority;
    if (x.is_over != y.is_over)
        return !x.is_over;
    if ((x.weight == 0) != (y.weight == 0))
        return x.weight != 0;
    if (x.weight && left != right)
        return left < right;
    if (a->job->submitted_at != b->job->submitted_at)
        return a->job->submitted_at < b->job->submitted_at;
    return a->job->id.v < b->job->id.v;
}

bool share_is_before(const struct state *s, const struct job *a, const struct job *b)
{
    struct contender of_a = {.user = share_user(&s->tenants, a)};
    struct contender of_b = {.user = share_user(&s->tenants, b)};
    struct standing x, y;

    if (of_a.user == of_b.user || a->priority != b->priority)
        return order_is_before(a, b);
    x = dominant(s, &of_a, IX_NONE, 0);
    y = dominant(s, &of_b, IX_NONE, 0);
    if ((wide_t)x.load * y.total != (wide_t)y.load * x.total)
        return (wide_t)x.load * y.total < (wide_t)y.load * x.total;
    return order_is_before(a, b);
}

/* The contender for j among the children of tenant `at` (IX_NONE: the root), which is above it. */
static struct contender below(const struct state *s, const struct job *j, uint32_t at)
{
    struct contender c = {
        .job = (struct job *)(uintptr_t)j, .tenant = j->tenant_ix, .is_own = j->tenant_ix == at};

    while (!c.is_own && s->settings->tenants[c.tenant].parent != at)
        c.tenant = s->settings->tenants[c.tenant].parent;
    return c;
}

bool share_precedes(const struct state *s, const struct job *a, const struct job *b)
{
    uint32_t x = a->tenant_ix, y = b->tenant_ix;
    struct contender first, second;

    if (x == y)
        return order_is_before(a, b);
    while (x != y) /* parents have smaller indices than their children; IX_NONE is the root */
        if (y == IX_NONE || (x != IX_NONE && x > y))
            x = s->settings->tenants[x].parent;
        else
            y = s->settings->tenants[y].parent;
    first = below(s, a, x);
    second = below(s, b, x);
    share_weigh(s, &first);
    share_weigh(s, &second);
    return share_goes_first(s, &first, &second);
}
