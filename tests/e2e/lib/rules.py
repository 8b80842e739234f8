# SPDX-License-Identifier: Apache-2.0
"""rules - what must agree between store, daemon and API when nothing is moving.

Pure: a snapshot in, one line for each difference out; gather.py makes the snapshots, compare
prints. A snapshot is a dict:
  nodes    {name: {"gpus": allocatable, "labels": {}}} as the API has them
  pods     [{"ns","name","uid","node","phase","gpus","managed","job","role","index","attempt"}],
           all pods of the API, not only ours
  services [{"ns","name","job"}], the managed ones; budgets the same of PodDisruptionBudgets
  jobs     {id: job} as the daemon answers; a job is {"id","name","ns","tenant","state","attempt",
           "slots": {(role, index): {"node","gpus"}}, "replicas", "level", "charge" or None}
  daemon_nodes {name: {"allocatable","used"}}
  store    {id: job} or None when no dump was given
"""

LIVE = ("Binding", "Starting", "Running")
UNDO = ("Stopping", "Restarting", "Preempting")
IDLE = ("Held", "Pending")
TERMINAL = ("Succeeded", "Failed", "Cancelled", "Preempted", "Lost", "TimedOut", "Rejected")
LABELS = {
    "zone": "topology.kubernetes.io/zone",
    "block": "gang.queued/block",
    "rack": "gang.queued/rack",
    "host": "kubernetes.io/hostname",
    "nvl-domain": "nvidia.com/gpu.clique",
}


def holds_gpus(pod):
    return bool(pod["node"]) and pod["phase"] not in ("Succeeded", "Failed")


def is_live(pod):
    return pod["phase"] not in ("Succeeded", "Failed")


def what(job):
    return "job %s (%s, %s)" % (job["name"], job["id"], job["state"])


def pods_of(snap, job):
    return [p for p in snap["pods"] if p["managed"] and p["job"] == job["id"]]


def key_of(pod):
    return (pod["role"], pod["index"])


def current_of(snap, job):
    return {key_of(p): p for p in pods_of(snap, job) if p["attempt"] == job["attempt"]}


def store_jobs(snap):
    """Daemon and store know the same jobs, in the same state and place."""
    store = snap["store"]
    if store is None:
        return
    for ident in sorted(set(store) | set(snap["jobs"])):
        if ident not in store:
            yield "%s is in the daemon but not in the store" % what(snap["jobs"][ident])
            continue
        if ident not in snap["jobs"]:
            yield "%s is in the store but not in the daemon" % what(store[ident])
            continue
        mine, theirs = snap["jobs"][ident], store[ident]
        for key in ("name", "ns", "tenant", "state"):
            if mine[key] and mine[key] != theirs[key]:
                yield "%s: %s is %s in the daemon, %s in the store" % (
                    what(mine),
                    key,
                    mine[key],
                    theirs[key],
                )
        if mine["state"] in LIVE and mine["state"] == theirs["state"]:
            for key in ("attempt", "slots"):
                if mine[key] != theirs[key]:
                    yield "%s: %s differs: daemon %s, store %s" % (
                        what(mine),
                        key,
                        mine[key],
                        theirs[key],
                    )


def whole_gangs(snap):
    """A live gang has a place for every pod; from Starting on, every pod is there and bound, but for
    spare hosts and for pods of a role that waits for another."""
    for job in snap["jobs"].values():
        if job["state"] not in LIVE:
            continue
        bare = job.get("bare") or {}
        if len(job["slots"]) - list(bare.values()).count("Spare") != job["replicas"]:
            yield "%s: has places for %d of its %d pods" % (
                what(job),
                len(job["slots"]),
                job["replicas"],
            )
        if job["state"] == "Binding":
            continue
        found = current_of(snap, job)
        for slot in sorted(job["slots"].keys() - bare.keys()):
            if slot not in found:
                yield "%s: pod %s-%d of attempt %d is not in the API" % (
                    what(job),
                    *slot,
                    job["attempt"],
                )
            elif not found[slot]["node"]:
                yield "%s: pod %s is not bound" % (what(job), found[slot]["name"])


def pods_in_place(snap):
    """Each pod of a live gang belongs to its attempt and stands where the placement says."""
    for job in snap["jobs"].values():
        if job["state"] not in LIVE + UNDO:
            continue
        for pod in pods_of(snap, job):
            if not is_live(pod):
                continue
            if pod["attempt"] != job["attempt"]:
                yield "%s: live pod %s of attempt %d, the job is at %d" % (
                    what(job),
                    pod["name"],
                    pod["attempt"],
                    job["attempt"],
                )
                continue
            slot = job["slots"].get(key_of(pod))
            if slot is None:
                if job["state"] in LIVE:
                    yield "%s: pod %s has no place in the placement" % (what(job), pod["name"])
            elif pod["node"] and pod["node"] != slot["node"]:
                yield "%s: pod %s is bound to %s, placed on %s" % (
                    what(job),
                    pod["name"],
                    pod["node"],
                    slot["node"],
                )


def idle_jobs(snap):
    """A waiting or ended job has no live pod."""
    for job in snap["jobs"].values():
        if job["state"] not in IDLE + TERMINAL:
            continue
        for pod in pods_of(snap, job):
            if is_live(pod):
                yield "%s: live pod %s on %s" % (what(job), pod["name"], pod["node"] or "no node")


