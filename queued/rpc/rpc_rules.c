/* SPDX-License-Identifier: Apache-2.0 */
/* rpc_rules.c - the bounds of every field of every request, one row a field.
 *
 * Rows stand in the order of field numbers; a test compares them with the descriptors. These
 * are bounds of the wire: what a job may say in detail is spec_check()'s matter, whose errors
 * name the path in the job file.
 */
#include "rpc/rpc_check.h"

#include "core/event.h"
#include "spec/limits.h"
#include "queue.pb-c.h"
#include "rpc/rpc_wire.h"
#include "util/mem.h"

#define AMOUNT_MAX ((uint64_t)RESOURCE_AMOUNT_MAX)
#define USEC_MAX   ((uint64_t)1 << 56)

static const struct rpc_rule header_rules[] = {
    {"request_id", RULE_BYTES, REQUEST_ID_BYTES, REQUEST_ID_BYTES, 1},
    {"deadline_ms", RULE_NUMBER, 0, RPC_DEADLINE_MS_MAX, 1},
};

static const struct rpc_rule pair_rules[] = {
    {"key", RULE_LINE, 1, LABEL_KEY_MAX, 1},
    {"value", RULE_TEXT, 0, RPC_VALUE_MAX, 1},
};

static const struct rpc_rule toleration_rules[] = {
    {"key", RULE_LINE, 0, LABEL_KEY_MAX, 1},
    {"operator", RULE_LINE, 0, 16, 1},
    {"value", RULE_LINE, 0, LABEL_MAX, 1},
    {"effect", RULE_LINE, 0, 32, 1},
    {"seconds", RULE_NUMBER, 0, TOLERATION_SECONDS_MAX, 1},
    {"automatic", RULE_NUMBER, 0, 1, 1},
};

static const struct rpc_rule match_rules[] = {
    {"term", RULE_NUMBER, 0, ROLE_MATCHES_MAX, 1},
    {"key", RULE_LINE, 1, LABEL_KEY_MAX, 1},
    {"operator", RULE_LINE, 1, 16, 1},
    {"values", RULE_LINE, 0, LABEL_MAX, ROLE_ARGS_MAX},
    {"weight", RULE_NUMBER, 1, MATCH_WEIGHT_MAX, 1},
};

static const struct rpc_rule volume_rules[] = {
    {"name", RULE_LABEL, 1, LABEL_MAX, 1},         {"kind", RULE_ENUM, 1, 0, 1},
    {"source", RULE_LINE, 0, NODE_NAME_MAX, 1},    {"path", RULE_LINE, 0, RPC_PATH_MAX, 1},
    {"mount_path", RULE_LINE, 1, RPC_PATH_MAX, 1}, {"size_bytes", RULE_NUMBER, 0, AMOUNT_MAX, 1},
    {"read_only", RULE_NUMBER, 0, 1, 1},           {"sub_path", RULE_LINE, 0, RPC_PATH_MAX, 1},
    {"in_memory", RULE_NUMBER, 0, 1, 1},
};

static const struct rpc_rule env_ref_rules[] = {
    {"env", RULE_LINE, 0, LABEL_KEY_MAX, 1},
    {"prefix", RULE_LINE, 0, NODE_NAME_MAX, 1},
    {"kind", RULE_ENUM, 1, 0, 1},
    {"source", RULE_LINE, 0, NODE_NAME_MAX, 1},
    {"key", RULE_LINE, 0, LABEL_KEY_MAX + 24, 1},
    {"may_lack", RULE_NUMBER, 0, 1, 1},
};

static const struct rpc_rule extended_rules[] = {
    {"name", RULE_LINE, 1, LABEL_KEY_MAX, 1},
    {"amount", RULE_NUMBER, 0, AMOUNT_MAX, 1},
};

static const struct rpc_rule spread_rules[] = {
    {"key", RULE_LINE, 1, LABEL_KEY_MAX, 1},
    {"max_skew", RULE_NUMBER, 0, JOB_PODS_MAX, 1},
    {"soft", RULE_NUMBER, 0, 1, 1},
};

