# SPDX-License-Identifier: Apache-2.0
"""test_daemon - the bad moments of the daemon from outside: each is a clear sentence with the next
step and the right exit code, nothing is lost, and the daemon goes on where it can.

Black box: the program, its socket, its log. $B is the build directory. Every daemon has a folder of
its own below one temporary directory.
"""

import contextlib
import os
import random
import resource
import signal
import socket
import subprocess
import sys
import time
import unittest

import wire
from queued_site import CONFIG, HERE, QUEUED, DaemonTest, run

HELLO = wire.frame("hello", b"")


class Options(DaemonTest):
    def test_wrong_options_are_usage_errors(self):
        for args in (["--nonsense"], ["--log-level", "loud"], ["--log-format", "xml"], ["extra"]):
            self.refused(args, 64, "see queued --help")

    def test_help_and_version_end_well(self):
        code, out, _ = run("--help")
        self.assertEqual(code, 0)
        for option in ("--config", "--check-config", "--print-config", "--dump-store"):
            self.assertIn(option, out)
        code, out, _ = run("--version")
        self.assertEqual(code, 0)
        with open(os.path.join(HERE, "..", "..", "VERSION"), encoding="ascii") as f:
            self.assertEqual(out.strip(), "queued " + f.read().strip())

    def test_the_manual_names_all_options(self):
        page = os.path.join(HERE, "..", "..", "docs", "man", "queued.8.scd")
        with open(page, encoding="utf-8") as f:
            page = f.read()
        for line in run("--help")[1].splitlines():
            if line.startswith("  --"):
                self.assertIn("*%s*" % line.split()[0], page)


class Configuration(DaemonTest):
    def test_a_good_one_is_said_to_be_good_and_printed(self):
        site = self.site()
        self.assertEqual(run("--config", site.config, "--check-config")[0], 0)
        code, out, _ = run("--config", site.config, "--print-config")
        self.assertEqual(code, 0)
        site.write("printed.yaml", out)
        again = run("--config", os.path.join(site.where, "printed.yaml"), "--print-config")
        self.assertEqual(again[:2], (0, out))

    def test_a_missing_file_is_named(self):
        self.refused(["--config", self.where + "/none.yaml"], 78, "none.yaml")

    def test_a_wrong_key_is_named_with_its_place(self):
        site = self.site(config="store: {dir: /tmp}\ntennants: []\n")
        line = self.refused(["--config", site.config], 78, "did you mean tenants?")
        self.assertIn("queued.yaml:2:1: tennants", line)

    def test_a_key_of_a_later_version_is_refused(self):
        site = self.site(config="weights: {tenantLoad: 0.1}\n")
        self.refused(["--config", site.config], 78, "weights.tenantLoad: is not acted on by this version")

    def test_a_missing_kubeconfig_is_named(self):
        site = self.site()
        os.unlink(os.path.join(site.where, "kubeconfig"))
        self.refused(["--config", site.config], 78, "kubeconfig")


