/* SPDX-License-Identifier: Apache-2.0 */
/* later.c - which members wait for another role, and when they no longer do. */
#include "life/later.h"

/* Does every pod of the role run, or has it run to its end? */
static bool role_runs(const struct job *j, uint32_t role)
{
    for (uint32_t i = 0; i < j->n_members; i++) {
        const struct member *m = &j->members[i];

        if (m->role == role && m->phase != MEMBER_RUNNING && m->phase != MEMBER_SUCCEEDED &&
            m->phase != MEMBER_ABSENT && m->phase != MEMBER_SPARE && !m->is_new)
            return false;
    }
    return true;
}

/* Per role: may its pods not be made yet? */
static void find_later(const struct job *j, bool *is_later)
{
    for (uint32_t r = 0; r < j->demand->n_roles; r++) {
        uint32_t after = j->demand->roles[r].after;

        is_later[r] = after && !role_runs(j, after - 1);
    }
}

void later_mark(struct job *j)
{
    bool is_later[JOB_ROLES_MAX];

    if (!j->demand->has_after)
        return;
    find_later(j, is_later);
    for (uint32_t i = 0; i < j->n_members; i++) {
        struct member *m = &j->members[i];

        if (is_later[m->role] && m->phase == MEMBER_PLACED && !m->uid[0] &&
            (j->state < JOB_RUNNING || m->mend == MEND_STARTING))
            job_set_waits(j, m, true);
    }
}

void later_look(struct job *j, struct effects *fx)
{
    uint32_t before = j->n_waiting;
    bool is_later[JOB_ROLES_MAX];

    if (!before || !j->is_resumed || j->state < JOB_BINDING || j->state > JOB_RUNNING)
        return;
    find_later(j, is_later);
    for (uint32_t i = 0; i < j->n_members; i++)
        if (j->members[i].waits && !is_later[j->members[i].role])
            job_set_waits(j, &j->members[i], false);
    if (j->n_waiting < before)
        (void)effects_add(fx, EFFECT_GANG_START, j->id);
}
