# SPDX-License-Identifier: Apache-2.0
"""test_daemon_rendezvous - an mpi launcher and its workers: from the job file to the pods.

Black box: the daemon, queuectl, and the stand-in API server as the cluster.
"""

import os
import sys
import unittest

from queued_site import QUEUECTL
from test_daemon_jobs import STANDIN, JobTest

JOB = """apiVersion: gang.queued/v1
kind: GangJob
metadata: {name: allreduce}
spec:
  tenant: vision
  maxRuntime: 1h
  roles:
  - name: launcher
    leader: true
    startAfter: worker
    image: r.example.com/mpi:1
    command: [bash, -lc]
    args: ["mpirun --hostfile $QUEUED_HOSTFILE -np $QUEUED_WORLD_SIZE all_reduce_perf"]
    resources: {gpus: 0, cpu: "1", memory: 1Gi}
  - name: worker
    replicas: 2
    image: r.example.com/mpi:1
    command: [/usr/sbin/sshd, -De]
    resources: {gpus: 8, gpuModel: H100, cpu: "1", memory: 1Gi}
  rendezvous: {type: mpi}
  completion: {policy: leader}
  failurePolicy: {maxRestarts: 0}
"""
PODS = "/api/v1/namespaces/vision/pods"
NOTE = "gang.queued/hostfile"


class Mpi(JobTest):
    def test_the_launcher_finds_its_workers_in_a_file(self):
        site = self.start()
        self.cluster(site)
        name = self.submit(site, JOB)
        self.wait_state(site, name, "Running")
        pods = {p["metadata"]["labels"]["gang.queued/role"]: p for p in self.ask("GET", PODS)["items"]}
        launcher, worker = pods["launcher"], pods["worker"]
        lines = launcher["metadata"]["annotations"][NOTE].splitlines()
        want = ["%s-worker-%d.%s.vision.svc slots=8" % (name, i, name) for i in range(2)]
        self.assertEqual(sorted(lines), want)
        container = launcher["spec"]["containers"][0]
        env = {e["name"]: e.get("value") for e in container["env"]}
        self.assertEqual(env["QUEUED_WORLD_SIZE"], "16")
        mount = next(m for m in container["volumeMounts"] if m["mountPath"] == env["QUEUED_HOSTFILE"])
        volume = next(v for v in launcher["spec"]["volumes"] if v["name"] == mount["name"])
        item = volume["downwardAPI"]["items"][0]
        self.assertEqual(item["path"], mount["subPath"])
        self.assertIn(NOTE, item["fieldRef"]["fieldPath"])
        self.assertNotIn(NOTE, worker["metadata"]["annotations"])
        self.assertNotIn("MASTER_ADDR", [e["name"] for e in worker["spec"]["containers"][0]["env"]])
        code, out, err = site.ctl("submit", "-f", "-", "--print-spec", text=JOB)
        self.assertEqual(code, 0, err)
        self.assertIn("type: mpi", out)


if __name__ == "__main__":
    if not os.access(QUEUECTL, os.X_OK) or not os.access(STANDIN, os.X_OK):
        sys.exit("%s or %s is not built: run 'make all standin'" % (QUEUECTL, STANDIN))
    unittest.main()
