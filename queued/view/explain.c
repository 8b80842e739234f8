/* SPDX-License-Identifier: Apache-2.0 */
/* explain.c - the one reason, by the precedence of explain.def, with numbers and a next step. */
#include "view/explain.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "view/explain_say.h"
#include "cluster/hardware.h"
#include "core/array.h"
#include "core/mend.h"
#include "core/order.h"
#include "core/relax.h"
#include "core/rights.h"
#include "util/parse.h"
#include "util/str.h"

enum { AHEAD_NAMED = 3 };

static const char *const codes[] = {
#define EXPLAIN(code, what) #code,
#include "view/explain.def"
#undef EXPLAIN
};

static const char *level_name(const struct settings *st, uint32_t hierarchy, uint32_t level)
{
    const struct hierarchy_setting *h = &st->hierarchies[hierarchy];

    return level < h->n_levels ? h->levels[level].name : "host";
}

/* "8 H100", "1 nvidia.com/mig-1g.10gb of H100". */
static void add_each(struct str *b, const struct cluster *c, const struct demand_role *r)
{
    const char *glue = "";
    struct resources asks;
    char cpus[FORMAT_MAX];

    for (uint32_t i = RES_EXTENDED; i < c->names.n && r->takes_gpus; i++) {
        if (!c->names.slices[i] || r->each.amount[i] == 0)
            continue;
        str_addf(b, "%s%lld %s", glue, (long long)r->each.amount[i], c->names.name[i]);
        glue = " + ";
    }
    hardware_asks(r, &asks);
    if (!*glue && !r->takes_gpus && asks.amount[RES_CPU])
        str_addf(b, "%s CPU", format_cpu(cpus, asks.amount[RES_CPU]));
    else if (!*glue && !r->takes_gpus)
        str_add(b, "the default CPU");
    else if (!*glue)
        str_addf(b, "%lld %s", (long long)r->each.amount[RES_GPUS], hardware_words(c, r));
    else if (r->n_models == 1)
        str_addf(b, " of %s", hardware_words(c, r));
}

static void describe_asks(const struct state *s, const struct job *j, struct explain *x)
{
    const struct demand *d = j->demand;
    char until[FORMAT_MAX];
    struct str b = {0};

    for (uint32_t r = 0; r < d->n_roles; r++) {
        const struct demand_role *role = &d->roles[r];

        str_addf(&b, "%s%u", r ? " + " : "", role->replicas - role->spares);
        if (role->spares)
            str_addf(&b, " and %u spare", role->spares);
        if (role->most > role->replicas)
            str_addf(&b, " to %u", role->most);
        str_add(&b, " pods x ");
        add_each(&b, &s->cluster, role);
    }
    if (d->required != IX_NONE)
        str_addf(&b, ", in one %s", level_name(s->settings, d->hierarchy, d->required));
    if (relax_at(j))
        str_addf(&b, " until %s, then preferred", format_time(until, relax_at(j)));
    if (d->preferred != IX_NONE && d->pods > 1 && d->preferred != d->required)
        str_addf(&b, ", prefers one %s", level_name(s->settings, d->hierarchy, d->preferred));
    if (j->is_relaxed)
        str_add(&b, " (no longer required: topology.maxWait is over)");
    for (uint32_t r = 0; r < d->n_roles; r++)
        if (d->roles[r].is_alone)
            str_addf(&b, ", %s alone on nodes", d->roles[r].name);
    for (uint32_t r = 0; r < d->n_roles; r++)
        if (d->roles[r].spread.key)
            str_addf(&b, ", spread over %.80s", d->roles[r].spread.key);
    (void)str_copy(x->asks, sizeof(x->asks), str_text(&b));
    str_fini(&b);
}

struct end {
    usec_t at;
    uint64_t gpus;
};

static int by_time(const void *a, const void *b)
{
    const struct end *x = a, *y = b;

    return x->at < y->at ? -1 : x->at > y->at;
}

