# SPDX-License-Identifier: Apache-2.0
"""books - what the daemon holds in memory against what is there: cancels and deletions at every
step of an attempt, and gangs that compete for little room."""

import time

from casesite import want


def cordon(site, nodes, is_on):
    for node in nodes:
        site.patch("/api/v1/nodes/gpu-%03d" % node, {"spec": {"unschedulable": is_on or None}})


def leave(site, count):
    """Only the first nodes take pods, until the case ends."""
    site.defer(cordon, site, range(count + 1, 17), False)
    cordon(site, range(count + 1, 17), True)


def case_cancelled_in_each_state(site):
    """cancels of a gang that waits, binds, starts, runs, restarts and stops all end it, clean"""
    site.start()
    leave(site, 4)
    full = site.run("full", pods=4)
    site.wait_state(full, "Running")
    waits = site.run("waits", pods=2, tenant="vision")
    site.wait_reason(waits, "^Insufficient|^TopologyUnavailable|^NodesUnhealthy|^NeedsWhole")
    site.cancel(waits)
    site.wait_state(waits, "Cancelled")
    site.cancel(full)
    site.wait_state(full, "Cancelled")
    for delay_s in (0, 0.02, 0.04, 0.06, 0.09, 0.12, 0.2):  # between Pending and Starting
        name = site.run("early", pods=4, gpus=4, start="1s")
        time.sleep(delay_s)
        site.cancel(name)
        site.wait_state(name, "Cancelled")
    for state, more in (
        ("Starting", {"start": "30s"}),
        ("Running", {}),
        ("Stopping", {"run": "10ms", "stop": "2s"}),
        ("Restarting", {"fail": "50ms", "stop": "3s"}),
    ):
        name = site.run("in-" + state.lower(), pods=3, gpus=2, **more)
        site.wait_state(name, state, "Succeeded", "Pending")
        site.cancel(name)
        site.wait_state(name, "Cancelled", "Succeeded")
        want(not site.services(), "%s left a service", name)
        site.agree()


def case_pods_deleted_at_each_step(site):
    """all pods of a gang are deleted while it binds, starts, runs, stops: nothing is left held"""
    site.start()
    for at, (delay_s, more) in enumerate(
        (
            (0.02, {"start": "1s"}),
            (0.05, {"start": "1s"}),
            (0.1, {"start": "1s"}),
            (0.3, {"start": "1s"}),
            (0.6, {}),
            (1.0, {"run": "900ms", "stop": "500ms"}),
        )
    ):
        name = site.run("step-%d" % at, pods=4, gpus=8, **more)
        time.sleep(delay_s)
        for pod in site.pods(name):
            site.delete_pod(pod["metadata"]["name"], "foundation")
        time.sleep(0.2)
        site.cancel(name)
        site.wait_state(name, "Cancelled", "Succeeded")
        site.agree()
    used = [n for n in site.daemon_nodes() if n["gpus"]["used"]]
    want(not used, "GPUs are still held: %s", used)
    whole = site.run("whole", pods=6, run="100ms")  # all that the quota has is free again
    site.wait_state(whole, "Succeeded")


def case_many_gangs_on_sixteen_gpus(site):
    """gangs of 1 to 8 GPUs on two nodes: each gets its turn, none waits for half of another"""
    site.start()
    leave(site, 2)
    tenants = ("vision", "foundation", "infra")
    names = [
        site.run(
            "g%d" % n, pods=1 + n % 4, gpus=1 + n % 3, run="150ms", tenant=tenants[n % 3]
        )
        for n in range(24)
    ]
    for name in names:
        site.wait_state(name, "Succeeded", limit_s=90)


def case_one_pod_too_many(site):
    """a gang of 10 whole nodes with room for 9 holds nothing: smaller ones keep running through"""
    site.start()
    leave(site, 9)
    big = site.run("big", pods=10)
    site.wait_reason(big, "^(InsufficientGpus|NodesUnhealthy|TopologyUnavailable|NeedsWholeNodes)")
    want(site.attempt(big) == 0, "it was placed in part")
    for at in range(6):
        name = site.run("small-%d" % at, pods=3, run="100ms", tenant="vision")
        site.wait_state(name, "Succeeded")
    want(not site.pods(big), "it has pods")
    cordon(site, [10], False)
    site.wait_state(big, "Running")
    site.cancel(big)
    site.wait_state(big, "Cancelled")
