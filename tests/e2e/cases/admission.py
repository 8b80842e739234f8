# SPDX-License-Identifier: Apache-2.0
"""admission - what the API server refuses, and names that somebody else has taken."""

import procs
from casesite import want

QUOTA = "requests.nvidia.com/gpu"


def quota(site, ns, gpus, used=0):
    """A quota of GPUs with a status, which kube-controller-manager would write."""
    path = "/api/v1/namespaces/%s/resourcequotas" % ns
    if used == 0:
        site.put(path, {"metadata": {"name": "gpus"}, "spec": {"hard": {QUOTA: str(gpus)}}})
    else:
        site.patch(path + "/gpus", {"spec": {"hard": {QUOTA: str(gpus)}}})
    status = {"hard": {QUOTA: str(gpus)}, "used": {QUOTA: str(used)}}
    site.patch(path + "/gpus/status", {"status": status})
    wait_quota(site, ns, gpus - used + 1)


def wait_quota(site, ns, gpus):
    """Admission has seen the quota: a pod of so many GPUs, on paper only, is refused."""
    path = "/api/v1/namespaces/%s/pods?dryRun=All" % ns
    body = site.foreign_pod("paper", ns, gpus)
    procs.wait_for(
        lambda: site.api.call("POST", path, body)[0] == 403, 20, "admission to see the quota"
    )


def case_a_quota_refuses_the_gang_whole(site):
    """a ResourceQuota with room for 2 of 4 pods: nothing runs, the reason has the numbers"""
    site.start()
    quota(site, "foundation", 16)
    name = site.run("over", pods=4)
    text = site.wait_reason(name, "ResourceQuota of namespace foundation")
    for number in ("requested: %s=8" % QUOTA, "used: %s=16" % QUOTA, "limited: %s=16" % QUOTA):
        want(number in text, "the reason lacks '%s': %s", number, text)
    site.wait_pods(name, 0)
    site.agree()
    quota(site, "foundation", 320, used=16)
    site.wait_state(name, "Running", limit_s=60)
    site.cancel(name)
    site.wait_state(name, "Cancelled")


def case_pod_security_rejects_for_good(site):
    """a namespace that enforces PodSecurity: the job ends Rejected with the server's words"""
    site.start()
    path = "/api/v1/namespaces/vision"
    label = "pod-security.kubernetes.io/enforce"
    site.patch(path, {"metadata": {"labels": {label: "restricted"}}})
    site.defer(site.patch, path, {"metadata": {"labels": {label: None}}})
    name = site.run("loose", pods=2, tenant="vision")
    site.wait_state(name, "Rejected")
    _, text = site.reason(name)
    want("violates PodSecurity" in text, "the reason is %s", text)
    site.wait_pods(name, 0)


def waiting(site, name):
    """A job that waits because all nodes are cordoned; call the second to let it go."""
    nodes = ["/api/v1/nodes/" + n["metadata"]["name"] for n in site.api.items("/api/v1/nodes")]

    def cordon(is_on):
        for node in nodes:
            site.patch(node, {"spec": {"unschedulable": is_on or None}})

    cordon(True)
    site.defer(cordon, False)
    full = site.run(name, pods=2)
    site.wait_reason(full, "^NodesUnhealthy|^InsufficientGpus|^NoSuchHardware|^UntoleratedTaint")
    return full, lambda: cordon(False)


def case_the_name_of_a_pod_is_taken(site):
    """a foreign pod has the name of a member: it stays as it is, the gang runs under new names"""
    site.start()
    name, let_go = waiting(site, "taken")
    made = site.foreign("%s-worker-1-1" % name, ns="foundation", gpus=0)
    let_go()
    site.wait_state(name, "Running", limit_s=60)
    want(site.attempt(name) >= 2, "it took the foreign pod for its own")
    path = "/api/v1/namespaces/foundation/pods/" + made["metadata"]["name"]
    seen = site.api.want("GET", path)
    want(seen["metadata"]["uid"] == made["metadata"]["uid"], "the foreign pod was replaced")
    want(not seen["spec"].get("nodeName"), "the foreign pod was bound")
    site.cancel(name)
    site.wait_state(name, "Cancelled")
    site.api.want("GET", path)


