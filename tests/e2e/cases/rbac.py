# SPDX-License-Identifier: Apache-2.0
"""rbac - the rights of deploy/rbac.yaml: exactly the promised ones, and each one missed by name.

A right is taken away from the running cluster. The daemon must name verb and resource in its log,
in the reason of the job where one waits for it, lose nothing, and go on when the right is back.
"""

import miniyaml
import procs
from casesite import want
from controlplane import RBAC

SERVER = {}  # a cluster of its own: its roles change
CLUSTER, TENANT = "queued", "queued-tenant"
READ = ["get", "list", "watch"]
PROMISED = {
    CLUSTER: [
        ("", "nodes namespaces resourcequotas persistentvolumeclaims persistentvolumes", READ),
        ("", "pods", READ + ["create", "delete", "patch"]),
        ("", "pods/binding pods/eviction", ["create"]),
        ("", "pods/status", ["patch"]),
        ("", "pods/finalizers", ["update"]),
        ("", "events", ["create", "patch", "update"]),
        ("events.k8s.io", "events", ["create", "patch", "update"]),
        ("scheduling.k8s.io", "priorityclasses podgroups workloads", READ),
        ("scheduling.k8s.io", "podgroups/status", ["patch", "update"]),
        ("policy", "poddisruptionbudgets", READ),
        ("resource.k8s.io", "deviceclasses resourceslices", READ),
        ("resource.k8s.io", "resourceclaims", READ + ["update"]),
        ("resource.k8s.io", "resourceclaims/status", ["get", "update", "patch"]),
        ("resource.k8s.io", "resourceclaims/binding", ["update", "patch"]),
    ],
    TENANT: [
        ("", "services configmaps", ["create", "get", "list", "patch", "delete"]),
        ("policy", "poddisruptionbudgets", ["create", "get", "list", "delete"]),
        ("", "pods/log", ["get"]),
    ],
    "queued in kube-system": [
        ("coordination.k8s.io", "leases", ["create"]),
        ("coordination.k8s.io", "leases=queued", ["get", "update"]),
    ],
}
# what this version asks for; the others are for parts that are still to come
USED = {
    CLUSTER: [
        ("", "nodes", "list"),
        ("", "nodes", "watch"),
        ("", "namespaces", "get"),
        ("", "pods", "get"),
        ("", "pods", "list"),
        ("", "pods", "watch"),
        ("", "pods", "create"),
        ("", "pods", "delete"),
        ("", "pods/binding", "create"),
        ("events.k8s.io", "events", "create"),
    ],
    TENANT: [
        ("", "services", "get"),
        ("", "services", "create"),
        ("", "services", "delete"),
        ("policy", "poddisruptionbudgets", "get"),
        ("policy", "poddisruptionbudgets", "create"),
        ("policy", "poddisruptionbudgets", "delete"),
    ],
}


def rights_of(rules):
    """The rights of a role, each as (group, resource, verb); a name is written behind =."""
    found = set()
    for rule in rules:
        names = ["=" + n for n in rule.get("resourceNames") or []] or [""]
        found |= {
            (group, resource + name, verb)
            for group in rule["apiGroups"]
            for resource in rule["resources"]
            for name in names
            for verb in rule["verbs"]
        }
    return found


def promised(role):
    return {
        (group, resource, verb)
        for group, resources, verbs in PROMISED[role]
        for resource in resources.split()
        for verb in verbs
    }


def role_path(role):
    return "/apis/rbac.authorization.k8s.io/v1/clusterroles/" + role


def set_rights(site, role, rights):
    rules = [
        {"apiGroups": [group], "resources": [resource], "verbs": [verb]}
        for group, resource, verb in sorted(rights)
    ]
    site.patch(role_path(role), {"rules": rules})


def may(site, right):
    """Does the API server let the daemon's user do this now?"""
    group, resource, verb = right
    resource, _, sub = resource.partition("/")
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "user": "queued",
            "groups": ["system:authenticated"],
            "resourceAttributes": {
                "group": group,
                "resource": resource,
                "subresource": sub,
                "verb": verb,
                "namespace": "foundation",
            },
        },
    }
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    return site.api.want("POST", path, review)["status"]["allowed"]


