# SPDX-License-Identifier: Apache-2.0
"""casesite - what one case of the suite works on: a cluster, a fresh daemon on it, and short words
for what a user, a test and a rude neighbour do.

Cases that share a cluster share nothing else: end() takes the daemon away, undoes what the case
deferred and empties the namespaces. The daemon is always the minimal user of deploy/rbac.yaml.
"""

import os
import re
import time

import controlplane
import gather
import procs
import rules
from daemon import Daemon
from kubeapi import Refused
from procs import Trouble

NAMESPACES = ["vision", "foundation", "infra"]


class Skip(Exception):
    """The case cannot run here; the text says why."""


class Wrong(Exception):
    """What the case proves does not hold; the text says what was seen."""


def want(is_true, text, *args):
    if not is_true:
        raise Wrong(text % args if args else text)


def job(name, pods=2, gpus=8, tenant="foundation", **more):
    """Text of a job file. more: run, fail, start, stop (durations of the simulated pods), level,
    roles (whole text), and spec (more lines of the spec)."""
    notes = {"run": "run-duration", "fail": "fail-after", "start": "start-delay"}
    notes["stop"] = "stop-delay"
    lines = ["apiVersion: gang.queued/v1", "kind: GangJob", "metadata:", "  name: " + name]
    marks = ["    gang.queued/%s: %s" % (notes[k], more[k]) for k in notes if more.get(k)]
    lines += (["  annotations:"] + marks) if marks else []
    lines += ["spec:", "  tenant: " + tenant, "  maxRuntime: %s" % more.get("max_runtime", "1h")]
    if more.get("level"):
        lines.append("  topology: {required: %s}" % more["level"])
    lines += ["  " + line for line in more.get("spec", "").splitlines()]
    lines += ["  roles:"] + (more.get("roles") or role("worker", pods, gpus)).splitlines()
    return "\n".join(lines) + "\n"


def role(name, pods, gpus, cpu="1"):
    return """  - name: %s
    replicas: %d
    image: registry.example.com/test:1
    command: [sleep, "1"]
    resources: {gpus: %d, gpuModel: H100, cpu: "%s", memory: 1Gi}
""" % (name, pods, gpus, cpu)


