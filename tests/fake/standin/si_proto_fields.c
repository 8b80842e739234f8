/* SPDX-License-Identifier: Apache-2.0 */
/* si_proto_fields.c - the published field numbers of nodes, pods and Status objects.
 *
 * More than the daemon reads, so that what it must skip is there too; what the stand-in and its
 * clients never write is left out.
 */
#include <string.h>

#include "si_proto.h"

#define END                                                                                        \
    {                                                                                              \
        NULL, 0, FORM_TEXT, NULL                                                                   \
    }
#define TEXT(key, number)                                                                          \
    {                                                                                              \
        key, number, FORM_TEXT, NULL                                                               \
    }
#define INT(key, number)                                                                           \
    {                                                                                              \
        key, number, FORM_INT, NULL                                                                \
    }
#define BOOL(key, number)                                                                          \
    {                                                                                              \
        key, number, FORM_BOOL, NULL                                                               \
    }
#define TIME(key, number)                                                                          \
    {                                                                                              \
        key, number, FORM_TIME, NULL                                                               \
    }
#define TEXTS(key, number)                                                                         \
    {                                                                                              \
        key, number, FORM_TEXTS, NULL                                                              \
    }
#define AMOUNTS(key, number)                                                                       \
    {                                                                                              \
        key, number, FORM_AMOUNTS, NULL                                                            \
    }
#define MESSAGE(key, number, table)                                                                \
    {                                                                                              \
        key, number, FORM_MESSAGE, table                                                           \
    }
#define LIST(key, number, table)                                                                   \
    {                                                                                              \
        key, number, FORM_LIST, table                                                              \
    }

/* ---- metadata */

static const struct proto_field owner_fields[] = {TEXT("kind", 1),
                                                  TEXT("name", 3),
                                                  TEXT("uid", 4),
                                                  TEXT("apiVersion", 5),
                                                  BOOL("controller", 6),
                                                  BOOL("blockOwnerDeletion", 7),
                                                  END};
static const struct proto_field managed_fields[] = {
    TEXT("manager", 1),     TEXT("operation", 2),
    TEXT("apiVersion", 3),  TIME("time", 4),
    TEXT("fieldsType", 6),  {"fieldsV1", 7, FORM_RAW, NULL},
    TEXT("subresource", 8), END};
static const struct proto_field meta_fields[] = {TEXT("name", 1),
                                                 TEXT("generateName", 2),
                                                 TEXT("namespace", 3),
                                                 TEXT("uid", 5),
                                                 TEXT("resourceVersion", 6),
                                                 INT("generation", 7),
                                                 TIME("creationTimestamp", 8),
                                                 TIME("deletionTimestamp", 9),
                                                 INT("deletionGracePeriodSeconds", 10),
                                                 TEXTS("labels", 11),
                                                 TEXTS("annotations", 12),
                                                 LIST("ownerReferences", 13, owner_fields),
                                                 LIST("finalizers", 14, NULL),
                                                 LIST("managedFields", 17, managed_fields),
                                                 END};
static const struct proto_field list_meta_fields[] = {TEXT("resourceVersion", 2),
                                                      TEXT("continue", 3), END};
/* Of nodes and of pods. */
static const struct proto_field condition_fields[] = {
    TEXT("type", 1),   TEXT("status", 2),  TIME("lastTransitionTime", 4),
    TEXT("reason", 5), TEXT("message", 6), END};

/* ---- nodes */

static const struct proto_field taint_fields[] = {TEXT("key", 1), TEXT("value", 2),
                                                  TEXT("effect", 3), TIME("timeAdded", 4), END};
static const struct proto_field node_spec_fields[] = {
    TEXT("podCIDR", 1),        TEXT("providerID", 3),
    BOOL("unschedulable", 4),  LIST("taints", 5, taint_fields),
    LIST("podCIDRs", 7, NULL), END};
static const struct proto_field address_fields[] = {TEXT("type", 1), TEXT("address", 2), END};
static const struct proto_field node_info_fields[] = {TEXT("machineID", 1),
                                                      TEXT("systemUUID", 2),
                                                      TEXT("bootID", 3),
                                                      TEXT("kernelVersion", 4),
                                                      TEXT("osImage", 5),
                                                      TEXT("containerRuntimeVersion", 6),
                                                      TEXT("kubeletVersion", 7),
                                                      TEXT("kubeProxyVersion", 8),
                                                      TEXT("operatingSystem", 9),
                                                      TEXT("architecture", 10),
                                                      END};
static const struct proto_field node_status_fields[] = {AMOUNTS("capacity", 1),
                                                        AMOUNTS("allocatable", 2),
                                                        LIST("conditions", 4, condition_fields),
                                                        LIST("addresses", 5, address_fields),
                                                        MESSAGE("nodeInfo", 7, node_info_fields),
                                                        END};
static const struct proto_field node_fields[] = {MESSAGE("metadata", 1, meta_fields),
                                                 MESSAGE("spec", 2, node_spec_fields),
                                                 MESSAGE("status", 3, node_status_fields), END};

/* ---- pods */

static const struct proto_field port_fields[] = {TEXT("name", 1), INT("hostPort", 2),
                                                 INT("containerPort", 3), TEXT("protocol", 4), END};
static const struct proto_field env_fields[] = {TEXT("name", 1), TEXT("value", 2), END};
static const struct proto_field resources_fields[] = {AMOUNTS("limits", 1), AMOUNTS("requests", 2),
                                                      END};
