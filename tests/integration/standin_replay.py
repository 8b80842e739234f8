# SPDX-License-Identifier: Apache-2.0
"""standin_replay.py - holds the stand-in against recorded exchanges with a real API server.

Every test makes the state of one recorded topic, sends the recorded requests and compares status,
headers that clients act on, and the whole body; what may differ by time and chance is masked, and
managedFields (only hinted at by the stand-in) are left out. Rows that are not replayed are listed
with their reason in tests/data/apiserver-traces/index.tsv.
"""
import json
import os
import re
import sys

import standin_lib as lib

TRACES = os.path.join(lib.ROOT, "tests", "data", "apiserver-traces")
MASKED = {"uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "time",
          "lastTransitionTime", "continue", "serverAddress", "gitVersion", "gitCommit",
          "buildDate", "goVersion", "compiler", "gitTreeState", "minCompatibilityMinor"}
LEFT_OUT = {"managedFields"}
REPLAYED = set()


def read(name, part):
    path = os.path.join(TRACES, name + part)
    if not os.path.exists(path):
        return None
    with open(path, "rb") as f:
        return f.read()


def read_head(name, part):
    lines = read(name, part).decode().splitlines()
    headers = dict(line.split(": ", 1) for line in lines[1:] if ": " in line)
    return lines[0], headers


def same_text(text):
    text = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UID", text)
    return re.sub(r"\d+", "N", text)


def differences(want, got, where=""):
    """Where two bodies differ, as lines."""
    if isinstance(want, dict) and isinstance(got, dict):
        lines = []
        for key in sorted((set(want) | set(got)) - LEFT_OUT):
            at = "%s.%s" % (where, key)
            if key not in got:
                lines.append("%s is missing" % at)
            elif key not in want:
                lines.append("%s is too much" % at)
            elif key in MASKED:
                if type(want[key]) is not type(got[key]):
                    lines.append("%s has another type" % at)
            else:
                lines += differences(want[key], got[key], at)
        return lines
    if isinstance(want, list) and isinstance(got, list):
        if len(want) != len(got):
            return ["%s has %d items, not %d" % (where, len(got), len(want))]
        lines = []
        for i, (a, b) in enumerate(zip(want, got)):
            lines += differences(a, b, "%s[%d]" % (where, i))
        return lines
    if isinstance(want, str) and isinstance(got, str) and where.endswith("message"):
        want, got = same_text(want), same_text(got)
    return [] if want == got else ["%s is %r, not %r" % (where, got, want)]


