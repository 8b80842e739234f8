# SPDX-License-Identifier: Apache-2.0
"""queued_site - a folder with configuration, kubeconfig, store and socket, and the daemon on it.

Helpers of the black box tests; holds no tests. $B is the build directory.
"""

import os
import socket
import subprocess
import tempfile
import time
import unittest

import wire

HERE = os.path.dirname(os.path.abspath(__file__))
B = os.environ.get("B", os.path.join(HERE, "..", "..", "build"))
QUEUED = os.path.join(B, "queued")
QUEUECTL = os.path.join(B, "queuectl")

CONFIG = """store: {dir: %(where)s/store}
listen: {rpc: [%(rpc)s]}
insecureLoopback: {user: root}
kubernetes: {kubeconfig: %(where)s/kubeconfig}
tenants: [{name: vision, limit: {H100: 96}, namespaces: [vision]}]
"""
KUBECONFIG = """apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "http://127.0.0.1:%d"}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
current-context: c
users: [{name: u, user: {token: t}}]
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def run(*args, **more):
    """The daemon with options that end it: (exit code, stdout, stderr)."""
    done = subprocess.run(
        [QUEUED, *args], capture_output=True, text=True, timeout=60, check=False, **more
    )
    return done.returncode, done.stdout, done.stderr


class Site:
    """A folder with configuration and kubeconfig, and the daemon that runs on it."""

    def __init__(self, where, rpc=None, config=CONFIG):
        self.where, self.process = where, None
        os.makedirs(where, exist_ok=True)
        self.socket = os.path.join(where, "q.sock")
        self.config = os.path.join(where, "queued.yaml")
        self.write("queued.yaml", config % {"where": where, "rpc": rpc or "ipc://" + self.socket})
        self.write("kubeconfig", KUBECONFIG % free_port())

    def write(self, name, text):
        with open(os.path.join(self.where, name), "w", encoding="utf-8") as f:
            f.write(text)

    def log(self):
        with open(os.path.join(self.where, "log"), encoding="utf-8") as f:
            return f.read()

    def start(self, env=None, wrap=()):
        with open(os.path.join(self.where, "log"), "w", encoding="utf-8") as out:
            self.process = subprocess.Popen(
                [*wrap, QUEUED, "--config", self.config],
                stderr=out,
                env=dict(os.environ, **(env or {})),
            )
        self.wait_log('msg="ready"')

    def wait_log(self, text, limit_s=20):
        end = time.monotonic() + limit_s
        while text not in self.log():
            if self.process.poll() is not None or time.monotonic() > end:
                raise AssertionError("no '%s' in the log:\n%s" % (text, self.log()))
            time.sleep(0.01)

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
        if self.process:
            self.process.wait()

    def ctl(self, *args, text=None):
        """queuectl on this daemon: (exit code, stdout, stderr)."""
        done = subprocess.run(
            [QUEUECTL, "--endpoint", "ipc://" + self.socket, "--timeout", "5s", *args],
            input=text,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    def hello(self):
        """A HELLO as a good client sends it. The daemon must answer it."""
        peer = wire.Peer(self.socket)
        code = peer.call(wire.request("hello"))[1]
        peer.close()
        assert code == 0, code


class DaemonTest(unittest.TestCase):
    """A temporary directory, and daemons that end with the test."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="queued-test.")
        self.addCleanup(folder.cleanup)
        self.where = folder.name

    def site(self, name="a", **more):
        site = Site(os.path.join(self.where, name), **more)
        self.addCleanup(site.stop)
        return site

    def refused(self, args, code, *texts, **more):
        """The daemon ends with code, and its last line holds all texts."""
        got, _, err = run(*args, **more)
        last = err.strip().splitlines()[-1] if err.strip() else ""
        self.assertEqual(got, code, err)
        for text in texts:
            self.assertIn(text, last)
        return last
