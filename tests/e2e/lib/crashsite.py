# SPDX-License-Identifier: Apache-2.0
"""crashsite - a cluster, a proxy and a daemon; in it a gang lives through one thing that breaks.

Site.live() submits a gang of 8, lets a call or a commit of its life go wrong, starts the daemon
again when it died, and says how the gang came out. LIVES are the lives that are cut: an ordinary
one, and three in which the gang, or a part of it, is undone.
"""

import json
import os
import threading
import time

import controlplane
import crashpoint
import gather
import procs
import proxy
import rules
from audit import Audit, overcommits
from daemon import Daemon

PODS = 8
HOOKED = 5  # the binding at which a life takes its turn; in mode direct, the create
STUCK_S = 90
REFUSAL = json.dumps(
    {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "reason": "Invalid",
        "code": 422,
        "message": "refused by the test",
    }
).encode()

JOB = """apiVersion: gang.queued/v1
kind: GangJob
metadata:
  name: %(name)s
  annotations: {gang.queued/run-duration: %(run)s, gang.queued/start-delay: 100ms}
spec:
  tenant: vision
  submitKey: %(name)s
  maxRuntime: 10m
  topology: {required: rack}
  roles:
  - name: worker
    replicas: %(pods)d
    image: registry.example.com/sim:1
    command: ["true"]
    resources: {gpus: %(gpus)d, gpuModel: H100, cpu: "1", memory: 1Gi}
"""


class Life:
    def __init__(self, title, gpus=1, turn=None, end="Succeeded"):
        """gpus: of a pod; with 4 the gang fills its rack. turn: what happens at binding HOOKED."""
        self.title, self.gpus, self.turn, self.end = title, gpus, turn, end
        # one that is to be cancelled does not end before, however late its cancel is repeated
        self.run = "400ms" if end == "Succeeded" else "1h"


LIVES = {
    "run": Life("start, run, success"),
    "cancel": Life("cancelled while it is bound", turn="cancel", end="Cancelled"),
    "refused": Life("one bind refused, no other host in the rack", gpus=4, turn="refuse"),
    "replaced": Life("one bind refused, other hosts in the rack", turn="refuse"),
}


class Outcome:
    """Of one point: where it was, how the gang came out, seconds from the fault until it ran."""

    def __init__(self, point):
        self.point, self.label, self.text, self.seconds = point, "", "", 0.0
        self.is_hit = self.is_good = False
        self.differences = []


