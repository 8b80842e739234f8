/* SPDX-License-Identifier: Apache-2.0 */
/* facts.c - facts about nodes and pods, matched to what the jobs expect.
 *
 * A pod counts through its gang only if job, attempt, role, index and uid are the gang's; every
 * other pod counts for itself. A pod of ours that no gang wants any more is deleted.
 */
#include "life/facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/claim.h"
#include "life/claimed.h"
#include "life/job_life.h"
#include "life/orphan.h"
#include "util/str.h"

static void watch_node(struct state *s, struct node *n, bool is_lost)
{
    if (!is_lost) {
        n->lost_at = 0;
        return;
    }
    if (n->lost_at)
        return;
    n->lost_at = s->now + s->settings->node_lost_us;
    if (s->next_sweep > n->lost_at)
        s->next_sweep = n->lost_at;
    *vec_push(&s->lost_nodes) = n->ix;
}

void facts_node_seen(struct state *s, struct node_fact *fact)
{
    struct node *n = cluster_node_seen(&s->cluster, fact);

    watch_node(s, n, !n->fact->is_ready);
    s->is_quiet = false;
}

void facts_node_gone(struct state *s, const char *name)
{
    struct node *n;

    cluster_node_gone(&s->cluster, name);
    n = cluster_find(&s->cluster, name);
    if (n)
        watch_node(s, n, true);
    s->is_quiet = false;
}

usec_t facts_check_nodes(struct state *s, struct effects *fx)
{
    usec_t next = INT64_MAX;

    for (size_t i = 0; i < s->lost_nodes.n;) {
        uint32_t ix = s->lost_nodes.v[i];
        struct node *n = cluster_node(&s->cluster, ix);

        if (!n || !n->lost_at) { /* forgotten, or fine again */
            vec_remove(&s->lost_nodes, i);
            continue;
        }
        i++;
        if (n->lost_at > s->now) {
            next = n->lost_at < next ? n->lost_at : next;
            continue;
        }
        for (size_t k = s->active.n; k-- > 0;) /* jobs that move on leave the list */
            if (k < s->active.n && cluster_node(&s->cluster, ix))
                job_node_lost(s, s->active.v[k], ix, fx);
        vec_remove(&s->lost_nodes, i - 1);
        i--;
        n = cluster_node(&s->cluster, ix);
        if (n)
            n->lost_at = 0;
    }
    return next;
}

static bool is_over(const struct pod_fact *pod)
{
    return pod->phase == POD_SUCCEEDED || pod->phase == POD_FAILED;
}

/* The member that has this pod's name, or NULL: of no gang, or of an attempt that is over. */
static struct member *member_named(const struct job *j, const struct pod_fact *pod)
{
    struct member *m;
    char name[POD_NAME_TEXT];

    if (!j || !j->members || pod->attempt != j->attempt || strcmp(pod->ns, j->ns) != 0)
        return NULL;
    m = job_member(j, job_role(j, pod->role), pod->index);
    return m && strcmp(job_pod_name(name, j, m), pod->name) == 0 ? m : NULL;
}

/* The member that this pod is, or NULL. Names are unique, so a new uid under a member's name says
 * that the old pod is gone: before it was bound our own repeated create made the new one, later
 * the member is lost. */
static struct member *member_of(struct state *s, struct job *j, const struct pod_fact *pod,
                                struct effects *fx)
{
    struct member *m = member_named(j, pod);

    if (!m || !m->uid[0] || strcmp(m->uid, pod->uid) == 0)
        return m;
    if (!job_state_is_active(j->state))
        return NULL;
    if (m->phase == MEMBER_PLACED)
        return m;
    job_member_gone(s, j, m, "was replaced by another pod of its name", fx);
    return NULL;
}

/* A pod of ours that no gang wants: of another attempt or uid, or of a job that is over. */
static void stray_seen(struct state *s, const struct job *j, const struct pod_fact *pod,
                       struct effects *fx)
{
    cluster_pod_seen(&s->cluster, pod);
    s->is_quiet = false;
    if (pod->is_deleting)
        return;
    if (j) {
        effects_delete_pod(fx, pod->ns, pod->name, pod->uid);
        return;
    }
    orphan_seen(s, pod, fx);
}

