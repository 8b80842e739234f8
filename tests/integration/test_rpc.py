# SPDX-License-Identifier: Apache-2.0
"""test_rpc - the daemon's socket from outside, with bytes that no library would send.

Who one is comes from the kernel alone; foreign jobs do not exist; floods and damage do no harm; a
job that was acknowledged is there after kill -9. $B is the build directory.
"""

import json
import os
import pwd
import signal
import socket
import subprocess
import tempfile
import time
import unittest

import wire
from queued_site import KUBECONFIG, QUEUED

OK, INVALID, NOT_FOUND, UNAUTHENTICATED, DENIED = 0, 2, 3, 4, 5

CONFIG = """store: {dir: %(dir)s/store}
listen: {rpc: ["ipc://%(dir)s/q.sock"]}
kubernetes: {kubeconfig: %(dir)s/kubeconfig}
tenants:
- {name: vision, namespaces: [vision]}
- {name: other, namespaces: [other]}
users:
- {name: daemon, tenants: [vision], role: submitter}
- {name: bin, tenants: [other], role: submitter}
"""


def submit(name, tenant="", request_id=None, key=None):
    role = wire.message((1, "worker"), (2, 2), (3, 8), (9, "registry.local/train:1"))
    spec = [(1, name), (13, role)]
    if tenant:
        spec.insert(1, (2, tenant))
    if key:
        spec.insert(-1, (6, key))
    return wire.request("submit", (2, wire.message(*spec)), request_id=request_id)


def as_user(name, work):
    """Run work() in a child with that user's uid; its result comes back as JSON."""
    entry = pwd.getpwnam(name)
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.setgroups([])
            os.setgid(entry.pw_gid)
            os.setuid(entry.pw_uid)
            os.write(write_end, json.dumps(work()).encode())
            status = 0
        finally:
            os._exit(status)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as result:
        text = result.read()
    _, status = os.waitpid(pid, 0)
    assert status == 0, "the child failed"
    return json.loads(text)


class RpcTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="queued-rpc.")
        self.addCleanup(folder.cleanup)
        self.dir = folder.name
        os.chmod(self.dir, 0o755)
        self.path = os.path.join(self.dir, "q.sock")
        for name, text in (("queued.yaml", CONFIG % {"dir": self.dir}), ("kubeconfig", KUBECONFIG % 9)):
            with open(os.path.join(self.dir, name), "w", encoding="ascii") as f:
                f.write(text)
        self.process = None
        self.addCleanup(self.stop)
        self.start()

    def start(self):
        with open(os.path.join(self.dir, "log"), "a", encoding="ascii") as log:
            self.process = subprocess.Popen(
                [QUEUED, "--config", os.path.join(self.dir, "queued.yaml")],
                stderr=log)
        end = time.monotonic() + 20
        while not self.answers():
            if self.process.poll() is not None or time.monotonic() > end:
                with open(os.path.join(self.dir, "log"), encoding="utf-8") as log:
                    self.fail("the daemon does not start:\n" + log.read())
            time.sleep(0.02)
        os.chmod(self.path, 0o666)  # other users of this test connect, too

    def answers(self):
        try:
            peer = wire.Peer(self.path, timeout=1)
            code = peer.call(wire.request("hello"))[1]
            peer.close()
            return code == OK
        except OSError:
            return False

    def stop(self, sig=signal.SIGTERM):
        if self.process:
            self.process.send_signal(sig)
            code = self.process.wait(20)
            self.process = None
            self.assertEqual(code, 0 if sig == signal.SIGTERM else -sig)

    def call(self, payload, **more):
        peer = wire.Peer(self.path, **more)
        try:
            return peer.call(payload)
        finally:
            peer.close()

    def needs_root(self):
        if os.getuid() != 0:
            print("SKIPPED: acting as other users needs root")
            self.skipTest("needs root")


class Identity(RpcTest):
    def hello(self, **more):
        fields = self.call(wire.request("hello"), **more)[3]
        return [fields[6][0].decode(), fields[7][0], [t.decode() for t in fields[8]]]

    def test_the_kernel_says_who_one_is(self):
        self.needs_root()
        self.assertEqual(as_user("daemon", self.hello), ["daemon", 0, ["vision"]])

    def test_a_claimed_address_does_not_count(self):
        self.needs_root()
        claim = [(b"Peer-Address", b"localhost:0:0:1"), (b"User-Id", b"root"), (b"Identity", b"")]
        said = as_user("daemon", lambda: self.hello(properties=claim))
        self.assertEqual(said, ["daemon", 0, ["vision"]])

    def test_a_user_that_is_not_configured_may_do_nothing(self):
        self.needs_root()
        for method in wire.METHODS:
            spec = ((2, wire.golden_spec()),)
            fields = {"submit": spec, "estimate": spec, "watch": ((6, 1),)}.get(method, ())
            if method in ("cancel", "get", "why", "hold", "release", "requeue", "preempt", "checkpointed",
                          "update", "drain", "undrain", "tenant-stop", "tenant-resume"):
                fields = ((2, "x"),)
            if method in ("reserve", "unreserve"):
                fields = ((2, "x"),) + (((6, "n"),) if method == "reserve" else ())
            payload = wire.request(method, *fields)
            self.assertEqual(as_user("games", lambda: self.call(payload)[1]), DENIED, method)

    def test_a_routing_id_of_ones_own_is_not_served(self):
        peer = wire.Peer(self.path, properties=[(b"Identity", b"admin")], timeout=0.5)
        peer.send(wire.request("hello"))
        self.assertRaises(TimeoutError, peer.receive)
        peer.close()
        self.assertTrue(self.answers())

    def test_foreign_jobs_do_not_exist(self):
        self.needs_root()
        name = as_user("daemon", lambda: self.call(submit("resnet"))[3][3][0].decode())
        self.assertTrue(name.startswith("resnet-"))
        for method in ("get", "why", "hold", "release", "cancel"):
            payload = wire.request(method, (2, name))
            self.assertEqual(as_user("bin", lambda: self.call(payload)[1]), NOT_FOUND, method)
            self.assertEqual(as_user("daemon", lambda: self.call(payload)[1]), OK, method)
        newest = wire.request("get", (2, "@last"))
        self.assertEqual(as_user("bin", lambda: self.call(newest)[1]), NOT_FOUND)
        self.assertEqual(as_user("daemon", lambda: self.call(newest)[1]), OK)
        payload = wire.request("list", (2, wire.message((1, True))))
        self.assertEqual(as_user("bin", lambda: len(self.call(payload)[3].get(2, []))), 0)
        self.assertEqual(as_user("daemon", lambda: len(self.call(payload)[3].get(2, []))), 1)
        payload = submit("x", tenant="vision")
        self.assertEqual(as_user("bin", lambda: self.call(payload)[1]), DENIED)