class Replay(lib.Case):
    """Common parts of the topics."""

    options = ("--no-kubelet", "--bookmark-ms", "200")
    namespaces = ()

    def setUp(self):
        super().setUp()
        for name in self.namespaces:
            self.server.post("/api/v1/namespaces", {"metadata": {"name": name}})
        self.trouble = []

    def tearDown(self):
        self.assertEqual(self.trouble, [], "\n".join(self.trouble))

    def make_nodes(self, listing, names=None):
        """Nodes as they were in a recorded list."""
        for item in json.loads(read(listing, ".resp.body.json"))["items"]:
            meta = item["metadata"]
            if names is None or meta["name"] in names:
                item["metadata"] = {"name": meta["name"], "labels": meta["labels"]}
                reply = self.server.post("/api/v1/nodes", item)
                self.assertEqual(reply.status, 201, reply.body)

    def make(self, ns, name, node=None, **more):
        body = lib.pod(name, **more)
        body["spec"]["containers"][0].setdefault("resources", {})["requests"] = {
            "cpu": "4", "memory": "16Gi"}
        reply = self.server.post("/api/v1/namespaces/%s/pods" % ns, body)
        self.assertEqual(reply.status, 201, reply.body)
        if node:
            path = "/api/v1/namespaces/%s/pods/%s/binding" % (ns, name)
            self.assertEqual(self.server.post(path, lib.binding(name, node)).status, 201)
        return reply.json

    def make_listed_pods(self):
        """The pods of list/pods in namespace lw."""
        for i in range(5):
            body = json.loads(read("list/pods", ".resp.body.json"))["items"][i]
            meta = body["metadata"]
            labels = {"gang": meta["labels"]["gang"]}
            reply = self.server.post("/api/v1/namespaces/lw/pods", {
                "metadata": {"name": meta["name"], "labels": labels},
                "spec": {k: v for k, v in body["spec"].items() if k != "nodeName"}})
            self.assertEqual(reply.status, 201, reply.body)
            if "nodeName" in body["spec"]:
                name = meta["name"]
                self.server.post("/api/v1/namespaces/lw/pods/%s/binding" % name,
                                 lib.binding(name, body["spec"]["nodeName"]))

    def live_meta(self, path):
        """metadata of the object that a path is about, {} when there is none."""
        path = path.split("?")[0].replace("/bindings", "/pods/leg")
        for sub in ("/binding", "/eviction", "/status"):
            path = path[:-len(sub)] if path.endswith(sub) else path
        reply = self.server.get(path)
        return reply.json.get("metadata", {}) if reply.status == 200 else {}

    def renew(self, path, body, keep):
        """Put the live uid and resourceVersion where recorded ones are."""
        if not isinstance(body, dict) or keep:
            return body
        meta = self.live_meta(path)
        for part in (body.get("metadata"), body.get("preconditions")):
            for key in ("uid", "resourceVersion"):
                if isinstance(part, dict) and key in part and part[key] != "1" and meta:
                    part[key] = meta[key]
        return body

    def send(self, name, rv=None, keep=False, token=None):
        line, headers = read_head(name, ".req.head.txt")
        method, path, _ = line.split(" ")
        for given, live in (rv or {}).items():
            path = re.sub(r"(resourceVersion=)%s\b" % given, r"\g<1>%s" % live, path)
        if token:
            path = re.sub(r"continue=[^&]*", "continue=" + token, path)
        headers.pop("Host", None)
        headers.pop("Content-Length", None)
        body = read(name, ".req.body.json")
        try:
            body = json.dumps(self.renew(path, json.loads(body), keep)) if body else None
        except ValueError:
            pass  # a body that is wrong on purpose goes as it is
        return self.server.request(method, path, body, headers)

    def replay(self, name, **how):
        """Send the recorded request and note every difference of the answer."""
        REPLAYED.add(name)
        got = self.send(name, **how)
        line, headers = read_head(name, ".resp.head.txt")
        status = int(line.split(" ")[1])
        want = read(name, ".resp.body.json")
        lines = []
        if got.status != status:
            lines.append("status is %d, not %d: %s" % (got.status, status, got.body[:300]))
        elif got.method == "HEAD":
            lines += ["body"] if got.body else []
        elif want is None:
            text = read(name, ".resp.body.txt") or b""
            lines += [] if text.strip() == got.body.strip() else ["text %r" % got.body[:80]]
        else:
            lines += differences(json.loads(want), got.json)
        for key in ("Content-Type", "Retry-After"):
            a, b = headers.get(key), got.headers.get(key.lower())
            if key == "Content-Type" and want is None:
                a, b = (a or "").split(";")[0], (b or "").split(";")[0]
            if a != b:
                lines.append("%s is %s, not %s" % (key, b, a))
        self.trouble += ["%s: %s" % (name, text) for text in lines]
        return got

    def replay_all(self, topic, names, **how):
        for name in names.split():
            self.replay(topic + "/" + name, **how)


class MetaTest(Replay):
    def test_watch_of_a_missing_kind(self):
        self.replay("watch/404-resource")

    def test_meta(self):
        self.replay_all("meta", "version version-anonymous readyz readyz-anonymous api "
                                "apis-events apis-policy apis-coordination apis-scheduling "
                                "apis-group-missing apis-scheduling-v1alpha2-missing")


class ErrorsTest(Replay):
    def test_errors(self):
        self.replay_all("errors", "400-empty-body 400-json 400-field-selector 400-label-selector "
                                  "400-limit 400-name-mismatch 400-ns-mismatch 400-rv "
                                  "400-wrong-kind 404-namespace 404-object 404-path 404-resource "
                                  "405-method 406-accept 415-content-type 415-patch-type "
                                  "422-exact-zero 422-match-without-rv "
                                  "422-sendinitial-no-match 422-sendinitial-on-list accept-none "
                                  "body-without-kind options head")


