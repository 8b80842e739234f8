# SPDX-License-Identifier: Apache-2.0
"""cli_site - a daemon on the stand-in API server, and queuectl to talk to it, for tests of a user.

$B is the build directory. One daemon serves all tests of a class.
"""

import json
import os
import subprocess
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
B = os.path.abspath(os.environ.get("B", os.path.join(HERE, "..", "..", "build")))

CONFIG = """store: {dir: %(where)s/store}
listen: {rpc: ["ipc://%(where)s/queued.sock"]}
kubernetes: {kubeconfig: %(where)s/kubeconfig}
levels:
- name: fabric
  levels:
  - {name: block, labels: [gang.queued/block]}
  - {name: rack, labels: [gang.queued/rack], cost: 500}
models: {H100: [NVIDIA-H100-80GB-HBM3, NVIDIA-H100-SXM5-80GB]}
allowSimulation: true
tenants:
- {name: vision, quota: {H100: 32}, limit: {H100: 96}, namespaces: [vision]}
- {name: infra, quota: {H100: 16}, namespaces: [infra]}
"""
JOB = """apiVersion: gang.queued/v1
kind: GangJob
metadata: {name: %(name)s, labels: {test: %(name)s}, annotations: {%(annotations)s}}
spec:
  tenant: vision
  roles:
  - replicas: %(pods)d
    image: example.com/a:1
    resources: {gpus: 8, gpuModel: H100, cpu: 4, memory: 8Gi}
  failurePolicy: {maxRestarts: 0}
"""


def wait_for(test, what, limit_s=20):
    end = time.monotonic() + limit_s
    while not test():
        if time.monotonic() > end:
            raise AssertionError("waited %d s for %s" % (limit_s, what))
        time.sleep(0.05)


class CliSite(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="test_cli.")
        cls.where = cls.folder.name
        cls.processes = []
        os.mkdir(cls.path("store"))
        with open(cls.path("queued.yaml"), "w", encoding="utf-8") as f:
            f.write(CONFIG % {"where": cls.where})
        cls.spawn(
            "standin",
            [
                os.path.join(B, "tests", "standin"),
                *("--kubeconfig-out", cls.path("kubeconfig"), "--make-nodes", "8", "--gpus", "8"),
                *("--blocks", "1", "--racks-per-block", "2", "--namespaces", "vision,infra"),
            ],
        )
        wait_for(lambda: os.path.exists(cls.path("kubeconfig")), "the stand-in")
        cls.start_daemon()

    @classmethod
    def tearDownClass(cls):
        for p in reversed(cls.processes):
            if p.poll() is None:
                p.terminate()
                p.wait(10)
        cls.folder.cleanup()

    @classmethod
    def path(cls, name):
        return os.path.join(cls.where, name)

    @classmethod
    def spawn(cls, name, argv):
        with open(cls.path(name + ".log"), "a", encoding="utf-8") as log:
            p = subprocess.Popen(argv, stdout=log, stderr=log)
        cls.processes.append(p)
        return p

    @classmethod
    def log(cls):
        with open(cls.path("queued.log"), encoding="utf-8") as f:
            return f.read()

    @classmethod
    def start_daemon(cls):
        cls.daemon = cls.spawn(
            "queued", [os.path.join(B, "queued"), "--config", cls.path("queued.yaml")]
        )
        wait_for(lambda: '"synced": true' in cls.run_cli("version", "-o", "json")[1], "the daemon")

    @classmethod
    def command(cls, args):
        return [os.path.join(B, "queuectl"), *args]

    @classmethod
    def env(cls, more=None):
        return {
            "PATH": os.environ["PATH"],
            "QUEUED_ENDPOINT": "ipc://%s/queued.sock" % cls.where,
            **{k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS")},
            **(more or {}),
        }

    @classmethod
    def run_cli(cls, *args, stdin="", env=None):
        done = subprocess.run(
            cls.command(args),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env=cls.env(env),
        )
        return done.returncode, done.stdout, done.stderr

    def good(self, *args, **more):
        code, out, err = self.run_cli(*args, **more)
        self.assertEqual(code, 0, (args, out, err))
        return out

    def refused(self, code, want, *args, **more):
        got, out, err = self.run_cli(*args, **more)
        self.assertEqual((got, out), (code, ""), (args, err))
        self.assertIn(want, err)
        self.assertEqual(err.count("\n"), 1, err)

    def submit(self, name, pods=1, annotations="", *args):
        job = JOB % {"name": name, "pods": pods, "annotations": annotations}
        return self.good("submit", "-f", "-", "-o", "name", *args, stdin=job).strip()[4:]

    def state(self, job):
        return json.loads(self.good("describe", job, "-o", "json"))["status"]["state"]
