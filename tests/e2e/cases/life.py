# SPDX-License-Identifier: Apache-2.0
"""life - jobs from their file to their end, in each way that an end can come."""

import json

from casesite import Wrong, job, role, want
from kubeapi import Api

NODE_LABELS = {"rack": "gang.queued/rack", "block": "gang.queued/block"}


def domain_of(site, pods, level):
    nodes = {n["metadata"]["name"]: n for n in site.api.items("/api/v1/nodes")}
    return {nodes[p["spec"]["nodeName"]]["metadata"]["labels"][NODE_LABELS[level]] for p in pods}


def case_who_we_are(site):
    """the daemon's user is in no group that RBAC or flow control passes over"""
    site.start()
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    told = Api(site.kubeconfig).want(
        "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", review
    )
    info = told["status"]["userInfo"]
    want(info["username"] == "queued", "the user is %s", info["username"])
    want(info["groups"] == ["system:authenticated"], "its groups are %s", info["groups"])


def case_ends_in_each_way(site):
    """jobs end Succeeded, Failed, Cancelled, TimedOut and Rejected, and leave no object"""
    site.start()
    good = site.run("good", run="300ms")
    failed = site.run("bad", pods=1, fail="300ms", spec="failurePolicy: {maxRestarts: 0}")
    late = site.run("late", pods=1, max_runtime="2s")
    endless = site.run("endless", pods=1)
    limit = {"type": "Container", "max": {"cpu": "2"}}
    site.put(
        "/api/v1/namespaces/vision/limitranges",
        {"metadata": {"name": "small"}, "spec": {"limits": [limit]}},
    )
    wrong = site.run("wrong", tenant="vision", roles=role("worker", 2, 8, cpu="3"))
    site.wait_state(endless, "Running")
    site.cancel(endless)
    for name, end in (
        (good, "Succeeded"),
        (failed, "Failed"),
        (endless, "Cancelled"),
        (late, "TimedOut"),
        (wrong, "Rejected"),
    ):
        site.wait_state(name, end)
    want(not site.services(), "services are left: %s", site.services())
    for name in (good, failed, late, endless, wrong):
        live = [p for p in site.pods(name) if p["status"]["phase"] in ("Pending", "Running")]
        want(not live, "%s left %d pods", name, len(live))


def case_a_failed_member_restarts_the_whole_gang(site):
    """one failing pod of four: all four are replaced by a new attempt"""
    site.start()
    name = site.run("again", pods=4, gpus=1)
    site.wait_state(name, "Running")
    pod = site.pods(name)[0]
    first = {p["metadata"]["uid"] for p in site.pods(name)}
    path = "/api/v1/namespaces/foundation/pods/%s" % pod["metadata"]["name"]
    site.patch(path, {"metadata": {"annotations": {"gang.queued/fail-after": "1ms"}}})
    site.wait_attempt(name, 2, 60)  # the back-off of a restart is 30 s
    site.wait_state(name, "Running")
    live = {p["metadata"]["uid"] for p in site.pods(name) if p["status"]["phase"] == "Running"}
    old = len(live & first)
    want(len(live) == 4 and not old, "%d pods run, %d of them old", len(live), old)
    site.cancel(name)
    site.wait_state(name, "Cancelled")


def case_required_rack(site):
    """a gang that requires one rack stands in one rack, and waits when none has room"""
    site.start()
    first = site.run("first", pods=4, level="rack")
    site.wait_state(first, "Running")
    racks = domain_of(site, site.pods(first), "rack")
    want(len(racks) == 1, "it stands in %s", racks)
    nodes = {p["spec"]["nodeName"] for p in site.pods(first)}
    want(len(nodes) == 4, "4 whole nodes are %d", len(nodes))
    small = [site.run("small-%d" % i, pods=1, gpus=1, tenant="vision") for i in range(3)]
    for name in small:
        site.wait_state(name, "Running")
    big = site.run("big", pods=5, level="rack")
    site.wait_reason(big, "^(TopologyUnavailable|NoSuchHardware)", 10)
    want(site.state(big) == "Pending", "5 nodes of one rack of 4: %s", site.state(big))
    for name in [first, big] + small:
        site.cancel(name)
        site.wait_state(name, "Cancelled")


