/* SPDX-License-Identifier: Apache-2.0 */
/* job.c - members of a gang and the names that are made from a job. */
#include "core/job.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/array.h"
#include "spec/failure.h"
#include "util/mem.h"
#include "util/str.h"

/* Copy text to *at and move it on. */
static const char *lay(char **at, const char *text)
{
    const char *laid = *at;

    *at = stpcpy(*at, text) + 1;
    return laid;
}

struct account_key job_account(const struct job *j)
{
    return (struct account_key){j->tenant_ix, j->uid};
}

void job_set_texts(struct job *j, const struct job_texts *t)
{
    size_t ns_len = strlen(t->ns), name_len = strlen(t->name);
    size_t size = ns_len + 1 + ns_len + 1 + name_len + 1 + strlen(t->tenant) + 1 + strlen(t->user) +
                  1 + strlen(t->priority_class) + 1 +
                  (t->submit_key ? strlen(t->submit_key) + 1 : 0);
    const char *bracket = strchr(t->name, '[');
    char *at = xmalloc(size + name_len + 1), *old = j->texts;

    j->texts = at;
    j->ns = lay(&at, t->ns);
    j->ns_name = lay(&at, t->ns);
    at[-1] = '/';
    j->name = lay(&at, t->name);
    j->tenant = lay(&at, t->tenant);
    j->user = lay(&at, t->user);
    j->priority_class = lay(&at, t->priority_class);
    j->base = j->name;
    if (bracket) {
        j->base = lay(&at, t->name);
        at[bracket - t->name - (ptrdiff_t)name_len - 1] = '\0';
    }
    if (t->submit_key)
        j->submit_key = lay(&at, t->submit_key);
    free(old);
}

struct job *job_create(const struct job_texts *texts)
{
    struct job *j = xmalloc(sizeof(*j));

    *j = (struct job){.exit_code = -1, .timer_ix = SIZE_MAX, .leader = JOB_ROLES_MAX};
    job_set_texts(j, texts);
    for (int i = 0; i < JOB_EXCLUDED_MAX; i++)
        j->excluded[i] = IX_NONE;
    for (int r = 0; r < JOB_ROLES_MAX; r++) {
        j->fixed_cpu_milli[r] = j->fixed_memory_bytes[r] = -1;
        j->models[r] = MODELS_MAX;
    }
    return j;
}

usec_t job_run_end(const struct job *j)
{
    usec_t end = j->running_at + j->max_runtime_us;

    return j->run_until && j->run_until < end ? j->run_until : end;
}

void job_set_back(struct job *j, usec_t now)
{
    usec_t *const past[] = {&j->submitted_at, &j->state_since, &j->queued_at,       &j->attempt_at,
                            &j->running_at,   &j->resized_at,  &j->checkpointed_at, &j->ended_at};
    usec_t *const to_come[] = {&j->not_before, &j->run_until, &j->lost_at,
                               j->claim ? &j->claim->until : NULL};
    usec_t ahead = j->state_since - now;

    for (size_t i = 0; i < ARRAY_LEN(past); i++)
        if (*past[i] > now)
            *past[i] = now;
    for (size_t i = 0; i < ARRAY_LEN(to_come) && ahead > 0; i++)
        if (to_come[i] && *to_come[i] > ahead)
            *to_come[i] -= ahead;
}

void job_free_claim(struct job *j)
{
    if (j->claim)
        free(j->claim->victims);
    free(j->claim);
    j->claim = NULL;
}

void job_destroy(struct job *j)
{
    if (!j)
        return;
    job_free_claim(j);
    if (j->move)
        free(j->move->members);
    free(j->move);
    failure_destroy(j->failure);
    array_destroy(j->array);
    free(j->reason.text);
    free(j->members);
    free(j->texts);
    vec_fini(&j->waits);
    free(j);
}

/* NULL is none of them. */
static bool is_word(const char *text, const char *word)
{
    return text && strcmp(text, word) == 0;
}

/* What is kept after its end. */
static void set_cleanup(struct job *j, const struct spec *s)
{
    j->ttl_us = s->ttl_us ? s->ttl_us : JOB_KEEP_RECORD_S * USEC_PER_SEC;
    j->pod_ttl_us = s->pod_ttl_us ? s->pod_ttl_us : JOB_KEEP_PODS_S * USEC_PER_SEC;
    if (j->pod_ttl_us > j->ttl_us)
        j->pod_ttl_us = j->ttl_us;
    j->drops_pods = is_word(s->keep_pods, "none");
    j->drops_good_pods = is_word(s->keep_pods, "failed");
}

