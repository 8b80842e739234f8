/* SPDX-License-Identifier: Apache-2.0 */
/* core_names.c - one name each. */
#include "core_names.h"

const char *event_name(enum event_kind kind)
{
    static const char *const names[EV_KINDS] = {
        [EV_NONE] = "none",
        [EV_JOB_SUBMIT] = "job-submit",
        [EV_JOB_VERB] = "job-verb",
        [EV_JOBS_SELECTED] = "jobs-selected",
        [EV_JOB_UPDATE] = "job-update",
        [EV_NODE_DRAIN] = "node-drain",
        [EV_WINDOW] = "window",
        [EV_GANG_PLACED] = "gang-placed",
        [EV_GANG_CLAIMED] = "gang-claimed",
        [EV_GANG_PREEMPTED] = "gang-preempted",
        [EV_CLAIM_OVER] = "claim-over",
        [EV_NODE_SEEN] = "node-seen",
        [EV_NODE_GONE] = "node-gone",
        [EV_POD_SEEN] = "pod-seen",
        [EV_POD_GONE] = "pod-gone",
        [EV_POD_BOUND] = "pod-bound",
        [EV_POD_REFUSED] = "pod-refused",
        [EV_GANG_MENDED] = "gang-mended",
        [EV_HOST_WANTED] = "host-wanted",
        [EV_SERVICE_GONE] = "service-gone",
        [EV_BUDGET] = "budget",
        [EV_SYNCED] = "synced",
        [EV_CLUSTER] = "cluster",
        [EV_SETTINGS] = "settings",
        [EV_STORE_LOW] = "store-low",
        [EV_TIMER] = "timer",
    };

    return (unsigned)kind < EV_KINDS ? names[kind] : "unknown";
}

const char *effect_name(enum effect_kind kind)
{
    static const char *const names[EFFECT_KINDS] = {
        [EFFECT_SAVE_JOB] = "save-job",
        [EFFECT_SAVE_SPEC] = "save-spec",
        [EFFECT_SAVE_KEY] = "save-key",
        [EFFECT_SAVE_REQUEST] = "save-request",
        [EFFECT_SAVE_EVENT] = "save-event",
        [EFFECT_SAVE_ATTEMPT] = "save-attempt",
        [EFFECT_SAVE_CONFIG] = "save-config",
        [EFFECT_SAVE_WINDOW] = "save-window",
        [EFFECT_SAVE_DRAIN] = "save-drain",
        [EFFECT_DROP_JOB] = "drop-job",
        [EFFECT_DROP_KEY] = "drop-key",
        [EFFECT_DROP_REQUEST] = "drop-request",
        [EFFECT_DROP_EVENTS] = "drop-events",
        [EFFECT_DROP_ATTEMPTS] = "drop-attempts",
        [EFFECT_REPLY] = "reply",
        [EFFECT_GANG_START] = "gang-start",
        [EFFECT_GANG_STOP] = "gang-stop",
        [EFFECT_POD_DELETE] = "pod-delete",
        [EFFECT_ORPHAN_FOUND] = "orphan-found",
        [EFFECT_ORPHAN_HELD] = "orphan-held",
    };

    return (unsigned)kind < EFFECT_KINDS ? names[kind] : "unknown";
}

static const char *const event_names[] = {
    [JOB_EV_PLACED] = "placed",           [JOB_EV_HOLD] = "hold",
    [JOB_EV_RELEASE] = "release",         [JOB_EV_CANCEL] = "cancel",
    [JOB_EV_TIME_UP] = "time-up",         [JOB_EV_ALL_BOUND] = "all-bound",
    [JOB_EV_REFUSED] = "refused",         [JOB_EV_REJECTED] = "rejected",
    [JOB_EV_START_LATE] = "start-late",   [JOB_EV_MEMBER_FAILED] = "member-failed",
    [JOB_EV_MEMBER_LOST] = "member-lost", [JOB_EV_ALL_RUNNING] = "all-running",
    [JOB_EV_ALL_DONE] = "all-done",       [JOB_EV_GIVE_UP] = "give-up",
    [JOB_EV_PREEMPT] = "preempt",         [JOB_EV_ALL_GONE] = "all-gone",
    [JOB_EV_REPLACED] = "replaced",       [JOB_EV_REQUEUE] = "requeue",
    [JOB_EV_UPDATE] = "update",           [JOB_EV_CHECKPOINTED] = "checkpointed",
    [JOB_EV_INDEX_RUNS] = "index-runs",   [JOB_EV_NO_INDEX_RUNS] = "no-index-runs",
    [JOB_EV_RESIZED] = "resized",
};

const char *job_event_name(enum job_event e)
{
    return e >= JOB_EV_PLACED && e <= JOB_EV_NO_INDEX_RUNS ? event_names[e] : "unknown";
}
