# SPDX-License-Identifier: Apache-2.0
"""daemon - one queued under test: its folder, configuration, start, kill, and queuectl beside it.

The folder holds queued.yaml, store/, the socket and the log. Knows the command lines of both
programs and nothing of what the daemon decides.
"""

import os
import subprocess

import gather
import procs
from procs import Trouble

HERE = os.path.dirname(os.path.abspath(__file__))

CONFIG = """# written by a test
store: {dir: %(where)s/store}
listen: {rpc: ["ipc://%(where)s/queued.sock"]}
kubernetes: {kubeconfig: %(kubeconfig)s%(kubernetes)s}
levels:
- name: fabric
  levels:
  - {name: zone, labels: [topology.kubernetes.io/zone]}
  - {name: block, labels: [gang.queued/block]}
  - {name: rack, labels: [gang.queued/rack], cost: 500}
models: {H100: [NVIDIA-H100-80GB-HBM3, NVIDIA-H100-SXM5-80GB]}
allowSimulation: true
tenants:
- {name: vision, quota: {H100: 64}, namespaces: [vision]}
- {name: foundation, quota: {H100: 48}, namespaces: [foundation]}
- {name: infra, quota: {H100: 16}, namespaces: [infra]}
%(more)s"""


def program(name):
    """Path of a program under test: $QUEUED or $QUEUECTL, else in the build directory $B."""
    build = os.environ.get("B", os.path.join(HERE, "..", "..", "..", "build"))
    path = os.path.abspath(os.environ.get(name.upper()) or os.path.join(build, name))
    if not os.access(path, os.X_OK):
        raise Trouble("%s is not built: run 'make' or set %s" % (path, name.upper()))
    return path


class Daemon:
    def __init__(self, where, kubeconfig, env=None, kubernetes="", more=""):
        """kubernetes: more keys of that section, with ; between; more: lines below all."""
        self.where = os.path.abspath(where)
        self.queued, self.queuectl = program("queued"), program("queuectl")
        self.endpoint = "ipc://%s/queued.sock" % self.where
        self.env = dict(os.environ, QUEUED_ENDPOINT=self.endpoint)
        self.daemon_env = dict(self.env, **(env or {}))
        self.process = self.record = None
        self.options = []  # more of the command line
        self.wrap = []  # what starts it
        os.makedirs(self.path("store"), exist_ok=True)
        with open(self.path("queued.yaml"), "w", encoding="utf-8") as f:
            f.write(
                CONFIG
                % {
                    "where": self.where,
                    "kubeconfig": os.path.abspath(kubeconfig),
                    "kubernetes": "".join(", " + k for k in kubernetes.split(";") if k),
                    "more": more,
                }
            )

    def path(self, name):
        return os.path.join(self.where, name)

    def start(self):
        self.process, self.record = procs.spawn(
            [*self.wrap, self.queued, "--config", self.path("queued.yaml"), *self.options],
            self.path("queued.log"),
            self.daemon_env,
        )

    def check_alive(self):
        """Trouble when it ended by itself, with its exit code and the end of its log."""
        code = self.process.poll()
        if code is not None:
            raise Trouble(
                "queued ended with code %d; the end of its log:\n%s"
                % (code, procs.tail(self.path("queued.log")))
            )

    def answers(self):
        self.check_alive()
        try:
            return self.ctl("version", limit_s=5).returncode == 0
        except Trouble:
            return False

    def wait_ready(self, limit_s=30):
        procs.wait_for(self.answers, limit_s, "queued to answer", 0.02)

    def kill(self):
        """SIGKILL, and wait until it is gone. Trouble when it had ended before."""
        self.check_alive()
        self.process.kill()
        self.process.wait()

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def ctl(self, *args, text=None, limit_s=30):
        """Run queuectl ARGS; the CompletedProcess. Trouble when it hangs."""
        try:
            return subprocess.run(
                [self.queuectl, *args],
                input=text,
                capture_output=True,
                text=True,
                env=self.env,
                timeout=limit_s,
                check=False,
            )
        except subprocess.TimeoutExpired as e:
            raise Trouble("queuectl %s: no end after %.0f s" % (" ".join(args), limit_s)) from e

    def jobs(self):
        """All jobs as the daemon tells, in the form of rules.py."""
        listed = gather.queuectl_json(self.queuectl, self.endpoint, "list", "-A")
        return [gather.daemon_job(item) for item in listed.get("items") or []]

    def stored(self):
        """All jobs as the store has them; works with the daemon dead or alive."""
        return gather.dump_store(self.queued, self.path("store"))

    def compare(self, kubeconfig, settle_s):
        """Run tests/e2e/compare on this daemon; the CompletedProcess."""
        argv = [os.path.join(HERE, "..", "compare"), "--settle", str(settle_s)]
        argv += ["--kubeconfig", kubeconfig, "--endpoint", self.endpoint]
        argv += [
            "--queuectl",
            self.queuectl,
            "--queued",
            self.queued,
            "--store",
            self.path("store"),
        ]
        return subprocess.run(argv, capture_output=True, text=True, check=False)
