# SPDX-License-Identifier: Apache-2.0
"""rules_selftest - each rule of rules.py is shown a difference that it alone must find.

A sound snapshot is invented, found without differences, then damaged in one way at a time. A rule
that never fails here, or a damage that no rule finds, fails the self-test.
"""

import copy

import rules


def _job(ident, state, nodes, **more):
    live = state in rules.LIVE
    job = {
        "id": ident,
        "name": "j-" + ident,
        "ns": "vision",
        "tenant": "vision",
        "state": state,
        "attempt": 1,
        "slots": {("worker", i): {"node": n, "gpus": 4} for i, n in enumerate(nodes)},
        "replicas": len(nodes) or 2,
        "level": "rack",
        "charge": 4 * len(nodes) if live else 0,
    }
    job.update(more)
    return job


def _pods(job, phase):
    return [
        {
            "ns": job["ns"],
            "name": "%s-%s-%d-1" % (job["name"], *key),
            "node": slot["node"],
            "phase": phase,
            "gpus": slot["gpus"],
            "managed": True,
            "job": job["id"],
            "role": key[0],
            "index": key[1],
            "attempt": 1,
        }
        for key, slot in job["slots"].items()
    ]


def sound():
    """Two racks of two nodes; one gang running, one half bound, one waiting, one done."""
    jobs = [
        _job("a", "Running", ["n1", "n2"]),
        _job("b", "Binding", ["n3", "n4"]),
        _job("c", "Pending", []),
        _job("d", "Succeeded", ["n1", "n2"]),
    ]
    pods = _pods(jobs[0], "Running") + _pods(jobs[1], "Pending")[:1] + _pods(jobs[3], "Succeeded")
    foreign = {
        "ns": "kube-system",
        "name": "probe",
        "node": "n4",
        "phase": "Running",
        "gpus": 1,
        "managed": False,
        "job": "",
        "role": "",
        "index": -1,
        "attempt": -1,
    }
    used = {"n1": 4, "n2": 4, "n3": 4, "n4": 5}
    by_id = {j["id"]: j for j in jobs}
    return {
        "nodes": {
            n: {"gpus": 8, "labels": {rules.LABELS["rack"]: "r1" if n < "n3" else "r2"}}
            for n in used
        },
        "pods": pods + [foreign],
        "services": [
            {"ns": "vision", "name": "j-a", "job": "a"},
            {"ns": "vision", "name": "j-b", "job": "b"},
        ],
        "budgets": [{"ns": "vision", "name": "j-a", "job": "a"}],
        "jobs": by_id,
        "daemon_nodes": {n: {"allocatable": 8, "used": u} for n, u in used.items()},
        "store": copy.deepcopy(by_id),
    }


def _stray(snap, job, index, node, **more):
    pod = dict(snap["pods"][0], name="stray", job=job, index=index, node=node)
    pod.update(more)
    snap["pods"].append(pod)


def _level_broken(snap):
    for side in ("jobs", "store"):
        snap[side]["a"]["slots"][("worker", 1)]["node"] = "n3"
    snap["pods"][1]["node"] = "n3"
    snap["daemon_nodes"]["n2"]["used"], snap["daemon_nodes"]["n3"]["used"] = 0, 8


DAMAGES = [
    ("store_jobs", "a job only in the daemon", lambda s: s["store"].pop("c")),
    ("store_jobs", "an acknowledged job lost by the daemon", lambda s: s["jobs"].pop("c")),
    ("store_jobs", "another state in the store", lambda s: s["store"]["c"].update(state="Held")),
    (
        "store_jobs",
        "another place in the store",
        lambda s: s["store"]["b"]["slots"][("worker", 1)].update(node="n1"),
    ),
    ("whole_gangs", "a running gang lost a pod", lambda s: s["pods"].pop(1)),
    ("whole_gangs", "a running gang with an unbound pod", lambda s: s["pods"][1].update(node="")),
    (
        "whole_gangs",
        "a place for half of the gang",
        lambda s: s["jobs"]["b"]["slots"].pop(("worker", 1)),
    ),
    ("pods_in_place", "a pod on another node", lambda s: s["pods"][0].update(node="n2")),
    (
        "pods_in_place",
        "a pod of an older attempt",
        lambda s: _stray(s, "b", 1, "", attempt=0, phase="Pending", gpus=0),
    ),
    ("pods_in_place", "a pod more than placed", lambda s: _stray(s, "a", 7, "n1", gpus=0)),
    ("idle_jobs", "a waiting job with a bound pod", lambda s: _stray(s, "c", 0, "n1")),
    ("idle_jobs", "an ended job with a live pod", lambda s: _stray(s, "d", 0, "")),
    ("unknown_pods", "a pod of nobody", lambda s: _stray(s, "zz", 0, "", phase="Succeeded")),
    (
        "services",
        "a service left by an ended job",
        lambda s: s["services"].append({"ns": "vision", "name": "j-d", "job": "d"}),
    ),
    (
        "services",
        "a service of nobody",
        lambda s: s["services"].append({"ns": "vision", "name": "j-zz", "job": "zz"}),
    ),
    (
        "budgets",
        "a budget of a job that waits",
        lambda s: s["budgets"].append({"ns": "vision", "name": "j-c", "job": "c"}),
    ),
    (
        "budgets",
        "a budget of nobody",
        lambda s: s["budgets"].append({"ns": "vision", "name": "j-zz", "job": "zz"}),
    ),
    ("services", "a running gang without its service", lambda s: s["services"].pop(0)),
    ("bound_once", "one member bound twice", lambda s: _stray(s, "a", 0, "n2", attempt=2, gpus=0)),
    (
        "oversubscribed",
        "nine GPUs on a node of eight",
        lambda s: s["pods"][-1].update(node="n1", gpus=5),
    ),
    ("nodes", "a node that the daemon misses", lambda s: s["daemon_nodes"].pop("n1")),
    (
        "nodes",
        "a node that is gone from the API",
        lambda s: s["daemon_nodes"].update(n9={"allocatable": 8, "used": 0}),
    ),
    ("nodes", "used GPUs that nobody holds", lambda s: s["daemon_nodes"]["n2"].update(used=8)),
    ("nodes", "another size of a node", lambda s: s["daemon_nodes"]["n2"].update(allocatable=7)),
    ("charges", "a leaked charge", lambda s: s["store"]["d"].update(charge=8)),
    ("charges", "a running gang not charged", lambda s: s["store"]["a"].update(charge=0)),
    ("topology", "a rack-required gang in two racks", _level_broken),
]


def run():
    """Print one line for each damage. Returns the number of damages that were not found."""
    missed = 0
    quiet = rules.check(sound())
    for line in quiet:
        print("self-test: a sound snapshot was found wanting: " + line)
    seen = set()
    for rule, title, damage in DAMAGES:
        snap = sound()
        damage(snap)
        found = [line for line in rules.check(snap) if line.startswith(rule + ": ")]
        print("%-6s %-15s %s" % ("ok" if found else "MISSED", rule, title))
        missed += not found
        seen.add(rule)
    for rule in rules.ALL:
        if rule.__name__ not in seen:
            print("MISSED %-15s has no damage of its own" % rule.__name__)
            missed += 1
    print("compare --self-test: %d damages, %d missed" % (len(DAMAGES), missed + len(quiet)))
    return missed + len(quiet)