class Store(DaemonTest):
    def test_two_daemons_on_one_store(self):
        first = self.site()
        first.start()
        other = self.site("b")
        other.write("queued.yaml", CONFIG % {"where": first.where, "rpc": "ipc://" + other.socket})
        self.refused(["--config", other.config], 73, first.where + "/store")
        first.hello()

    def test_a_directory_that_cannot_be_written(self):
        site = self.site()
        os.mkdir(os.path.join(site.where, "store"), 0o755)
        os.chmod(self.where, 0o755)
        who = {}
        if os.getuid() == 0:  # root may write anywhere, so be somebody else
            who = {"user": 65534, "group": 65534, "extra_groups": []}
        else:
            os.chmod(os.path.join(site.where, "store"), 0o555)
        self.refused(["--config", site.config], 73, site.where + "/store", "ermission", **who)

    def test_a_parent_that_is_missing(self):
        site = self.site(config=CONFIG.replace("%(where)s/store", "%(where)s/not/there"))
        self.refused(["--config", site.config], 73, "not/there")

    def test_a_disk_that_is_full(self):
        site = self.site()
        os.mkdir(os.path.join(site.where, "store"))
        script = 'mount -t tmpfs -o size=16k none "$1" && exec "$2" --config "$3"'
        done = subprocess.run(
            ["unshare", "-m", "sh", "-c", script, "sh", site.where + "/store", QUEUED, site.config],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        if "queued:" not in done.stderr:
            print("SKIPPED: a disk that is full: cannot mount here: " + done.stderr.strip())
            return
        self.assertEqual(done.returncode, 73, done.stderr)
        self.assertRegex(done.stderr, "(space|full)")

    def test_a_disk_that_fills_while_running(self):
        site = self.site()
        os.mkdir(os.path.join(site.where, "store"))
        script = 'mount -t tmpfs -o size=1m none "$1" && : > "$1/../mounted" && shift && exec "$@"'
        wrap = ["unshare", "-m", "sh", "-c", script, "sh", site.where + "/store"]
        try:
            site.start(wrap=wrap)
        except AssertionError:
            if os.path.exists(site.where + "/mounted"):
                raise
            print("SKIPPED: a disk that fills while running: cannot mount here")
            return
        fill = ["nsenter", "-t", str(site.process.pid), "-m", "dd", "if=/dev/zero", "bs=4096"]
        subprocess.run(fill + ["of=%s/store/other" % site.where], stderr=subprocess.DEVNULL, check=False)
        site.wait_log("the store is nearly full: submissions are refused")
        site.hello()

    def test_a_damaged_store(self):
        site = self.site()
        site.start()
        site.stop()
        with open(site.where + "/store/data.mdb", "r+b") as f:
            f.write(random.Random(1).randbytes(16384))
        self.refused(["--config", site.config], 73, site.where + "/store")
        self.assertEqual(run("--dump-store", site.where + "/store")[0], 73)

    def test_a_dump_of_nothing(self):
        self.refused(["--dump-store", self.where + "/none"], 73, "none")


class Address(DaemonTest):
    def test_an_ipc_address_that_is_taken(self):
        first = self.site()
        first.start()
        other = self.site("b", rpc="ipc://" + first.socket)
        self.refused(["--config", other.config], 69, first.socket)
        first.hello()

    def test_a_tcp_port_that_is_taken(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            address = "tcp://127.0.0.1:%d" % taken.getsockname()[1]
            site = self.site(rpc='"%s"' % address)
            self.refused(["--config", site.config], 69, address)

    def test_a_socket_left_behind_by_a_killed_daemon_is_no_obstacle(self):
        site = self.site()
        site.start()
        site.stop()
        self.assertTrue(os.path.exists(site.socket))
        site.start()
        site.hello()


class Running(DaemonTest):
    def test_no_api_server_is_no_reason_to_end(self):
        site = self.site()
        site.start()
        site.wait_log("the API server does not answer, we keep trying")
        site.hello()

    def test_signals(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            site = self.site(number.name)
            site.start()
            site.process.send_signal(signal.SIGHUP)
            site.wait_log("nothing has changed")
            site.hello()
            site.process.send_signal(number)
            self.assertEqual(site.process.wait(10), 0, site.log())

    def test_readiness_is_told_to_the_service_manager(self):
        path = self.where + "/notify"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(path)
            manager.settimeout(10)
            site = self.site()
            site.start({"NOTIFY_SOCKET": path})
            self.assertEqual(manager.recv(100), b"READY=1")

    def test_an_idle_daemon_sleeps(self):
        site = self.site()
        site.start()
        time.sleep(0.3)
        with open("/proc/%d/stat" % site.process.pid, encoding="ascii") as f:
            before = sum(map(int, f.read().rpartition(")")[2].split()[11:13]))
        time.sleep(1.5)
        with open("/proc/%d/stat" % site.process.pid, encoding="ascii") as f:
            after = sum(map(int, f.read().rpartition(")")[2].split()[11:13]))
        self.assertLess(after - before, 30)  # of 150 ticks

    def hostile(self, path, rng):
        """Yields what a hostile peer may do with one connection."""
        yield wire.Peer(path, greet=False), [("raw", rng.randbytes(300))]
        yield wire.Peer(path, greet=False), [("raw", wire.GREETING[:30])]
        yield wire.Peer(path), [("raw", b"\x02" + b"\xff" * 8)]  # a frame of 2^64 bytes
        yield wire.Peer(path), [("send", b"QD\x01\x00\x00\x02\x00\x00" + bytes(8 << 20))]
        frames = [b"", b"Q", b"QD", HELLO[:7], b"XX" + HELLO[2:], b"QD\x09\x00\x00\x01\x00\x00"]
        frames += [b"QD\x01\x00\xff\xff\x00\x00", b"QD\x01\x00\x00\x01\xff\xff"]
        frames += [HELLO + b"\x0a\xff\xff\xff\xff\x0f", HELLO + b"\x0a\x02\x0a\x7f"]
        for method in range(12):
            head = b"QD\x01\x00\x00" + bytes([method]) + b"\x00\x00"
            frames += [head + rng.randbytes(rng.randrange(200)) for _ in range(10)]
            frames += [head + b"\x0a\x12\x0a\x10" + rng.randbytes(16) + rng.randbytes(40)]
        yield wire.Peer(path), [("send", f) for f in frames]
        yield wire.Peer(path), [("send", *[b"x"] * 501)]  # a message of many parts

    def test_hostile_bytes_do_no_harm(self):
        site = self.site()
        site.start()
        for peer, acts in self.hostile(site.socket, random.Random(7)):
            with contextlib.suppress(OSError):  # it may cut us off
                for act, *data in acts:
                    getattr(peer, act)(*data)
            site.hello()
            peer.close()
        site.hello()
        self.assertIsNone(site.process.poll(), site.log())

    def test_a_start_after_kill_reads_the_store(self):
        site = self.site()
        for _ in range(3):
            site.start()
            site.hello()
            site.stop()
        site.start()
        self.assertIn("quarantined=0", site.log())


if __name__ == "__main__":
    if not os.access(QUEUED, os.X_OK):
        sys.exit("%s is not built: run 'make'" % QUEUED)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    unittest.main()