/* Our pod sits on another host than was decided: believe what is seen. */
static void member_moved(struct state *s, struct job *j, struct member *m,
                         const struct pod_fact *pod, struct effects *fx)
{
    struct ev_pod_answer a = {.refusal = REFUSAL_BIND};

    if (m->phase > MEMBER_RUNNING)
        return;
    job_member_moves(s, j, m, cluster_node_named(&s->cluster, pod->node));
    (void)snprintf(a.text, sizeof(a.text), "it was bound to another node by somebody else");
    job_refused(s, j, m, &a, fx);
}

/* Somebody else has this pod deleted (drained, evicted) while the gang is to go on: how it ended
 * under that says nothing of the job. We delete only what is Stopping or Restarting. */
static bool is_driven_out(const struct job *j, const struct pod_fact *pod)
{
    return pod->is_deleting && is_over(pod) &&
           (j->state == JOB_BINDING || j->state == JOB_STARTING || j->state == JOB_RUNNING);
}

static void member_seen(struct state *s, struct job *j, struct member *m,
                        const struct pod_fact *pod, struct effects *fx)
{
    const struct node *n = cluster_node(&s->cluster, m->node_ix);

    m->is_seen = true;
    memcpy(m->uid, pod->uid, sizeof(m->uid));
    job_set_waits(j, m, false);
    cluster_pod_gone(&s->cluster, pod->ns, pod->name, ""); /* it counts through the gang */
    if (pod->node[0] && m->phase <= MEMBER_RUNNING && n && strcmp(n->name, pod->node) != 0) {
        member_moved(s, j, m, pod, fx);
        return;
    }
    if (is_driven_out(j, pod))
        job_member_gone(s, j, m, "was deleted", fx);
    else if (is_over(pod))
        job_member_ended(s, j, m, pod, fx);
    else if (pod->phase == POD_RUNNING && pod->node[0])
        job_member_running(s, j, m, fx);
    else if (pod->node[0])
        job_member_bound(s, j, m, fx);
}

void facts_pod_seen(struct state *s, const struct pod_fact *pod, struct effects *fx)
{
    struct job *j = pod->job.v ? state_job(s, pod->job) : NULL;
    struct member *m = member_of(s, j, pod, fx);

    if (m && m->phase == MEMBER_ABSENT) {
        memcpy(m->uid, pod->uid, sizeof(m->uid)); /* its name is taken until it is gone */
        if (is_over(pod))
            job_member_went(s, j, m, fx);
        m = NULL;
    }
    if (m && m->phase != MEMBER_GONE && m->phase != MEMBER_KEPT) {
        if (job_state_is_active(j->state)) {
            member_seen(s, j, m, pod, fx);
            return;
        }
        if (is_over(pod) && j->has_pods)
            return; /* kept for its log, for cleanup.podTTL */
    }
    if (pod->job.v) {
        stray_seen(s, j, pod, fx);
        return;
    }
    cluster_pod_seen(&s->cluster, pod);
    s->is_quiet = false;
}

void facts_pod_gone(struct state *s, const struct ev_pod_gone *gone, struct effects *fx)
{
    struct job *j = gone->job.v ? state_job(s, gone->job) : NULL;

    cluster_pod_gone(&s->cluster, gone->ns, gone->name, gone->uid);
    orphan_gone(s, gone->ns, gone->name);
    s->is_quiet = false;
    if (!j || !j->members || gone->attempt != j->attempt || !job_state_is_active(j->state))
        return;
    for (uint32_t i = 0; i < j->n_members; i++) {
        struct member *m = &j->members[i];
        char name[POD_NAME_TEXT];

        if (gone->member != IX_NONE && gone->member != i)
            continue;
        if (strcmp(job_pod_name(name, j, m), gone->name) != 0 || strcmp(gone->ns, j->ns) != 0)
            continue;
        if (!gone->uid[0] || !m->uid[0] || strcmp(gone->uid, m->uid) == 0)
            job_member_gone(s, j, m, "was deleted", fx);
        if (j->members && j->members[i].phase == MEMBER_ABSENT) { /* the last one ends them all */
            j->members[i].uid[0] = '\0';
            job_member_went(s, j, &j->members[i], fx);
        }
        return;
    }
}