static const struct rpc_rule role_rules[] = {
    {"name", RULE_LABEL, 1, ROLE_NAME_MAX, 1},
    {"replicas", RULE_NUMBER, 0, JOB_PODS_MAX, 1},
    {"gpus", RULE_NUMBER, 0, POD_GPUS_MAX, 1},
    {"gpu_models", RULE_LINE, 1, LABEL_MAX, ROLE_MODELS_MAX},
    {"cpu_milli", RULE_NUMBER, 0, AMOUNT_MAX, 1},
    {"memory_bytes", RULE_NUMBER, 0, AMOUNT_MAX, 1},
    {"shm_bytes", RULE_NUMBER, 0, AMOUNT_MAX, 1},
    {"extended", RULE_MESSAGE, 0, SPEC_BYTES_MAX, ROLE_EXTENDED_MAX},
    {"image", RULE_LINE, 0, RPC_IMAGE_MAX, 1},
    {"command", RULE_TEXT, 0, RPC_VALUE_MAX, ROLE_ARGS_MAX},
    {"args", RULE_TEXT, 0, RPC_VALUE_MAX, ROLE_ARGS_MAX},
    {"working_dir", RULE_LINE, 0, RPC_PATH_MAX, 1},
    {"env", RULE_MESSAGE, 0, SPEC_BYTES_MAX, ROLE_ENV_MAX},
    {"volumes", RULE_MESSAGE, 0, SPEC_BYTES_MAX, ROLE_VOLUMES_MAX},
    {"node_selector", RULE_MESSAGE, 0, SPEC_BYTES_MAX, ROLE_SELECTOR_MAX},
    {"tolerations", RULE_MESSAGE, 0, SPEC_BYTES_MAX, ROLE_TOLERATIONS_MAX},
    {"affinity", RULE_MESSAGE, 0, SPEC_BYTES_MAX, ROLE_MATCHES_MAX},
    {"nodes", RULE_LINE, 1, NODE_NAME_MAX, ROLE_NODES_MAX},
    {"excluded_nodes", RULE_LINE, 1, NODE_NAME_MAX, ROLE_NODES_MAX},
    {"gpu_memory_min", RULE_NUMBER, 0, AMOUNT_MAX, 1},
    {"driver_min", RULE_LINE, 1, VERSION_MAX, 1},
    {"cuda_min", RULE_LINE, 1, VERSION_MAX, 1},
    {"mixed_drivers", RULE_NUMBER, 0, 1, 1},
    {"spread", RULE_MESSAGE, 0, 512, 1},
    {"min_replicas", RULE_NUMBER, 0, JOB_PODS_MAX, 1},
    {"spares", RULE_NUMBER, 0, JOB_PODS_MAX, 1},
    {"pull_policy", RULE_LINE, 0, 16, 1},
    {"pull_secrets", RULE_LINE, 1, NODE_NAME_MAX, ROLE_PULL_SECRETS_MAX},
    {"service_account", RULE_LINE, 0, NODE_NAME_MAX, 1},
    {"env_refs", RULE_MESSAGE, 0, SPEC_BYTES_MAX, ROLE_REFS_MAX},
    {"start_after", RULE_LINE, 0, ROLE_NAME_MAX, 1},
    {"exclusive_node", RULE_NUMBER, 0, 1, 1},
    {"leader", RULE_NUMBER, 0, 1, 1},
};

static const struct rpc_rule failure_rules[] = {
    {"exit_codes", RULE_NUMBER, 1, 255, RULE_WORDS_MAX},
    {"reasons", RULE_LINE, 1, LABEL_MAX, RULE_WORDS_MAX},
    {"action", RULE_LINE, 1, 31, 1},
};