/* GPUs that a job holds of the models that a role may use. */
static uint64_t held_of_models(const struct job *j, const struct demand_role *r)
{
    uint64_t gpus = 0;

    for (uint32_t k = 0; k < j->demand->n_roles && j->charged_parts; k++)
        if (j->models[k] != MODELS_MAX &&
            (r->n_models == 0 || memchr(r->models, j->models[k], r->n_models)))
            gpus += (uint64_t)j->size[k] * (uint64_t)j->demand->roles[k].each.amount[RES_GPUS];
    return gpus;
}

/* When enough gangs that hold the role's models have ended at the latest; 0: never by ends alone.
 */
static usec_t enough_by(const struct state *s, const struct demand_role *r, uint64_t missing)
{
    struct end *ends = xcalloc(s->active.n + 1, sizeof(*ends));
    usec_t at = 0;
    size_t n = 0;

    for (size_t i = 0; i < s->active.n; i++) {
        const struct job *j = s->active.v[i];

        ends[n].at = (j->running_at ? j->running_at : j->attempt_at + j->start_timeout_us) +
                     j->max_runtime_us + j->grace_us;
        ends[n].gpus = held_of_models(j, r);
        n += ends[n].gpus > 0;
    }
    qsort(ends, n, sizeof(*ends), by_time);
    for (size_t i = 0; i < n && !at; i++) {
        if (ends[i].gpus >= missing)
            at = ends[i].at;
        else
            missing -= ends[i].gpus;
    }
    free(ends);
    return at;
}

static void say_insufficient(const struct state *s, const struct demand_role *r, uint64_t need,
                             const struct census *k, struct explain *x)
{
    usec_t by = enough_by(s, r, need - k->free_gpus);
    char t[FORMAT_MAX];

    if (by)
        say(x, "InsufficientGpus", "needs %llu %s, %llu free; enough end by %s at the latest",
            (unsigned long long)need, hardware_words(&s->cluster, r),
            (unsigned long long)k->free_gpus, format_time(t, by));
    else
        say(x, "InsufficientGpus", "needs %llu %s, %llu free", (unsigned long long)need,
            hardware_words(&s->cluster, r), (unsigned long long)k->free_gpus);
    next_step(x, "starts when enough gangs end; a smaller gang may start earlier");
}

static bool say_slices(const struct state *s, const struct demand *d, const struct demand_role *r,
                       const struct resources *asks, struct explain *x)
{
    struct census_domains k = {.level = d->slice_level};
    uint64_t need =
        d->slice_size && r->each.amount[RES_GPUS] ? (r->replicas - r->spares) / d->slice_size : 0;

    if (need)
        census_domains(&s->cluster, d, (uint32_t)(r - d->roles), asks, &k);
    if (k.slices >= need)
        return false;
    number(x, "needed_slices", need);
    number(x, "fitting_slices", k.slices);
    say(x, "TopologyUnavailable", "%llu of %llu slices of %u pods have room, each in one %s",
        (unsigned long long)k.slices, (unsigned long long)need, d->slice_size,
        level_name(s->settings, d->hierarchy, d->slice_level));
    next_step(x, "smaller slices, or slices of a wider level, fit earlier");
    return true;
}

static bool say_topology(const struct state *s, const struct demand *d, const struct demand_role *r,
                         const struct resources *asks, struct explain *x)
{
    struct census_domains k = {.level = d->required};

    if (d->required == IX_NONE)
        return false;
    census_domains(&s->cluster, d, (uint32_t)(r - d->roles), asks, &k);
    if (k.best >= r->replicas)
        return false;
    number(x, "best_domain_pods", k.best);
    say(x, "TopologyUnavailable", "no %s has room for %u pods of role %s; best is %.80s with %llu",
        level_name(s->settings, d->hierarchy, d->required), r->replicas, r->name,
        k.path ? k.path : "none", (unsigned long long)k.best);
    next_step(x, "with topology.preferred instead of required it would not wait for one %s",
              level_name(s->settings, d->hierarchy, d->required));
    return true;
}

