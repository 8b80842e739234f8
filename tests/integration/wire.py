# SPDX-License-Identifier: Apache-2.0
"""wire - the protocol of docs/protocol.md by hand: frames, protobuf, ZMTP over a Unix socket.

A second implementation, independent of ours and of libzmq, for tests that must send what a
library would not. `python3 wire.py golden DIR` writes the golden requests.
"""

import os
import socket
import struct
import sys

METHODS = {
    "hello": 1, "submit": 2, "cancel": 3, "get": 4, "list": 5,
    "why": 6, "watch": 7, "nodes": 8, "topology": 9, "tenants": 10,
    "hold": 11, "release": 12, "requeue": 13, "preempt": 14,
    "checkpointed": 80, "update": 15, "drain": 16, "undrain": 17,
    "tenant-stop": 25, "tenant-resume": 26,
    "estimate": 30, "reserve": 31, "unreserve": 32, "reservations": 33, "defrag": 90,
    "config": 130,
}
GOLDEN_ID = b"0123456789abcdef"
GREETING = b"\xff" + b"\0" * 7 + b"\1\x7f\x03\x00" + b"NULL".ljust(20, b"\0") + b"\0" * 32


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(tag, value):
    """One field: int as varint, bytes or str or an encoded message as a run of bytes."""
    if isinstance(value, bool) or isinstance(value, int):
        return varint(tag << 3) + varint(int(value))
    if isinstance(value, str):
        value = value.encode()
    return varint(tag << 3 | 2) + varint(len(value)) + value


def message(*fields):
    return b"".join(field(tag, value) for tag, value in fields)


def frame(method, body, major=1, minor=0, flags=0):
    number = METHODS.get(method, method)
    return b"QD" + struct.pack(">BBHH", major, minor, number, flags) + body


def request(method, *fields, request_id=None, deadline_ms=5000):
    header = message((1, request_id or os.urandom(16)), (2, deadline_ms))
    return frame(method, message((1, header), *fields))


def parse(data):
    """An encoded message as {tag: [values]}; runs of bytes stay bytes."""
    out, i = {}, 0

    def number():
        nonlocal i
        value = shift = 0
        while True:
            byte = data[i]
            i += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                return value

    while i < len(data):
        tag = number()
        if tag & 7 == 0:
            value = number()
        elif tag & 7 == 2:
            size = number()
            value = data[i:i + size]
            i += size
        else:
            raise ValueError(f"wire type {tag & 7}")
        out.setdefault(tag >> 3, []).append(value)
    return out


def reply(payload):
    """(method, code, text, fields) of an answer."""
    if payload[:4] != b"QD\x01\x00" or payload[7] != 1:
        raise ValueError(f"no answer of this protocol: {payload[:8]!r}")
    fields = parse(payload[8:])
    head = parse(fields[1][0])
    text = head[4][0].decode() if 4 in head else ""
    return struct.unpack(">H", payload[4:6])[0], head[3][0], text, fields


class Peer:
    """A ZMTP 3.0 DEALER with the NULL mechanism on a Unix socket, with properties of our choice;
    greet=False: the caller sends all bytes, by raw()."""

    def __init__(self, path, properties=(), timeout=5.0, greet=True):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(timeout)
        try:
            self.sock.connect(path)
            if greet:
                self._greet(properties)
        except OSError:
            self.sock.close()
            raise

    def _greet(self, properties):
        self.raw(GREETING)
        self._exactly(64)
        ready = b"\x05READY"
        for name, value in [(b"Socket-Type", b"DEALER"), *properties]:
            ready += bytes([len(name)]) + name + struct.pack(">I", len(value)) + value
        self.sock.sendall(self._pack(ready, 4))
        self._frame()

    @staticmethod
    def _pack(body, flags):
        if len(body) > 255:
            return bytes([flags | 2]) + struct.pack(">Q", len(body)) + body
        return bytes([flags, len(body)]) + body

    def _exactly(self, size):
        data = b""
        while len(data) < size:
            more = self.sock.recv(size - len(data))
            if not more:
                raise ConnectionError("the server closed the connection")
            data += more
        return data

    def _frame(self):
        flags = self._exactly(1)[0]
        size = struct.unpack(">Q", self._exactly(8))[0] if flags & 2 else self._exactly(1)[0]
        return flags, self._exactly(size)

    def raw(self, data):
        self.sock.sendall(data)

    def send(self, *frames):
        for i, body in enumerate(frames):
            self.sock.sendall(self._pack(body, 1 if i + 1 < len(frames) else 0))

    def receive(self):
        while True:
            flags, body = self._frame()
            if not flags & 4:
                return body
            if body[:5] == b"\x04PING":
                self.sock.sendall(self._pack(b"\x04PONG" + body[7:], 4))

    def call(self, payload):
        self.send(payload)
        return reply(self.receive())

    def close(self):
        self.sock.close()


