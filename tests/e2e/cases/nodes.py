# SPDX-License-Identifier: Apache-2.0
"""nodes - nodes that go, change and come back under a gang, and neighbours that take their room."""

import random
import threading

import procs
import shape
from casesite import job, role, want

LOST = "nodeLostTimeout: 2s\n"


def node_path(name):
    return "/api/v1/nodes/" + name


def nodes_of(site, name):
    return {p["spec"]["nodeName"] for p in site.pods(name) if p["spec"].get("nodeName")}


def running(site, name, *args, **more):
    full = site.run(name, *args, **more)
    site.wait_state(full, "Running")
    return full


def case_cordoned_under_a_gang(site):
    """a node is cordoned: the gang on it runs on, the next one goes elsewhere"""
    site.start()
    first = running(site, "first", pods=1)
    node = nodes_of(site, first).pop()
    site.patch(node_path(node), {"spec": {"unschedulable": True}})
    site.defer(site.patch, node_path(node), {"spec": {"unschedulable": None}})
    second = running(site, "second", pods=5)
    want(site.state(first) == "Running", "the gang on it is %s", site.state(first))
    want(node not in nodes_of(site, second), "the next gang went to the cordoned node")
    site.cancel(first)
    site.wait_state(first, "Cancelled")
    third = running(site, "third", pods=8, tenant="vision")
    want(node not in nodes_of(site, third), "a freed cordoned node was taken")
    for name in (second, third):
        site.cancel(name)
        site.wait_state(name, "Cancelled")


def case_deleted_under_a_gang(site):
    """a node is deleted: its gang ends on it and runs again whole on other nodes"""
    site.start(more=LOST)
    name = running(site, "moved", pods=3, level="rack")
    node = site.api.want("GET", node_path(sorted(nodes_of(site, name))[0]))
    site.api.want("DELETE", node_path(node["metadata"]["name"]))
    site.defer(site.make_node, node)
    # what collects pods of a node that is gone is no part of this cluster
    procs.wait_for(lambda: is_dying(site, node["metadata"]["name"]), 30, "its pods to be deleted")
    for pod in site.pods(name):
        if pod["spec"].get("nodeName") == node["metadata"]["name"]:
            site.delete_pod(pod["metadata"]["name"], "foundation")
    site.wait_attempt(name, 2, 60)
    site.wait_state(name, "Running", limit_s=60)
    want(node["metadata"]["name"] not in nodes_of(site, name), "it is on the deleted node")
    site.cancel(name)
    site.wait_state(name, "Cancelled")


def is_dying(site, node):
    return all(
        p["metadata"].get("deletionTimestamp")
        for p in site.api.items("/api/v1/pods", fieldSelector="spec.nodeName=" + node)
    )


def case_deleted_and_made_again(site):
    """a node of the same name and another uid: what stood on the old one is not counted wrong"""
    site.start(more=LOST)
    name = running(site, "old", pods=1)
    node = site.api.want("GET", node_path(nodes_of(site, name).pop()))
    site.api.want("DELETE", node_path(node["metadata"]["name"]))
    site.make_node(node)
    site.wait_state(name, "Running", "Pending", "Binding", "Starting", "Stopping")
    site.agree(30)
    site.cancel(name)
    site.wait_state(name, "Cancelled", limit_s=60)


def case_not_ready_under_a_gang(site):
    """a node that is not Ready for nodeLostTimeout loses its gang, which starts again elsewhere"""
    site.start(more=LOST)
    name = running(site, "shaken", pods=2)
    node = sorted(nodes_of(site, name))[0]
    mark = {"metadata": {"annotations": {"gang.queued/not-ready": "true"}}}
    site.patch(node_path(node), mark)
    site.defer(site.cluster.wait_nodes, site.cluster.record["nodes"])
    site.defer(
        site.patch, node_path(node), {"metadata": {"annotations": {"gang.queued/not-ready": None}}}
    )
    site.wait_attempt(name, 2, 60)
    site.wait_state(name, "Running", limit_s=60)
    want(node not in nodes_of(site, name), "it is on the node that is not Ready")
    site.cancel(name)
    site.wait_state(name, "Cancelled")


def case_foreign_pods_take_room(site):
    """foreign pods on every node: a gang of whole nodes waits with numbers, then runs"""
    site.start()
    names = [n["metadata"]["name"] for n in site.api.items("/api/v1/nodes")]
    for at, node in enumerate(names):
        site.foreign("other-%d" % at, gpus=1, node=node)
    whole = site.run("whole", pods=2)
    text = site.wait_reason(whole, "^(NeedsWholeNodes|InsufficientGpus)")
    want(any(c.isdigit() for c in text), "no numbers in: %s", text)
    part = running(site, "part", pods=2, gpus=7)
    for at in range(len(names)):
        site.delete_pod("other-%d" % at)
    site.wait_state(whole, "Running")
    for name in (whole, part):
        site.cancel(name)
        site.wait_state(name, "Cancelled")


