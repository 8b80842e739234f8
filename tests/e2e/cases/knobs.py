# SPDX-License-Identifier: Apache-2.0
"""knobs - an API server that is set to be narrow, busy or restless.

Each case starts the server of this cluster again with flags of its own.
"""

import os
import time

import shim
from casesite import want

SERVER = {}


def server_with(site, *flags):
    site.cluster.respawn("kube-apiserver", flags)
    site.defer(site.cluster.respawn, "kube-apiserver")


def many(site, count, pods=4, gpus=1, run="300ms"):
    """Gangs that come one after the other; all of them must get through, each at once or later."""
    tenants = ("vision", "foundation", "infra")
    names = [
        site.run("m%d" % n, pods=pods, gpus=gpus, run=run, tenant=tenants[n % 3])
        for n in range(count)
    ]
    for name in names:
        site.wait_state(name, "Succeeded", limit_s=90)
    return names


def connections(site):
    """TCP connections of the daemon to the API server."""
    port = int(site.cluster.record["server"].rpartition(":")[2])
    with open("/proc/%d/net/tcp" % site.daemon.process.pid, encoding="ascii") as f:
        rows = [line.split() for line in f.readlines()[1:]]
    inodes = {row[9] for row in rows if row[2].endswith(":%04X" % port) and row[3] == "01"}
    folder = "/proc/%d/fd" % site.daemon.process.pid
    links = []
    for fd in os.listdir(folder):
        try:
            links.append(os.readlink(os.path.join(folder, fd)))
        except OSError:
            pass
    return sum(("socket:[%s]" % inode) in links for inode in inodes)


def case_goaway(site):
    """--goaway-chance=0.02: every 50th request ends its connection, no write is lost or doubled"""
    server_with(site, "--goaway-chance=0.02")
    site.start()
    many(site, 15)
    want(site.log().count("level=error") == 0, "there are errors in the log")


def case_few_requests_at_a_time(site):
    """2 reads and 1 write at a time: 429 with Retry-After is honoured, all gangs get through"""
    server_with(
        site,
        "--enable-priority-and-fairness=false",
        "--max-requests-inflight=2",
        "--max-mutating-requests-inflight=1",
    )
    site.start()
    many(site, 8)
    assert_not_refused(site)


def assert_not_refused(site):
    want("gang will be undone" not in site.log(), "a gang was undone because the server is busy")


def case_five_streams(site):
    """5 streams a connection: the rest waits or takes a few connections more, not one each"""
    server_with(site, "--http2-max-streams-per-connection=5")
    site.start()
    name = site.run("wide", pods=16, gpus=4)
    most = 0
    while site.state(name) != "Running":
        most = max(most, connections(site))
    want(most <= 16, "%d connections at once", most)
    site.cancel(name)
    site.wait_state(name, "Cancelled")
    many(site, 6, pods=8)


def case_a_hundred_pods_on_few_connections(site):
    """with the server's 100 streams, 16 pods and their service go over at most 4 connections"""
    server_with(site)
    site.start()
    name = site.run("wide", pods=16, gpus=4)
    most = 0
    while site.state(name) != "Running":
        most = max(most, connections(site))
    want(0 < most <= 4, "%d connections at once", most)
    site.cancel(name)
    site.wait_state(name, "Cancelled")


def case_no_watch_cache(site):
    """--watch-cache=false: lists and watches come from etcd, nothing is missed"""
    server_with(site, "--watch-cache=false")
    site.start()
    many(site, 6)


def case_short_watches(site):
    """watches of 2 s: each goes on from its last version, nothing is listed again or missed"""
    library = shim.build(site.where, "shortwatch")
    site.start(env={"LD_PRELOAD": library, "QUEUED_WATCH_S": "2"})
    names = []
    end = time.monotonic() + 12
    while time.monotonic() < end:
        names += many(site, 2, pods=2, run="100ms")
    want(len(names) >= 4, "only %d jobs ran", len(names))
    lists = site.log().count('msg="list complete"')
    want(lists == 2, "%d lists, not one of nodes and one of pods", lists)


def case_bind_by_create(site):
    """kubernetes.bindMode: direct: pods are made with their node, one write each, and run"""
    site.start(kubernetes="bindMode: direct")
    name = site.run("direct", pods=8, gpus=4)
    site.wait_state(name, "Running")
    for pod in site.pods(name):
        told = [c["type"] for c in pod["status"].get("conditions") or []]
        want("PodScheduled" not in told, "%s was bound by a binding", pod["metadata"]["name"])
    site.cancel(name)
    site.wait_state(name, "Cancelled")
    many(site, 5)


def case_events_tell_the_placement(site):
    """each pod of a gang gets one GangPlaced event with the score; none with events: off"""
    site.start()
    name = site.run("told", pods=4, gpus=1)
    site.wait_state(name, "Running")
    events = wait_events(site, name, 4)
    for event in events:
        want("score" in event["note"], "the note is %s", event["note"])
    site.cancel(name)
    site.wait_state(name, "Cancelled")


def wait_events(site, name, count, limit_s=10):
    path = "/apis/events.k8s.io/v1/namespaces/foundation/events"
    end = time.monotonic() + limit_s
    while True:
        found = [
            e
            for e in site.api.items(path)
            if e["reason"] == "GangPlaced" and e["regarding"]["name"].startswith(name)
        ]
        if len(found) >= count or time.monotonic() > end:
            want(len(found) == count, "%d events, not %d", len(found), count)
            return found
        time.sleep(0.1)


def case_no_events_when_off(site):
    """kubernetes.events: off: a gang runs and no event of ours is written"""
    site.start(kubernetes="events: off")
    name = site.run("silent", pods=2)
    site.wait_state(name, "Running")
    time.sleep(1)
    wait_events(site, name, 0, 0)
    site.cancel(name)
    site.wait_state(name, "Cancelled")
