# SPDX-License-Identifier: Apache-2.0
"""zmtp - just enough of ZMTP 3.0 (no security) to put any bytes onto the daemon's ROUTER socket.

The library would refuse to send what a hostile peer sends; this does not.
"""

import socket
import struct

GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"NULL".ljust(20, b"\0") + b"\0" + bytes(31)
READY = b"\x05READY\x0bSocket-Type\x00\x00\x00\x06DEALER"


class Dealer:
    """One connection, as a DEALER."""

    def __init__(self, path, greet=True):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(5)
        self.socket.connect(path)
        if greet:
            self.socket.sendall(GREETING)
            self.read(64)
            self.raw(b"\x04" + bytes([len(READY)]) + READY)
            self.frame()

    def close(self):
        self.socket.close()

    def raw(self, data):
        self.socket.sendall(data)

    def send(self, payload, more=False):
        """One frame; more: others of the same message follow."""
        if len(payload) < 256:
            self.raw(bytes([int(more), len(payload)]) + payload)
        else:
            self.raw(bytes([2 | int(more)]) + struct.pack(">Q", len(payload)) + payload)

    def read(self, n):
        data = b""
        while len(data) < n:
            part = self.socket.recv(n - len(data))
            if not part:
                raise ConnectionError("the daemon closed the connection")
            data += part
        return data

    def frame(self):
        """The next frame's bytes."""
        flags, size = self.read(2)
        if flags & 2:
            size = struct.unpack(">Q", bytes([size]) + self.read(7))[0]
        return self.read(size)