def case_a_gpu_fails_under_its_pod(site):
    """allocatable falls below what is used: no more GPUs there, but a pod without GPUs fits"""
    site.start()
    name = running(site, "full", pods=1)
    node = nodes_of(site, name).pop()
    others = [n["metadata"]["name"] for n in site.api.items("/api/v1/nodes")]
    others.remove(node)
    path = node_path(node) + "/status"
    site.patch(path, {"status": {"allocatable": {"nvidia.com/gpu": "6"}}})
    site.defer(site.patch, path, {"status": {"allocatable": {"nvidia.com/gpu": "8"}}})
    for other in others:
        site.patch(node_path(other), {"spec": {"unschedulable": True}})
        site.defer(site.patch, node_path(other), {"spec": {"unschedulable": None}})
    light = site.submit(job("light", roles=role("worker", 1, 0).replace("gpuModel: H100, ", "")))
    site.wait_state(light, "Running")
    want(nodes_of(site, light) == {node}, "it runs on %s", nodes_of(site, light))
    heavy = site.run("heavy", pods=1, gpus=1)
    site.wait_reason(heavy, "^(InsufficientGpus|NodesUnhealthy|NoSuchHardware)")
    want(site.state(name) == "Running", "the gang on it is %s", site.state(name))
    for each in (light, heavy, name):
        site.cancel(each)
        site.wait_state(each, "Cancelled")


class Rival:
    """A second scheduler that binds pods of its own at random, as fast as it can."""

    def __init__(self, site, seed):
        self.api, self.rng = site.cluster.api(), random.Random(seed)
        self.nodes = [n["metadata"]["name"] for n in self.api.items("/api/v1/nodes")]
        self.stopping, self.count, self.live = threading.Event(), 0, []
        self.thread = threading.Thread(target=self.run, args=(site,), daemon=True)
        self.thread.start()

    def run(self, site):
        while not self.stopping.wait(0.05):
            name, self.count = "rival-%d" % self.count, self.count + 1
            body = site.foreign_pod(name, "vision", self.rng.randint(1, 4))
            self.api.want("POST", "/api/v1/namespaces/vision/pods", body)
            node = {"apiVersion": "v1", "kind": "Node", "name": self.rng.choice(self.nodes)}
            body = {"metadata": {"name": name, "namespace": "vision"}, "target": node}
            self.api.want("POST", "/api/v1/namespaces/vision/pods/%s/binding" % name, body)
            self.live.append(name)
            if len(self.live) > 20:
                old = self.live.pop(self.rng.randrange(len(self.live)))
                self.api.want("DELETE", "/api/v1/namespaces/vision/pods/%s" % old)

    def stop(self):
        self.stopping.set()
        self.thread.join()


def case_a_second_scheduler_binds_at_random(site):
    """another scheduler fills nodes at random: every gang still gets through, none in part"""
    site.start()
    rival = Rival(site, 7)
    site.defer(rival.stop)
    n = 0
    while n < 15 or (rival.count <= 20 and n < 300 and rival.thread.is_alive()):
        names = []
        for tenant in ("vision", "foundation", "infra"):
            names.append(site.run("g%d" % n, 2 + n % 5, 1 + n % 4, run="300ms", tenant=tenant))
            n += 1
        for name in names:
            site.wait_state(name, "Succeeded", limit_s=90)
    want(rival.thread.is_alive() and rival.count > 20, "it bound %d beside %d", rival.count, n)
    rival.stop()
    for name in rival.live:
        site.delete_pod(name)


def case_a_new_node_is_used(site):
    """a gang that is too big for the cluster runs as soon as a node more is there"""
    site.start()
    fill = [running(site, "fill", pods=6), running(site, "fill2", pods=8, tenant="vision")]
    fill.append(running(site, "fill3", pods=2, tenant="infra"))
    name = site.run("late", pods=1)
    site.wait_reason(name, "^InsufficientGpus")
    opts = site.cluster.shape
    extra = shape.node(opts.nodes, opts)
    site.put("/api/v1/nodes", extra)
    site.wait_state(name, "Running")
    for each in [name] + fill:
        site.cancel(each)
        site.wait_state(each, "Cancelled")
