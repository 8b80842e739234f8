# SPDX-License-Identifier: Apache-2.0
"""network - packets between daemon and API server vanish without a word, and come back."""

import time

import netns
import procs
from casesite import Skip, want


def kubeconfig(site, space):
    """The daemon's kubeconfig with the address of the relay and the server's name."""
    with open(site.kubeconfig, encoding="utf-8") as f:
        text = f.read()
    server = "server: " + site.cluster.record["server"]
    new = "server: https://%s:%d\n    tls-server-name: localhost" % (space.here, space.relay_port)
    path = site.where + "/kubeconfig"
    with open(path, "w", encoding="utf-8") as f:
        f.write(text.replace(server, new))
    return path


def make_calls(site):
    """Calls that no watch hears of: a gang that the API server refuses. Their connections are
    then younger than the watches', by more than the kernel's timers are coarse."""
    time.sleep(5)
    path, label = "/api/v1/namespaces/vision", "pod-security.kubernetes.io/enforce"
    site.patch(path, {"metadata": {"labels": {label: "restricted"}}})
    site.defer(site.patch, path, {"metadata": {"labels": {label: None}}})
    loose = site.run("loose", pods=2, tenant="vision")
    site.wait_state(loose, "Rejected")
    site.patch(path, {"metadata": {"labels": {label: None}}})


def case_a_dead_peer_is_noticed(site):
    """no FIN, no answer, nothing: idle watches end within 40 s, and all goes on afterwards"""
    reason = netns.why_not()
    if reason:
        raise Skip(reason)
    space = netns.Namespace(int(site.cluster.record["server"].rpartition(":")[2]))
    site.defer(space.remove)
    site.kubeconfig = kubeconfig(site, space)
    site.start(wrap=space.wrap(), options=["--log-level", "debug"])
    calm = site.run("calm", pods=2)
    site.wait_state(calm, "Running")
    site.agree()
    make_calls(site)
    since, began = len(site.log()), time.monotonic()
    space.vanish()
    site.wait_log("watch ended", limit_s=60, since=since)
    noticed = time.monotonic() - began
    want(20 < noticed < 40, "it was noticed after %.0f s", noticed)
    site.wait_log("does not answer", limit_s=30, since=since)
    site.patch("/api/v1/nodes/gpu-016", {"spec": {"unschedulable": True}})
    site.defer(site.patch, "/api/v1/nodes/gpu-016", {"spec": {"unschedulable": None}})
    late = site.run("late", pods=2, run="100ms", tenant="vision")
    space.come_back()
    site.wait_state(late, "Succeeded", limit_s=90)
    procs.wait_for(lambda: is_cordoned(site, "gpu-016"), 90, "what happened meanwhile to be seen")
    want(site.state(calm) == "Running", "the calm gang is %s", site.state(calm))
    site.cancel(calm)
    site.wait_state(calm, "Cancelled")


def is_cordoned(site, name):
    text = site.ctl("nodes", "-o", "wide")
    return any(line.startswith(name) and "ordon" in line for line in text.splitlines())
