# SPDX-License-Identifier: Apache-2.0
"""netns - a network namespace for the daemon, whose packets can vanish without a word.

The daemon inside reaches the API server by a relay on a pair of virtual interfaces. vanish() gives
both ends a wrong hardware address of the other: packets leave and arrive nowhere, as when a machine
loses its power. Needs root and iproute2.
"""

import os
import socket
import subprocess
import threading

from procs import Trouble


def why_not():
    """Why there can be none here; "" when there can."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    try:
        _ip("netns", "list")
    except Trouble as e:
        return str(e)
    return ""


def _ip(*args):
    try:
        done = subprocess.run(["ip", *args], capture_output=True, text=True, check=False)
    except FileNotFoundError as e:
        raise Trouble("ip is not installed: install the package iproute2") from e
    if done.returncode != 0:
        raise Trouble("ip %s: %s" % (" ".join(args), done.stderr.strip()))


class Namespace:
    """One namespace with a relay to a port of loopback."""

    def __init__(self, port):
        number = os.getpid() % 250 + 1
        self.name, self.outer = "queued-%d" % os.getpid(), "qo%d" % os.getpid()
        self.inner = "qi%d" % os.getpid()
        self.here, self.there = "10.213.%d.1" % number, "10.213.%d.2" % number
        self.port = port
        _ip("netns", "add", self.name)
        _ip("link", "add", self.outer, "type", "veth", "peer", self.inner, "netns", self.name)
        _ip("addr", "add", self.here + "/24", "dev", self.outer)
        _ip("link", "set", self.outer, "up")
        self.inside("addr", "add", self.there + "/24", "dev", self.inner)
        self.inside("link", "set", self.inner, "up")
        self.listener = socket.create_server((self.here, 0))
        self.relay_port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def inside(self, *args):
        _ip("-n", self.name, *args)

    def wrap(self):
        """What goes before a command so that it runs inside."""
        return ["ip", "netns", "exec", self.name]

    def accept(self):
        while True:
            try:
                near = self.listener.accept()[0]
                far = socket.create_connection(("127.0.0.1", self.port))
            except OSError:
                return
            for a, b in ((near, far), (far, near)):
                threading.Thread(target=self.copy, args=(a, b), daemon=True).start()

    @staticmethod
    def copy(source, sink):
        try:
            while True:
                data = source.recv(65536)
                if not data:
                    break
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            for end in (source, sink):
                end.close()

    def vanish(self):
        wrong = ("lladdr", "02:00:00:00:00:99", "nud", "permanent")
        _ip("neigh", "replace", self.there, "dev", self.outer, *wrong)
        self.inside("neigh", "replace", self.here, "dev", self.inner, *wrong)

    def come_back(self):
        _ip("neigh", "del", self.there, "dev", self.outer)
        self.inside("neigh", "del", self.here, "dev", self.inner)

    def remove(self):
        self.listener.close()
        _ip("netns", "del", self.name)