void job_set_terms(struct job *j, const struct spec *s)
{
    j->deadline_at = s->deadline_us;
    j->ends_preempted = is_word(s->on_preemption, "end");
    j->is_movable = s->is_movable;
    j->ends_saved = is_word(s->exit_zero, "done");
    j->is_asked = s->checkpoint_signal != NULL;
    j->before_end_us = s->before_end_us;
    j->failure = failure_of(&s->failure);
    j->leader = (uint8_t)spec_leader(s);
    j->ends_with_leader = is_word(s->completion, "leader");
    j->done_least = s->completion_min;
    set_cleanup(j, s);
}

void job_share_terms(struct job *j, const struct job *of)
{
    j->deadline_at = of->deadline_at;
    j->ends_preempted = of->ends_preempted;
    j->is_movable = of->is_movable;
    j->ends_saved = of->ends_saved;
    j->is_asked = of->is_asked;
    j->before_end_us = of->before_end_us;
    j->failure = failure_copy(of->failure);
    j->leader = of->leader;
    j->ends_with_leader = of->ends_with_leader;
    j->done_least = of->done_least;
    j->ttl_us = of->ttl_us;
    j->pod_ttl_us = of->pod_ttl_us;
    j->drops_pods = of->drops_pods;
    j->drops_good_pods = of->drops_good_pods;
}

const struct member *job_leader(const struct job *j)
{
    for (uint32_t i = 0; i < j->n_members && j->leader < JOB_ROLES_MAX; i++)
        if (j->members[i].role == j->leader)
            return &j->members[i]; /* they are by role and index */
    return NULL;
}

uint32_t job_size(const struct job *j)
{
    return j->n_members - j->n_absent - j->n_spare;
}

void job_gpus(const struct job *j, const uint8_t *models, uint64_t ret[MODELS_MAX])
{
    memset(ret, 0, MODELS_MAX * sizeof(ret[0]));
    for (uint32_t r = 0; r < j->demand->n_roles; r++)
        if (models[r] != MODELS_MAX)
            ret[models[r]] += (uint64_t)(j->n_members ? j->size[r] : j->demand->roles[r].replicas) *
                              j->demand->roles[r].parts[models[r]];
}

void job_set_reason(struct job *j, const char *code, const char *text)
{
    char *old = j->reason.text; /* may be what text points to */

    (void)str_copy(j->reason.code, sizeof(j->reason.code), code);
    j->reason.text = *text ? xasprintf("%.*s", REASON_TEXT_MAX, text) : NULL;
    if (j->reason.text)
        str_make_line(j->reason.text); /* half a character, where it was cut */
    free(old);
}

const char *job_reason_text(const struct job *j)
{
    return j->reason.text ? j->reason.text : "";
}

/* What a phase counts for. */
static void count_phase(struct job *j, enum member_phase phase, int delta)
{
    uint32_t d = (uint32_t)delta;

    switch (phase) {
    case MEMBER_PLACED:
        return;
    case MEMBER_SPARE:
        j->n_spare += d;
        return;
    case MEMBER_BOUND:
        j->n_bound += d;
        return;
    case MEMBER_RUNNING:
        j->n_bound += d;
        j->n_running += d;
        return;
    case MEMBER_SUCCEEDED:
    case MEMBER_FAILED:
        j->n_bound += d;
        j->n_done += d;
        return;
    case MEMBER_KEPT:
    case MEMBER_GONE:
        j->n_gone += d;
        return;
    case MEMBER_ABSENT:
        j->n_absent += d;
        return;
    }
}

void job_set_phase(struct job *j, struct member *m, enum member_phase phase)
{
    count_phase(j, (enum member_phase)m->phase, -1);
    j->size[m->role] += m->phase == MEMBER_ABSENT;
    j->size[m->role] -= phase == MEMBER_ABSENT;
    m->phase = (uint8_t)phase;
    if (phase != MEMBER_PLACED)
        job_set_waits(j, m, false);
    if (phase == MEMBER_ABSENT)
        m->mend = MEND_NONE; /* nobody waits for it */
    count_phase(j, phase, 1);
}

void job_set_waits(struct job *j, struct member *m, bool waits)
{
    j->n_waiting += waits;
    j->n_waiting -= m->waits;
    m->waits = waits;
}

const char *job_waits_words(char buf[JOB_WAITS_TEXT], const struct job *j)
{
    uint32_t at = 0;

    buf[0] = '\0';
    while (at < j->n_members && !j->members[at].waits)
        at++;
    if (at < j->n_members) {
        const struct demand_role *role = &j->demand->roles[j->members[at].role];

        (void)snprintf(buf, JOB_WAITS_TEXT, "; role %s waits for role %s to be Running", role->name,
                       j->demand->roles[role->after - 1].name);
    }
    return buf;
}

struct job_id job_spec_id(const struct job *j)
{
    return j->array_id.v ? j->array_id : j->id;
}

uint32_t job_pod_index(const struct job *j, const struct member *m)
{
    return j->array_index * j->demand->roles[m->role].most + m->index;
}