/* Who else's the GPUs are that are free. */
static void add_closed_pool(const struct state *s, const struct demand_role *r,
                            const struct census *k, struct explain *x)
{
    const struct pool_setting *p = &s->settings->pools[k->closed_pool];
    struct str b = {0};

    str_addf(&b, "%s; %llu %s are free in pool %s, exclusive to", x->text,
             (unsigned long long)k->closed_gpus, hardware_words(&s->cluster, r), p->name);
    for (uint32_t i = 0; i < p->n_exclusive; i++)
        str_addf(&b, "%s %s", i ? "," : "", s->settings->tenants[p->exclusive[i]].path);
    (void)snprintf(x->text, sizeof(x->text), "%s", str_text(&b));
    str_fini(&b);
    number(x, "closed_gpus", k->closed_gpus);
}

/* The GPUs would do; something else does not. */
static void say_other(const struct state *s, const struct demand_role *r,
                      const struct resources *asks, const struct census *k, struct explain *x)
{
    bool has_gpus = asks->amount[RES_GPUS] > 0;
    int dim = k->lacking >= 0 ? k->lacking : RES_CPU;
    char amount[HARDWARE_TEXT_MAX];

    if (dim == RES_ALONE) {
        say(x, r->is_alone ? "NeedsWholeNodes" : "InsufficientOther",
            r->is_alone ? "%llu of %u pods of role %s have a node on which nothing else runs "
                          "(placement.exclusiveNode)"
                        : "%llu of %u pods of role %s have a node; others are taken whole "
                          "(placement.exclusiveNode of their pods)",
            (unsigned long long)k->all_slots, r->replicas, r->name);
        next_step(x, r->is_alone
                         ? "without exclusiveNode they would share nodes; DaemonSets do not count"
                         : "starts when such a pod ends");
        return;
    }
    if (s->cluster.names.slices[dim]) {
        say(x, "InsufficientGpus", "%s asked for each pod of role %s, free for %llu of %u pods",
            hardware_amount(amount, &s->cluster, dim, asks->amount[dim]), r->name,
            (unsigned long long)k->all_slots, r->replicas);
        next_step(x, "starts when such devices are free; 'queuectl nodes' shows who has them");
        return;
    }
    say(x, "InsufficientOther", "%s%s does not%s: %s asked for each pod of role %s",
        has_gpus ? "GPUs fit; " : "", s->cluster.names.name[dim], has_gpus ? "" : " fit",
        hardware_amount(amount, &s->cluster, dim, asks->amount[dim]), r->name);
    next_step(x, "ask for less %s", s->cluster.names.name[dim]);
}

/* What the cluster as it is now lacks for one role, of which k is; false: the role fits. */
static bool say_lack(const struct state *s, const struct demand *d, const struct demand_role *r,
                     struct census *k, struct explain *x)
{
    uint64_t need = r->each.amount[RES_GPUS] ? need_together(d, r) : 0;
    struct resources asks;
    const char *code;
    char text[REASON_TEXT_MAX + 1];

    hardware_asks(r, &asks);
    census_take(&s->cluster, r, &asks, k);
    code = hardware_never(&s->cluster, r, k, text, sizeof(text));
    if (code) {
        say(x, code, "%s", text);
        next_step(x, "the job waits until such nodes appear; cancel it if they never will");
        number(x, "nodes", k->nodes);
        number(x, "allowed_nodes", k->allowed);
        number(x, "capacity_pods", k->capacity_slots);
        return true;
    }
    if (k->all_slots >= r->replicas && k->free_gpus >= need)
        return say_topology(s, d, r, &asks, x) || say_slices(s, d, r, &asks, x);
    number(x, "needed_gpus", need);
    number(x, "free_gpus", k->free_gpus);
    number(x, "needed_pods", r->replicas);
    number(x, "fitting_pods", k->all_slots);
    if (k->healed_slots >= r->replicas && k->all_slots < r->replicas) {
        bool is_draining = k->drained == k->unhealthy;

        say(x, is_draining ? "Draining" : "NodesUnhealthy",
            is_draining ? "would fit, but %u nodes are drained (%.80s: %s)"
                        : "would fit, but %u nodes are unhealthy (%.80s: %s)",
            k->unhealthy, k->trouble_node, k->trouble ? k->trouble : "?");
        next_step(x,
                  is_draining ? "starts after 'queuectl undrain %s'"
                              : "'queuectl nodes' shows which, as %s; starts when they are back",
                  k->trouble_node);
        number(x, "unhealthy_nodes", k->unhealthy);
        number(x, "drained_nodes", k->drained);
    } else if (k->free_gpus < need) {
        say_insufficient(s, r, need, k, x);
    } else if (need && k->gpu_slots < r->replicas) {
        say(x, "NeedsWholeNodes", "%llu %s free, but together only for %llu of %u pods of %lld",
            (unsigned long long)k->free_gpus, hardware_words(&s->cluster, r),
            (unsigned long long)k->gpu_slots, r->replicas, (long long)asks.amount[RES_GPUS]);
        next_step(x, "pods with fewer GPUs each would fit now");
    } else {
        say_other(s, r, &asks, k, x);
    }
    if (k->near_node[0])
        (void)snprintf(x->closest, sizeof(x->closest), "%.100s has %lld of %lld GPUs free",
                       k->near_node, (long long)k->near_free, (long long)asks.amount[RES_GPUS]);
    return true;
}