def case_a_role_starts_after_another(site):
    """the launcher's pod is made when all workers run, not before, and a cancel before that leaves nothing"""
    site.start()
    launcher = role("launcher", 1, 0).replace(", gpuModel: H100", "")
    roles = launcher + "    startAfter: worker\n" + role("worker", 2, 8)
    name = site.submit(job("driven", run="1h", start="3s", roles=roles))
    site.wait_state(name, "Starting")
    there = {p["metadata"]["labels"]["gang.queued/role"] for p in site.pods(name)}
    want(there == {"worker"}, "while they start there are %s", there)
    early = site.submit(job("early", run="1h", start="1h", roles=roles))
    site.wait_state(early, "Starting")
    site.cancel(early)
    site.wait_state(early, "Cancelled")
    want(not site.pods(early), "the cancelled one left %d pods", len(site.pods(early)))
    while site.state(name) == "Starting":
        pods = site.pods(name)
        waiting = [p for p in pods if p["status"].get("phase") != "Running"]
        early = len(pods) > 2 and [p for p in waiting if "-worker-" in p["metadata"]["name"]]
        want(not early, "the launcher was made before the workers ran")
    site.wait_state(name, "Running")
    want(len(site.pods(name)) == 3, "3 pods are %d", len(site.pods(name)))
    site.cancel(name)
    site.wait_state(name, "Cancelled")


def case_several_roles(site):
    """a gang of two roles starts whole, with names, hosts and ranks of its own for each pod"""
    site.start()
    name = site.submit(job("duo", run="500ms", roles=role("server", 1, 8) + role("worker", 4, 4)))
    site.wait_state(name, "Running", "Succeeded")
    pods = site.pods(name)
    want(len(pods) == 5, "5 pods are %d", len(pods))
    ranks = sorted(int(p["metadata"]["annotations"]["gang.queued/rank"]) for p in pods)
    want(ranks == [0, 1, 2, 3, 4], "the ranks are %s", ranks)
    for pod in pods:
        labels, spec = pod["metadata"]["labels"], pod["spec"]
        host = "%s-%s-%s" % (name, labels["gang.queued/role"], labels["gang.queued/index"])
        want(spec["hostname"] == host, "host name %s, not %s", spec["hostname"], host)
        want(spec["subdomain"] == name, "subdomain %s", spec["subdomain"])
    site.wait_state(name, "Succeeded")


def case_nothing_runs_before_the_last_pod_is_there(site):
    """no pod of a gang of 16 is bound before all 16 exist"""
    site.start()
    before = site.api.want("GET", "/api/v1/pods?limit=1")["metadata"]["resourceVersion"]
    name = site.run("whole", pods=16, gpus=1, run="1s")
    site.wait_state(name, "Running", "Succeeded")
    events = watch_events(site, before)
    created = [at for at, (kind, p) in enumerate(events) if kind == "ADDED"]
    bound = [at for at, (_, p) in enumerate(events) if p["spec"].get("nodeName")]
    want(len(created) == 16, "%d pods were made", len(created))
    if bound[0] < created[-1]:
        raise Wrong("pod %d was bound before the last was made" % bound[0])
    site.wait_state(name, "Succeeded")


def watch_events(site, version):
    """What happened to pods since the version."""
    conn = site.api.connect(timeout_s=10)
    path = "/api/v1/pods?watch=1&timeoutSeconds=1&resourceVersion=" + version
    conn.request("GET", path, headers=site.api.headers())
    lines = conn.getresponse().read().decode("utf-8").splitlines()
    conn.close()
    return [(e["type"], e["object"]) for e in map(json.loads, lines) if e["type"] != "BOOKMARK"]