class Durable(RpcTest):
    def test_an_acknowledged_job_survives_kill_9_and_a_retry_finds_it(self):
        payload = submit("resnet", "vision", request_id=b"r" * 16, key="k1")
        _, code, text, first = self.call(payload)
        self.assertEqual(code, OK, text)
        self.stop(signal.SIGKILL)
        self.start()
        _, code, _, again = self.call(payload)
        self.assertEqual(code, OK)
        self.assertEqual(again[2], first[2])
        _, code, _, by_key = self.call(submit("resnet", "vision", key="k1"))
        self.assertEqual((code, by_key[2], by_key[7]), (OK, first[2], [1]))
        instances = {wire.parse(r[1][0])[2][0] for r in (first, again)}
        self.assertEqual(len(instances), 2, "each start has an instance id of its own")

    def test_a_change_survives_kill_9_and_needs_rights_in_both_tenants(self):
        self.needs_root()
        name = as_user("daemon", lambda: self.call(submit("changes"))[3][3][0].decode())
        low = wire.request("update", (2, name), (4, "low"))
        away = wire.request("update", (2, name), (5, "other"))
        self.assertEqual(as_user("bin", lambda: self.call(low)[1]), NOT_FOUND)
        self.assertEqual(as_user("daemon", lambda: self.call(away)[1]), DENIED)
        self.assertEqual(as_user("daemon", lambda: self.call(low)[1]), OK)
        self.assertEqual(self.call(away)[1], OK)
        self.stop(signal.SIGKILL)
        self.start()
        job = wire.parse(self.call(wire.request("get", (2, name)))[3][2][0])
        self.assertEqual((job[4][0], job[14][0], job[3][0]), (b"other", b"low", b"other"))

    def test_a_watch_replays_what_happened_before_the_restart(self):
        for name in ("a", "b", "c"):
            self.assertEqual(self.call(submit(name, "vision"))[1], OK)
        self.stop(signal.SIGKILL)
        self.start()
        peer = wire.Peer(self.path)
        peer.send(wire.request("watch", (2, 0), (4, wire.message((1, True))), (6, 100)))
        names = []
        while len(names) < 3:
            fields = wire.reply(peer.receive())[3]
            names += [wire.parse(e)[4][0][:2] for e in fields.get(2, [])]
        self.assertEqual(names, [b"a-", b"b-", b"c-"])
        peer.close()


class Hostile(RpcTest):
    def test_bytes_that_are_no_protocol(self):
        for data in (b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 64, os.urandom(4096), b""):
            with socket.socket(socket.AF_UNIX) as s:
                s.connect(self.path)
                try:
                    s.sendall(data)
                except OSError:
                    pass  # closed on us: right
        self.assertTrue(self.answers())

    def test_messages_that_are_none_of_ours(self):
        peer = wire.Peer(self.path)
        many_roles = wire.message((1, wire.message((1, b"x" * 16))), (2, b"\x6a\x00" * 20000))
        for payload in (
            b"", b"QD", b"XD\1\0\0\1\0\0",
            wire.frame("hello", b"", major=2), wire.frame("hello", b"", flags=1),
            wire.frame(99, b""), wire.frame("hello", b"\x0a\xff\xff\xff\xff\x0f"),
            wire.frame("submit", many_roles),
        ):
            _, code, text, _ = peer.call(payload)
            self.assertEqual(code, INVALID, text)
        self.assertEqual(peer.call(wire.request("hello"))[1], OK)
        peer.close()

    def test_a_message_of_many_frames_is_dropped(self):
        peer = wire.Peer(self.path)
        peer.send(*[b"x" * 60000] * 50)
        peer.send(b"", wire.request("hello"))  # the delimiter of a REQ socket
        self.assertEqual(peer.call(wire.request("hello"))[1], OK)
        peer.close()

    def test_a_frame_above_the_limit_ends_its_connection_only(self):
        peer = wire.Peer(self.path)
        peer.send(wire.request("hello"))
        peer.receive()
        with self.assertRaises(OSError):
            peer.send(b"Q" * 70000)
            peer.receive()
        peer.close()
        self.assertTrue(self.answers())

    def test_a_client_that_does_not_read_costs_only_itself(self):
        deaf = wire.Peer(self.path)
        deaf.sock.setblocking(False)
        data = deaf._pack(wire.request("nodes"), 0) * 50
        end = time.monotonic() + 1
        while time.monotonic() < end:
            try:
                deaf.sock.send(data)
            except BlockingIOError:
                break
        self.assertTrue(self.answers())
        deaf.close()
        self.assertTrue(self.answers())


if __name__ == "__main__":
    unittest.main()