static bool say_shortage(const struct state *s, const struct demand *d, uint32_t role,
                         struct explain *x)
{
    const struct demand_role *r = &d->roles[role];
    struct census k;

    if (!say_lack(s, d, r, &k, x))
        return false;
    if (k.closed_gpus)
        add_closed_pool(s, r, &k, x);
    return true;
}

static unsigned precedence(const char *code)
{
    for (unsigned i = 0; i < ARRAY_LEN(codes); i++)
        if (strcmp(codes[i], code) == 0)
            return i;
    assert(!*code); /* what is said is in the table */
    return ARRAY_LEN(codes);
}

/* What holds for every gang of the bucket, once a turn. code "": it fits now. */
static const struct explain *bucket_verdict(const struct state *s, const struct job *j)
{
    struct bucket *b = j->bucket;
    struct explain *x = b->verdict;
    struct explain limit = {.code = ""};

    if (x && b->verdict_turn == s->turn)
        return x;
    if (!x)
        x = b->verdict = xmalloc(sizeof(*x));
    b->verdict_turn = s->turn;
    *x = (struct explain){.code = ""};
    if (explain_limit(s, j, x, true))
        return x;
    for (uint32_t r = 0; r < j->demand->n_roles && !x->code[0]; r++)
        (void)say_shortage(s, j->demand, r, x);
    if (precedence("TenantLimit") < precedence(x->code) && explain_limit(s, j, &limit, false))
        *x = limit;
    limit = (struct explain){.code = ""};
    if (precedence("QuotaExhausted") < precedence(x->code) && explain_quota(s, j, &limit))
        *x = limit;
    limit = (struct explain){.code = ""};
    if (precedence("TenantShare") < precedence(x->code) && explain_unlent(s, j, &limit))
        *x = limit;
    limit = (struct explain){.code = ""};
    if (precedence("LicencesInUse") < precedence(x->code) && explain_licences(s, j, &limit))
        *x = limit;
    if (x->code[0])
        return x;
    if (b->is_blocked && !b->is_held_back && !order_is_awake(s, b) &&
        !explain_spread(s, j->demand, x) && !explain_driver(s, j->demand, x)) {
        say(x, "InsufficientGpus", "its roles fit one by one, not together");
        next_step(x, "starts when more nodes are free");
    }
    return x;
}

/* "data-refresh-04tb (Running for 40m) to succeed, and 2 more". buf: REASON_TEXT_MAX + 1. */
static const char *depend_words(const struct state *s, const struct job *j, usec_t now, char *buf)
{
    const struct dependency *d = &j->waits.v[0];
    const struct job *on = state_job(s, d->on);
    char age[FORMAT_MAX], more[32] = "";

    if (j->waits.n > 1)
        (void)snprintf(more, sizeof(more), ", and %zu more", j->waits.n - 1);
    if (on)
        (void)snprintf(buf, REASON_TEXT_MAX + 1, "%s (%s for %s) %s%s", on->name,
                       job_state_name(on->state), format_duration(age, now - on->state_since),
                       spec_condition_words((enum spec_condition)d->condition), more);
    else
        (void)snprintf(buf, REASON_TEXT_MAX + 1, "a job that is forgotten%s", more);
    return buf;
}

