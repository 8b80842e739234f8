# SPDX-License-Identifier: Apache-2.0
"""server - the API server ends and comes back, and etcd below it stops, forgets or goes back."""

import os
import signal
import time

import etcd
import procs
from casesite import want

SERVER = {}  # a cluster of its own: what is broken here must not disturb others


def running(site, name, **more):
    full = site.run(name, **more)
    site.wait_state(full, "Running")
    return full


def lists_of(site):
    """How often all nodes and all pods were listed."""
    return site.log().count('msg="list complete"')


def end(site, *names):
    for name in names:
        site.cancel(name)
        site.wait_state(name, "Cancelled", limit_s=60)


def case_killed_and_started_again(site):
    """SIGKILL of the API server under work: jobs are taken meanwhile, nothing is lost"""
    site.start()
    calm = running(site, "calm")
    fleeting = site.run("fleeting", pods=8, gpus=1, run="100ms", start="500ms")
    site.cluster.kill("kube-apiserver")
    site.wait_log("the API server does not answer")
    meanwhile = site.run("meanwhile", run="300ms", tenant="vision")
    site.wait_reason(meanwhile, "^ClusterUnreachable")
    site.cluster.spawn("kube-apiserver")
    site.cluster.wait_ready()
    uids = {p["metadata"]["uid"] for p in site.pods(calm)}
    site.wait_state(meanwhile, "Succeeded", limit_s=60)
    site.wait_state(fleeting, "Succeeded", limit_s=60)
    want({p["metadata"]["uid"] for p in site.pods(calm)} == uids, "the calm gang was disturbed")
    want(site.state(calm) == "Running", "the calm gang is %s", site.state(calm))
    end(site, calm)


def case_ended_in_good_order(site):
    """SIGTERM of the API server: its watches stay silent, a new server is found all the same"""
    site.start()
    calm = running(site, "calm")
    site.cluster.send("kube-apiserver", signal.SIGTERM)
    time.sleep(3)
    name = site.run("meanwhile", run="300ms", tenant="vision")
    site.cluster.kill("kube-apiserver")
    site.cluster.spawn("kube-apiserver")
    site.cluster.wait_ready()
    site.wait_state(name, "Succeeded", limit_s=60)
    end(site, calm)


def pause_daemon(site):
    os.kill(site.daemon.process.pid, signal.SIGSTOP)


def resume_daemon(site):
    os.kill(site.daemon.process.pid, signal.SIGCONT)


def case_versions_that_the_server_forgot(site):
    """after a restart the server answers 410 to what we watched from: listed again, nothing lost"""
    site.start()
    calm = running(site, "calm")
    before = lists_of(site)
    pause_daemon(site)
    try:
        gone = site.pods(calm)[0]["metadata"]["name"]
        site.delete_pod(gone, "foundation")
        for at in range(5):
            site.foreign("late-%d" % at, gpus=1, node="gpu-001")
        site.patch("/api/v1/nodes/gpu-016", {"spec": {"unschedulable": True}})
        site.defer(site.patch, "/api/v1/nodes/gpu-016", {"spec": {"unschedulable": None}})
        site.cluster.respawn("kube-apiserver")
    finally:
        resume_daemon(site)
    procs.wait_for(lambda: lists_of(site) > before, 30, "a list after 410")
    site.wait_attempt(calm, 2, 60)
    site.wait_state(calm, "Running", limit_s=60)
    site.agree()
    for at in range(5):
        site.delete_pod("late-%d" % at)
    end(site, calm)


def case_etcd_put_back_to_an_older_copy(site):
    """etcd restored from a copy: versions go back, the daemon notices and lists all again"""
    site.start()
    old = running(site, "old")
    site.daemon.kill()
    etcd.copy(site.cluster, "etcd.older")
    site.daemon.start()
    site.daemon.wait_ready()
    site.agree()
    new = running(site, "new", tenant="vision")
    for at in range(20):
        site.foreign("noise-%d" % at, gpus=0)
    before = lists_of(site)
    etcd.restore(site.cluster, "etcd.older")
    procs.wait_for(lambda: lists_of(site) > before, 90, "a list of what is there now")
    site.wait_state(new, "Running", "Restarting", "Pending", limit_s=60)
    site.wait_attempt(new, 2, 90)
    site.wait_state(new, "Running", limit_s=90)
    site.agree(60)
    end(site, old, new)


def case_etcd_forgets_its_history(site):
    """etcd is compacted under running watches: nothing is lost and nothing is listed again"""
    site.start()
    calm = running(site, "calm")
    before = lists_of(site)
    for _ in range(3):
        etcd.compact(site.cluster)
        name = site.run("after", run="200ms", tenant="vision")
        site.wait_state(name, "Succeeded")
    want(lists_of(site) == before, "it listed again: %d times", lists_of(site) - before)
    end(site, calm)


def case_etcd_stops_answering(site):
    """etcd is stopped for 45 s: 504 leaves it open whether a write took place; each is read back"""
    site.start()
    calm = running(site, "calm")
    fill = [site.run("f%d" % n, pods=4, gpus=2, run="1s", tenant="vision") for n in range(3)]
    site.cluster.pause("etcd")
    try:
        late = [site.run("late%d" % n, pods=4, gpus=1, run="500ms") for n in range(3)]
        dying = site.run("dying", pods=2, gpus=1, tenant="infra")
        time.sleep(2)
        site.cancel(dying)
        time.sleep(43)
        site.ctl("list", "-A")
    finally:
        site.cluster.resume("etcd")
    site.cluster.respawn("kwok")  # it gives up a pod whose status could not be written
    for name in fill + late:
        site.wait_state(name, "Succeeded", limit_s=90)
    site.wait_state(dying, "Cancelled", limit_s=90)
    want(site.state(calm) == "Running", "the calm gang is %s", site.state(calm))
    site.agree(60)
    end(site, calm)


def case_etcd_killed_and_back(site):
    """etcd is killed under work and started again: every gang gets through"""
    site.start()
    names = [site.run("k%d" % n, pods=4, gpus=1, run="300ms") for n in range(4)]
    site.cluster.kill("etcd")
    time.sleep(1)
    site.cluster.spawn("etcd")
    site.cluster.wait_etcd()
    site.cluster.wait_ready()
    site.cluster.respawn("kwok")
    for name in names:
        site.wait_state(name, "Succeeded", limit_s=90)