class Without:
    """The right is away inside the with block."""

    def __init__(self, site, role, group, resource, verb):
        self.site, self.role, self.right = site, role, (group, resource, verb)
        site.defer(set_rights, site, role, promised(role))

    def __enter__(self):
        self.since = len(self.site.log()) if self.site.daemon else 0
        set_rights(self.site, self.role, promised(self.role) - {self.right})
        self.wait(False)
        return self

    def __exit__(self, *_):
        set_rights(self.site, self.role, promised(self.role))
        self.wait(True)

    def wait(self, is_there):
        procs.wait_for(
            lambda: may(self.site, self.right) == is_there, 20, "the role to be in force", 0.1
        )

    def named(self):
        """The log says verb and resource."""
        words = 'cannot %s resource "%s"' % (self.right[2], self.right[1])
        return self.site.wait_log('level=warn.*' + words.replace('"', '.{0,2}"'), since=self.since)


def end(site, name):
    site.cancel(name)
    site.wait_state(name, "Cancelled", limit_s=60)


def case_the_file_grants_what_is_promised(site):
    """deploy/rbac.yaml grants exactly what the specification lists, and nothing of secrets"""
    with open(RBAC, encoding="utf-8") as f:
        objects = miniyaml.load_all(f.read())
    for role, kind in ((CLUSTER, "ClusterRole"), (TENANT, "ClusterRole"), (CLUSTER, "Role")):
        rules = [o["rules"] for o in objects if o["kind"] == kind and o["metadata"]["name"] == role]
        want(len(rules) == 1, "%d roles %s", len(rules), role)
        key = role if kind == "ClusterRole" else role + " in kube-system"
        found, wanted = rights_of(rules[0]), promised(key)
        want(found == wanted, "%s: %s", key, sorted(found ^ wanted))
    site.start()
    want(not may(site, ("", "secrets", "get")), "the daemon may read secrets")
    want(may(site, ("", "pods", "create")), "the daemon may not create pods")


def case_the_rights_in_use_are_enough(site):
    """with only the rights that this version uses, a gang lives from submission to its end"""
    for role, used in USED.items():
        set_rights(site, role, used)
        site.defer(set_rights, site, role, promised(role))
    for right in promised(TENANT) - set(USED[TENANT]):
        procs.wait_for(lambda r=right: not may(site, r), 20, "the role to be in force")
    site.start()
    name = site.run("small", pods=4, run="300ms")
    site.wait_state(name, "Succeeded")
    name = site.run("stopped", pods=4, spec="disruption: {pdb: true}")
    site.wait_state(name, "Running")
    procs.wait_for(site.budgets, 20, "its budget")
    end(site, name)
    want(not site.budgets(), "budgets are left")
    want("a right is missing" not in site.log(), "a right is missing")


def without_at_start(site, group, resource, verb):
    """The daemon starts without the right; a job waits for it and runs when it is there."""
    with Without(site, CLUSTER, group, resource, verb) as missing:
        site.start()
        missing.named()
        name = site.run("waits", pods=2)
    site.wait_state(name, "Running", limit_s=60)
    end(site, name)


def case_without_list_nodes(site):
    """no right to list nodes: named, the job waits, and runs when the right is there"""
    without_at_start(site, "", "nodes", "list")


def case_without_list_pods(site):
    """no right to list pods: named, the job waits, and runs when the right is there"""
    without_at_start(site, "", "pods", "list")


def case_without_watch_nodes(site):
    """no right to watch nodes: named, the job runs when the right is there"""
    without_at_start(site, "", "nodes", "watch")


def case_without_watch_pods(site):
    """no right to watch pods: named, and what became of the pods is seen with the right"""
    without_at_start(site, "", "pods", "watch")


def case_without_get_namespaces(site):
    """no right to read kube-system: named, nothing is placed before the cluster is known"""
    without_at_start(site, "", "namespaces", "get")