class TokenTest(Replay):
    options = ("--token", "right")

    def setUp(self):
        lib.Case.setUp(self)
        self.trouble = []

    def test_bad_token(self):
        self.replay("errors/401-bad-token")


class ListTest(Replay):
    namespaces = ("lw",)

    def test_list(self):
        self.replay("list/pods-empty")
        self.make_nodes("list/nodes-empty")
        self.replay("list/nodes-empty")
        before = self.server.rv()
        self.make_nodes("list/nodes", {"node-%d" % i for i in range(7)})
        self.make_listed_pods()
        self.replay_all("list", "nodes node-get pods pods-field-name pods-field-nodename "
                                "pods-field-nodename-empty pods-field-phase "
                                "pods-field-schedulername pods-label pods-label-notexists "
                                "pods-limit-selector pod-get nodes-limit-equals-count "
                                "nodes-limit-rv0")
        page = self.replay("list/nodes-page-1").json
        page = self.replay("list/nodes-page-2", token=page["metadata"]["continue"]).json
        self.replay("list/nodes-page-3", token=page["metadata"]["continue"])
        then = self.server.rv()
        self.make_nodes("list/nodes-rv-empty", {"node-late"})
        rv = {"353": then, "339": before, "100355": 100000 + then}
        page = self.replay("list/nodes-rv-notolderthan-limit", rv=rv).json
        self.replay("list/continue-other-limit", token=page["metadata"]["continue"])
        self.replay_all("list", "nodes-rv-empty nodes-rv-0 nodes-rv-exact "
                                "nodes-rv-exact-before-create nodes-rv-notolderthan "
                                "nodes-rv-old-nomatch nodes-rv-old-nomatch-limit "
                                "504-rv-too-large 504-rv-too-large-notolderthan "
                                "rv-too-large-get rv-too-large-exact 400-continue-garbage", rv=rv)
        self.replay_all("list", "400-continue-with-rv 422-continue-with-match", rv=rv)

    def test_compacted(self):
        self.make_nodes("list/rv-notolderthan-compacted")
        then = self.server.rv()
        page = self.server.get("/api/v1/nodes?limit=2").json
        token = page["metadata"]["continue"]
        self.server.post("/api/v1/namespaces", {"metadata": {"name": "later"}})
        self.server.post("/_standin/compact", {})
        self.replay_all("list", "410-rv-exact-compacted 410-rv-limit-compacted", rv={"206": then})
        reply = self.replay("list/410-continue-expired", token=token)
        self.replay("list/410-continue-expired-again", token=token)
        self.replay("list/rv-notolderthan-compacted", rv={"206": then})
        self.replay("list/continue-inconsistent", token=reply.json["metadata"]["continue"])


class BindTest(Replay):
    namespaces = ("bind",)

    def pod(self, name, node=None, **more):
        return self.make("bind", name, node, **more)

    def test_bind(self):
        self.make_nodes("list/nodes-empty")
        for name in ("b-j", "an", "dry", "leg", "nouid", "ni", "nn", "nom", "ov", "u", "u2", "fin"):
            annotations = {"a": "old", "keep": "k"} if name == "an" else None
            labels = {"l": "old"} if name == "an" else None
            self.pod(name, annotations=annotations, labels=labels)
        self.pod("g", schedulingGates=[{"name": "gang.queued/hold"}])
        self.pod("d", "n-a")
        self.server.delete("/api/v1/namespaces/bind/pods/d")
        held = lib.pod("f")
        held["metadata"]["finalizers"] = ["queued.example/hold"]
        self.server.post("/api/v1/namespaces/bind/pods", held)
        self.server.delete("/api/v1/namespaces/bind/pods/f")
        status = "/api/v1/namespaces/bind/pods/%s/status"
        self.server.patch(status % "nom", {"status": {"nominatedNodeName": "n-b"}})
        self.server.patch(status % "fin", {"status": {"phase": "Failed"}})
        self.replay_all("bind", "ok pod-after-bind again-same-node again-other-node "
                                "annotations-labels annotations-labels-pod dryrun gated get-405 legacy-bindings "
                                "name-mismatch no-name no-uid node-invalid-name "
                                "node-invalid-name-pod node-missing "
                                "nominated nominated-pod overcommit phase-failed pod-missing "
                                "pod-missing-uid target-empty target-kind target-no-kind "
                                "terminating-bound terminating-unbound wrong-namespace")
        reply = self.replay("bind/stale-rv")
        self.assertIn("ResourceVersion in precondition: 1,", reply.json["message"])
        self.replay("bind/wrong-uid", keep=True)


