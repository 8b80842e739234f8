# SPDX-License-Identifier: Apache-2.0
"""gather - the three sides of a comparison, brought into the one form that rules.py reads.

API objects by kubeapi, the daemon's view by queuectl's JSON, the store by the lines of a dump.
Only reads. Missing keys of the JSON mean unknown and are never guessed into agreement.
"""

import json
import subprocess

from procs import Trouble

PREFIX = "gang.queued/"


def _number(text, missing=0):
    try:
        return int(text)
    except (TypeError, ValueError):
        return missing


def _pod_gpus(pod):
    total = 0
    for container in pod["spec"].get("containers") or []:
        res = container.get("resources") or {}
        amount = (res.get("requests") or {}).get("nvidia.com/gpu")
        if amount is None:
            amount = (res.get("limits") or {}).get("nvidia.com/gpu")
        total += _number(amount)
    return total


def api_pod(pod):
    meta = pod["metadata"]
    labels = meta.get("labels") or {}
    return {
        "ns": meta["namespace"],
        "name": meta["name"],
        "uid": meta.get("uid"),
        "node": pod["spec"].get("nodeName") or "",
        "phase": (pod.get("status") or {}).get("phase") or "Pending",
        "gpus": _pod_gpus(pod),
        "managed": labels.get("app.kubernetes.io/managed-by") == "queued",
        "job": labels.get(PREFIX + "job-id") or "",
        "role": labels.get(PREFIX + "role") or "",
        "index": _number(labels.get(PREFIX + "index"), -1),
        "attempt": _number(labels.get(PREFIX + "attempt"), -1),
    }


def live_pods(api):
    """The pods that have not ended."""
    live = "status.phase!=Succeeded,status.phase!=Failed"
    return [api_pod(p) for p in api.items("/api/v1/pods", fieldSelector=live)]


def managed(api, path):
    """What stands beside the pods of our gangs, by job."""
    found = []
    for thing in api.items(path, labelSelector="app.kubernetes.io/managed-by=queued"):
        meta = thing["metadata"]
        found.append(
            {
                "ns": meta["namespace"],
                "name": meta["name"],
                "job": (meta.get("labels") or {}).get(PREFIX + "job-id") or "",
            }
        )
    return found


def api_side(api):
    """nodes, pods, services and disruption budgets of the API server."""
    nodes = {}
    for node in api.items("/api/v1/nodes"):
        allocatable = (node.get("status") or {}).get("allocatable") or {}
        nodes[node["metadata"]["name"]] = {
            "gpus": _number(allocatable.get("nvidia.com/gpu")),
            "labels": node["metadata"].get("labels") or {},
        }
    return {
        "nodes": nodes,
        "pods": [api_pod(p) for p in api.items("/api/v1/pods")],
        "services": managed(api, "/api/v1/services"),
        "budgets": managed(api, "/apis/policy/v1/poddisruptionbudgets"),
    }


def queuectl_json(program, endpoint, *args):
    """What `queuectl ARGS -o json` prints, parsed. Trouble when it does not."""
    argv = [program, *args, "-o", "json"]
    if endpoint:
        argv += ["--endpoint", endpoint]
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as e:
        raise Trouble("%s: %s" % (" ".join(argv), e)) from e
    if done.returncode != 0:
        raise Trouble("%s: exit %d: %s" % (" ".join(argv), done.returncode, done.stderr.strip()))
    if not done.stdout.strip():
        return {}
    try:
        return json.loads(done.stdout)
    except ValueError as e:
        raise Trouble("%s: no JSON: %s" % (" ".join(argv), e)) from e


def daemon_job(item):
    """A job of `queuectl list -A -o json` in the form of rules.py."""
    meta, spec, status = item["metadata"], item.get("spec") or {}, item.get("status") or {}
    attempt = (status.get("attempts") or [{}])[-1]
    slots, bare = {}, {}
    for pod in attempt.get("pods") or []:
        if pod.get("phase") in ("Waiting", "Spare"):
            bare[(pod["role"], _number(pod.get("index"), -1))] = pod["phase"]
        slots[(pod.get("role") or "worker", _number(pod.get("index"), -1))] = {
            "node": pod.get("node") or "",
            "gpus": _number(pod.get("gpus")),
        }
    topology = spec.get("topology")
    return {
        "id": meta["id"],
        "name": meta["name"],
        "ns": meta.get("namespace") or spec.get("namespace") or "",
        "tenant": meta.get("tenant") or spec.get("tenant") or "",
        "state": status["state"],
        "attempt": _number(attempt.get("number")),
        "slots": slots,
        "bare": bare,
        "replicas": sum(_number(r.get("replicas"), 1) for r in spec.get("roles") or []),
        "level": topology.get("required") if isinstance(topology, dict) else None,
        "charge": None,
    }


def store_job(value):
    """A job of `queued --dump-store` in the form of rules.py."""
    slots = {
        (p.get("role") or "worker", _number(p.get("index"), -1)): {
            "node": p.get("node") or "",
            "gpus": _number(p.get("gpus")),
        }
        for p in value.get("placement") or []
    }
    charge = value.get("charge") or {}
    return {
        "id": value["id"],
        "name": value["name"],
        "ns": value.get("namespace") or "",
        "tenant": value.get("tenant") or "",
        "state": value["state"],
        "attempt": _number(value.get("attempt")),
        "slots": slots,
        "replicas": len(slots),
        "level": None,
        "charge": sum(v for k, v in charge.items() if k != "tenant" and isinstance(v, int)),
    }


def dump_jobs(lines):
    """The jobs of a store dump, {id: job}. Trouble with the number of a line that is none."""
    jobs = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            if record["table"] in ("job", "jobs"):
                job = store_job(record["value"])
                jobs[job["id"]] = job
        except (ValueError, KeyError, TypeError) as e:
            raise Trouble("store dump, line %d: %r in %.120s" % (number, e, line)) from e
    return jobs


def dump_store(queued, where):
    """Run `queued --dump-store DIR`; the jobs in it."""
    try:
        done = subprocess.run(
            [queued, "--dump-store", where], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as e:
        raise Trouble("%s --dump-store: %s" % (queued, e)) from e
    if done.returncode != 0:
        raise Trouble(
            "%s --dump-store %s: exit %d: %s"
            % (queued, where, done.returncode, done.stderr.strip())
        )
    return dump_jobs(done.stdout.splitlines())


def snapshot(api, program, endpoint, store):
    """All sides at (nearly) one moment. store: None or a function that returns {id: job}."""
    snap = {"store": store() if store else None}
    listed = queuectl_json(program, endpoint, "list", "-A")
    snap["jobs"] = {j["id"]: j for j in map(daemon_job, listed.get("items") or [])}
    snap["daemon_nodes"] = {
        n["name"]: {
            "allocatable": (n.get("gpus") or {}).get("allocatable"),
            "used": (n.get("gpus") or {}).get("used"),
        }
        for n in queuectl_json(program, endpoint, "nodes").get("items") or []
    }
    snap.update(api_side(api))
    return snap
