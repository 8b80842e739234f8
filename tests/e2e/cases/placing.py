# SPDX-License-Identifier: Apache-2.0
"""placing - the ways in which pods come to their hosts: events, another host, one write a pod."""

import procs
from casesite import want

POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
BINDINGS = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"


def events(site, ns, name):
    """The GangPlaced events of a job, by pod."""
    found = site.api.items("/apis/events.k8s.io/v1/namespaces/%s/events" % ns)
    return {
        e["regarding"]["name"]: e["note"]
        for e in found
        if e["reason"] == "GangPlaced" and e["regarding"]["name"].startswith(name + "-")
    }


def refuse(site, name, resource, expression, text):
    """Admission refuses what is created of this resource unless the expression holds; returns what
    takes the rule away."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"]}
    check = {"expression": expression, "message": text, "reason": "Forbidden"}
    spec = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [dict(rule, resources=[resource])]},
        "validations": [check],
    }
    site.put(POLICIES, {"metadata": {"name": name}, "spec": spec})
    spec = {"policyName": name, "validationActions": ["Deny"]}
    site.put(BINDINGS, {"metadata": {"name": name}, "spec": spec})
    return lambda: site.api.want("DELETE", BINDINGS + "/" + name, ok=(200,))


def wait_closed(site, node):
    """Admission has seen that this node is closed."""
    path = "/api/v1/namespaces/vision/pods"
    site.api.want("POST", path, site.foreign_pod("probe", "vision", 0))
    target = {"metadata": {"name": "probe"}, "target": {"kind": "Node", "name": node}}
    procs.wait_for(
        lambda: site.api.call("POST", path + "/probe/binding?dryRun=All", target)[0] == 403,
        20,
        "admission to see the policy",
        0.2,
    )
    site.delete_pod("probe")


def case_every_bound_pod_has_an_event_with_its_score(site):
    """GangPlaced on each pod of a gang, with the terms of the score, and the annotations"""
    site.start()
    name = site.run("told", pods=4)
    site.wait_state(name, "Running")
    procs.wait_for(lambda: len(events(site, "foundation", name)) == 4, 20, "four events", 0.2)
    for pod in site.pods(name):
        note = events(site, "foundation", name)[pod["metadata"]["name"]]
        notes = pod["metadata"]["annotations"]
        want("placed on %s " % pod["spec"]["nodeName"] in note, "the event says %s", note)
        want("score %s (topology" % notes["gang.queued/score"] in note, "the event says %s", note)
        want(notes["gang.queued/placement"] == pod["spec"]["nodeName"], "annotations %s", notes)
    site.cancel(name)
    site.wait_state(name, "Cancelled")


def case_a_host_that_admission_closes_is_replaced(site):
    """a binding refused for its host: that pod alone goes to another host of the block"""
    site.start()
    first = site.run("first", pods=2, level="block")
    site.wait_state(first, "Running")
    hosts = sorted(p["spec"]["nodeName"] for p in site.pods(first))
    site.cancel(first)
    site.wait_state(first, "Cancelled")
    site.wait_pods(first, 0)
    refuse(site, "closed", "pods/binding", "object.target.name != '%s'" % hosts[1], "it is closed")
    wait_closed(site, hosts[1])
    name = site.run("moved", pods=2, level="block")
    site.wait_state(name, "Running")
    want(site.attempt(name) == 1, "attempt %d", site.attempt(name))
    pods = site.pods(name)
    used = {p["spec"]["nodeName"] for p in pods}
    want(hosts[1] not in used and len(used) == 2, "the hosts are %s", used)
    for p in pods:
        want(p["metadata"]["annotations"]["gang.queued/placement"] == p["spec"]["nodeName"], "%s", p)
    want("HostReplaced" in site.log(), "the log says nothing of another host")
    site.agree()
    site.cancel(name)
    site.wait_state(name, "Cancelled")


def case_a_direct_gang_is_created_on_its_nodes(site):
    """bindMode: direct: no binding is sent, all run, and the events come as well"""
    site.start(kubernetes="bindMode: direct")
    name = site.run("direct", pods=4, level="block")
    site.wait_state(name, "Running")
    for pod in site.pods(name):
        want(pod["spec"].get("nodeName"), "a pod without a node: %s", pod["metadata"]["name"])
    procs.wait_for(lambda: len(events(site, "foundation", name)) == 4, 20, "four events", 0.2)
    site.restart()
    site.wait_state(name, "Running")
    site.agree()
    site.cancel(name)
    site.wait_state(name, "Cancelled")


def case_a_closed_host_of_a_direct_gang_is_replaced(site):
    """bindMode: direct and admission names the host that it refuses: that pod goes to another one"""
    site.start(kubernetes="bindMode: direct")
    first = site.run("first", pods=2, level="block")
    site.wait_state(first, "Running")
    closed = sorted(p["spec"]["nodeName"] for p in site.pods(first))[1]
    site.cancel(first)
    site.wait_state(first, "Cancelled")
    site.wait_pods(first, 0)
    is_open = "!has(object.spec.nodeName) || object.spec.nodeName != '%s'" % closed
    refuse(site, "closed-direct", "pods", is_open, closed + " is closed")
    body = site.foreign_pod("probe", "vision", 0, node=closed)
    path = "/api/v1/namespaces/vision/pods?dryRun=All"
    procs.wait_for(
        lambda: site.api.call("POST", path, body)[0] == 403, 20, "admission to see the policy", 0.2
    )
    name = site.run("moved", pods=2, level="block")
    site.wait_state(name, "Running")
    want(site.attempt(name) == 1, "attempt %d", site.attempt(name))
    used = {p["spec"]["nodeName"] for p in site.pods(name)}
    want(closed not in used and len(used) == 2, "the hosts are %s", used)
    site.agree()
    site.cancel(name)
    site.wait_state(name, "Cancelled")


def case_a_refusal_in_the_midst_of_a_direct_gang_undoes_it(site):
    """bindMode: direct and admission refuses one of 4 pods: what runs goes, and later all run"""
    site.start(kubernetes="bindMode: direct")
    is_good = "!object.metadata.name.contains('-worker-3-')"
    allow = refuse(site, "not-the-last", "pods", is_good, "no last pod today")
    body = site.foreign_pod("a-worker-3-1", "vision", 0)
    path = "/api/v1/namespaces/vision/pods?dryRun=All"
    procs.wait_for(
        lambda: site.api.call("POST", path, body)[0] == 403, 20, "admission to see the policy", 0.2
    )
    name = site.run("half", pods=4)
    site.wait_reason(name, "no last pod today")
    site.wait_pods(name, 0)
    allow()
    site.wait_state(name, "Running", limit_s=60)
    want(site.attempt(name) > 1, "attempt %d", site.attempt(name))
    site.agree()
    site.cancel(name)
    site.wait_state(name, "Cancelled")