def pair(key, value):
    return message((1, key), (2, value))


def golden_spec():
    leader = message((1, "leader"), (9, "registry.local/train:1"))
    volume = message(
        (1, "data"), (2, 5), (3, "nfs.local"), (4, "/export/data"), (5, "/data"), (7, True))
    worker = message(
        (1, "worker"), (2, 4), (3, 8), (4, "H100"), (5, 96000), (6, 1 << 40),
        (8, message((1, "rdma/hca"), (2, 8))), (9, "registry.local/train:1"),
        (10, "/bin/sh"), (10, "-c"), (10, "set -e\npython train.py"), (11, "--lr=0.1"),
        (12, "/work"), (13, pair("GREETING", "caf\u00e9")), (14, volume),
        (15, pair("gang.queued/block", "block-1")),
        (16, message((1, "nvidia.com/gpu"), (2, "Exists"))),
        (16, message((1, "dedicated"), (2, "Equal"), (3, "gpu"), (4, "NoSchedule"))))
    return message(
        (1, "resnet"), (2, "foundation/pretrain"), (3, "foundation"), (4, pair("team", "vision")),
        (5, pair("note", "first run")), (6, "run-17"), (7, "normal"), (8, 7200 * 10**6),
        (9, 3600 * 10**6), (10, 600 * 10**6), (11, "block"), (12, "rack"), (13, leader),
        (13, worker), (14, 2), (15, 30 * 10**6))


def golden():
    filters = message(
        (1, True), (2, "foundation"), (4, "Pending"), (4, "Running"), (5, pair("team", "vision")))
    bodies = {
        "hello": (), "submit": ((2, golden_spec()), (3, False), (4, True)),
        "cancel": ((2, "resnet-7f3k"), (3, "wrong data")), "get": ((2, "resnet-7f3k"),),
        "list": ((2, filters), (3, 100), (5, True)), "why": ((2, "resnet-7f3k"),),
        "watch": ((2, 41), (4, filters), (6, 1000)), "nodes": ((2, "node-007"), (3, 50)),
        "topology": (), "tenants": (), "hold": ((2, "resnet-7f3k"), (3, "fix data path")),
        "release": ((2, "resnet-7f3k"),), "requeue": ((2, "resnet-7f3k"), (3, "slow node")),
        "preempt": ((2, "resnet-7f3k"), (3, "slow node")),
        "checkpointed": ((2, "resnet-7f3k"),),
        "update": ((2, "resnet-7f3k"), (3, "more time"), (4, "low"), (5, "vision"),
                   (6, 7200 * 10**6), (7, "block"), (8, "rack")),
        "drain": ((2, "node-007"), (3, "disk swap")), "undrain": ((2, "node-007"),),
        "tenant-stop": ((2, "vision"), (3, "moving the data")), "tenant-resume": ((2, "vision"),),
        "estimate": ((2, golden_spec()), (3, "node-007")), "defrag": (), "config": (),
        "reserve": ((2, "power"), (3, "vision"), (4, 10**15), (5, 2 * 10**15), (6, "node-007"),
                    (9, "new cables"), (10, True)),
        "unreserve": ((2, "power"),), "reservations": (),
    }
    return {name: request(name, *fields, request_id=GOLDEN_ID) for name, fields in bodies.items()}


def main():
    if len(sys.argv) != 3 or sys.argv[1] != "golden":
        sys.exit("usage: wire.py golden DIR")
    for name, data in golden().items():
        with open(os.path.join(sys.argv[2], f"v1-{name}.bin"), "wb") as out:
            out.write(data)


if __name__ == "__main__":
    main()
