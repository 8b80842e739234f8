# SPDX-License-Identifier: Apache-2.0
"""standin_lib.py - starting the stand-in API server and talking to it, for its tests.

Holds no tests. The program is $STANDIN, or build/tests/standin. Every server runs in a temporary
directory of its own and is stopped at the end of the test that started it.
"""
import concurrent.futures
import http.client
import json
import os
import socket
import subprocess
import tempfile
import threading
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
STANDIN = os.environ.get("STANDIN", os.path.join(ROOT, "build", "tests", "standin"))


class Reply:
    """One answer: status, headers, body bytes, and the body as JSON when it is."""

    def __init__(self, status, headers, body, method):
        self.status = status
        self.method = method
        self.headers = {k.lower(): v for k, v in headers}
        self.body = body

    @property
    def json(self):
        return json.loads(self.body)


class Server:
    """A running stand-in."""

    running = []

    def __init__(self, *options, directory=None):
        self.directory = directory or tempfile.mkdtemp(prefix="standin-")
        port_file = os.path.join(self.directory, "port")
        if os.path.exists(port_file):
            os.unlink(port_file)
        self.audit_file = os.path.join(self.directory, "audit")
        command = [STANDIN, "--port-file", port_file, "--audit", self.audit_file, *options]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, text=True)
        self.ready_line = self.process.stderr.readline()
        if not self.ready_line.startswith("standin ready"):
            raise RuntimeError("the stand-in did not start: " + self.ready_line)
        with open(port_file, encoding="ascii") as f:
            self.port = int(f.read())
        self.kept = None
        Server.running.append(self)

    def stop(self):
        if self.kept is not None:
            self.kept.close()
        Server.running.remove(self)
        self.process.terminate()
        code = self.process.wait(10)
        self.process.stderr.close()
        return code

    def connect(self, timeout=10):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def request(self, method, path, body=None, headers=None):
        """Send on the kept connection; a broken one is reopened by the next call."""
        if self.kept is None:
            self.kept = self.connect()
        headers = dict(headers or {})
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body)
        if body is not None and "Content-Type" not in headers:
            headers["Content-Type"] = "application/json"
        try:
            self.kept.request(method, path, body, headers)
            response = self.kept.getresponse()
            return Reply(response.status, response.getheaders(), response.read(), method)
        except Exception:
            self.kept.close()
            self.kept = None
            raise

    def get(self, path):
        return self.request("GET", path)

    def post(self, path, body):
        return self.request("POST", path, body)

    def patch(self, path, body, kind="merge-patch"):
        return self.request("PATCH", path, body, {"Content-Type": "application/%s+json" % kind})

    def delete(self, path, body=None):
        return self.request("DELETE", path, body)

    def faults(self, *rules):
        self.request("DELETE", "/_standin/faults")
        reply = self.post("/_standin/faults", list(rules))
        assert reply.status == 201, reply.body

    def rv(self):
        return self.get("/_standin/stats").json["rv"]

    def audit(self):
        with open(self.audit_file, encoding="utf-8") as f:
            return [json.loads(line) for line in f]


class Watch(threading.Thread):
    """A watch read in the background; events grows until how (the end) is set."""

    def __init__(self, server, path):
        super().__init__(daemon=True)
        self.events = []
        self.how = None
        self.connection = server.connect(timeout=30)
        self.connection.request("GET", path)
        self.socket = self.connection.sock
        self.response = self.connection.getresponse()
        self.start()

    def run(self):
        try:
            while True:
                line = self.response.readline()
                if not line:
                    self.how = "clean"
                    break
                self.events.append(json.loads(line))
        except (http.client.IncompleteRead, json.JSONDecodeError):
            self.how = "broken"
        except (OSError, ValueError, AttributeError):
            self.how = "closed"

    def finish(self, timeout=10):
        """Wait for the end; returns the events."""
        self.join(timeout)
        self.connection.close()
        return self.events

    def hang_up(self):
        """End the connection from this side."""
        self.socket.shutdown(socket.SHUT_RDWR)


def wait_for(what, timeout=5.0):
    """Call what until it is true; returns its value or fails."""
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        value = what()
        if value:
            return value
        time.sleep(0.01)
    raise AssertionError("nothing came in %.1f s" % timeout)


def pod(name, gpus=8, annotations=None, labels=None, **spec):
    container = {"name": "main", "image": "registry.example/train:1"}
    if gpus:
        container["resources"] = {"limits": {"nvidia.com/gpu": str(gpus)}}
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "annotations": annotations or {}, "labels": labels or {}},
            "spec": {"schedulerName": "queued", "restartPolicy": "Never",
                     "containers": [container], **spec}}


def binding(name, node, uid=None):
    meta = {"name": name}
    if uid:
        meta["uid"] = uid
    return {"apiVersion": "v1", "kind": "Binding", "metadata": meta,
            "target": {"apiVersion": "v1", "kind": "Node", "name": node}}


class Case(unittest.TestCase):
    """A test with a server; options are the server's."""

    options = ("--make-nodes", "4", "--namespaces", "t", "--bookmark-ms", "200")

    def setUp(self):
        self.server = Server(*self.options)
        self.addCleanup(self.server.stop)

    def make_pod(self, name, node=None, **more):
        reply = self.server.post("/api/v1/namespaces/t/pods", pod(name, **more))
        self.assertEqual(reply.status, 201, reply.body)
        if node:
            self.bind(name, node)
        return reply.json

    def bind(self, name, node):
        reply = self.server.post("/api/v1/namespaces/t/pods/%s/binding" % name,
                                 binding(name, node))
        self.assertEqual(reply.status, 201, reply.body)

    def get_pod(self, name):
        return self.server.get("/api/v1/namespaces/t/pods/" + name).json

    def phase_is(self, name, phase):
        return wait_for(lambda: self.get_pod(name).get("status", {}).get("phase") == phase)


def run_class(case):
    """Run one class of tests; returns its result."""
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(case).run(result)
    return result


def main(*modules):
    """Run the tests of the modules, several classes at a time since they mostly wait; classes
    whose name begins with Z come last. The last line is "N passed, N failed"."""
    cases = {value for module in modules for value in vars(module).values()
             if isinstance(value, type) and issubclass(value, unittest.TestCase)}
    cases = sorted(cases, key=lambda case: case.__name__)
    first = [case for case in cases if not case.__name__.startswith("Z")]
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        results = list(pool.map(run_class, first))
    results += [run_class(case) for case in cases if case not in first]
    failed = 0
    for result in results:
        for test, text in result.failures + result.errors:
            print("FAILED %s\n%s" % (test.id(), text))
            failed += 1
    for server in list(Server.running):
        server.stop()
    print("%d passed, %d failed" % (sum(r.testsRun for r in results) - failed, failed), flush=True)
    return 1 if failed else 0
