# SPDX-License-Identifier: Apache-2.0
"""steady - bench_bind with every GPU taken: how soon a freed gang is followed by the next, and what
gangs that wait cost while nothing changes.

What a kubelet would say is written to the status of pods by the administrator; the moments are
those of the server's audit log.
"""

import time

import procs
from legs import NAMESPACE, Mode, fine_cpu_s, job_file

GANG = 20
ROUNDS, RAW_ROUNDS = 9, 5
SETTLE_S = 3
ENDED = {
    "status": {
        "phase": "Succeeded",
        "containerStatuses": [
            {
                "name": "main",
                "image": "registry.example.com/test:1",
                "imageID": "",
                "ready": False,
                "restartCount": 0,
                "state": {"terminated": {"exitCode": 0, "reason": "Completed"}},
            }
        ],
    }
}


class Steady:
    def __init__(self, bench, opts):
        self.bench, self.opts = bench, opts
        self.mode = Mode("bind", opts.modes[0].events)
        self.api = bench.cluster.api()

    def run(self):
        result = {}
        if "freed" in self.opts.parts:
            raw_ms = [self.raw_gang_ms() for _ in range(RAW_ROUNDS)]
        self.fill()
        if "freed" in self.opts.parts:
            result["freed"] = {"raw_ms": raw_ms, "ms": self.freed()}
        if "idle" in self.opts.parts:
            result["idle"] = self.idle()
        return result

    def raw_gang_ms(self):
        """One gang by the raw loop: first request to last binding."""
        self.bench.empty()
        mode = Mode("bind", False)
        return 1000 * self.bench.raw_leg(mode, 1, GANG)["bound_seconds"]

    def fill(self):
        """A fresh daemon, and every GPU taken by gangs of 20 and a rest."""
        bench, gpus = self.bench, self.opts.nodes * self.opts.gpus
        bench.empty()
        bench.daemon_start(self.mode)
        bench.audit.begin()
        self.running = bench.submit(job_file("fill", gpus // GANG, GANG))
        if gpus % GANG:
            bench.submit(job_file("rest", 1, gpus % GANG))
        bench.wait_bound(self.mode, gpus)

    def pods_of(self, job):
        path = "/api/v1/namespaces/%s/pods" % NAMESPACE
        found = self.api.items(path, labelSelector="gang.queued/job=" + job)
        return [path + "/%s/status" % p["metadata"]["name"] for p in found]

    def free_gang(self, job):
        """End a gang's pods well; milliseconds from the last of them to the next gang bound."""
        audit, paths = self.bench.audit, self.pods_of(job)
        time.sleep(1)
        audit.begin()
        for path in paths:
            code, answer = self.api.call(
                "PATCH", path, ENDED, "application/strategic-merge-patch+json"
            )
            if code != 200:
                raise procs.Trouble("PATCH %s: %s %s" % (path, code, answer))
        procs.wait_for(
            lambda: audit.read() and audit.count("bindings") >= GANG, 30, "the next gang", 0.02
        )
        calls = audit.calls()
        freed = max(c.ended for c in calls if c.kind == "patch pods/status")
        return 1000 * (max(c.ended for c in calls if c.kind == "create pods/binding") - freed)

    def freed(self):
        self.bench.submit(job_file("next", ROUNDS, GANG))
        time.sleep(SETTLE_S)
        return [self.free_gang(self.running[n]) for n in range(ROUNDS)]

    def idle(self):
        """Gangs that cannot start, as nothing is free."""
        bench, pid = self.bench, self.bench.daemon.process.pid
        bench.submit(job_file("wait", self.opts.waiting, GANG))
        time.sleep(SETTLE_S)
        bench.audit.begin()
        began, cpu = time.monotonic(), fine_cpu_s(pid)
        time.sleep(self.opts.idle_seconds)
        core = (fine_cpu_s(pid) - cpu) / (time.monotonic() - began)
        bench.audit.read()
        requests = {}
        for call in bench.audit.calls():
            if call.verb != "watch" and "pods/status" not in call.kind:
                requests[call.kind] = requests.get(call.kind, 0) + 1
        return {
            "gangs": self.opts.waiting,
            "seconds": self.opts.idle_seconds,
            "core": core,
            "requests": requests,
        }
