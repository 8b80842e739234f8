# SPDX-License-Identifier: Apache-2.0
"""test_assume - what the daemon has decided counts at once, whatever the API server answers and
however late the watch is: no room is used twice, no pod is made twice.

Black box: the daemon, queuectl, and the stand-in API server with its faults.
"""

import json
import os
import resource
import sys
import time
import unittest
import urllib.request

from queued_site import QUEUED
from test_daemon_jobs import JobTest, job

HOSTS, GPUS = 4, 8


class Assume(JobTest):
    def ready(self, *rules):
        """A daemon in step with a cluster of 4 hosts with 8 GPUs each, which now has faults."""
        site = self.start()
        self.cluster(site)
        self.submit_and_wait(site, job(name="first", pods=1, run="10ms"))
        self.ask("/_standin/faults", list(rules))
        return site

    def submit_and_wait(self, site, text):
        self.wait_state(site, self.submit(site, text), "Succeeded")

    def ask(self, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        url = "http://127.0.0.1:%d%s" % (self.port, path)
        request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=20) as answer:
            return json.load(answer)

    def stats(self):
        return self.ask("/_standin/stats")

    def pods(self):
        return self.ask("/api/v1/namespaces/vision/pods")["items"]

    def small(self, name, pods, gpus, run):
        return job(name=name, pods=pods, run=run).replace("gpus: 8", "gpus: %d" % gpus)

    def never_over(self):
        """No kubelet has ever found its GPUs taken."""
        self.assertEqual(self.stats()["violations"], 0)

    def full_then_next(self, rule):
        """A gang takes all hosts, and the next one waits for its end, whatever becomes of a bind."""
        site = self.ready(rule)
        one = self.submit(site, job(name="one", pods=HOSTS, run="3s"))
        two = self.submit(site, job(name="two", pods=HOSTS, run="10ms"))
        self.wait_state(site, one, "Running")
        self.assertEqual(self.state(site, two), "Pending")
        self.wait_state(site, one, "Succeeded")
        self.wait_state(site, two, "Succeeded")
        names = sorted(p["metadata"]["name"] for p in self.pods())
        self.assertEqual(len(names), 1 + 2 * HOSTS, names)
        self.never_over()

    def test_a_bind_that_is_slow_keeps_its_room(self):
        self.full_then_next({"action": "delay", "verb": "bind", "ms": 3000, "count": HOSTS})

    def test_a_bind_that_is_answered_504_and_happened_keeps_its_room(self):
        self.full_then_next(
            {"action": "belie", "verb": "bind", "code": 504, "reason": "Timeout", "count": HOSTS}
        )

    def test_a_bind_that_is_answered_504_and_did_not_happen_is_made(self):
        self.full_then_next(
            {"action": "status", "verb": "bind", "code": 504, "reason": "Timeout", "count": HOSTS}
        )

    def test_a_create_that_is_answered_504_and_happened_makes_one_pod(self):
        self.full_then_next(
            {"action": "belie", "verb": "create", "resource": "pods", "code": 504, "count": HOSTS}
        )

    def test_with_a_late_watch_and_a_lost_answer_there_is_one_pod_each(self):
        site = self.ready(
            {"action": "stale", "verb": "watch", "resource": "pods", "ms": 5000},
            {"action": "lose", "verb": "create", "resource": "pods", "nth": 2, "count": 1},
        )
        self.ask("/_standin/drop-watches", {})
        name = self.submit(site, job(name="one", pods=HOSTS, run="10ms"))
        self.wait_state(site, name, "Succeeded")
        self.assertEqual(len(self.pods()), 1 + HOSTS)
        self.assertEqual(self.stats()["requests"]["delete"].get("pods", 0), 0)

    def writes(self):
        reads = ("get", "list", "watch")
        requests = self.stats()["requests"]
        return {(v, r): n for v in requests if v not in reads for r, n in requests[v].items()}

    def wait_writes(self, before, wanted):
        """Exactly these, and soon; news of pods are written beside the gang."""
        end = time.monotonic() + 20
        news = {}
        while news != wanted and time.monotonic() < end:
            time.sleep(0.05)
            news = {k: n - before.get(k, 0) for k, n in self.writes().items() if n != before.get(k, 0)}
        self.assertEqual(news, wanted)

    def test_a_gang_costs_few_writes_and_none_while_it_waits(self):
        site = self.ready()
        before = self.writes()
        one = self.submit(site, job(name="one", pods=HOSTS, run="1h"))
        self.wait_state(site, one, "Running")
        begun = {("create", "pods"): HOSTS, ("bind", "pods"): HOSTS, ("create", "services"): 1}
        begun["create", "events"] = HOSTS
        self.wait_writes(before, begun)
        waiting = [self.submit(site, job(name="w%d" % i, pods=1, run="1h")) for i in range(20)]
        for verb in ["drain", "undrain"] * 5:  # each time all are looked at
            self.assertEqual(site.ctl(verb, "node-000")[0], 0)
        self.assertEqual(site.ctl("cancel", *waiting)[0], 0)
        self.wait_writes(before, begun)
        self.assertEqual(site.ctl("cancel", one)[0], 0)
        self.wait_state(site, one, "Cancelled")
        news = {k: n - before.get(k, 0) for k, n in self.writes().items() if k[0] != "delete"}
        self.assertEqual({k: n for k, n in news.items() if n}, begun)
        self.assertEqual([p for p in self.pods() if p["spec"].get("nodeName") and p["status"]["phase"] == "Running"], [])

    def test_slow_binds_of_200_pods_never_use_a_gpu_twice(self):
        site = self.ready({"action": "delay", "verb": "bind", "ms": 2000, "count": 200})
        names = [
            self.submit(site, self.small("g%d" % i, 10, 1, "10ms"))
            for i in range(20)
        ]
        for name in names:
            self.wait_state(site, name, "Succeeded", 120)
        self.assertEqual(len(self.pods()), 1 + 200)
        self.never_over()

    def test_gpus_given_out_faster_than_the_watch_are_given_once(self):
        site = self.ready({"action": "stale", "verb": "watch", "resource": "pods", "ms": 3000})
        self.ask("/_standin/drop-watches", {})
        names = [self.submit(site, self.small("s%d" % i, 1, 1, "1h")) for i in range(40)]
        for name in names[: HOSTS * GPUS]:
            self.wait_state(site, name, "Running")
        self.assertEqual(
            [self.state(site, n) for n in names[HOSTS * GPUS :]], ["Pending"] * (40 - HOSTS * GPUS)
        )
        on = {}
        for pod in self.pods():
            if pod["status"]["phase"] == "Running":
                node = pod["spec"]["nodeName"]
                on[node] = on.get(node, 0) + 1
        self.assertEqual(list(on.values()), [GPUS] * HOSTS)
        self.never_over()


if __name__ == "__main__":
    if not os.access(QUEUED, os.X_OK):
        sys.exit("%s is not built: run 'make'" % QUEUED)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    unittest.main()