static const struct rpc_rule spec_rules[] = {
    {"name", RULE_LABEL, 1, JOB_BASE_NAME_MAX, 1},
    {"tenant", RULE_PATH, 0, TENANT_PATH_MAX, 1},
    {"namespace", RULE_LABEL, 1, LABEL_MAX, 1},
    {"labels", RULE_MESSAGE, 0, SPEC_BYTES_MAX, JOB_LABELS_MAX},
    {"annotations", RULE_MESSAGE, 0, SPEC_BYTES_MAX, JOB_LABELS_MAX},
    {"submit_key", RULE_LINE, 1, SUBMIT_KEY_MAX, 1},
    {"priority_class", RULE_LINE, 1, CLASS_NAME_MAX, 1},
    {"max_runtime_us", RULE_NUMBER, 0, USEC_MAX, 1},
    {"max_queue_us", RULE_NUMBER, 0, USEC_MAX, 1},
    {"start_timeout_us", RULE_NUMBER, 0, USEC_MAX, 1},
    {"topology_required", RULE_LINE, 1, LABEL_MAX, 1},
    {"topology_preferred", RULE_LINE, 1, LABEL_MAX, 1},
    {"roles", RULE_MESSAGE, 0, SPEC_BYTES_MAX, JOB_ROLES_MAX},
    {"max_restarts", RULE_NUMBER, 0, JOB_RESTARTS_MAX, 1},
    {"checkpoint_grace_us", RULE_NUMBER, 0, USEC_MAX, 1},
    {"max_wait_us", RULE_NUMBER, 0, USEC_MAX, 1},
    {"deadline_us", RULE_NUMBER, 0, USEC_MAX, 1},
    {"preemptible", RULE_NUMBER, 0, 1, 1},
    {"preemption_policy", RULE_LINE, 1, 31, 1},
    {"max_lost_gpu_hours", RULE_NUMBER, 0, 1000000, 1},
    {"on_preemption", RULE_LINE, 1, 31, 1},
    {"hold", RULE_NUMBER, 0, 1, 1},
    {"depends_on", RULE_MESSAGE, 0, SPEC_BYTES_MAX, JOB_DEPENDS_MAX},
    {"slice_level", RULE_LINE, 1, LABEL_MAX, 1},
    {"slice_size", RULE_NUMBER, 0, JOB_PODS_MAX, 1},
    {"licences", RULE_MESSAGE, 0, SPEC_BYTES_MAX, LICENCES_MAX},
    {"elastic_step", RULE_NUMBER, 0, JOB_PODS_MAX, 1},
    {"grow_cooldown_us", RULE_NUMBER, 0, USEC_MAX, 1},
    {"reset_after_us", RULE_NUMBER, 0, USEC_MAX, 1},
    {"backoff_us", RULE_NUMBER, 0, USEC_MAX, 1},
    {"backoff_max_us", RULE_NUMBER, 0, USEC_MAX, 1},
    {"exclude_failed_nodes", RULE_NUMBER, 0, 1, 1},
    {"failure_rules", RULE_MESSAGE, 0, SPEC_BYTES_MAX, JOB_RULES_MAX},
    {"exit_zero", RULE_LINE, 1, 31, 1},
    {"movable", RULE_NUMBER, 0, 1, 1},
    {"array_indices", RULE_LINE, 1, ARRAY_TEXT_MAX, 1},
    {"array_parallel", RULE_NUMBER, 0, ARRAY_INDICES_MAX, 1},
    {"array_fail_fast", RULE_NUMBER, 0, 1, 1},
    {"failure_scope", RULE_LINE, 1, 31, 1},
    {"pdb", RULE_NUMBER, 0, 1, 1},
    {"min_available", RULE_NUMBER, 0, JOB_PODS_MAX, 1},
    {"array_params", RULE_TEXT, 1, ARRAY_PARAMS_BYTES_MAX, ARRAY_INDICES_MAX},
    {"completion", RULE_LINE, 1, 31, 1},
    {"completion_min", RULE_NUMBER, 0, JOB_PODS_MAX, 1},
    {"checkpoint_signal", RULE_LINE, 1, 31, 1},
    {"checkpoint_path", RULE_LINE, 1, 1024, 1},
    {"checkpoint_target", RULE_LINE, 1, 31, 1},
    {"before_end_us", RULE_NUMBER, 0, USEC_MAX, 1},
    {"rendezvous", RULE_LINE, 1, 31, 1},
    {"rendezvous_port", RULE_NUMBER, 0, UINT16_MAX, 1},
    {"one_process", RULE_NUMBER, 0, 1, 1},
    {"world_of_nodes", RULE_NUMBER, 0, 1, 1},
    {"ttl_us", RULE_NUMBER, 0, USEC_MAX, 1},
    {"pod_ttl_us", RULE_NUMBER, 0, USEC_MAX, 1},
    {"keep_pods", RULE_LINE, 1, 31, 1},
};

