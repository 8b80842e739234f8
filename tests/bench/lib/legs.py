# SPDX-License-Identifier: Apache-2.0
"""legs - one side of bench_bind at work: a fresh daemon, or the raw loop, on the same API server.

A leg begins with empty nodes and the jobs stored, and ends with every pod bound; the server's audit
log says when and by what requests, /proc what it cost. Nodes are emptied behind the API server
between two legs. No kubelet and no kwok run: a bound pod stays Pending, nothing but the two sides
writes.
"""

import collections
import json
import os
import subprocess
import time

import etcd
import procs
from auditlog import AuditLog
from daemon import Daemon
from procs import Trouble

NAMESPACE = "bench"
STALLED_S = 60

CONFIG = """# written by bench_bind
store: {dir: %(where)s/store}
listen: {rpc: ["ipc://%(where)s/queued.sock"]}
kubernetes: {kubeconfig: %(kubeconfig)s%(more)s}
levels:
- name: fabric
  levels:
  - {name: zone, labels: [topology.kubernetes.io/zone]}
  - {name: block, labels: [gang.queued/block]}
  - {name: rack, labels: [gang.queued/rack], cost: 500}
models: {H100: [NVIDIA-H100-80GB-HBM3, NVIDIA-H100-SXM5-80GB]}
tenants:
- {name: bench, quota: {H100: 100000}, namespaces: [bench]}
"""

JOB = """apiVersion: gang.queued/v1
kind: GangJob
metadata: {name: %(name)s}
spec:
  tenant: bench
  maxRuntime: 10h
  gang: {startTimeout: 10h}
  roles:
  - name: worker
    replicas: %(pods)d
    image: registry.example.com/test:1
    command: [sleep, "1"]
    resources: {gpus: %(gpus)d, cpu: "1", memory: 1Gi}
"""


def job_file(name, gangs, pods, gpus=1):
    return "---\n".join(
        JOB % {"name": "%s-%d" % (name, n), "pods": pods, "gpus": gpus} for n in range(gangs)
    )


def cpu_s(pid):
    """Processor time of a process in seconds, threads that have ended included."""
    with open("/proc/%d/stat" % pid, encoding="ascii", errors="replace") as f:
        fields = f.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def fine_cpu_s(pid):
    """The same to the microsecond, of the threads that live."""
    total = 0
    for tid in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/schedstat" % (pid, tid), encoding="ascii") as f:
            total += int(f.read().split()[0])
    return total / 1e9


class Mode:
    def __init__(self, bind, events):
        self.bind, self.events = bind, events

    def config(self):
        return ", bindMode: %s, events: %s" % (self.bind, "pods" if self.events else "off")

    def title(self):
        return self.bind + ("+events" if self.events else "")