def case_the_name_of_the_service_is_taken(site):
    """a foreign service has the job's name: the reason says so, and it runs when that is gone"""
    site.start()
    name, let_go = waiting(site, "held")
    service = {"metadata": {"name": name}, "spec": {"ports": [{"port": 80}]}}
    site.put("/api/v1/namespaces/foundation/services", service)
    let_go()
    site.wait_reason(name, "not ours")
    site.wait_pods(name, 0)
    path = "/api/v1/namespaces/foundation/services/" + name
    site.api.want("DELETE", path)
    site.wait_state(name, "Running", limit_s=60)
    site.cancel(name)
    site.wait_state(name, "Cancelled")


def kwok_deleted(site, name):
    """Has the simulated kubelet, which deletes by name whatever the uid?"""
    with open(site.cluster.path("kwok.log"), encoding="utf-8", errors="replace") as f:
        return any("Delete pod" in line and name in line for line in f)


def case_a_namesake_with_another_uid(site, tries=3):
    """a member is deleted and another pod takes its name: that one is never touched"""
    if tries == 3:
        site.start()
    name = site.run("double", pods=2)
    site.wait_state(name, "Running")
    pod = site.pods(name)[0]["metadata"]
    path = "/api/v1/namespaces/foundation/pods/" + pod["name"]
    site.api.want("DELETE", path + "?gracePeriodSeconds=0")
    new = site.foreign(pod["name"], ns="foundation", gpus=0)
    site.wait_attempt(name, 2, 60)
    site.wait_state(name, "Running", limit_s=60)
    site.cancel(name)
    site.wait_state(name, "Cancelled")
    status, seen = site.api.call("GET", path)[:2]
    if status == 404 and kwok_deleted(site, pod["name"]) and tries > 1:
        case_a_namesake_with_another_uid(site, tries - 1)
        return
    want(status == 200, "the namesake is gone: HTTP status %d", status)
    want(seen["metadata"]["uid"] == new["metadata"]["uid"], "the namesake was replaced")
    want(not seen["metadata"].get("deletionTimestamp"), "the namesake is being deleted")


def case_no_finalizers_and_nothing_stuck(site):
    """pods carry no finalizer; when all of a gang are deleted, nothing of it stays behind"""
    site.start()
    name = site.run("plain", pods=3, gpus=1, start="30s")
    site.wait_state(name, "Starting")
    pods = site.pods(name)
    old = {p["metadata"]["uid"] for p in pods}
    for pod in pods:
        meta = pod["metadata"]
        want(not meta.get("finalizers"), "%s has finalizers", meta["name"])
        path = "/api/v1/namespaces/foundation/pods/" + meta["name"]
        site.api.want("DELETE", path, ok=(200, 404))  # the daemon may be faster
    site.wait_attempt(name, 2, 60)
    site.wait_state(name, "Starting", limit_s=60)
    left = {p["metadata"]["uid"] for p in site.pods(name)} & old
    want(not left, "%d old pods are stuck", len(left))
    site.cancel(name)
    site.wait_state(name, "Cancelled")


def case_a_finalizer_of_somebody_else(site):
    """a pod that a foreign finalizer holds keeps its GPUs charged until it is really gone"""
    site.start()
    name = site.run("stuck", pods=2)
    site.wait_state(name, "Running")
    pod = site.pods(name)[0]["metadata"]["name"]
    path = "/api/v1/namespaces/foundation/pods/" + pod
    site.patch(path, {"metadata": {"finalizers": ["example.com/hold"]}})
    site.defer(site.api.call, "DELETE", path + "?gracePeriodSeconds=0")
    site.cancel(name)
    site.wait_pods(name, 1)
    want(site.state(name) == "Stopping", "it is %s while a pod is there", site.state(name))
    site.patch(path, {"metadata": {"finalizers": None}})
    site.wait_state(name, "Cancelled", limit_s=90)