static const struct rpc_rule filter_rules[] = {
    {"all", RULE_NUMBER, 0, 1, 1},
    {"tenant", RULE_PATH, 0, TENANT_PATH_MAX, 1},
    {"user", RULE_LINE, 0, USER_NAME_MAX, 1},
    {"states", RULE_LINE, 1, 16, RPC_STATES_MAX},
    {"labels", RULE_MESSAGE, 0, 1024, RPC_FILTER_LABELS_MAX},
    {"array", RULE_LINE, 0, JOB_SHOWN_MAX, 1},
};

#define HEADER                                                                                     \
    {                                                                                              \
        "header", RULE_MESSAGE, 0, 64, 1                                                           \
    }
/* What names a job: name, id, or prefix of one. */
#define JOB(min)                                                                                   \
    {                                                                                              \
        "job", RULE_LINE, (min), JOB_SHOWN_MAX, 1                                                  \
    }

static const struct rpc_rule header_only_rules[] = {HEADER};
static const struct rpc_rule submit_rules[] = {
    HEADER,
    {"spec", RULE_MESSAGE, 0, SPEC_BYTES_MAX, 1},
    {"dry_run", RULE_NUMBER, 0, 1, 1},
    {"require_feasible", RULE_NUMBER, 0, 1, 1},
};
static const struct rpc_rule estimate_rules[] = {
    HEADER,
    {"spec", RULE_MESSAGE, 0, SPEC_BYTES_MAX, 1},
    {"without_nodes", RULE_LINE, 1, NODE_NAME_MAX, 256},
    {"added_nodes", RULE_NUMBER, 0, 1000, 1},
    {"added_like", RULE_LINE, 0, NODE_NAME_MAX, 1},
    {"added_domains", RULE_MESSAGE, 0, 1024, 8},
};
/* cancel, hold, release, requeue, preempt */
static const struct rpc_rule change_rules[] = {
    HEADER,
    {"job", RULE_LINE, 1, RPC_PART_MAX, 1},
    {"reason", RULE_LINE, 0, REASON_TEXT_MAX, 1},
    {"grace_us", RULE_NUMBER, USEC_PER_SEC, RPC_GRACE_MAX_S *USEC_PER_SEC, 1},
};
static const struct rpc_rule selected_rules[] = {
    HEADER,
    {"method", RULE_NUMBER, 1, RPC_METHODS - 1, 1},
    {"filter", RULE_MESSAGE, 0, 16384, 1},
    {"reason", RULE_LINE, 0, REASON_TEXT_MAX, 1},
    {"grace_us", RULE_NUMBER, USEC_PER_SEC, RPC_GRACE_MAX_S *USEC_PER_SEC, 1},
};
static const struct rpc_rule update_rules[] = {
    HEADER,
    {"job", RULE_LINE, 1, RPC_PART_MAX, 1},
    {"reason", RULE_LINE, 0, REASON_TEXT_MAX, 1},
    {"priority_class", RULE_LINE, 1, CLASS_NAME_MAX, 1},
    {"tenant", RULE_PATH, 1, TENANT_PATH_MAX, 1},
    {"max_runtime_us", RULE_NUMBER, 1, USEC_MAX, 1},
    {"topology_required", RULE_LINE, 1, LABEL_MAX, 1},
    {"topology_preferred", RULE_LINE, 1, LABEL_MAX, 1},
};
static const struct rpc_rule drain_rules[] = {
    HEADER,
    {"node", RULE_DOMAIN, 1, NODE_NAME_MAX, 1},
    {"reason", RULE_LINE, 0, REASON_TEXT_MAX, 1},
};
static const struct rpc_rule reserve_rules[] = {
    HEADER,
    {"name", RULE_LABEL, 1, LABEL_MAX, 1},
    {"tenant", RULE_PATH, 1, TENANT_PATH_MAX, 1},
    {"from_us", RULE_NUMBER, 0, USEC_MAX, 1},
    {"to_us", RULE_NUMBER, 1, USEC_MAX, 1},
    {"nodes", RULE_DOMAIN, 1, NODE_NAME_MAX, NODES_MAX},
    {"domain", RULE_LINE, 1, RPC_PATH_MAX, 1},
    {"labels", RULE_MESSAGE, 0, 1024, RPC_FILTER_LABELS_MAX},
    {"reason", RULE_LINE, 0, REASON_TEXT_MAX, 1},
    {"dry_run", RULE_NUMBER, 0, 1, 1},
};
static const struct rpc_rule unreserve_rules[] = {HEADER, {"name", RULE_LABEL, 1, LABEL_MAX, 1}};
static const struct rpc_rule stop_rules[] = {
    HEADER,
    {"tenant", RULE_PATH, 1, TENANT_PATH_MAX, 1},
    {"reason", RULE_LINE, 0, REASON_TEXT_MAX, 1},
};
static const struct rpc_rule job_rules[] = {HEADER, JOB(1)};
static const struct rpc_rule list_rules[] = {
    HEADER,
    {"filter", RULE_MESSAGE, 0, 16384, 1},
    {"limit", RULE_NUMBER, 0, LIST_PAGE_MAX, 1},
    {"page_token", RULE_BYTES, 0, RPC_TOKEN_BYTES, 1},
    {"full", RULE_NUMBER, 0, 1, 1},
};
static const struct rpc_rule watch_rules[] = {
    HEADER,
    {"after_seq", RULE_NUMBER, 0, UINT64_MAX, 1},
    {"from_now", RULE_NUMBER, 0, 1, 1},
    {"filter", RULE_MESSAGE, 0, 16384, 1},
    JOB(1),
    {"credit", RULE_NUMBER, 1, RPC_CREDIT_MAX, 1},
};
static const struct rpc_rule nodes_rules[] = {
    HEADER,
    {"after", RULE_DOMAIN, 0, NODE_NAME_MAX, 1},
    {"limit", RULE_NUMBER, 0, LIST_PAGE_MAX, 1},
};