class DeleteTest(Replay):
    namespaces = ("del",)

    def pod(self, name, node=None, **more):
        return self.make("del", name, node, **more)

    def test_delete(self):
        self.make_nodes("list/nodes-empty")
        for name in ("ba", "un", "un2"):
            self.pod(name)
        for name in ("bd", "bn", "bq", "pre", "fi"):
            self.pod(name, "n-a")
        self.pod("bt", "n-a", terminationGracePeriodSeconds=120)
        self.server.patch("/api/v1/namespaces/del/pods/fi/status", {"status": {"phase": "Succeeded"}})
        held = self.held("fz")
        self.assertEqual(held.status, 201)
        self.pod("dc-0", "n-a", labels={"gang": "dc"})
        self.pod("dc-1", labels={"gang": "dc"})
        self.pod("dc-2", labels={"gang": "dc"})
        self.pod("fo")
        self.pod("or")
        self.replay_all("delete", "background bad-options unbound unbound-grace-30 bound-default "
                                  "bound-again bound-shorter bound-longer bound-0 "
                                  "bound-negative bound-podgrace bound-query not-found dryrun "
                                  "finalizer finalizer-removed finished foreground orphan "
                                  "collection collection-none")
        self.server.post("/api/v1/namespaces/del/configmaps", {"metadata": {"name": "c"}})
        self.server.post("/api/v1/namespaces/del/services",
                         {"metadata": {"name": "s"}, "spec": {"clusterIP": "None"}})
        self.replay_all("delete", "configmap service")
        self.replay("delete/uid-mismatch", keep=True)
        self.replay("delete/rv-mismatch")

    def held(self, name):
        body = lib.pod(name)
        body["metadata"]["finalizers"] = ["queued.example/hold"]
        body["spec"]["containers"][0]["resources"]["requests"] = {"cpu": "4", "memory": "16Gi"}
        return self.server.post("/api/v1/namespaces/del/pods", body)


class WriteTest(Replay):
    namespaces = ("wr", "misc", "more", "dying")

    def test_nodes(self):
        self.replay_all("write", "node-create node-create-again")
        self.server.post("/api/v1/nodes", json.loads(
            read("write/node-create", ".req.body.json").replace(b"nc-j", b"nc-p")))
        self.replay_all("write", "node-status-patch node-status-patch-merge node-cordon "
                                 "node-taint node-delete")

    def test_pods(self):
        self.make_nodes("list/nodes-empty")
        self.replay_all("write", "pod-create pod-create-again pod-create-bad-name "
                                 "pod-create-bad-quantity pod-create-dryrun "
                                 "pod-create-gpu-fraction pod-create-gpu-request-differs "
                                 "pod-create-gpu-request-only pod-create-long-name "
                                 "pod-create-no-containers pod-create-no-name "
                                 "pod-create-nodename-and-gate pod-create-with-nodename "
                                 "pod-create-with-rv pod-create-with-status pod-create-with-uid",
                        keep=True)
        self.replay_all("write", "pod-status-patch pod-status-patch-same "
                                 "pod-status-patch-spec-ignored pod-status-condition-delete")
        self.server.patch("/api/v1/namespaces/wr/pods/g-0-1-j/status",
                          {"status": {"nominatedNodeName": "n-b"}})
        self.replay_all("write", "pod-annotate-merge pod-annotate-strategic "
                                 "pod-annotate-jsonpatch jsonpatch-malformed "
                                 "jsonpatch-missing-path jsonpatch-test-fails gate-add "
                                 "pod-patch-404 put-no-rv")
        self.replay_all("write", "patch-stale-rv patch-wrong-uid pod-status-patch-stale-rv "
                                 "pod-status-patch-wrong-uid put-stale-rv", keep=True)

    def test_gates(self):
        self.replay_all("write", "gated-create gated-nodeselector ungate-jsonpatch ungate-strategic")
        body = json.loads(read("write/gated-create", ".req.body.json"))
        body["metadata"]["name"] = "gated-p"
        self.server.post("/api/v1/namespaces/wr/pods", body)
        self.replay("write/ungate-merge-null")

    def test_priorities(self):
        self.replay_all("write", "priorityclass-create priority-resolved priority-mismatch "
                                 "priority-unknown priority-system-critical")

    def test_services_and_namespaces(self):
        self.replay_all("write", "service-headless service-again service-headless-no-ports")
        self.server.delete("/api/v1/namespaces/dying")
        self.replay("write/namespace-terminating")

    def test_events(self):
        self.replay_all("write", "event-create event-no-action event-no-eventtime "
                                 "event-note-too-long event-patch-404 event-series "
                                 "event-time-millis event-wrong-namespace event-core-create "
                                 "event-core-wrong-namespace", keep=True)

    def test_leases(self):
        self.replay_all("write", "lease-get-404 lease-create lease-create-lost lease-renew")
        self.replay("write/lease-stale", keep=True)
        self.replay_all("write", "lease-steal lease-release lease-get lease-no-rv "
                                 "lease-patch-missing lease-deleted-put")