/* The member that an answer of the adapter speaks of, when it is still wanted. */
static struct member *answered(struct state *s, const struct ev_pod_answer *a, struct job **ret)
{
    struct job *j = state_job(s, a->job);

    if (!j || !j->members || a->attempt != j->attempt || a->member >= j->n_members ||
        a->run != j->members[a->member].run)
        return NULL;
    *ret = j;
    return &j->members[a->member];
}

void facts_pod_bound(struct state *s, const struct ev_pod_answer *a, struct effects *fx)
{
    struct job *j = NULL;
    struct member *m = answered(s, a, &j);

    if (!m || m->phase == MEMBER_GONE)
        return;
    if (m->phase == MEMBER_PLACED)
        (void)str_copy(m->uid, sizeof(m->uid), a->uid);
    if (strcmp(m->uid, a->uid) == 0)
        job_member_bound(s, j, m, fx);
}

void facts_pod_refused(struct state *s, const struct ev_pod_answer *a, struct effects *fx)
{
    struct job *j = NULL;
    struct member *m = answered(s, a, &j);

    if (m)
        job_refused(s, j, m, a, fx);
}

void facts_service_gone(struct state *s, struct job_id id, struct effects *fx)
{
    struct job *j = state_job(s, id);

    /* while the job may still run, its service is made again with the next attempt */
    if (!j || j->state != JOB_STOPPING || j->outcome == JOB_PENDING || !j->has_service)
        return;
    j->has_service = false;
    job_save(s, j, fx);
    job_check_gone(s, j, fx);
}

void facts_budget(struct state *s, const struct event *ev, struct effects *fx)
{
    struct job *j = state_job(s, ev->u.budget.job);
    struct job_note *note;

    if (!j || !j->has_budget || j->attempt != ev->u.budget.attempt)
        return;
    if (ev->u.budget.trouble) { /* it guards against drains only: the gang goes on */
        note = job_note(s, j, j->state, 0, fx);
        (void)str_copy(note->reason, sizeof(note->reason), "NoDisruptionBudget");
        (void)str_copy(note->text, sizeof(note->text), ev->u.budget.trouble);
        str_make_line(note->text);
        return;
    }
    if (j->state != JOB_STOPPING && !job_wants_all_gone(j))
        return;
    j->has_budget = false;
    job_save(s, j, fx);
    job_check_gone(s, j, fx);
}

/* Nobody will say that a node went while the daemon was down: what its gangs name and the complete
 * list has not is gone. */
static void watch_unlisted(struct state *s, const struct job *j)
{
    for (uint32_t i = 0; i < j->n_members; i++) {
        struct node *n = cluster_node(&s->cluster, job_member_node(s, j, &j->members[i]));

        if (n && !n->is_known)
            watch_node(s, n, true);
    }
}

void facts_synced(struct state *s, const char *cluster_uid, struct effects *fx)
{
    if (!s->meta.cluster_uid[0])
        (void)str_copy(s->meta.cluster_uid, sizeof(s->meta.cluster_uid), cluster_uid);
    if (strcmp(s->meta.cluster_uid, cluster_uid) != 0) {
        s->is_synced = false;
        (void)snprintf(s->cluster_trouble, sizeof(s->cluster_trouble),
                       "the store belongs to cluster %s and this is %s: point the kubeconfig at "
                       "the right cluster, or start with an empty store",
                       s->meta.cluster_uid, cluster_uid);
        return;
    }
    s->is_synced = true;
    s->is_quiet = false;
    orphans_synced(s);
    claims_synced(s);
    for (size_t i = 0; i < s->active.n; i++)
        watch_unlisted(s, s->active.v[i]);
    for (size_t i = s->active.n; i-- > 0;)
        if (i < s->active.n)
            job_resume(s, s->active.v[i], fx);
}
