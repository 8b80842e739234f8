# SPDX-License-Identifier: Apache-2.0
"""audit - what happened to every pod of every gang over a whole run, learned from a watch.

The state at the end cannot tell whether a member was bound twice on the way, or whether a gang
ran in part; this can. Works on any API server: list once, then watch. Knows our labels, not the
daemon.
"""

import http.client
import json
import threading
import time

import gather
import rules
from kubeapi import Refused


class Member:
    """One pod, by uid: where it was bound and how far it came."""

    def __init__(self, pod):
        self.pod, self.nodes, self.ran, self.is_gone = pod, set(), False, False

    def see(self, pod, is_gone):
        self.pod, self.is_gone = pod, is_gone
        if pod["node"]:
            self.nodes.add(pod["node"])
        self.ran = self.ran or pod["phase"] in ("Running", "Succeeded", "Failed")

    def holds(self):
        return not self.is_gone and rules.holds_gpus(self.pod)


class Audit:
    def __init__(self, api, moment):
        """moment: an Event, set at each pod that was made."""
        self.moment = moment
        self.api, self.members, self.doubles = api, {}, []
        self.holding = {}  # (job, role, index): uid of the member that holds GPUs
        self.events, self.trouble = 0, None
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def stop(self):
        self.stopping.set()

    def see(self, pod, is_gone=False):
        pod = gather.api_pod(pod)
        if not pod["managed"]:
            return
        self.events += 1
        if pod["uid"] not in self.members:
            self.moment.set()
        member = self.members.setdefault(pod["uid"], Member(pod))
        member.see(pod, is_gone)
        key = (pod["job"], pod["role"], pod["index"])
        other = self.members.get(self.holding.get(key))
        if member.holds():
            if other and other is not member and other.holds():
                self.doubles.append(
                    "%s and %s were bound at the same time" % (other.pod["name"], pod["name"])
                )
            self.holding[key] = pod["uid"]
        if len(member.nodes) > 1:
            self.doubles.append(
                "%s was seen on %s" % (pod["name"], " and ".join(sorted(member.nodes)))
            )

    def run(self):
        while not self.stopping.is_set():
            try:
                self.follow()
            except (OSError, http.client.HTTPException, Refused, ValueError, KeyError) as e:
                self.trouble = e
                time.sleep(0.2)

    def follow(self):
        """List, then watch until the stream ends. A pod that vanished in between counts as gone."""
        page = self.api.want("GET", "/api/v1/pods")
        alive = {p["metadata"]["uid"] for p in page.get("items") or []}
        for uid, member in self.members.items():
            member.is_gone = member.is_gone or uid not in alive
        for pod in page.get("items") or []:
            self.see(pod)
        conn = self.api.connect(timeout_s=90)
        conn.request(
            "GET",
            "/api/v1/pods?watch=1&allowWatchBookmarks=true&resourceVersion="
            + page["metadata"]["resourceVersion"],
            headers=self.api.headers(),
        )
        stream = conn.getresponse()
        while True:
            line = stream.readline()
            if not line:
                return
            event = json.loads(line)
            if event["type"] == "ERROR":
                return
            if event["type"] != "BOOKMARK":
                self.see(event["object"], event["type"] == "DELETED")

    def partial(self, jobs):
        """Gangs that ran, or stand, in part. jobs: {id: job} in the form of rules.py, at the end.

        An attempt that was undone may have been bound in part, if all of it is gone again and none
        of it counts as the run of an ended job.
        """
        by_attempt = {}
        for member in self.members.values():
            by_attempt.setdefault((member.pod["job"], member.pod["attempt"]), []).append(member)
        found = []
        for (ident, attempt), members in sorted(by_attempt.items()):
            size = jobs.get(ident, {}).get("replicas", 0)
            bound = {(m.pod["role"], m.pod["index"]) for m in members if m.nodes}
            standing = [m for m in members if m.holds()]
            final = (
                jobs.get(ident, {}).get("state") == "Succeeded"
                and attempt == jobs[ident]["attempt"]
            )
            if 0 < len(bound) < size and (standing or final):
                found.append(
                    "job %s attempt %d: %d of %d members were bound"
                    % (ident, attempt, len(bound), size)
                )
        return found


def overcommits(path):
    """The binds by which a node got more GPUs than it has, as the stand-in wrote them down."""
    found = []
    try:
        with open(path, encoding="utf-8") as f:
            for line in f:
                if line.startswith('{"violation"') and line.endswith("\n"):
                    event = json.loads(line)
                    found.append(
                        "%s on %s: %s" % (event["name"], event["node"], event["violation"])
                    )
    except FileNotFoundError:
        pass
    return found
