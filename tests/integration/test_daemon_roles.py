# SPDX-License-Identifier: Apache-2.0
"""test_daemon_roles - nodes that a pod has to itself, and jobs that end with their leader.

Black box: the daemon, queuectl, and the stand-in API server with four nodes as the cluster.
"""

import json
import os
import sys
import time
import unittest
import urllib.error
import urllib.request

from queued_site import QUEUECTL
from test_daemon_jobs import STANDIN, JobTest

ALONE = """apiVersion: gang.queued/v1
kind: GangJob
metadata: {name: alone}
spec:
  tenant: vision
  maxRuntime: 1h
  roles:
  - name: worker
    replicas: %(pods)d
    image: r.example.com/a:1
    resources: {gpus: 8, gpuModel: H100, cpu: 1, memory: 1Gi}
    placement: {exclusiveNode: true}
"""
LIGHT = """apiVersion: gang.queued/v1
kind: GangJob
metadata: {name: light}
spec:
  tenant: vision
  maxRuntime: 1h
  roles: [{name: worker, image: r.example.com/a:1, resources: {cpu: 100m, memory: 64Mi}}]
"""
MPI = """apiVersion: gang.queued/v1
kind: GangJob
metadata: {name: mpi}
spec:
  tenant: vision
  maxRuntime: 1h
  completion: {policy: leader}
  failurePolicy: {maxRestarts: 0}
  roles:
  - {name: launcher, leader: true, image: r.example.com/a:1, resources: {gpus: 0, cpu: 100m, memory: 64Mi}}
  - {name: worker, replicas: 2, image: r.example.com/a:1, resources: {gpus: 8, gpuModel: H100}}
"""


class RoleTest(JobTest):
    def pods(self, name):
        pods = self.ask("GET", "/api/v1/namespaces/vision/pods")["items"]
        return [p for p in pods if p["metadata"]["name"].startswith(name + "-")]

    def foreign(self, name, node, owner=None):
        """A pod that another scheduler put there."""
        meta = {"name": name, "namespace": "vision"}
        if owner:
            meta["ownerReferences"] = [
                {"apiVersion": "apps/v1", "kind": owner, "name": "x", "uid": "u", "controller": True}
            ]
        spec = {"nodeName": node, "containers": [{"name": "main", "image": "r.example.com/web:1"}]}
        self.ask("POST", "/api/v1/namespaces/vision/pods", {"metadata": meta, "spec": spec})

    def end(self, pod, code):
        """Its container has exited."""
        ended = {"name": "main", "state": {"terminated": {"exitCode": code}}}
        status = {"phase": "Failed" if code else "Succeeded", "containerStatuses": [ended]}
        request = urllib.request.Request(
            "http://127.0.0.1:%d/api/v1/namespaces/vision/pods/%s/status" % (self.port, pod),
            method="PATCH",
            data=json.dumps({"status": status}).encode(),
            headers={"Content-Type": "application/merge-patch+json", "Authorization": "Bearer t"},
        )
        with urllib.request.urlopen(request, timeout=10) as answer:
            self.assertEqual(answer.status, 200)


class Alone(RoleTest):
    def test_nothing_comes_to_its_nodes_and_daemon_sets_do_not_count(self):
        site = self.start()
        self.cluster(site)
        nodes = self.nodes()
        self.foreign("agent", nodes[0], "DaemonSet")
        self.foreign("web", nodes[1])
        name = self.submit(site, ALONE % {"pods": 4})
        self.wait_why(site, name, "3 of 4 pods of role worker have a node on which nothing else runs")
        self.ask("DELETE", "/api/v1/namespaces/vision/pods/web")
        self.wait_state(site, name, "Running")
        pods = self.pods(name)
        self.assertEqual(len({p["spec"]["nodeName"] for p in pods}), 4)
        for pod in pods:
            terms = pod["spec"]["affinity"]["podAntiAffinity"]
            self.assertIn("requiredDuringSchedulingIgnoredDuringExecution", terms)
        light = self.submit(site, LIGHT)
        self.wait_why(site, light, "0 of 1 pods of role worker have a node; others are taken whole")
        self.assertEqual(self.running(light), 0)
        site.ctl("cancel", name)
        self.wait_state(site, light, "Running")

    def nodes(self):
        """Their names, once the server answers."""
        end = time.monotonic() + 20
        while True:
            try:
                return [n["metadata"]["name"] for n in self.ask("GET", "/api/v1/nodes")["items"]]
            except urllib.error.URLError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.1)


class Leader(RoleTest):
    def start_mpi(self):
        site = self.start()
        self.cluster(site)
        name = self.submit(site, MPI)
        self.wait_state(site, name, "Running")
        return site, name

    def test_the_rest_is_stopped_when_the_leader_ends(self):
        site, name = self.start_mpi()
        self.end(name + "-launcher-0-1", 0)
        self.wait_state(site, name, "Succeeded")
        self.assertEqual(self.running(name), 0)
        self.assertEqual(site.ctl("wait", name)[0], 0)

    def test_its_exit_code_is_the_jobs_also_over_a_restart_of_the_daemon(self):
        site, name = self.start_mpi()
        site.stop()
        self.end(name + "-launcher-0-1", 3)
        site.start()
        self.wait_state(site, name, "Failed")
        self.assertEqual(site.ctl("wait", name)[0], 3)


if __name__ == "__main__":
    if not os.access(QUEUECTL, os.X_OK) or not os.access(STANDIN, os.X_OK):
        sys.exit("%s or %s is not built: run 'make all standin'" % (QUEUECTL, STANDIN))
    unittest.main()
