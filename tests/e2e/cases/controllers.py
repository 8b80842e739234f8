# SPDX-License-Identifier: Apache-2.0
"""controllers - what kube-controller-manager does to quotas, pods and namespaces under a gang."""

import procs
from casesite import want

SERVER = {"kube-controller-manager": ["--controllers=*,-node-lifecycle-controller"]}
QUOTA = "requests.nvidia.com/gpu"


def used(site, ns):
    path = "/api/v1/namespaces/%s/resourcequotas/gpus" % ns
    return (site.api.want("GET", path).get("status") or {}).get("used", {}).get(QUOTA)


def case_a_real_quota(site):
    """what a refused gang had taken of a quota is given back, and a wider quota lets it run"""
    site.start()
    spec = {"hard": {QUOTA: "16"}}
    path = "/api/v1/namespaces/foundation/resourcequotas"
    site.put(path, {"metadata": {"name": "gpus"}, "spec": spec})
    procs.wait_for(lambda: used(site, "foundation") == "0", 20, "the quota's status")
    paper = site.foreign_pod("paper", "foundation", 17)
    procs.wait_for(
        lambda: site.api.call("POST", "/api/v1/namespaces/foundation/pods?dryRun=All", paper)[0]
        == 403,
        20,
        "admission to see the quota",
    )
    name = site.run("over", pods=3)
    text = site.wait_reason(name, "ResourceQuota of namespace foundation")
    want("limited: %s=16" % QUOTA in text, "the reason is %s", text)
    procs.wait_for(lambda: used(site, "foundation") == "0", 40, "the quota to be given back")
    site.patch(path + "/gpus", {"spec": {"hard": {QUOTA: "64"}}})
    site.wait_state(name, "Running", limit_s=90)
    want(used(site, "foundation") == "24", "used is %s", used(site, "foundation"))
    site.cancel(name)
    site.wait_state(name, "Cancelled")


def evict(site, pod, dry=False):
    """What kubectl drain asks for one pod; the code of the answer and its text."""
    meta = pod["metadata"]
    path = "/api/v1/namespaces/%s/pods/%s/eviction" % (meta["namespace"], meta["name"])
    body = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": meta["name"], "namespace": meta["namespace"]},
    }
    return site.api.call("POST", path + ("?dryRun=All" if dry else ""), body)


def allowed(site, name):
    """How many pods of the job may be evicted now; None before the controller has looked."""
    path = "/apis/policy/v1/namespaces/foundation/poddisruptionbudgets/" + name
    status = site.api.want("GET", path).get("status") or {}
    return status.get("disruptionsAllowed") if status.get("expectedPods") else None


ELASTIC = """- name: worker
  replicas: 3
  minReplicas: 2
  image: registry.example.com/test:1
  command: [sleep, "1"]
  resources: {gpus: 8, gpuModel: H100, cpu: "1", memory: 1Gi}
"""


def case_a_drain_stops_at_the_disruption_budget(site):
    """evictions of a drain are refused at minAvailable, a cancel is not, and the budget goes too"""
    site.start()
    fixed = site.run("fixed", pods=2, spec="preemptible: false")
    lines = "".join("  " + line + "\n" for line in ELASTIC.splitlines())
    grown = site.run("grown", roles=lines)
    loose = site.run("loose", pods=1)
    for name in (fixed, grown, loose):
        site.wait_state(name, "Running")
    procs.wait_for(lambda: allowed(site, fixed) == 0, 30, "the budget of the fixed gang")
    procs.wait_for(lambda: allowed(site, grown) == 1, 30, "the budget of the elastic gang")
    for pod in site.pods(fixed):
        code, answer = evict(site, pod)
        want(code == 429, "the eviction is answered %d", code)
        want("disruption budget" in str(answer), "it is refused with %s", answer)
    code, answer = evict(site, site.pods(grown)[0], dry=True)
    want(code == 201, "a pod above the bound is answered %d: %s", code, answer)
    want(len(site.budgets()) == 2, "budgets are %s", site.budgets())
    site.agree()
    for name in (fixed, grown, loose):
        site.cancel(name)
        site.wait_state(name, "Cancelled")
    want(not site.budgets(), "budgets are left: %s", site.budgets())
    site.agree()


def case_pods_of_a_deleted_node_are_collected(site):
    """a node is deleted for good: its pods are collected, the gang runs elsewhere"""
    site.start()
    name = site.run("moved", pods=2)
    site.wait_state(name, "Running")
    node = site.api.want("GET", "/api/v1/nodes/" + site.pods(name)[0]["spec"]["nodeName"])
    path = "/api/v1/nodes/" + node["metadata"]["name"]
    site.api.want("DELETE", path)
    site.defer(site.make_node, node)
    site.wait_log("NodeTrouble", limit_s=150)  # no fault of the job
    site.wait_attempt(name, 2, 60)
    site.wait_state(name, "Running", limit_s=60)
    nodes = {p["spec"]["nodeName"] for p in site.pods(name)}
    want(node["metadata"]["name"] not in nodes, "it is on the deleted node")
    site.cancel(name)
    site.wait_state(name, "Cancelled")


def case_a_namespace_is_deleted_under_a_gang(site):
    """a tenant's namespace goes with its pods: the gang waits and says so, nothing is stuck"""
    site.make_tenant("brief")
    site.start(more="- {name: brief, quota: {H100: 16}, namespaces: [brief]}\n")
    name = site.run("brief", pods=2, tenant="brief", stop="8s")
    site.wait_state(name, "Running")
    site.api.want("DELETE", "/api/v1/namespaces/brief")
    site.wait_reason(name, "terminated|not found|cannot create", limit_s=60)
    site.cancel(name)
    site.wait_state(name, "Cancelled", limit_s=60)
    gone = "/api/v1/namespaces/brief"
    procs.wait_for(lambda: site.api.call("GET", gone)[0] == 404, 60, "the namespace to be gone")