struct member *job_member(const struct job *j, uint32_t role, uint32_t index)
{
    uint32_t first = 0;

    if (!j->members || role >= j->demand->n_roles)
        return NULL;
    index -= j->array_index * j->demand->roles[role].most;
    if (index >= j->demand->roles[role].most)
        return NULL;
    for (uint32_t r = 0; r < role; r++)
        first += j->demand->roles[r].most;
    assert(first + index < j->n_members);
    return &j->members[first + index];
}

uint32_t job_role(const struct job *j, const char *name)
{
    for (uint32_t r = 0; r < j->demand->n_roles; r++)
        if (strcmp(j->demand->roles[r].name, name) == 0)
            return r;
    return IX_NONE;
}

const char *job_pod_name(char buf[POD_NAME_TEXT], const struct job *j, const struct member *m)
{
    int len = snprintf(buf, POD_NAME_TEXT, "%s-%s-%u-%u", j->base, j->demand->roles[m->role].name,
                       job_pod_index(j, m), j->attempt); /* lengths are bounded: limits.h */

    if (m->run)
        (void)snprintf(buf + len, POD_NAME_TEXT - (size_t)len, "-%u", m->run);
    return buf;
}

void job_name_suffix(char buf[5], struct job_id id, uint32_t round)
{
    static const char digits[] = "0123456789bcdfghjklmnpqrstvwxyz2"; /* no words by chance */
    uint64_t h = id.v + round * UINT64_C(0x9e3779b97f4a7c15);

    h = (h ^ h >> 30) * UINT64_C(0xbf58476d1ce4e5b9); /* finaliser of splitmix64 */
    h = (h ^ h >> 27) * UINT64_C(0x94d049bb133111eb);
    h ^= h >> 31;
    for (int i = 0; i < 4; i++) {
        buf[i] = digits[h & 31];
        h >>= 5;
    }
    buf[4] = '\0';
}

bool job_is_spare(const struct job *j, const struct member *m)
{
    const struct demand_role *role = &j->demand->roles[m->role];

    return m->index >= role->most - role->spares;
}

uint32_t job_slice(const struct job *j, const struct member *m)
{
    const struct demand *d = j->demand;

    return d->roles[m->role].each.amount[RES_GPUS] && !job_is_spare(j, m) ? d->slice_size : 0;
}

bool job_shares_slice(const struct job *j, const struct member *a, const struct member *b)
{
    uint32_t slice = job_slice(j, a);

    return slice && b->role == a->role && !job_is_spare(j, b) &&
           b->index / slice == a->index / slice;
}

bool job_member_holds(const struct member *m)
{
    return m->phase <= MEMBER_RUNNING;
}

void job_count_gpus(struct tenants *t, const struct job *j, tenant_count *count)
{
    uint64_t gpus[MODELS_MAX];

    job_gpus(j, j->models, gpus);
    for (uint32_t m = 0; m < MODELS_MAX && j->tenant_ix != IX_NONE; m++)
        if (gpus[m])
            count(t, j->tenant_ix, m, gpus[m]);
}

uint32_t job_pod_parts(const struct job *j, uint32_t role)
{
    uint8_t m = j->models[role];

    return m == MODELS_MAX ? 0 : j->demand->roles[role].parts[m];
}

void job_count_pods(struct tenants *t, const struct job *j, uint32_t role, uint32_t pods,
                    tenant_count *count)
{
    uint64_t parts = (uint64_t)pods * job_pod_parts(j, role);

    if (parts && j->tenant_ix != IX_NONE)
        count(t, j->tenant_ix, j->models[role], parts);
}

void job_count_going(struct tenants *t, const struct job *j, tenant_count *count)
{
    for (uint32_t r = 0; r < j->demand->n_roles; r++)
        job_count_pods(t, j, r, j->going[r], count);
}

void job_all_gpus(const struct job *j, uint64_t ret[MODELS_MAX])
{
    job_gpus(j, j->models, ret);
    for (uint32_t r = 0; r < j->demand->n_roles; r++)
        if (j->models[r] != MODELS_MAX)
            ret[j->models[r]] += (uint64_t)j->going[r] * j->demand->roles[r].parts[j->models[r]];
}

bool job_is_overdue(const struct job *j, usec_t now)
{
    return j->deadline_at && j->deadline_at <= now;
}

bool job_is_going(const struct job *j)
{
    for (uint32_t r = 0; r < j->demand->n_roles; r++)
        if (j->going[r])
            return true;
    return false;
}

const char *job_pod_key(char buf[POD_KEY_TEXT], const struct job *j, const struct member *m)
{
    char name[POD_NAME_TEXT];

    (void)snprintf(buf, POD_KEY_TEXT, "%s/%s", j->ns, job_pod_name(name, j, m));
    return buf;
}