bool explain_own(const struct state *s, const struct job *j, usec_t now, struct explain *x)
{
    const struct job *array = array_keeps_back(s, j) ? array_parent(s, j) : NULL;
    char words[REASON_TEXT_MAX + 1];

    if (array) {
        say(x, "Held", "its array %s is %s %.150s", array->name, job_state_name(array->state),
            job_reason_text(array));
        next_step(x, "'queuectl release %s' lets its indices wait for nodes again", array->name);
    } else if (!s->is_cluster_up || !s->is_synced) {
        say(x, "ClusterUnreachable", "%s",
            s->cluster_trouble[0] ? s->cluster_trouble : "the node and pod lists are not complete");
        next_step(x, "the job is stored and starts when the API server answers");
    } else if (j->waits.n) {
        say(x, "Dependency", "waits for %.200s", depend_words(s, j, now, words));
        next_step(x, "'queuectl why' of that job says when it may start");
        number(x, "jobs", j->waits.n);
    } else if (j->tenant_ix == IX_NONE) {
        say(x, "UnknownTenant", "tenant %s is no longer in the configuration", j->tenant);
        next_step(x, "have it added again, or cancel and submit under another tenant");
    } else if (explain_opening(s, j, now, x)) {
        return true;
    } else if (explain_stopped(s, j, x)) {
        next_step(x, "starts after 'queuectl tenant resume'; the job keeps its age");
    } else if (j->demand->has_unknown_level) {
        say(x, "InvalidLevel", "its topology level is no longer in the configuration");
        next_step(x, "cancel and submit with a level that 'queuectl topology' shows");
    }
    return x->code[0] != '\0';
}

/* An API server that has no more room in a ResourceQuota says so in these words. */
static void say_back_off(const struct job *j, usec_t now, struct explain *x)
{
    const char *quota = strstr(job_reason_text(j), "exceeded quota: ");
    char d[FORMAT_MAX];

    (void)format_duration(d, j->not_before - now);
    if (quota) {
        say(x, "NamespaceQuota", "ResourceQuota of namespace %s: %.160s; tried again in %s", j->ns,
            quota + strlen("exceeded quota: "), d);
        next_step(x, "ask the owner of namespace %s for more", j->ns);
    } else {
        say(x, "BackOff", "attempt %u in %s after: %s", j->attempt + 1, d, job_reason_text(j));
        next_step(x, "'queuectl describe %s' shows what was refused or failed", j->name);
    }
    number(x, "retry_s", (uint64_t)(j->not_before - now) / USEC_PER_SEC);
}

/* What it would be charged, on the first models that the cluster has for it. */
static uint64_t wants(const struct state *s, const struct job *j)
{
    uint64_t gpus[MODELS_MAX], sum = 0;

    (void)rights_guess(s, j, 0, gpus);
    for (uint32_t m = 0; m < MODELS_MAX; m++)
        sum += gpus[m];
    return sum ? sum : j->demand->gpus * GPU_PARTS;
}

/* The first of those of its tenant who are ahead, with their GPUs. */
static void say_priority(const struct state *s, const struct job *j, struct explain *x)
{
    char gpus[FORMAT_MAX];
    struct str b = {0};
    uint32_t named = 0;

    for (size_t i = 0; i < s->positions->order.n && named < AHEAD_NAMED; i++) {
        const struct job *o = s->positions->order.v[i];

        if (o->tenant_ix == j->tenant_ix && o->position < j->position)
            str_addf(&b, "%s%.64s (%s)", named++ ? ", " : "", o->name, mig_text(gpus, wants(s, o)));
    }
    say(x, "Priority", "%u job%s of %s %s ahead: %s%s", j->position - 1,
        j->position == 2 ? "" : "s", j->tenant, j->position == 2 ? "is" : "are", str_text(&b),
        j->position - 1 > named ? ", ..." : "");
    next_step(x, "'queuectl list --tenant %s' shows them", j->tenant);
    number(x, "ahead", j->position - 1);
    str_fini(&b);
}