class Site:
    def __init__(self, cluster, where):
        self.cluster, self.where = cluster, where
        self.api = cluster.api()
        self.daemon, self.undo = None, []
        self.kubeconfig = cluster.path("kubeconfig-queued")
        os.makedirs(where)

    # ---- the daemon

    def start(self, wrap=(), options=(), **more):
        """A daemon with an empty store: wrap goes before its command, options behind it, more is
        as Daemon takes it."""
        self.daemon = Daemon(os.path.join(self.where, "d"), self.kubeconfig, **more)
        self.daemon.wrap, self.daemon.options = list(wrap), list(options)
        self.daemon.start()
        self.daemon.wait_ready()
        return self.daemon

    def restart(self):
        self.daemon.kill()
        self.daemon.start()
        self.daemon.wait_ready()

    def log(self):
        with open(self.daemon.path("queued.log"), encoding="utf-8", errors="replace") as f:
            return f.read()

    def tail(self):
        """The end of the daemon's log, for the report of a failure."""
        if not self.daemon:
            return ""
        path = self.daemon.path("queued.log")
        return "the end of %s:\n%s" % (path, procs.tail(path))

    def wait_log(self, pattern, limit_s=20, since=0):
        """Wait until a line of the log, from the offset since, matches the pattern; that line."""

        def seen():
            self.daemon.check_alive()
            return re.search("^.*(?:%s).*$" % pattern, self.log()[since:], re.M)

        return procs.wait_for(seen, limit_s, "a line of the log with " + pattern, 0.1).group(0)

    def ctl(self, *args, text=None, ok=(0,)):
        done = self.daemon.ctl(*args, text=text)
        if done.returncode not in ok:
            raise Wrong(
                "queuectl %s: exit %d: %s"
                % (" ".join(args), done.returncode, (done.stderr or done.stdout).strip())
            )
        return done.stdout.strip()

    def submit(self, text):
        """Submit one job; its name."""
        return self.ctl("submit", "-f", "-", "-o", "name", text=text).rpartition("/")[2]

    def run(self, name, *args, **more):
        """Submit job(name, ...); its full name."""
        return self.submit(job(name, *args, **more))

    def cancel(self, name):
        self.ctl("cancel", name, "-y")

    def look(self, name):
        """The job as `describe -o json` shows it."""
        return gather.queuectl_json(self.daemon.queuectl, self.daemon.endpoint, "describe", name)

    def state(self, name):
        return self.look(name)["status"]["state"]

    def reason(self, name):
        """(code, text) of why it waits."""
        found = self.look(name)["status"].get("reason") or {}
        return found.get("code") or "", found.get("text") or ""

    def attempt(self, name):
        attempts = self.look(name)["status"].get("attempts") or [{}]
        return attempts[-1].get("number") or 0

    def wait_state(self, name, *states, limit_s=30):
        last = [""]

        def there():
            self.daemon.check_alive()
            last[0] = self.state(name)
            return last[0] in states

        try:
            procs.wait_for(there, limit_s, name, 0.1)
        except Trouble as e:
            wanted = " or ".join(states)
            raise Wrong(
                "%s is %s, not %s, after %.0f s; reason %s; its pods %s"
                % (name, last[0], wanted, limit_s, self.reason(name), self.phases(name))
            ) from e
        return last[0]

    def wait_reason(self, name, pattern, limit_s=30):
        """Wait until "CODE text" of the reason matches; the text."""
        last = [""]

        def there():
            self.daemon.check_alive()
            last[0] = " ".join(self.reason(name))
            return re.search(pattern, last[0])

        try:
            procs.wait_for(there, limit_s, name, 0.1)
        except Trouble as e:
            raise Wrong("the reason of %s is '%s', not %s" % (name, last[0], pattern)) from e
        return last[0]

    def daemon_nodes(self):
        """The nodes as `nodes -o json` lists them."""
        listed = gather.queuectl_json(self.daemon.queuectl, self.daemon.endpoint, "nodes")
        return listed.get("items") or []

    def wait_attempt(self, name, least, limit_s=30):
        procs.wait_for(
            lambda: self.attempt(name) >= least, limit_s, "attempt %d of %s" % (least, name)
        )

    # ---- the cluster, as the administrator

    def pods(self, name=None):
        """The raw pods of a job, or all managed ones; those of the API, without ended ones."""
        select = "app.kubernetes.io/managed-by=queued"
        select += ",gang.queued/job=" + name if name else ""
        return self.api.items("/api/v1/pods", labelSelector=select)

    def phases(self, name):
        """Name, phase and node of its pods, for the report of a failure."""
        try:
            pods = [gather.api_pod(p) for p in self.pods(name)]
        except (OSError, Refused) as e:
            return str(e)
        return ["%s %s %s" % (p["name"], p["phase"], p["node"] or "-") for p in pods]

    def budgets(self):
        return gather.api_side(self.api)["budgets"]

    def services(self):
        return gather.api_side(self.api)["services"]

    def wait_pods(self, name, count, limit_s=20):
        procs.wait_for(
            lambda: len(self.pods(name)) == count, limit_s, "%d pods of %s" % (count, name), 0.1
        )

    def defer(self, action, *args):
        """Call it at the end of the case, last first, whatever happened."""
        self.undo.append((action, args))

    def put(self, path, obj, ok=(201,)):
        """Create an object that end() deletes again."""
        made = self.api.want("POST", path, obj, ok)
        self.defer(self.api.call, "DELETE", "%s/%s" % (path, obj["metadata"]["name"]))
        return made

    def patch(self, path, patch):
        """A merge patch as the administrator; the object."""
        code, answer = self.api.call("PATCH", path, patch, "application/merge-patch+json")
        if code != 200:
            raise Refused(code, "PATCH %s: %s" % (path, answer))
        return answer

    @staticmethod
    def foreign_pod(name, ns, gpus, node=None, **meta):
        """A pod of somebody else, as an object."""
        limits = {"limits": {"nvidia.com/gpu": str(gpus)}} if gpus else {}
        container = {"name": "c", "image": "registry.example.com/other:1", "resources": limits}
        pod = {
            "metadata": {"name": name, "namespace": ns, **meta},
            "spec": {"containers": [container]},
        }
        if node:
            pod["spec"]["nodeName"] = node
        return pod

    def foreign(self, name, ns="vision", gpus=8, node=None, **meta):
        """Make a pod of somebody else, on a node when one is named; the object."""
        path = "/api/v1/namespaces/%s/pods" % ns
        return self.api.want("POST", path, self.foreign_pod(name, ns, gpus, node, **meta))

    def make_node(self, node):
        """Make a node again as it was, when it is gone, and wait until it is Ready."""
        meta = node["metadata"]
        if self.api.call("GET", "/api/v1/nodes/" + meta["name"])[0] == 404:
            fresh = {"metadata": {k: meta[k] for k in ("name", "labels", "annotations")}}
            keys = ("capacity", "allocatable", "nodeInfo")
            fresh["status"] = {k: node["status"][k] for k in keys}
            self.api.want("POST", "/api/v1/nodes", fresh)
        self.cluster.wait_nodes(self.cluster.record["nodes"])

    def make_tenant(self, ns):
        """A namespace with the binding that deploy/rbac.yaml asks for each tenant."""
        self.api.want("POST", "/api/v1/namespaces", {"metadata": {"name": ns}})
        path = "/apis/rbac.authorization.k8s.io/v1/namespaces/%s/rolebindings" % ns
        self.api.want("POST", path, controlplane.tenant_binding(ns))

    def delete_pod(self, name, ns="vision", grace_s=0):
        path = "/api/v1/namespaces/%s/pods/%s?gracePeriodSeconds=%d" % (ns, name, grace_s)
        self.api.want("DELETE", path, ok=(200, 404))

    # ---- what always holds

    def find_faults(self):
        snap = gather.snapshot(
            self.api, self.daemon.queuectl, self.daemon.endpoint, self.daemon.stored
        )
        return list(rules.check(snap))

    def agree(self, limit_s=20):
        """Store, daemon and API tell the same story, at last."""
        end = time.monotonic() + limit_s
        while True:
            faults = self.find_faults()
            if not faults:
                return
            if time.monotonic() > end:
                raise Wrong("store, daemon and API differ: " + "; ".join(faults[:5]))
            time.sleep(0.2)

    # ---- the end

    def end(self):
        """Leave the cluster as it was found."""
        if self.daemon:
            self.daemon.stop()
        trouble = None
        for action, args in reversed(self.undo):
            try:
                action(*args)
            except (OSError, Refused, Trouble) as e:
                trouble = trouble or e
        self.undo = []
        self.empty()
        if trouble:
            raise trouble

    def give_up(self):
        """After a failure: take back at least what lives outside of the cluster."""
        if self.daemon:
            self.daemon.stop()
        for action, args in reversed(self.undo):
            try:
                action(*args)
            except Exception:  # noqa: BLE001 (the cluster is thrown away, whatever it says)
                pass

    def empty(self):
        for ns in NAMESPACES:
            base = "/api/v1/namespaces/%s/" % ns
            self.api.want("DELETE", base + "pods?gracePeriodSeconds=0")
            for service in self.api.items(base + "services"):
                self.api.call("DELETE", base + "services/" + service["metadata"]["name"])
            self.api.want(
                "DELETE", "/apis/policy/v1/namespaces/%s/poddisruptionbudgets" % ns, ok=(200, 404)
            )
        procs.wait_for(lambda: not self.api.items("/api/v1/pods"), 20, "all pods to be gone", 0.1)
