#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_standin.py - the stand-in API server by itself: pages, watches, selectors, kubelets, faults.

Run with STANDIN=path of the program. Also runs standin_replay.py, which holds the answers
against recorded ones. The last line is "N passed, N failed".
"""
import http.client
import json
import os
import re
import ssl
import sys
import tempfile
import time

import standin_lib as lib
import standin_replay

PODS = "/api/v1/namespaces/t/pods"


def names(reply):
    return [item["metadata"]["name"] for item in reply.json["items"]]


class StartTest(lib.Case):
    def test_ready_line_names_the_port(self):
        self.assertEqual(self.server.ready_line,
                         "standin ready on 127.0.0.1:%d\n" % self.server.port)

    def test_ends_with_zero_on_sigterm_with_watches_open(self):
        server = lib.Server("--make-nodes", "1")
        watch = lib.Watch(server, "/api/v1/nodes?watch=1")
        lib.wait_for(lambda: watch.events)
        self.assertEqual(server.stop(), 0)
        watch.finish()
        self.assertEqual(watch.how, "clean")

    def test_unknown_option_ends_with_two(self):
        process = lib.subprocess.run([lib.STANDIN, "--nonsense"], stderr=lib.subprocess.DEVNULL,
                                     check=False)
        self.assertEqual(process.returncode, 2)

    def test_made_nodes_are_spread_over_blocks_and_racks_in_name_order(self):
        labels = [i["metadata"]["labels"] for i in self.server.get("/api/v1/nodes").json["items"]]
        self.assertEqual([l["gang.queued/block"] for l in labels],
                         ["block-0", "block-0", "block-1", "block-1"])
        self.assertEqual([l["gang.queued/rack"] for l in labels],
                         ["block-0-rack-0", "block-0-rack-1", "block-1-rack-0", "block-1-rack-1"])

    def test_kubeconfig_points_at_the_server(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "kubeconfig")
            server = lib.Server("--kubeconfig-out", path, "--token", "secret")
            with open(path, encoding="utf-8") as f:
                text = f.read()
            self.assertIn("server: http://127.0.0.1:%d\n" % server.port, text)
            self.assertIn("token: secret\n", text)
            self.assertEqual(server.get("/api/v1/nodes").status, 401)
            self.assertEqual(server.request("GET", "/api/v1/nodes", None,
                                            {"Authorization": "Bearer secret"}).status, 200)
            self.assertEqual(server.get("/readyz").status, 200)
            server.stop()

    def test_node_file_is_loaded_with_its_status(self):
        node = {"kind": "Node", "metadata": {"name": "odd", "labels": {"a": "b"}},
                "status": {"allocatable": {"nvidia.com/gpu": "7"},
                           "conditions": [{"type": "Ready", "status": "False"}]}}
        with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
            json.dump({"kind": "NodeList", "items": [node]}, f)
            f.flush()
            server = lib.Server("--nodes", f.name)
            got = server.get("/api/v1/nodes/odd").json
            server.stop()
        self.assertEqual(got["status"]["allocatable"], {"nvidia.com/gpu": "7"})
        self.assertEqual(got["status"]["conditions"][0]["status"], "False")


class TlsTest(lib.unittest.TestCase):
    def make(self, *arguments):
        lib.subprocess.run(["openssl", *arguments], cwd=self.directory, check=True,
                           stdout=lib.subprocess.DEVNULL, stderr=lib.subprocess.DEVNULL)

    def make_ca(self, name):
        self.make("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                  "-nodes", "-keyout", name + ".key", "-out", name + ".pem", "-days", "2",
                  "-subj", "/CN=" + name, "-addext", "subjectAltName=IP:127.0.0.1")

    def status(self, certificate=None):
        context = ssl.create_default_context(cafile=os.path.join(self.directory, "server.pem"))
        if certificate:
            base = os.path.join(self.directory, certificate)
            context.load_cert_chain(base + ".pem", base + ".key")
        connection = http.client.HTTPSConnection("127.0.0.1", self.server.port, timeout=5,
                                                 context=context)
        connection.request("GET", "/api/v1/nodes")
        status = connection.getresponse().status
        connection.close()
        return status

    def test_only_certificates_of_the_client_ca_get_in(self):
        with tempfile.TemporaryDirectory() as self.directory:
            for name in ("server", "ca"):
                self.make_ca(name)
            self.make("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                      "-keyout", "user.key", "-out", "user.csr", "-subj", "/CN=user")
            self.make("x509", "-req", "-in", "user.csr", "-CA", "ca.pem", "-CAkey", "ca.key",
                      "-CAcreateserial", "-out", "user.pem", "-days", "2")
            base = os.path.join(self.directory, "")
            self.server = lib.Server("--make-nodes", "1", "--tls-cert", base + "server.pem",
                                     "--tls-key", base + "server.key", "--client-ca",
                                     base + "ca.pem")
            self.assertEqual(self.status(), 401)
            self.assertEqual(self.status("user"), 200)
            self.assertEqual(self.status("server"), 401)
            self.assertEqual(self.server.stop(), 0)


class StateTest(lib.Case):
    def test_state_and_resource_version_go_on_after_a_restart(self):
        with tempfile.TemporaryDirectory() as directory:
            options = ("--make-nodes", "2", "--namespaces", "t", "--state",
                       os.path.join(directory, "state"))
            first = lib.Server(*options)
            first.post(PODS, lib.pod("p", annotations={"gang.queued/run-duration": "0.1s"}))
            first.post(PODS, lib.pod("q"))
            uid = first.get(PODS + "/p").json["metadata"]["uid"]
            rv = first.rv()
            self.assertEqual(first.stop(), 0)
            second = lib.Server(*options)
            self.assertEqual(second.rv(), rv)
            self.assertEqual(second.get(PODS + "/p").json["metadata"]["uid"], uid)
            old = lib.Watch(second, PODS + "?watch=1&resourceVersion=%d" % (rv - 1)).finish()
            self.assertEqual(old[0]["object"]["code"], 410)
            watch = lib.Watch(second, PODS + "?watch=1&timeoutSeconds=5&resourceVersion=%d" % rv)
            second.post(PODS + "/p/binding", lib.binding("p", "node-000"))
            lib.wait_for(lambda: len(watch.events) == 3)
            self.assertEqual(watch.events[-1]["object"]["status"]["phase"], "Succeeded")
            second.stop()


class ListTest(lib.Case):
    def setUp(self):
        super().setUp()
        for i in range(7):
            self.make_pod("p-%d" % i, labels={"odd": str(i % 2)})

    def test_pages_hold_the_state_of_the_first_page(self):
        page = self.server.get("/api/v1/pods?limit=3").json
        self.assertEqual(page["metadata"]["remainingItemCount"], 4)
        self.server.delete(PODS + "/p-4")
        self.make_pod("p-35")
        seen = [i["metadata"]["name"] for i in page["items"]]
        rv = page["metadata"]["resourceVersion"]
        while "continue" in page["metadata"]:
            page = self.server.get("/api/v1/pods?limit=3&continue="
                                   + page["metadata"]["continue"]).json
            self.assertEqual(page["metadata"]["resourceVersion"], rv)
            seen += [i["metadata"]["name"] for i in page["items"]]
        self.assertEqual(seen, ["p-%d" % i for i in range(7)])

    def test_kept_pages_are_made_again_from_history(self):
        page = self.server.get("/api/v1/pods?limit=3").json
        for i in range(12):
            self.make_pod("z-%d" % i)
            self.server.get("/api/v1/nodes")
            self.server.get("/api/v1/pods")
        rest = self.server.get("/api/v1/pods?continue=" + page["metadata"]["continue"])
        self.assertEqual(names(rest), ["p-3", "p-4", "p-5", "p-6"])

    def test_expired_page_is_410(self):
        token = self.server.get("/api/v1/pods?limit=3").json["metadata"]["continue"]
        self.make_pod("later")
        self.server.post("/_standin/compact", {})
        reply = self.server.get("/api/v1/pods?limit=3&continue=" + token)
        self.assertEqual((reply.status, reply.json["reason"]), (410, "Expired"))

    def test_selectors(self):
        self.bind("p-1", "node-001")
        for query, want in (
                ("fieldSelector=spec.nodeName%3Dnode-001", ["p-1"]),
                ("fieldSelector=metadata.name%3Dp-2", ["p-2"]),
                ("fieldSelector=spec.nodeName%3D,metadata.name!%3Dp-0&labelSelector=odd%3D0",
                 ["p-2", "p-4", "p-6"]),
                ("labelSelector=odd%3D1", ["p-1", "p-3", "p-5"]),
                ("labelSelector=odd!%3D1,!nope", ["p-0", "p-2", "p-4", "p-6"]),
                ("labelSelector=odd%20notin%20(0,5)", ["p-1", "p-3", "p-5"])):
            self.assertEqual(names(self.server.get(PODS + "?" + query)), want, query)
        self.phase_is("p-1", "Running")
        running = self.server.get("/api/v1/pods?fieldSelector=status.phase%3DRunning")
        self.assertEqual(names(running), ["p-1"])

    def test_not_older_than_the_future_is_504(self):
        reply = self.server.get("/api/v1/pods?limit=1&resourceVersion=99999"
                                "&resourceVersionMatch=NotOlderThan")
        self.assertEqual(reply.status, 504)
        self.assertEqual(reply.json["details"]["causes"][0]["reason"], "ResourceVersionTooLarge")


class WatchTest(lib.Case):
    def test_bookmarks_come_only_when_something_is_new(self):
        watch = lib.Watch(self.server, "/api/v1/nodes?watch=1&allowWatchBookmarks=true"
                          "&timeoutSeconds=1&resourceVersion=%d" % self.server.rv())
        self.make_pod("p")
        events = watch.finish()
        self.assertEqual([e["type"] for e in events], ["BOOKMARK"])
        self.assertEqual(events[0]["object"]["metadata"]["resourceVersion"],
                         str(self.server.rv()))
        self.assertEqual(watch.how, "clean")

    def test_history_that_is_lost_gives_an_error_event(self):
        server = lib.Server("--history", "10", "--namespaces", "t")
        rv = server.rv()
        for i in range(12):
            server.post("/api/v1/namespaces/t/configmaps", {"metadata": {"name": "c%d" % i}})
        maps = "/api/v1/namespaces/t/configmaps?watch=1&resourceVersion=%d"
        watch = lib.Watch(server, maps % rv)
        self.assertEqual([(e["type"], e["object"]["code"]) for e in watch.finish()],
                         [("ERROR", 410)])
        self.assertEqual(watch.response.status, 200)
        newer = lib.Watch(server, (maps + "&timeoutSeconds=1") % (server.rv() - 3))
        self.assertEqual(len(newer.finish()), 3)
        server.stop()

    def test_a_quiet_kind_keeps_its_history_while_another_loses_it(self):
        server = lib.Server("--history", "10", "--namespaces", "t", "--make-nodes", "1")
        server.post("/_standin/node", {"name": "node-000", "cordon": True})
        rv = server.rv()
        for i in range(12):
            server.post("/api/v1/namespaces/t/configmaps", {"metadata": {"name": "c%d" % i}})
        events = lib.Watch(server, "/api/v1/nodes?watch=1&timeoutSeconds=1&resourceVersion=%d"
                           % rv).finish()
        self.assertEqual(events, [])
        server.stop()

    def test_leaving_the_selector_is_a_deletion_with_old_content_and_new_version(self):
        self.make_pod("p", "node-000", annotations={"gang.queued/run-duration": "0.1s"})
        watch = lib.Watch(self.server, "/api/v1/pods?watch=1&timeoutSeconds=5&fieldSelector="
                          "status.phase!%3DSucceeded")
        lib.wait_for(lambda: watch.events and watch.events[-1]["type"] == "DELETED")
        gone = watch.events[-1]["object"]
        self.assertEqual(gone["status"]["phase"], "Running")
        self.assertEqual(gone["metadata"]["resourceVersion"],
                         self.get_pod("p")["metadata"]["resourceVersion"])
        watch.hang_up()

    def test_drop_watches_ends_all_cleanly(self):
        watches = [lib.Watch(self.server, path + "?watch=1&resourceVersion=%d" % self.server.rv())
                   for path in ("/api/v1/nodes", "/api/v1/pods")]
        reply = self.server.post("/_standin/drop-watches", {})
        self.assertEqual(reply.json, {"dropped": 2})
        for watch in watches:
            watch.finish()
            self.assertEqual(watch.how, "clean")

    def test_a_client_that_is_gone_is_noticed(self):
        watch = lib.Watch(self.server, "/api/v1/pods?watch=1&resourceVersion=%d"
                          % self.server.rv())
        self.assertEqual(self.server.get("/_standin/stats").json["watches"], 1)
        watch.hang_up()
        lib.wait_for(lambda: self.server.get("/_standin/stats").json["watches"] == 0)


class WriteTest(lib.Case):
    def test_generated_names_are_random(self):
        body = lib.pod("x")
        body["metadata"] = {"generateName": "gen-"}
        made = {self.server.post(PODS, body).json["metadata"]["name"] for _ in range(5)}
        self.assertEqual(len(made), 5)
        for name in made:
            self.assertRegex(name, r"^gen-[a-z0-9]{5}$")

    def test_forbidden_spec_changes_are_422(self):
        self.make_pod("p")
        for spec in ({"nodeName": "node-000"}, {"nodeSelector": {"a": "b"}}):
            reply = self.server.patch(PODS + "/p", {"spec": spec}, "strategic-merge-patch")
            self.assertEqual((reply.status, reply.json["reason"]), (422, "Invalid"))

    def test_same_patch_makes_no_new_version(self):
        self.make_pod("p")
        for _ in range(2):
            reply = self.server.patch(PODS + "/p", {"metadata": {"labels": {"a": "b"}}})
            self.assertEqual(reply.status, 200)
            rv = self.server.rv()
        self.assertEqual(reply.json["metadata"]["resourceVersion"], str(rv))

    def test_service_deleted_again_is_404_and_made_again_409(self):
        path = "/api/v1/namespaces/t/services"
        body = {"metadata": {"name": "s"}, "spec": {"clusterIP": "None"}}
        self.assertEqual([self.server.post(path, body).status for _ in range(2)], [201, 409])
        self.assertEqual([self.server.delete(path + "/s").status for _ in range(2)], [200, 404])

    def test_system_namespace_has_the_same_uid_everywhere(self):
        path = "/api/v1/namespaces/kube-system"
        other = lib.Server()
        self.assertEqual(self.server.get(path).json["metadata"]["uid"],
                         other.get(path).json["metadata"]["uid"])
        other.stop()

    def test_eviction_marks_the_pod_and_deletes_it(self):
        self.make_pod("p", "node-000", annotations={"gang.queued/stop-delay": "10s"})
        reply = self.server.post(PODS + "/p/eviction", {"metadata": {"name": "p"}})
        self.assertEqual(reply.status, 201)
        self.assertIn("deletionTimestamp", self.get_pod("p")["metadata"])

    def test_events_are_kept_and_listed(self):
        path = "/apis/events.k8s.io/v1/namespaces/t/events"
        body = {"metadata": {"name": "e.1"}, "eventTime": "2026-11-29T20:00:00.123456Z",
                "reportingController": "gang.queued/queued", "reportingInstance": "q",
                "action": "Binding", "reason": "Scheduled", "type": "Normal"}
        self.assertEqual(self.server.post(path, body).status, 201)
        self.assertEqual(names(self.server.get(path)), ["e.1"])

    def test_too_large_body_is_413(self):
        body = {"metadata": {"name": "c"}, "data": {"k": "x" * 3200000}}
        reply = self.server.post("/api/v1/namespaces/t/configmaps", body)
        self.assertEqual((reply.status, reply.json["reason"]), (413, "RequestEntityTooLarge"))


class KubeletTest(lib.Case):
    def phase_times(self, name):
        """Seconds at which the pod was bound (Pending) and reached each phase."""
        return {a["phase"]: a["time_us"] / 1e6 for a in self.server.audit()
                if a.get("op") in ("bind", "phase") and a["name"] == name}

    def test_a_bound_pod_runs_and_is_ready(self):
        self.make_pod("p", "node-000")
        self.phase_is("p", "Running")
        times = self.phase_times("p")
        self.assertLess(times["Running"] - times["Pending"], 0.2)
        status = self.get_pod("p")["status"]
        conditions = {c["type"]: c["status"] for c in status["conditions"]}
        self.assertEqual(conditions, {"PodScheduled": "True", "Initialized": "True",
                                      "Ready": "True", "ContainersReady": "True"})
        self.assertTrue(status["podIP"])
        self.assertTrue(status["containerStatuses"][0]["state"]["running"])

    def test_an_unbound_pod_never_runs(self):
        self.make_pod("p")
        self.make_pod("q", "node-000")
        self.phase_is("q", "Running")
        self.assertEqual(self.get_pod("p")["status"]["phase"], "Pending")

    def test_start_delay_and_run_duration(self):
        self.make_pod("p", "node-000", annotations={"gang.queued/start-delay": "0.3s",
                                                    "gang.queued/run-duration": "200ms"})
        self.phase_is("p", "Succeeded")
        times = self.phase_times("p")
        self.assertTrue(0.29 < times["Running"] - times["Pending"] < 0.8, times)
        self.assertTrue(0.19 < times["Succeeded"] - times["Running"] < 0.7, times)
        state = self.get_pod("p")["status"]["containerStatuses"][0]["state"]["terminated"]
        self.assertEqual((state["exitCode"], state["reason"]), (0, "Completed"))

    def test_fail_after_wins_over_run_duration(self):
        self.make_pod("p", "node-000", annotations={"gang.queued/fail-after": "0.1s",
                                                    "gang.queued/run-duration": "0.05s"})
        self.phase_is("p", "Failed")
        state = self.get_pod("p")["status"]["containerStatuses"][0]["state"]["terminated"]
        self.assertEqual(state["exitCode"], 1)

    def test_stop_delay_keeps_a_deleted_pod(self):
        self.make_pod("slow", "node-000", annotations={"gang.queued/stop-delay": "0.4s"})
        self.make_pod("fast", "node-001")
        for name in ("slow", "fast"):
            self.phase_is(name, "Running")
            self.assertEqual(self.server.delete(PODS + "/" + name).status, 200)
        lib.wait_for(lambda: self.server.get(PODS + "/fast").status == 404)
        self.assertEqual(self.server.get(PODS + "/slow").status, 200)
        lib.wait_for(lambda: self.server.get(PODS + "/slow").status == 404)

    def test_a_pod_without_room_fails_and_is_a_violation(self):
        self.make_pod("a", "node-000", gpus=6)
        self.make_pod("b", "node-000", gpus=4)
        self.phase_is("b", "Failed")
        self.assertEqual(self.get_pod("b")["status"]["reason"], "OutOfnvidia.com/gpu")
        self.phase_is("a", "Running")
        found = [a for a in self.server.audit() if "violation" in a]
        self.assertEqual([(v["name"], v["node"]) for v in found], [("b", "node-000")])
        self.assertEqual(self.server.get("/_standin/stats").json["violations"], 1)

    def test_gpus_are_free_again_when_a_pod_has_ended(self):
        self.make_pod("a", "node-000", annotations={"gang.queued/run-duration": "0.05s"})
        self.phase_is("a", "Succeeded")
        self.make_pod("b", "node-000")
        self.phase_is("b", "Running")
        self.server.delete(PODS + "/b")
        lib.wait_for(lambda: self.server.get(PODS + "/b").status == 404)
        self.make_pod("c", "node-000")
        self.phase_is("c", "Running")

    def test_node_annotation_turns_it_not_ready_and_back(self):
        def ready():
            node = self.server.get("/api/v1/nodes/node-000").json
            return {c["type"]: c["status"] for c in node["status"]["conditions"]}["Ready"]
        for value, want in (("true", "False"), (None, "True")):
            self.server.patch("/api/v1/nodes/node-000",
                              {"metadata": {"annotations": {"gang.queued/not-ready": value}}})
            lib.wait_for(lambda: ready() == want)

    def test_control_calls_change_nodes_and_pods(self):
        def node(**change):
            return self.server.post("/_standin/node", {"name": "node-001", **change}).json
        self.assertEqual(node(gpus=7)["status"]["allocatable"]["nvidia.com/gpu"], "7")
        self.assertTrue(node(cordon=True)["spec"]["unschedulable"])
        self.assertNotIn("unschedulable", node(cordon=False)["spec"])
        self.make_pod("p", "node-001", gpus=4)
        self.phase_is("p", "Running")
        self.server.post("/_standin/kill-pod", {"namespace": "t", "name": "p", "exitCode": 9})
        status = self.get_pod("p")["status"]
        self.assertEqual(status["phase"], "Failed")
        self.assertEqual(status["containerStatuses"][0]["state"]["terminated"]["exitCode"], 9)
        node(delete=True)
        self.assertEqual(self.server.get("/api/v1/nodes/node-001").status, 404)


class FaultTest(lib.Case):
    def test_status_hits_the_nth_request_count_times(self):
        self.server.faults({"verb": "create", "resource": "pods", "name": "p*", "nth": 2,
                            "count": 1, "action": "status", "code": 429, "reason":
                            "TooManyRequests", "message": "slow down", "retryAfter": 3})
        replies = [self.server.post(PODS, lib.pod("p%d" % i)) for i in range(3)]
        self.assertEqual([r.status for r in replies], [201, 429, 201])
        self.assertEqual(replies[1].json["reason"], "TooManyRequests")
        self.assertEqual(replies[1].headers["retry-after"], "3")
        self.assertEqual(self.server.post(PODS, lib.pod("q")).status, 201)
        rule = self.server.get("/_standin/faults").json[0]
        self.assertEqual((rule["matched"], rule["hits"]), (3, 1))

    def test_plain_text_status(self):
        self.server.faults({"verb": "list", "action": "status", "code": 503, "text": True,
                            "message": "upstream is gone"})
        reply = self.server.get("/api/v1/nodes")
        self.assertEqual((reply.status, reply.body), (503, b"upstream is gone"))
        self.assertTrue(reply.headers["content-type"].startswith("text/plain"))
        self.server.delete("/_standin/faults")
        self.assertEqual(self.server.get("/api/v1/nodes").status, 200)

    def test_lost_writes_are_carried_out(self):
        self.server.faults({"verb": "create", "action": "lose", "count": 1},
                           {"verb": "bind", "action": "lose", "count": 1})
        with self.assertRaises((http.client.RemoteDisconnected, ConnectionError)):
            self.server.post(PODS, lib.pod("p"))
        self.assertEqual(self.server.get(PODS + "/p").status, 200)
        with self.assertRaises((http.client.RemoteDisconnected, ConnectionError)):
            self.server.post(PODS + "/p/binding", lib.binding("p", "node-000"))
        self.assertEqual(self.get_pod("p")["spec"]["nodeName"], "node-000")

    def test_delay_holds_one_request_and_not_the_others(self):
        self.server.faults({"verb": "get", "resource": "nodes", "action": "delay", "ms": 600})
        slow = self.server.connect()
        started = time.monotonic()
        slow.request("GET", "/api/v1/nodes/node-000")
        self.assertEqual(self.server.get("/api/v1/nodes").status, 200)
        self.assertLess(time.monotonic() - started, 0.55)
        self.assertEqual(slow.getresponse().status, 200)
        self.assertGreater(time.monotonic() - started, 0.59)
        slow.close()

    def test_cut_answer_ends_in_the_middle(self):
        self.server.faults({"verb": "list", "action": "cut", "bytes": 1000})
        connection = self.server.connect()
        connection.request("GET", "/api/v1/nodes")
        with self.assertRaises(http.client.IncompleteRead) as caught:
            connection.getresponse().read()
        self.assertEqual(len(caught.exception.partial), 1000)
        connection.close()

    def test_cut_watch_ends_in_the_middle_of_an_event(self):
        self.server.faults({"verb": "watch", "action": "cut", "bytes": 4000, "count": 1})
        watch = lib.Watch(self.server, "/api/v1/nodes?watch=1")
        watch.finish()
        self.assertEqual(watch.how, "broken")

    def test_silent_watch_sends_nothing_and_does_not_end(self):
        self.server.faults({"verb": "watch", "action": "silent", "count": 1})
        watch = lib.Watch(self.server, "/api/v1/nodes?watch=1&timeoutSeconds=1")
        watch.join(1.4)
        self.assertEqual((watch.events, watch.how), ([], None))

    def test_stale_watch_delivers_late(self):
        self.server.faults({"verb": "watch", "action": "stale", "ms": 1000, "count": 1})
        watch = lib.Watch(self.server, "/api/v1/pods?watch=1&timeoutSeconds=9&resourceVersion=%d"
                          % self.server.rv())
        self.make_pod("p")
        watch.join(0.25)
        self.assertEqual(watch.events, [])
        lib.wait_for(lambda: len(watch.events) == 1)

    def test_doubled_events(self):
        self.server.faults({"verb": "watch", "action": "double"})
        watch = lib.Watch(self.server, "/api/v1/pods?watch=1&timeoutSeconds=9&resourceVersion=%d"
                          % self.server.rv())
        self.make_pod("p")
        lib.wait_for(lambda: len(watch.events) == 2)
        self.assertEqual(watch.events[0], watch.events[1])

    def test_unknown_action_is_refused(self):
        reply = self.server.post("/_standin/faults", [{"action": "explode"}])
        self.assertEqual(reply.status, 400)
        self.assertRegex(reply.json["message"], re.compile("status, lose"))


if __name__ == "__main__":
    sys.exit(lib.main(sys.modules[__name__], standin_replay))