static const struct proto_field mount_fields[] = {TEXT("name", 1), BOOL("readOnly", 2),
                                                  TEXT("mountPath", 3), TEXT("subPath", 4), END};
static const struct proto_field container_fields[] = {TEXT("name", 1),
                                                      TEXT("image", 2),
                                                      LIST("command", 3, NULL),
                                                      LIST("args", 4, NULL),
                                                      TEXT("workingDir", 5),
                                                      LIST("ports", 6, port_fields),
                                                      LIST("env", 7, env_fields),
                                                      MESSAGE("resources", 8, resources_fields),
                                                      LIST("volumeMounts", 9, mount_fields),
                                                      TEXT("terminationMessagePath", 13),
                                                      TEXT("imagePullPolicy", 14),
                                                      TEXT("terminationMessagePolicy", 20),
                                                      TEXT("restartPolicy", 24),
                                                      END};
static const struct proto_field toleration_fields[] = {
    TEXT("key", 1),    TEXT("operator", 2),         TEXT("value", 3),
    TEXT("effect", 4), INT("tolerationSeconds", 5), END};
static const struct proto_field name_fields[] = {TEXT("name", 1), END};
static const struct proto_field pod_spec_fields[] = {LIST("containers", 2, container_fields),
                                                     TEXT("restartPolicy", 3),
                                                     INT("terminationGracePeriodSeconds", 4),
                                                     INT("activeDeadlineSeconds", 5),
                                                     TEXT("dnsPolicy", 6),
                                                     TEXTS("nodeSelector", 7),
                                                     TEXT("serviceAccountName", 8),
                                                     TEXT("nodeName", 10),
                                                     BOOL("hostNetwork", 11),
                                                     LIST("imagePullSecrets", 15, name_fields),
                                                     TEXT("hostname", 16),
                                                     TEXT("subdomain", 17),
                                                     TEXT("schedulerName", 19),
                                                     LIST("initContainers", 20, container_fields),
                                                     LIST("tolerations", 22, toleration_fields),
                                                     TEXT("priorityClassName", 24),
                                                     INT("priority", 25),
                                                     BOOL("enableServiceLinks", 30),
                                                     TEXT("preemptionPolicy", 31),
                                                     AMOUNTS("overhead", 32),
                                                     LIST("schedulingGates", 38, name_fields),
                                                     MESSAGE("resources", 40, resources_fields),
                                                     END};
static const struct proto_field waiting_fields[] = {TEXT("reason", 1), TEXT("message", 2), END};
static const struct proto_field running_fields[] = {TIME("startedAt", 1), END};
static const struct proto_field terminated_fields[] = {
    INT("exitCode", 1),   INT("signal", 2),      TEXT("reason", 3),      TEXT("message", 4),
    TIME("startedAt", 5), TIME("finishedAt", 6), TEXT("containerID", 7), END};
static const struct proto_field state_fields[] = {MESSAGE("waiting", 1, waiting_fields),
                                                  MESSAGE("running", 2, running_fields),
                                                  MESSAGE("terminated", 3, terminated_fields), END};
static const struct proto_field container_status_fields[] = {TEXT("name", 1),
                                                             MESSAGE("state", 2, state_fields),
                                                             BOOL("ready", 4),
                                                             INT("restartCount", 5),
                                                             TEXT("image", 6),
                                                             TEXT("imageID", 7),
                                                             BOOL("started", 9),
                                                             TEXT("containerID", 8),
                                                             END};
static const struct proto_field ip_fields[] = {TEXT("ip", 1), END};
static const struct proto_field pod_status_fields[] = {
    TEXT("phase", 1),
    LIST("conditions", 2, condition_fields),
    TEXT("message", 3),
    TEXT("reason", 4),
    TEXT("hostIP", 5),
    TEXT("podIP", 6),
    TIME("startTime", 7),
    LIST("containerStatuses", 8, container_status_fields),
    TEXT("qosClass", 9),
    LIST("initContainerStatuses", 10, container_status_fields),
    LIST("podIPs", 12, ip_fields),
    LIST("hostIPs", 16, ip_fields),
    INT("observedGeneration", 17),
    END};
static const struct proto_field pod_fields[] = {MESSAGE("metadata", 1, meta_fields),
                                                MESSAGE("spec", 2, pod_spec_fields),
                                                MESSAGE("status", 3, pod_status_fields), END};

/* ---- Status */

static const struct proto_field cause_fields[] = {TEXT("reason", 1), TEXT("message", 2),
                                                  TEXT("field", 3), END};
static const struct proto_field details_fields[] = {TEXT("name", 1),
                                                    TEXT("group", 2),
                                                    TEXT("kind", 3),
                                                    LIST("causes", 4, cause_fields),
                                                    INT("retryAfterSeconds", 5),
                                                    TEXT("uid", 6),
                                                    END};
static const struct proto_field status_fields[] = {MESSAGE("metadata", 1, list_meta_fields),
                                                   TEXT("status", 2),
                                                   TEXT("message", 3),
                                                   TEXT("reason", 4),
                                                   MESSAGE("details", 5, details_fields),
                                                   INT("code", 6),
                                                   END};

const struct proto_field *proto_table(const char *kind)
{
    static const struct {
        const char *kind;
        const struct proto_field *table;
    } kinds[] = {{"Node", node_fields}, {"Pod", pod_fields}, {"Status", status_fields}};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strcmp(kinds[i].kind, kind) == 0) {
            return kinds[i].table;
        }
    }
    return NULL;
}