def unknown_pods(snap):
    """No managed pod of a job that the daemon does not know."""
    for pod in snap["pods"]:
        if pod["managed"] and pod["job"] not in snap["jobs"]:
            yield "pod %s/%s belongs to no known job (job-id %s)" % (
                pod["ns"],
                pod["name"],
                pod["job"],
            )


def services(snap):
    """A running gang of several pods has its service; an ended or unknown job has none."""
    have = {(s["ns"], s["name"]) for s in snap["services"]}
    for service in snap["services"]:
        job = snap["jobs"].get(service["job"])
        if job is None:
            yield "service %s/%s belongs to no known job" % (service["ns"], service["name"])
        elif job["state"] in TERMINAL:
            yield "%s: service %s is left over" % (what(job), service["name"])
    for job in snap["jobs"].values():
        if (
            job["state"] in ("Starting", "Running")
            and job["replicas"] > 1
            and (job["ns"], job["name"]) not in have
        ):
            yield "%s: its service is missing" % what(job)


def budgets(snap):
    """A disruption budget belongs to an attempt: no job that waits or has ended has one."""
    for budget in snap["budgets"]:
        job = snap["jobs"].get(budget["job"])
        if job is None:
            yield "budget %s/%s belongs to no known job" % (budget["ns"], budget["name"])
        elif job["state"] in IDLE + TERMINAL:
            yield "%s: budget %s is left over" % (what(job), budget["name"])


def bound_once(snap):
    """No member of a gang holds two places at a time."""
    seen = {}
    for pod in snap["pods"]:
        if not pod["managed"] or not holds_gpus(pod):
            continue
        key = (pod["job"], pod["role"], pod["index"])
        if key in seen:
            yield "%s and %s are the same member of job %s, both bound" % (
                seen[key],
                pod["name"],
                pod["job"],
            )
        seen[key] = pod["name"]


def node_sums(snap):
    sums = dict.fromkeys(snap["nodes"], 0)
    for pod in snap["pods"]:
        if holds_gpus(pod):
            sums[pod["node"]] = sums.get(pod["node"], 0) + pod["gpus"]
    return sums


def oversubscribed(snap):
    """No node has more GPUs requested than it has."""
    for name, used in sorted(node_sums(snap).items()):
        room = snap["nodes"].get(name, {"gpus": 0})["gpus"]
        if used > room:
            yield "node %s: pods hold %d GPUs, it has %d" % (name, used, room)


def nodes(snap):
    """Daemon and API know the same nodes, and count the same GPUs on them.
    A gang still being bound is counted by the daemon from its decision on."""
    want = node_sums(snap)
    for job in snap["jobs"].values():
        if job["state"] == "Binding":
            found = current_of(snap, job)
            for key, slot in job["slots"].items():
                if not found.get(key, {}).get("node"):
                    want[slot["node"]] = want.get(slot["node"], 0) + slot["gpus"]
    for name in sorted(set(snap["nodes"]) | set(snap["daemon_nodes"])):
        if name not in snap["daemon_nodes"]:
            yield "node %s is in the API but not in the daemon" % name
        elif name not in snap["nodes"]:
            yield "node %s is in the daemon but not in the API" % name
        else:
            mine = snap["daemon_nodes"][name]
            if mine["allocatable"] != snap["nodes"][name]["gpus"]:
                yield "node %s: allocatable is %s in the daemon, %d in the API" % (
                    name,
                    mine["allocatable"],
                    snap["nodes"][name]["gpus"],
                )
            if mine["used"] != want[name]:
                yield "node %s: the daemon counts %s GPUs used, its pods hold %d" % (
                    name,
                    mine["used"],
                    want[name],
                )


def charges(snap):
    """A live gang is charged what it holds; a waiting or ended job nothing.
    Of a gang whose members end one by one, the charge may follow each or stay to the end."""
    for side in ("jobs", "store"):
        for job in (snap[side] or {}).values():
            if job["charge"] is None or job["state"] in UNDO:
                continue
            whole = sum(s["gpus"] for s in job["slots"].values()) if job["state"] in LIVE else 0
            found = current_of(snap, job)
            ended = sum(
                slot["gpus"]
                for key, slot in job["slots"].items()
                if key in found and not is_live(found[key])
            )
            if not max(0, whole - ended) <= job["charge"] <= whole:
                yield "%s: charged %d GPUs, holds %d" % (what(job), job["charge"], whole)


def topology(snap):
    """All pods of a gang with a required level stand in one domain of it."""
    for job in snap["jobs"].values():
        label = LABELS.get(job["level"])
        if not label or job["state"] not in LIVE:
            continue
        found = {}
        for pod in current_of(snap, job).values():
            if pod["node"]:
                domain = snap["nodes"].get(pod["node"], {"labels": {}})["labels"].get(label, "none")
                found.setdefault(domain, []).append(pod["node"])
        if len(found) > 1:
            yield "%s: requires one %s, stands in %s" % (
                what(job),
                job["level"],
                ", ".join(sorted(found)),
            )


ALL = (
    store_jobs,
    whole_gangs,
    pods_in_place,
    idle_jobs,
    unknown_pods,
    services,
    budgets,
    bound_once,
    oversubscribed,
    nodes,
    charges,
    topology,
)


# with the daemon dead: what the store says against what the API server has; nothing may be ahead
AT_KILL = (unknown_pods, idle_jobs, pods_in_place, bound_once, oversubscribed)


def check(snap, which=ALL):
    """All differences of a snapshot, each a line that begins with the name of its rule."""
    return ["%s: %s" % (rule.__name__, line) for rule in which for line in rule(snap)]