static void say_waiting(const struct state *s, const struct job *j, usec_t now, struct explain *x)
{
    const struct explain *verdict;
    char d[FORMAT_MAX];

    if (explain_own(s, j, now, x) || explain_claim(s, j, now, x))
        return;
    verdict = bucket_verdict(s, j);
    if (j->not_before > now && precedence("BackOff") < precedence(verdict->code)) {
        say_back_off(j, now, x);
    } else if (verdict->code[0]) {
        *x = *verdict;
        if (relax_at(j) && strcmp(x->code, "TopologyUnavailable") == 0)
            next_step(x, "from %s on the level is preferred only (topology.maxWait)",
                      format_time(d, relax_at(j)));
    } else if (explain_window(s, j, now, x) || explain_reserved(s, j, now, x)) {
        return;
    } else if (j->position > 1) {
        say_priority(s, j, x);
    } else {
        say(x, "NotEvaluated", "submitted %s ago, not looked at yet",
            format_duration(d, now - j->submitted_at));
    }
}

/* What was looked at and does not block it. */
static void say_not_it(const struct state *s, const struct job *j, usec_t now, struct explain *x)
{
    struct explain limit = {.code = ""};
    struct explain own = {.code = ""};

    if (explain_own(s, j, now, &own))
        return; /* nothing else was looked at */
    (void)snprintf(x->not_it, sizeof(x->not_it), "%spriority class",
                   explain_limit(s, j, &limit, false) ? "" : "limit of the tenant, ");
}

/* Of a running gang: what it lost and has not back. */
static void say_missing(const struct state *s, const struct job *j, struct explain *x)
{
    uint32_t n = mend_missing(j), at = 0;
    const struct member *m;
    char name[POD_NAME_TEXT], d[FORMAT_MAX];

    while (at + 1 < j->n_members && j->members[at].mend == MEND_NONE)
        at++;
    m = &j->members[at];
    say(x, "ReplacingPods", "%u of %u pods lost, the others run; %s %s", n, job_size(j),
        job_pod_name(name, j, m),
        m->mend == MEND_RECALLED   ? "restarts with its role"
        : m->waits                 ? "waits for another role to be Running (startAfter)"
        : m->mend == MEND_STARTING ? "has a host and starts"
        : j->not_before <= s->now  ? "waits for a host of its domain"
                                   : "waits for its back-off");
    number(x, "missing_pods", n);
    number(x, "pods", job_size(j));
    next_step(x, "what does not run again by %s restarts the whole gang (gang.startTimeout)",
              format_time(d, mend_due(s, j)));
}

void explain_job(const struct state *s, const struct job *j, usec_t now, struct explain *ret)
{
    char waits[JOB_WAITS_TEXT];

    *ret = (struct explain){.code = ""};
    if (j->state == JOB_PENDING && j->array) {
        explain_array(s, j, now, ret);
    } else if (j->state == JOB_PENDING) {
        (void)order_number(s);
        say_waiting(s, j, now, ret);
        if (j->tenant_ix != IX_NONE)
            explain_users(s, j, ret);
        ret->position = j->position;
        ret->position_overall = j->position_overall;
        say_not_it(s, j, now, ret);
    } else if (j->state == JOB_HELD) {
        char t[FORMAT_MAX];

        say(ret, "Held", "held since %s %s", format_time(t, j->state_since), job_reason_text(j));
        next_step(ret, "'queuectl release %s' lets it wait for nodes again", j->name);
    } else if (j->state == JOB_BINDING) {
        say(ret, "WaitingForBind", "%u of %u pods bound%s", j->n_bound, job_size(j),
            job_waits_words(waits, j));
    } else if (j->state == JOB_STARTING) {
        say(ret, "WaitingForStart", "%u of %u pods Running%s", j->n_running + j->n_done,
            job_size(j), job_waits_words(waits, j));
        number(ret, "running_pods", j->n_running);
        number(ret, "pods", job_size(j));
        number(ret, "waiting_pods", j->n_waiting);
    } else if (j->state == JOB_RUNNING && j->lost_at) {
        say_missing(s, j, ret);
    }
    describe_asks(s, j, ret);
}