class Site:
    def __init__(self, where, kind, opts):
        """opts: nodes as shape.py says, and bind_mode as in the configuration."""
        self.where, self.mode = where, opts.bind_mode
        os.makedirs(where, exist_ok=True)
        folder = os.path.join(where, "cluster")
        self.cluster = controlplane.start(folder, kind, opts, ["vision", "foundation", "infra"])
        self.api = self.cluster.api()
        self.sizes = gather.api_side(self.api)["nodes"]
        self.ahead = []  # what was wrong when the daemon died
        self.audit = Audit(self.cluster.api(), threading.Event())
        self.gate = proxy.start(
            self.cluster.path("kubeconfig-queued"),
            os.path.join(where, "kubeconfig-proxy"),
            lambda: self.daemon.process.kill(),
        )
        self.commits = crashpoint.Commits(where)
        self.daemon = Daemon(
            where,
            os.path.join(where, "kubeconfig-proxy"),
            self.commits.environment,
            kubernetes="bindMode: " + self.mode,
        )
        self.daemon.start()
        self.daemon.wait_ready()
        self.lives = 0
        self.turn_at = None  # (calls, commits) before the life took its turn

    def stop(self):
        self.audit.stop()
        self.daemon.stop()
        self.cluster.stop()

    # ---- what happens at a binding

    def cancel(self, name, generation):
        """Ask until it is acknowledged; the daemon may die under it."""

        def ask():
            while self.daemon.ctl("cancel", name, "-y").returncode:
                time.sleep(0.05)

        asking = threading.Thread(target=ask, daemon=True)
        asking.start()
        while asking.is_alive() and self.gate.generation == generation:
            asking.join(0.01)

    def hook(self, life, name):
        """The hook of the gate for this life, or None."""
        bindings, what = [], "POST pods" if self.mode == "direct" else "POST binding"

        def at_call(label):
            if not label.startswith(what):
                return None
            bindings.append(label)
            if len(bindings) != HOOKED:
                return None
            self.turn_at = (self.gate.count - 1, self.commits.count())
            if life.turn == "refuse":
                return 422, REFUSAL
            self.cancel(name, self.gate.generation)
            return None

        return at_call if life.turn else None

    # ---- one life

    def submit(self, text):
        """Submit until acknowledged, beside everything else."""

        def ask():
            while self.daemon.ctl("submit", "-f", "-", "-o", "name", text=text).returncode:
                time.sleep(0.05)

        thread = threading.Thread(target=ask, daemon=True)
        thread.start()
        return thread

    def job(self, name):
        """The job as the daemon tells, None while there is none or no daemon."""
        done = self.daemon.ctl("list", "-A", "-o", "json", "--timeout", "1s")
        if done.returncode:
            return None
        for item in json.loads(done.stdout or "{}").get("items") or []:
            if item["metadata"]["name"].rpartition("-")[0] == name:
                return gather.daemon_job(item)
        return None

    def revive(self):
        """Start the daemon again if it was killed. True when it was."""
        code = self.daemon.process.poll()
        if code is None:
            return False
        if code != -9:
            self.daemon.check_alive()  # says what its log says
        self.gate.daemon_died()
        self.commits.set()
        self.look()
        self.daemon.start()
        return True

    def look(self):
        """The daemon is dead: the API server must not be ahead of the store."""
        snap = {
            "jobs": self.daemon.stored(),
            "store": None,
            "nodes": self.sizes,
            "pods": gather.live_pods(self.api),
        }
        self.ahead += ["at the kill: " + x for x in rules.check(snap, rules.AT_KILL)]

    def follow(self, out, life, name):
        """Until the gang has ended: revive the daemon, and note when the gang ran."""
        began, hit_at, ran = time.monotonic(), None, False
        while time.monotonic() - began < STUCK_S:
            if self.revive() or (self.gate.was_hit.is_set() and not hit_at):
                hit_at = hit_at or time.monotonic()
                out.is_hit, was_running = True, ran
            job = self.job(name)
            if job and job["state"] in ("Running", "Succeeded", life.end):
                if hit_at and not out.text:
                    out.seconds = time.monotonic() - hit_at
                    out.text = self.words(job, life, was_running)
                ran = True
            if job and job["state"] in rules.TERMINAL:
                out.is_good = job["state"] == life.end and out.seconds < 30
                if job["state"] != life.end:
                    out.text = "ended " + job["state"]
                return
            time.sleep(0.03)
        out.text = "STUCK: %s" % (rules.what(job) if job else "no such job")

    def words(self, job, life, was_running):
        if life.end == "Cancelled":
            return "undone"
        if was_running:
            return "ran on"
        return "Running" if job["attempt"] <= 1 else "undone, Running again"

    def after_the_end(self, out):
        """A point that lies behind the end of the job may be hit at any time."""
        if (self.revive() or self.gate.was_hit.is_set()) and not out.is_hit:
            out.is_hit, out.text = True, "had ended"
            self.daemon.wait_ready()

    def differences(self, out):
        end = time.monotonic() + 20
        while True:
            self.after_the_end(out)
            try:
                snap = gather.snapshot(
                    self.api, self.daemon.queuectl, self.daemon.endpoint, self.daemon.stored
                )
            except procs.Trouble:
                if self.daemon.process.poll() is None or time.monotonic() > end:
                    raise
                continue
            found = rules.check(snap)
            if not found or time.monotonic() > end:
                return found
            time.sleep(0.1)

    def tidy(self):
        """Remove the pods of ended jobs, so that the next life is compared as fast as the first."""
        for pod in self.api.items("/api/v1/pods"):
            meta = pod["metadata"]
            path = "/api/v1/namespaces/%s/pods/%s" % (meta["namespace"], meta["name"])
            self.api.call("DELETE", path, {"gracePeriodSeconds": 0})

    def live(self, point):
        """point: (life, "call", "commit" or None, number, side). Returns its Outcome."""
        title, what, number, side = point
        life, out = LIVES[title], Outcome(point)
        self.lives += 1
        name = "gang-%d" % self.lives
        self.turn_at, self.ahead = None, []
        at = number if what == "call" else 0
        self.gate.set(at, side, self.hook(life, name))
        self.commits.set(number if what == "commit" else 0, side if what == "commit" else "before")
        spec = {"name": name, "pods": PODS, "gpus": life.gpus, "run": life.run}
        submitting = self.submit(JOB % spec)
        self.follow(out, life, name)
        self.after_the_end(out)
        submitting.join(STUCK_S)
        seen = list(self.gate.seen)
        if what == "call" and len(seen) >= number:
            out.label = seen[number - 1].replace(name, "*")
        out.differences = self.ahead + self.differences(out)
        out.is_good = out.is_good and not out.differences
        self.numbers = (len(seen), self.commits.count())
        self.gate.set()
        self.commits.set()
        self.tidy()
        return out

    def verdict(self):
        """What must be nothing at the end: a list of lines."""
        compared = self.daemon.compare(self.cluster.path("kubeconfig"), 15)
        lines = [] if compared.returncode == 0 else compared.stdout.splitlines()
        lines += ["double bind: " + x for x in self.audit.doubles]
        lines += ["overcommitted: " + x for x in overcommits(self.cluster.path("audit.jsonl"))]
        return lines


def measure(site, title):
    """Live once without a fault: (calls before the turn, calls, commits before it, commits)."""
    out = site.live((title, None, 0, None))
    if out.differences or site.turn_at is None and LIVES[title].turn:
        raise procs.Trouble("%s: the life without a fault goes wrong: %s" % (title, vars(out)))
    calls, commits = site.turn_at or (0, 0)
    return calls, site.numbers[0], commits, site.numbers[1]