class Bench:
    """The cluster, its audit log and the daemon of the moment."""

    def __init__(self, cluster, where, raw_program):
        self.cluster, self.where, self.raw_program = cluster, where, raw_program
        self.nodes = cluster.record["nodes"]
        self.audit = AuditLog(cluster.path("audit.log"))
        self.daemon = None
        self.serial = 0

    def cpu(self):
        pids = {n: self.cluster.record["programs"][n]["pid"] for n in ("kube-apiserver", "etcd")}
        return {name: cpu_s(pid) for name, pid in pids.items()}

    def empty(self):
        """End the daemon and take all pods, services and events away."""
        if self.daemon:
            self.daemon.stop()
            self.daemon = None
        for what in ("pods", "services/specs", "services/endpoints", "events"):
            etcd.forget(self.cluster, "/registry/%s/%s/" % (what, NAMESPACE))
        api = self.cluster.api()
        path = "/api/v1/namespaces/%s/pods?limit=1&resourceVersion=0" % NAMESPACE
        procs.wait_for(lambda: not api.want("GET", path)["items"], 60, "no pods", 0.2)

    # ---- the daemon

    def daemon_make(self):
        self.serial += 1
        where = os.path.join(self.where, "daemon-%d" % self.serial)
        self.daemon = Daemon(where, self.cluster.path("kubeconfig-queued"))

    def daemon_aim(self, mode, kubeconfig):
        """Start the daemon on the server of a kubeconfig."""
        values = {"where": self.daemon.where, "kubeconfig": kubeconfig, "more": mode.config()}
        with open(self.daemon.path("queued.yaml"), "w", encoding="utf-8") as f:
            f.write(CONFIG % values)
        self.daemon.start()

    def daemon_start(self, mode):
        self.daemon_make()
        self.daemon_aim(mode, self.cluster.path("kubeconfig-queued"))
        self.daemon.wait_ready()
        procs.wait_for(
            lambda: self.nodes_seen() == self.nodes, 60, "the daemon to see all nodes", 0.1
        )

    def daemon_store(self, mode, text):
        """Have the jobs of the file text stored before there is a cluster to start them on."""
        away = os.path.join(self.where, "kubeconfig-away")
        with open(self.cluster.path("kubeconfig-queued"), encoding="utf-8") as f:
            known = f.read()
        with open(away, "w", encoding="utf-8") as f:
            f.write(known.replace(self.cluster.record["server"], "https://127.0.0.1:1"))
        self.daemon_make()
        self.daemon_aim(mode, away)
        self.daemon.wait_ready()
        self.submit(text)
        self.daemon.stop()

    def nodes_seen(self):
        done = self.daemon.ctl("nodes", "-o", "json")
        return len(json.loads(done.stdout)["items"]) if done.returncode == 0 else 0

    def submit(self, text):
        """Names of the jobs of the file text."""
        done = self.daemon.ctl("submit", "-f", "-", "-o", "name", text=text, limit_s=120)
        if done.returncode:
            raise Trouble("submit: exit %d: %s" % (done.returncode, done.stderr.strip()))
        return [line.rpartition("/")[2] for line in done.stdout.split()]

    def wait_bound(self, mode, pods):
        """Until the server has answered all that the leg needs. Lost events are not waited for."""
        kind = "bindings" if mode.bind == "bind" else "pods"
        seen, moved = 0, time.monotonic()
        while True:
            lines = self.audit.read()
            if lines != seen:
                seen, moved = lines, time.monotonic()
            bound = self.audit.count(kind) >= pods
            if bound and (not mode.events or self.audit.count("events") >= pods):
                return
            quiet = time.monotonic() - moved
            if bound and quiet > 3:
                return
            if quiet > STALLED_S:
                raise Trouble(
                    "nothing came for %d s, %d of %d %s; the end of the daemon's log:\n%s"
                    % (
                        quiet,
                        self.audit.count(kind),
                        pods,
                        kind,
                        procs.tail(self.daemon.path("queued.log")),
                    )
                )
            self.daemon.check_alive()
            time.sleep(0.2)

    def wait_first(self):
        """Until the server has answered the first write."""

        def written():
            self.daemon.check_alive()
            self.audit.read()
            return self.audit.count("writes")

        procs.wait_for(written, STALLED_S, "the daemon to begin", 0.01)

    def daemon_leg(self, mode, gangs, pods):
        self.daemon_store(mode, job_file("leg", gangs, pods))
        self.audit.begin()
        self.daemon_aim(mode, self.cluster.path("kubeconfig-queued"))
        self.wait_first()
        before, began = self.cpu(), fine_cpu_s(self.daemon.process.pid)
        self.wait_bound(mode, gangs * pods)
        leg = self.leg(gangs * pods, before)
        leg["cpu_s"] = fine_cpu_s(self.daemon.process.pid) - began
        self.daemon.wait_ready()
        waiting = [j for j in self.daemon.jobs() if j["state"] not in ("Starting", "Running")]
        if waiting:
            raise Trouble("%d of %d gangs are not Starting" % (len(waiting), gangs))
        return leg

    # ---- the raw loop

    def raw_leg(self, mode, gangs, pods):
        self.audit.begin()
        before = self.cpu()
        argv = [self.raw_program, "-k", self.cluster.path("kubeconfig-queued"), "-n", NAMESPACE]
        argv += ["-g", str(gangs), "-p", str(pods), "-N", str(self.nodes), "-m", mode.bind]
        argv += ["-e", "on" if mode.events else "off"]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        if done.returncode:
            raise Trouble("raw_bind: exit %d: %s" % (done.returncode, done.stderr.strip()))
        self.audit.read()
        leg = self.leg(gangs * pods, before)
        leg["cpu_s"] = json.loads(done.stdout)["cpu_s"]
        return leg

    # ---- figures

    def leg(self, pods, before):
        after = self.cpu()
        calls = self.audit.calls()
        writes = [c for c in calls if c.is_write()]
        first = min(c.began for c in writes)
        calls = [c for c in calls if c.began >= first]
        placed = [c for c in writes if c.kind in ("create pods", "create pods/binding")]
        good = [c for c in placed if c.code == 201]
        kinds = collections.Counter(c.kind for c in calls)
        if len({c.name for c in good if c.kind == "create pods/binding"}) not in (0, pods):
            raise Trouble("not every pod was bound")
        return {
            "pods": pods,
            "seconds": max(c.ended for c in writes) - first,
            "bound_seconds": max(c.ended for c in placed) - min(c.began for c in placed),
            "requests": sum(kinds.values()),
            "kinds": dict(kinds),
            "refused": sum(c.code >= 400 for c in calls),
            "apiserver_s": after["kube-apiserver"] - before["kube-apiserver"],
            "etcd_s": after["etcd"] - before["etcd"],
        }
