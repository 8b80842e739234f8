# SPDX-License-Identifier: Apache-2.0
"""auditlog - the API server's audit log as the measure of who asked what, and when.

Both sides of bench_bind are timed and counted here alone: by the server's clock, by what it
answered. The log is read as it grows; it holds the requests of the user queued, and what the
benchmark itself does to the status of pods.
"""

import datetime
import json

POLICY = """apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
  users: [queued]
- level: Metadata
  resources: [{group: "", resources: [pods/status]}]
- level: None
"""
WRITES = ("create", "delete", "patch", "update", "deletecollection")


def seconds(stamp):
    """An audit timestamp as seconds since 1970."""
    when = datetime.datetime.strptime(stamp, "%Y-%m-%dT%H:%M:%S.%fZ")
    return when.replace(tzinfo=datetime.timezone.utc).timestamp()


class Call:
    """One request that the server has answered; a watch, when it began."""

    def __init__(self, line):
        entry = json.loads(line)
        ref = entry.get("objectRef") or {}
        self.verb = entry["verb"]
        self.resource = "/".join(
            x for x in (ref.get("resource"), ref.get("subresource")) if x
        ) or entry["requestURI"].partition("?")[0]
        self.kind = self.verb + " " + self.resource
        self.name = ref.get("name", "")
        self.code = (entry.get("responseStatus") or {}).get("code", 0)
        self.agent = entry.get("userAgent", "")
        self.stage = entry["stage"]
        self.began = seconds(entry["requestReceivedTimestamp"])
        self.ended = seconds(entry["stageTimestamp"])

    def is_write(self):
        return self.verb in WRITES


class AuditLog:
    MARKS = {
        "bindings": b'"subresource":"binding"',
        "events": b'"resource":"events"',
        "pods": b'/pods?fieldManager=queued","verb":"create"',
        "writes": b'"verb":"create"',
    }

    def __init__(self, path):
        self.file = open(path, "rb")  # pylint: disable=consider-using-with
        self.rest = b""
        self.begin()

    def close(self):
        self.file.close()

    def read(self):
        """Take in what was added; the number of lines since the last begin()."""
        data = self.rest + self.file.read()
        whole, _, self.rest = data.rpartition(b"\n")
        if whole:
            self.lines += whole.split(b"\n")
            for kind, mark in self.MARKS.items():
                self.counts[kind] += whole.count(mark)
        return len(self.lines)

    def begin(self):
        """Forget what came before."""
        self.lines, self.counts = [], dict.fromkeys(self.MARKS, 0)
        self.read()
        self.lines, self.counts = [], dict.fromkeys(self.MARKS, 0)

    def count(self, kind):
        """Answers of one kind so far, without parsing them."""
        return self.counts[kind]

    def calls(self):
        """All calls since begin(); a watch is one when it starts and none when it ends."""
        found = [Call(line) for line in self.lines]
        return [c for c in found if c.verb != "watch" or c.stage == "ResponseStarted"]
