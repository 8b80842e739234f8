# SPDX-License-Identifier: Apache-2.0
"""test_break - scenarios that broke an earlier build, or were tried to break it: somebody else deletes
pods and nodes at bad moments, the configuration loses what jobs name.

Black box: the daemon, queuectl, and the stand-in API server as the cluster.
"""

import http.client
import json
import time
import unittest

from queued_site import KUBECONFIG, free_port
from test_daemon_jobs import CONFIG, JobTest, job


class BreakTest(JobTest):
    def ask(self, method, path, body=None):
        """One request to the stand-in: (status, body)."""
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        c.request(method, path, json.dumps(body) if body is not None else None,
                  {"Content-Type": "application/json"})
        r = c.getresponse()
        text = r.read()
        c.close()
        return r.status, json.loads(text) if text.startswith(b"{") else text

    def pods(self):
        return self.ask("GET", "/api/v1/namespaces/vision/pods")[1]["items"]

    def delete_pod(self, name, grace=0):
        return self.ask("DELETE", "/api/v1/namespaces/vision/pods/" + name,
                        {"gracePeriodSeconds": grace})

    def item(self, site, name):
        code, out, err = site.ctl("describe", name, "-o", "json")
        self.assertEqual(code, 0, err)
        return json.loads(out)

    def transitions(self, site, name):
        """What the log says of the states that a job went through: (to, reason)."""
        found = []
        for line in site.log().splitlines():
            if 'msg="job changed state"' in line and "job=" + name in line:
                words = dict(w.split("=", 1) for w in line.split() if "=" in w)
                found.append((words["to"], words["reason"], int(words["attempt"])))
        return found


    def start_at(self, site):
        """Start the daemon of a site with a free port for the API server."""
        self.port = free_port()
        site.write("kubeconfig", KUBECONFIG % self.port)
        site.start()

    def lose_nodes_after(self, site, limit):
        with open(site.config, "a", encoding="utf-8") as f:
            f.write("nodeLostTimeout: %s\n" % limit)

    def wait_log_of(self, site, name, wanted, limit_s=30):
        end = time.monotonic() + limit_s
        while wanted not in self.transitions(site, name):
            self.assertLess(time.monotonic(), end, site.log())
            time.sleep(0.05)


class Outsiders(BreakTest):
    def test_a_lone_pod_that_is_deleted_starts_again_at_once(self):
        site = self.start()
        self.cluster(site)
        name = self.submit(site, job(pods=1, run="1h"))
        self.wait_state(site, name, "Running")
        self.delete_pod(self.pods()[0]["metadata"]["name"])
        end = time.monotonic() + 10
        while len([t for t in self.transitions(site, name) if t[0] == "Running"]) < 2:
            self.assertLess(time.monotonic(), end, site.log())
            time.sleep(0.05)
        # the stop of the first attempt must not hit the second
        self.assertEqual(
            [t for t in self.transitions(site, name) if t[1] == "MemberLost" and t[2] > 1], []
        )

    def test_a_node_that_went_while_the_daemon_was_down_is_lost(self):
        site = self.start()
        self.cluster(site)
        name = self.submit(site, job(pods=2, run="1h"))
        self.wait_state(site, name, "Running")
        site.stop()
        node = self.pods()[0]["spec"]["nodeName"]
        self.assertEqual(self.ask("POST", "/_standin/node", {"name": node, "delete": True})[0], 200)
        self.lose_nodes_after(site, "1s")
        site.start()
        self.wait_log_of(site, name, ("Restarting", "MemberLost", 1))
        self.wait_log_of(site, name, ("Running", "none", 2))
        self.assertNotIn(node, [p["spec"]["nodeName"] for p in self.pods()
                                if p["metadata"]["labels"]["gang.queued/attempt"] == "2"])

    def test_a_gang_on_a_node_that_died_moves_on(self):
        site = self.site(config=CONFIG + "nodeLostTimeout: 1s\n")
        self.start_at(site)
        self.cluster(site)
        name = self.submit(site, job(pods=2, run="1h"))
        self.wait_state(site, name, "Running")
        node = self.pods()[0]["spec"]["nodeName"]
        self.ask("POST", "/_standin/node", {"name": node, "ready": False})
        self.wait_log_of(site, name, ("Running", "none", 2))

    def test_a_cancel_while_a_node_is_dead_ends(self):
        site = self.site(config=CONFIG + "nodeLostTimeout: 3s\n")
        self.start_at(site)
        self.cluster(site)
        name = self.submit(site, job(pods=2, run="1h"))
        self.wait_state(site, name, "Running")
        node = self.pods()[0]["spec"]["nodeName"]
        self.ask("POST", "/_standin/node", {"name": node, "ready": False})
        site.ctl("cancel", "-y", name)
        self.wait_state(site, name, "Cancelled")