def without_at_work(site, role, group, resource, verb):
    """A running daemon loses a right that a gang needs to start: the reason names it, too."""
    site.start()
    with Without(site, role, group, resource, verb) as missing:
        name = site.run("waits", pods=2)
        missing.named()
        site.wait_reason(name, 'cannot %s resource "%s"' % (verb, resource))
        want(site.state(name) != "Rejected", "a right that is missing rejects the job")
    site.wait_state(name, "Running", limit_s=60)
    end(site, name)


def case_without_create_pods(site):
    """no right to create pods: named in the reason, undone whole, runs when the right is there"""
    without_at_work(site, CLUSTER, "", "pods", "create")


def case_without_create_bindings(site):
    """no right to bind: named in the reason, undone whole, runs when the right is there"""
    without_at_work(site, CLUSTER, "", "pods/binding", "create")


def case_without_create_services(site):
    """no right to create services: named in the reason, runs when the right is there"""
    without_at_work(site, TENANT, "", "services", "create")


def case_without_create_budgets(site):
    """no right to create disruption budgets: named in the log and the job's events, and it runs"""
    site.start()
    with Without(site, TENANT, "policy", "poddisruptionbudgets", "create") as missing:
        name = site.run("bare", pods=2, spec="disruption: {pdb: true}")
        site.wait_state(name, "Running")
        missing.named()
        events = site.ctl("describe", name, "--events")
        want("NoDisruptionBudget" in events, "its events are %s", events)
    end(site, name)


def without_at_stop(site, role, resource):
    """A gang cannot be taken away: it stays Stopping, and ends when the right is there."""
    site.start()
    name = site.run("stays", pods=2)
    site.wait_state(name, "Running")
    with Without(site, role, "", resource, "delete") as missing:
        site.cancel(name)
        missing.named()
        want(site.state(name) == "Stopping", "it is %s", site.state(name))
    site.wait_state(name, "Cancelled", limit_s=60)
    want(not site.pods(name) and not site.services(), "objects are left")


def case_without_delete_pods(site):
    """no right to delete pods: named, the gang stays Stopping and ends with the right"""
    without_at_stop(site, CLUSTER, "pods")


def case_without_delete_services(site):
    """no right to delete services: named, the gang stays Stopping and ends with the right"""
    without_at_stop(site, TENANT, "services")


def case_without_create_events(site):
    """no right to write events: named, and no gang minds"""
    site.start()
    with Without(site, CLUSTER, "events.k8s.io", "events", "create"):
        name = site.run("quiet", pods=2)
        site.wait_state(name, "Running")
        site.wait_log("events", since=0)
    end(site, name)


def without_get(site, role, resource):
    """The answer to a create says that the name is taken: whose it is cannot be read."""
    site.start()
    nodes = ["/api/v1/nodes/" + n["metadata"]["name"] for n in site.api.items("/api/v1/nodes")]

    def cordon(is_on):
        for node in nodes:
            site.patch(node, {"spec": {"unschedulable": is_on or None}})

    cordon(True)
    site.defer(cordon, False)
    name = site.run("whose", pods=2)
    if resource == "pods":
        site.foreign("%s-worker-0-1" % name, ns="foundation", gpus=0)
    else:
        spec = {"metadata": {"name": name}, "spec": {"ports": [{"port": 80}]}}
        site.put("/api/v1/namespaces/foundation/services", spec)
    with Without(site, role, "", resource, "get") as missing:
        cordon(False)
        missing.named()
    if resource == "services":
        site.wait_reason(name, "not ours", limit_s=60)
        site.api.want("DELETE", "/api/v1/namespaces/foundation/services/" + name)
    site.wait_state(name, "Running", limit_s=90)
    end(site, name)


def case_without_get_pods(site):
    """no right to read a pod: named where an answer must be read back, and goes on with it"""
    without_get(site, CLUSTER, "pods")


def case_without_get_services(site):
    """no right to read a service: named where an answer must be read back, and goes on with it"""
    without_get(site, TENANT, "services")