static const struct rpc_rules tables[] = {
    {&queued__v1__request_header__descriptor, header_rules},
    {&queued__v1__pair__descriptor, pair_rules},
    {&queued__v1__toleration__descriptor, toleration_rules},
    {&queued__v1__node_match__descriptor, match_rules},
    {&queued__v1__volume__descriptor, volume_rules},
    {&queued__v1__extended__descriptor, extended_rules},
    {&queued__v1__env_ref__descriptor, env_ref_rules},
    {&queued__v1__spread__descriptor, spread_rules},
    {&queued__v1__role__descriptor, role_rules},
    {&queued__v1__failure_rule__descriptor, failure_rules},
    {&queued__v1__job_spec__descriptor, spec_rules},
    {&queued__v1__job_filter__descriptor, filter_rules},
    {&queued__v1__hello_request__descriptor, header_only_rules},
    {&queued__v1__submit_request__descriptor, submit_rules},
    {&queued__v1__estimate_request__descriptor, estimate_rules},
    {&queued__v1__change_request__descriptor, change_rules},
    {&queued__v1__selected_request__descriptor, selected_rules},
    {&queued__v1__update_request__descriptor, update_rules},
    {&queued__v1__drain_request__descriptor, drain_rules},
    {&queued__v1__tenant_stop_request__descriptor, stop_rules},
    {&queued__v1__get_request__descriptor, job_rules},
    {&queued__v1__list_request__descriptor, list_rules},
    {&queued__v1__why_request__descriptor, job_rules},
    {&queued__v1__watch_request__descriptor, watch_rules},
    {&queued__v1__nodes_request__descriptor, nodes_rules},
    {&queued__v1__topology_request__descriptor, header_only_rules},
    {&queued__v1__tenants_request__descriptor, header_only_rules},
    {&queued__v1__reserve_request__descriptor, reserve_rules},
    {&queued__v1__unreserve_request__descriptor, unreserve_rules},
    {&queued__v1__reservations_request__descriptor, header_only_rules},
    {&queued__v1__defrag_request__descriptor, header_only_rules},
    {&queued__v1__config_request__descriptor, header_only_rules},
};

const struct rpc_rules *rpc_rules(unsigned *ret_n)
{
    *ret_n = ARRAY_LEN(tables);
    return tables;
}
