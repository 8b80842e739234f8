# SPDX-License-Identifier: Apache-2.0
"""history - every change of every pod in the order in which etcd made it.

An Audit that reads etcd itself: an API server that is killed or stopped hides nothing from it, and
the order is exact, so that it also sees a node that held too many GPUs for a moment. The API server
must store JSON (--storage-media-type=application/json).
"""

import base64
import json
import urllib.request

import gather
from audit import Audit

FIRST, LAST = b"/registry/pods/", b"/registry/pods0"
HEARD_S = 3600


def text_of(raw):
    return base64.b64encode(raw).decode("ascii")


class History(Audit):
    def __init__(self, cluster, moment, room):
        """room: {node: its GPUs}."""
        self.etcd, self.room = cluster.record["etcd"], room
        self.revision = 0  # of the newest change seen
        self.gaps, self.over = 0, []
        self.held = {}  # uid: (node, gpus)
        self.used = dict.fromkeys(room, 0)
        self.objects = {}  # key: the pod as it was last
        super().__init__(None, moment)

    def hold(self, pod, is_gone):
        """Keep the sums of the nodes; note a node that holds more than it has."""
        member = self.members.get(pod["uid"])
        node, gpus = self.held.pop(pod["uid"], (None, 0))
        if node:
            self.used[node] -= gpus
        if not member or is_gone or not member.holds():
            return
        node = pod["node"]
        self.held[pod["uid"]] = (node, pod["gpus"])
        self.used[node] = self.used.get(node, 0) + pod["gpus"]
        if self.used[node] > self.room.get(node, 0):
            self.over.append(
                "%s on %s: %d GPUs are held, it has %d"
                % (pod["name"], node, self.used[node], self.room.get(node, 0))
            )

    def take(self, event):
        key = event["kv"]["key"]
        is_gone = event.get("type") == "DELETE"
        if is_gone:
            raw = self.objects.pop(key, None)
        else:
            raw = self.objects[key] = json.loads(base64.b64decode(event["kv"]["value"]))
        if raw is None:
            return
        self.see(raw, is_gone)
        self.hold(gather.api_pod(raw), is_gone)
        self.revision = max(self.revision, int(event["kv"]["mod_revision"]))

    def follow(self):
        """Watch from behind the newest change that was seen, until the stream ends."""
        want = {
            "key": text_of(FIRST),
            "range_end": text_of(LAST),
            "start_revision": str(self.revision + 1),
        }
        body = json.dumps({"create_request": want}).encode()
        request = urllib.request.Request(self.etcd + "/v3/watch", body)
        with urllib.request.urlopen(request, timeout=HEARD_S) as stream:
            for line in stream:
                if self.stopping.is_set():
                    return
                result = json.loads(line).get("result") or {}
                if int(result.get("compact_revision", 0)):
                    self.gaps += 1
                    self.revision = int(result["compact_revision"])
                    return
                for event in result.get("events") or []:
                    self.take(event)