class Mended(BreakTest):
    """failurePolicy.scope: what is lost is made again, the others stay."""

    def begin(self, scope, more=""):
        site = self.site(config=CONFIG + "nodeLostTimeout: 1s\n")
        self.start_at(site)
        self.cluster(site)
        name = self.submit(site, job(pods=3, run="1h") + "  failurePolicy: {scope: %s}\n" % scope + more)
        self.wait_state(site, name, "Running")
        return site, name

    def uids(self):
        return {p["metadata"]["name"]: p["metadata"]["uid"] for p in self.pods()}

    def wait_pod(self, site, name):
        end = time.monotonic() + 30
        while True:
            found = [p for p in self.pods() if p["metadata"]["name"] == name]
            if found and found[0].get("status", {}).get("phase") == "Running":
                return found[0]
            self.assertLess(time.monotonic(), end, site.log())
            time.sleep(0.05)

    def test_a_deleted_pod_is_made_again_beside_the_others_also_over_a_kill(self):
        site, name = self.begin("pod")
        before = self.uids()
        lost = name + "-worker-1-1"
        self.faults([{"action": "delay", "verb": "bind", "ms": 3000, "count": 1}])
        self.delete_pod(lost)
        end = time.monotonic() + 30
        while "HostReplaced" not in site.log():
            self.assertLess(time.monotonic(), end, site.log())
            time.sleep(0.05)
        self.wait_why(site, name, "ReplacingPods")
        site.stop()  # SIGKILL, with its binding under way
        site.start()
        new = self.wait_pod(site, lost + "-1")
        self.assertEqual(new["spec"]["hostname"], name + "-worker-1")
        after = self.uids()
        self.assertEqual(sorted(after), sorted([n for n in before if n != lost] + [lost + "-1"]))
        self.assertTrue(all(after[n] == before[n] for n in before if n != lost))
        self.assertEqual(self.state(site, name), "Running")
        self.assertNotIn("Restarting", [t[0] for t in self.transitions(site, name)])
        self.assertNotIn("ReplacingPods", site.ctl("why", name)[1])
        self.assertEqual(site.ctl("cancel", "-y", name)[0], 0)
        self.wait_state(site, name, "Cancelled")
        self.assertEqual(self.pods(), [])

    def test_a_dead_node_costs_one_pod_its_host(self):
        site, name = self.begin("pod")
        where = {p["metadata"]["name"]: p["spec"]["nodeName"] for p in self.pods()}
        lost = name + "-worker-2-1"
        self.ask("POST", "/_standin/node", {"name": where[lost], "ready": False})
        new = self.wait_pod(site, lost + "-1")
        self.assertNotIn(new["spec"]["nodeName"], where.values())
        self.assertEqual(self.state(site, name), "Running")
        self.assertIn(lost + "-1", site.ctl("describe", name)[1])

    def test_a_role_restarts_on_its_hosts(self):
        site = self.site(config=CONFIG)
        self.start_at(site)
        self.cluster(site)
        text = job(pods=1, run="1h").rstrip("\n") + "\n" + (
            "  - {name: second, replicas: 2, image: r.example.com/a:1, command: [x],"
            " resources: {gpus: 8, gpuModel: H100}}\n  failurePolicy: {scope: role}\n"
        )
        name = self.submit(site, text)
        self.wait_state(site, name, "Running")
        where = {p["metadata"]["name"]: p["spec"]["nodeName"] for p in self.pods()}
        self.delete_pod(name + "-second-1-1")
        for index in (0, 1):
            pod = self.wait_pod(site, "%s-second-%d-1-1" % (name, index))
            self.assertEqual(pod["spec"]["nodeName"], where["%s-second-%d-1" % (name, index)])
        self.assertIn(name + "-worker-0-1", self.uids())
        self.assertEqual(len(self.pods()), 3)
        self.assertEqual(self.state(site, name), "Running")


if __name__ == "__main__":
    unittest.main()