class WatchTest(Replay):
    namespaces = ("lw",)

    def setUp(self):
        super().setUp()
        self.make_nodes("list/nodes-rv-empty")

    def open(self, name, rv=None, seconds=1):
        REPLAYED.add(name)
        line, _ = read_head(name, ".req.head.txt")
        path = line.split(" ")[1]
        for given, live in (rv or {}).items():
            path = re.sub(r"(resourceVersion=)%s\b" % given, r"\g<1>%s" % live, path)
        path = re.sub(r"timeoutSeconds=\d+", "timeoutSeconds=%d" % seconds, path)
        return name, lib.Watch(self.server, path)

    def check(self, opened, bookmarks=False):
        name, watch = opened
        got = watch.finish()
        if watch.how != "clean":
            self.trouble.append("%s: the end is %s" % (name, watch.how))
        want = [json.loads(line) for line in read(name, ".resp.body.json").splitlines() if line]
        if not bookmarks:
            want = [e for e in want if e["type"] != "BOOKMARK"]
            got = [e for e in got if e["type"] != "BOOKMARK"]
        lines = differences([e["type"] for e in want], [e["type"] for e in got])
        lines = lines or differences(want, got)
        self.trouble += ["%s: %s" % (name, text) for text in lines]

    def node_life(self):
        recorded = [json.loads(line)["object"] for line in
                    read("watch/nodes-add-modify-delete", ".resp.body.json").splitlines()]
        for i, item in enumerate(recorded[:4]):
            item["metadata"] = {"name": "wnode", "labels": item["metadata"]["labels"]}
            method, path = ("PUT", "/wnode") if i > 0 else ("POST", "")
            self.server.request(method, "/api/v1/nodes" + path, item)
        self.server.delete("/api/v1/nodes/wnode")

    def pod_life(self):
        path = "/api/v1/namespaces/lw/pods"
        events = [json.loads(line)["object"] for line in
                  read("watch/pods-life", ".resp.body.json").splitlines()]
        recorded = events[0]
        running = next(e["status"] for e in events if e["status"]["phase"] == "Running")

        def new(name, **more):
            meta = {"name": name, **more}
            self.server.post(path, {"metadata": meta, "spec": recorded["spec"]})
        new("wpod", annotations=recorded["metadata"]["annotations"])
        self.server.post(path + "/wpod/binding", lib.binding("wpod", "node-2"))
        self.server.patch(path + "/wpod/status", {"status": running})
        self.server.patch(path + "/wpod", {"metadata": {"labels": {"run": "yes"}}})
        self.server.patch(path + "/wpod/status", {"status": {"phase": "Succeeded"}})
        self.server.patch(path + "/wpod", {"metadata": {"labels": {"run": "no"}}})
        new("wpod2")
        self.server.post(path + "/wpod2/binding", lib.binding("wpod2", "node-3"))
        self.server.delete(path + "/wpod2", {"gracePeriodSeconds": 5})
        self.server.delete(path + "/wpod2", {"gracePeriodSeconds": 0})
        self.server.delete(path + "/wpod")

    def test_pod_watches(self):
        self.make_listed_pods()
        rv = {"429": self.server.rv()}
        opened = [self.open("watch/" + name, rv) for name in
                  ("pods-label-transition", "pods-selector-transition", "pods-life",
                   "pods-sendinitialevents")]
        self.pod_life()
        for one in opened:
            self.check(one)

    def test_node_life(self):
        first = self.server.get("/api/v1/nodes/n-a").json["metadata"]["resourceVersion"]
        second = self.server.get("/api/v1/nodes/n-b").json["metadata"]["resourceVersion"]
        rv = {"429": self.server.rv(), "1": int(first) - 1, "339": second}
        opened = [self.open("watch/" + name, rv) for name in
                  ("nodes-add-modify-delete", "nodes-rv-unset", "nodes-rv-0",
                   "nodes-sendinitialevents")]
        self.node_life()
        opened += [self.open("watch/" + name, rv) for name in
                   ("nodes-from-old-rv", "nodes-rv-1-history")]
        for one in opened:
            self.check(one)

    def test_node_watches(self):
        rv = {"429": self.server.rv(), "455": self.server.rv(),
              "100355": self.server.rv() + 100000}
        opened = [self.open("watch/" + name, rv) for name in
                  ("limit-ignored", "single-object", "timeout-1", "bookmark-before-timeout",
                   "rv-too-large",
                   "rv-too-large-sendinitialevents")]
        for one in opened:
            self.check(one)

    def test_initial_events_end_with_a_bookmark(self):
        opened = self.open("watch/leases-sendinitialevents-empty")
        self.check(opened, bookmarks=True)

    def test_too_old(self):
        old = self.server.rv() - 1
        now = self.server.rv()
        self.server.post("/_standin/compact", {})
        rv = {"206": old, "253": old, "254": now, "1": 1, "262": old}
        opened = [self.open("watch/" + name, rv) for name in
                  ("410-after-restart", "rv-last-minus-1-after-restart", "410-cache-overflow",
                   "rv-last-after-restart")]
        for one in opened:
            self.check(one)

    def test_watch_of_binds(self):
        self.server.post("/api/v1/namespaces", {"metadata": {"name": "bind"}})
        for name in ("b-j", "b-p"):
            self.make("bind", name)
        opened = self.open("bind/watch-bind", {"208": self.server.rv()})
        for name in ("b-j", "b-p"):
            self.server.post("/api/v1/namespaces/bind/pods/%s/binding" % name,
                             lib.binding(name, "n-a"))
        self.check(opened)

    def test_recreated(self):
        self.server.post("/api/v1/namespaces", {"metadata": {"name": "misc"}})
        recorded = [json.loads(line)["object"] for line in
                    read("watch/pod-recreated", ".resp.body.json").splitlines()]
        body = {"metadata": {"name": "e-1"}, "spec": recorded[0]["spec"]}
        self.server.post("/api/v1/namespaces/misc/pods", body)
        opened = self.open("watch/pod-recreated", {"939": self.server.rv()})
        self.server.delete("/api/v1/namespaces/misc/pods/e-1")
        self.server.post("/api/v1/namespaces/misc/pods", body)
        self.check(opened)


class ZIndexTest(lib.unittest.TestCase):
    """Runs last, by its name."""

    def test_index_says_which_rows_are_replayed(self):
        with open(os.path.join(TRACES, "index.tsv"), encoding="utf-8") as f:
            rows = [line.rstrip("\n").split("\t") for line in f][1:]
        listed = {row[0] for row in rows if row[1] == "replayed"}
        self.assertEqual(sorted(REPLAYED), sorted(listed))
        reasons = [row[0] for row in rows if row[1] != "replayed" and not row[2]]
        self.assertEqual(reasons, [], "rows without a reason")


if __name__ == "__main__":
    sys.exit(lib.main(sys.modules[__name__]))
