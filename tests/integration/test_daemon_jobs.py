# SPDX-License-Identifier: Apache-2.0
"""test_daemon_jobs - bad moments with jobs: no daemon, wrong files, an API server that comes late or
goes, a commit that fails, a kill. What was acknowledged is there afterwards.

Black box: the daemon, queuectl, and the stand-in API server as the cluster.
"""

import json
import os
import resource
import signal
import subprocess
import sys
import time
import unittest
import urllib.request

from queued_site import B, QUEUECTL, DaemonTest, free_port

STANDIN = os.environ.get("STANDIN", os.path.join(B, "tests", "standin"))
CONFIG = """store: {dir: %(where)s/store}
listen: {rpc: ["%(rpc)s"]}
kubernetes: {kubeconfig: %(where)s/kubeconfig}
levels: [{name: fabric, levels: [{name: rack, labels: [gang.queued/rack]}]}]
allowSimulation: true
tenants: [{name: vision, limit: {H100: 96}, namespaces: [vision]}]
"""
JOB = """apiVersion: gang.queued/v1
kind: GangJob
metadata: {name: %(name)s, annotations: {gang.queued/run-duration: %(run)s}}
spec:
  tenant: %(tenant)s
  maxRuntime: 1h
  roles:
  - {name: worker, replicas: %(pods)d, image: r.example.com/a:1, command: [x], resources: {gpus: 8, gpuModel: H100}}
"""


def job(name="train", tenant="vision", pods=2, run="1s"):
    return JOB % {"name": name, "tenant": tenant, "pods": pods, "run": run}


class JobTest(DaemonTest):
    def start(self, more=""):
        site = self.site(config=CONFIG + more)
        self.port = free_port()
        with open(site.where + "/kubeconfig", encoding="utf-8") as f:
            text = f.read()
        at = text.index("http://127.0.0.1:")
        site.write("kubeconfig", text[:at] + "http://127.0.0.1:%d" % self.port + text[text.index('"', at) :])
        site.start()
        return site

    def cluster(self, site):
        """Start the stand-in on the port that the kubeconfig names, with its objects of before."""
        server = subprocess.Popen(
            [STANDIN, "--port", str(self.port), "--port-file", site.where + "/port"]
            + ["--make-nodes", "4", "--namespaces", "vision", "--state", site.where + "/objects"],
            stderr=subprocess.DEVNULL,
        )

        def stop():
            server.terminate()
            server.wait(10)

        self.addCleanup(stop)
        return stop

    def submit(self, site, text):
        """Submit: the name of the job."""
        code, out, err = site.ctl("submit", "-f", "-", "-o", "name", text=text)
        self.assertEqual(code, 0, err)
        return out.strip().rpartition("/")[2]

    def state(self, site, name):
        code, out, err = site.ctl("list", "-A", "-o", "json")
        self.assertEqual(code, 0, err)
        for item in json.loads(out)["items"]:
            if item["metadata"]["name"] == name:
                return item["status"]["state"]
        return None

    def wait_state(self, site, name, wanted, limit_s=30):
        end = time.monotonic() + limit_s
        while self.state(site, name) != wanted:
            if time.monotonic() > end:
                self.fail("%s is %s, not %s\n%s" % (name, self.state(site, name), wanted, site.log()))
            time.sleep(0.1)

    def ask(self, method, path, body=None):
        request = urllib.request.Request(
            "http://127.0.0.1:%d%s" % (self.port, path),
            method=method,
            data=body and json.dumps(body).encode(),
            headers={
                "Content-Type": "application/%sjson" % ("merge-patch+" if method == "PATCH" else ""),
                "Authorization": "Bearer t",
            },
        )
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)

    def faults(self, rules):
        self.ask("POST", "/_standin/faults", rules)

    def running(self, name):
        """How many pods of the job run on a node."""
        pods = self.ask("GET", "/api/v1/namespaces/vision/pods")["items"]
        return sum(
            p["metadata"]["name"].startswith(name + "-")
            and p["status"].get("phase") == "Running"
            and "nodeName" in p["spec"]
            for p in pods
        )

    def wait_why(self, site, name, text, limit_s=30):
        end = time.monotonic() + limit_s
        while text not in site.ctl("why", name)[1]:
            if time.monotonic() > end:
                self.fail("why says %s" % (site.ctl("why", name),))
            time.sleep(0.1)


class Refusals(JobTest):
    def test_no_daemon(self):
        site = self.site()
        code, _, err = site.ctl("list")
        self.assertEqual(code, 6)
        self.assertIn("no daemon at ipc://" + site.socket, err)

    def test_a_wrong_endpoint(self):
        done = subprocess.run(
            [QUEUECTL, "--endpoint", "tcp://127.0.0.1:%d" % free_port(), "--timeout", "1s", "list"],
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        self.assertEqual(done.returncode, 6, done.stderr)
        self.assertIn("tcp://127.0.0.1:", done.stderr)

    def test_what_is_refused_stores_nothing(self):
        site = self.start()
        cases = [
            (job(tenant="visoin"), 7, "no tenant 'visoin'"),
            (job(pods=13), 7, "ExceedsTenantLimit: needs 104 H100, the limit of tenant vision is 96"),
            (job().replace("replicas", "replcas"), 2, "did you mean replicas?"),
            (job().replace("gpus: 8,", "gpus: eight,"), 2, "gpus"),
            (job()[:-20], 2, ""),
            (job().replace("gpus: 8,", "mig: {profile: 1g},"), 2, "resources.mig: no MIG profile '1g'"),
            (job().replace("gpus: 8,", "gpus: 8, mig: {profile: 1g.10gb},"), 2, "give each a role"),
            ("\x00\x01\x02", 2, ""),
        ]
        for text, wanted, sentence in cases:
            code, _, err = site.ctl("submit", "-f", "-", text=text)
            self.assertEqual(code, wanted, text + err)
            self.assertIn(sentence, err)
        self.assertEqual(json.loads(site.ctl("list", "-A", "-o", "json")[1])["items"], [])


class Troubles(JobTest):
    def test_an_api_server_that_comes_late(self):
        site = self.start()
        name = self.submit(site, job())
        self.wait_why(site, name, "ClusterUnreachable")
        self.cluster(site)
        self.wait_state(site, name, "Succeeded")

    def test_an_api_server_that_goes_and_comes_back(self):
        site = self.start()
        stop = self.cluster(site)
        first = self.submit(site, job(run="2s"))
        self.wait_state(site, first, "Running")
        silent = "the API server does not answer"
        before = site.log().count(silent)
        stop()
        end = time.monotonic() + 20
        while site.log().count(silent) == before:
            self.assertLess(time.monotonic(), end, site.log())
            time.sleep(0.1)
        second = self.submit(site, job("second"))
        self.wait_why(site, second, "ClusterUnreachable")
        self.assertEqual(self.state(site, first), "Running")
        self.cluster(site)
        self.wait_state(site, first, "Succeeded")
        self.wait_state(site, second, "Succeeded")

    def test_a_kill_loses_nothing(self):
        site = self.start()
        self.cluster(site)
        names = [self.submit(site, job("train", run="2s")) for _ in range(3)]
        self.wait_state(site, names[0], "Running")
        site.stop()  # SIGKILL
        site.start()
        for name in names:
            self.wait_state(site, name, "Succeeded")

    def pods_of(self, name):
        """The pods of a job that there are: role, whether it has a node, and when it was made."""
        pods = self.ask("GET", "/api/v1/namespaces/vision/pods")["items"]
        return [
            (p["metadata"]["labels"]["gang.queued/role"], "nodeName" in p["spec"], p["metadata"]["creationTimestamp"])
            for p in pods
            if p["metadata"]["labels"].get("gang.queued/job") == name
        ]

    def test_a_role_starts_after_another_also_over_kills(self):
        site = self.start()
        self.cluster(site)
        launcher = "  - {name: launcher, startAfter: worker, image: r.example.com/a:1, command: [x]}\n"
        text = job("driven", run="1h").replace("}}\nspec", ", gang.queued/start-delay: 2s}}\nspec") + launcher
        name = self.submit(site, text)
        self.wait_state(site, name, "Starting")
        self.assertEqual({p[0] for p in self.pods_of(name)}, {"worker"})
        self.assertIn("role launcher waits for role worker to be Running", site.ctl("why", name)[1])
        self.assertIn("Waiting", site.ctl("describe", name)[1])
        site.stop()  # SIGKILL, before its launcher may be made
        site.start()
        self.assertEqual({p[0] for p in self.pods_of(name)}, {"worker"})
        self.faults([{"action": "delay", "verb": "bind", "ms": 1000, "count": 9}])
        end = time.monotonic() + 30
        while len(self.pods_of(name)) < 3:
            self.assertLess(time.monotonic(), end, site.log())
            time.sleep(0.02)
        site.stop()  # SIGKILL, with its launcher made
        self.assertEqual(self.running(name), 2)
        site.start()
        self.wait_state(site, name, "Running")
        self.assertEqual(self.running(name), 3)
        self.assertEqual(site.ctl("cancel", name)[0], 0)
        self.wait_state(site, name, "Cancelled")
        self.assertEqual(self.pods_of(name), [])

    def nodes_of(self, name):
        """Pods of a job that have not been told to go: index and node, by the store of the server."""
        pods = self.ask("GET", "/api/v1/namespaces/vision/pods")["items"]
        return {
            p["metadata"]["labels"]["gang.queued/index"]: p["spec"].get("nodeName")
            for p in pods
            if p["metadata"]["labels"].get("gang.queued/job") == name and "deletionTimestamp" not in p["metadata"]
        }

    def lose(self, site, scope):
        """A job of two pods and a spare whose second host is cordoned and loses its pod; another of
        two nodes waits. Kill the daemon before the pods are back; nodes before and after."""
        text = job("spared", run="1h").replace("}}\nspec", ", gang.queued/stop-delay: 1s}}\nspec")
        text = text.replace("replicas: 2", "replicas: 2, spares: 1") + "  failurePolicy: {scope: %s}\n" % scope
        name = self.submit(site, text)
        self.wait_state(site, name, "Running")
        other = self.submit(site, job("other", run="1h"))
        self.assertIn("Spare", site.ctl("describe", name)[1])
        before = self.nodes_of(name)
        self.assertEqual(sorted(before), ["0", "1"])
        self.ask("PATCH", "/api/v1/nodes/" + before["1"], {"spec": {"unschedulable": True}})
        self.ask("DELETE", "/api/v1/namespaces/vision/pods/%s-worker-1-1" % name)
        site.wait_log("reason=MemberLost")
        site.stop()  # SIGKILL
        site.start()
        end = time.monotonic() + 30
        while self.running(name) < 2 or before["1"] in self.nodes_of(name).values():
            self.assertLess(time.monotonic(), end, site.log())
            time.sleep(0.1)
        self.wait_state(site, name, "Running")
        after = self.nodes_of(name)
        self.assertEqual(after["0"], before["0"])
        self.assertEqual(self.state(site, other), "Pending")
        self.assertNotIn("Spare ", site.ctl("describe", name)[1])
        return name

    def test_a_spare_takes_over_from_a_lost_pod_also_over_a_kill(self):
        site = self.start()
        self.cluster(site)
        name = self.lose(site, "pod")
        self.assertIn("HostReplaced", site.ctl("describe", "--events", name)[1])

    def test_a_gang_with_a_spare_restarts_on_its_place_also_over_a_kill(self):
        site = self.start()
        self.cluster(site)
        name = self.lose(site, "gang")
        self.assertIn("it keeps its place, with spares", site.ctl("describe", "--events", name)[1])

    def test_an_elastic_job_grows_when_another_ends_also_over_a_kill(self):
        site = self.start()
        self.cluster(site)
        other = self.submit(site, job("other", pods=3, run="3s"))
        self.wait_state(site, other, "Running")
        grows = self.submit(site, job("grows", run="1h").replace("replicas: 2", "replicas: 4, minReplicas: 1")
                            + "  elastic: {step: 3, growCooldown: 1s}\n")
        self.wait_state(site, grows, "Running")
        self.assertEqual(self.running(grows), 1)
        self.faults([{"action": "delay", "verb": "bind", "ms": 2000, "count": 3}])
        self.wait_state(site, other, "Succeeded")
        self.wait_why(site, grows, "Grown")
        self.assertLess(self.running(grows), 4)
        site.stop()  # SIGKILL, with its bindings under way
        site.start()
        end = time.monotonic() + 30
        while self.running(grows) < 4:
            self.assertLess(time.monotonic(), end, site.log())
            time.sleep(0.1)
        self.assertEqual(self.state(site, grows), "Running")
        self.assertIn("4/1..4", site.ctl("list", "-A")[1])
        self.assertEqual(site.ctl("cancel", grows)[0], 0)
        self.wait_state(site, grows, "Cancelled")

    def test_a_job_takes_surplus_of_an_elastic_one_which_runs_on_also_over_a_kill(self):
        site = self.start("preemption: {minRuntime: 1s}\n")
        self.cluster(site)
        gives = self.submit(site, job("gives", run="1h").replace("replicas: 2", "replicas: 4, minReplicas: 1")
                            + "  priorityClass: low\n  checkpoint: {grace: 2s}\n")
        self.wait_state(site, gives, "Running")
        self.assertEqual(self.running(gives), 4)
        time.sleep(1)
        takes = self.submit(site, job("takes", pods=2, run="1h") + "  priorityClass: high\n  preemptible: true\n")
        self.wait_why(site, gives, "Shrunk")
        site.stop()  # SIGKILL, with two pods told to go
        site.start()
        self.wait_state(site, takes, "Running")
        self.assertEqual(self.running(takes), 2)
        self.assertEqual(self.running(gives), 2)
        self.assertEqual(self.state(site, gives), "Running")
        self.assertIn("4 to 2 pods, for %s of vision" % takes, site.ctl("describe", gives)[1])
        self.assertIn("2 pods now, 1 to 4", site.ctl("describe", gives)[1])
        self.assertIn("Shrunk", site.ctl("describe", "--events", gives)[1])

    def test_a_failed_commit_ends_the_daemon_and_promises_nothing(self):
        site = self.start()
        kept = self.submit(site, job("kept"))
        resource.prlimit(site.process.pid, resource.RLIMIT_FSIZE, (8192, 8192))
        # the store's pages are beyond that, the log is not
        code, _, err = site.ctl("submit", "-f", "-", text=job("lost"))
        self.assertEqual(code, 6, err)
        self.assertEqual(site.process.wait(10), 75, site.log())
        self.assertIn("the commit failed", site.log())
        site.start()
        items = json.loads(site.ctl("list", "-A", "-o", "json")[1])["items"]
        self.assertEqual([i["metadata"]["name"] for i in items], [kept])

    def test_a_stop_leaves_jobs_alone(self):
        site = self.start()
        self.cluster(site)
        name = self.submit(site, job(run="2s"))
        self.wait_state(site, name, "Running")
        site.process.send_signal(signal.SIGTERM)
        self.assertEqual(site.process.wait(10), 0)
        site.start()
        self.wait_state(site, name, "Succeeded")


if __name__ == "__main__":
    if not os.access(QUEUECTL, os.X_OK) or not os.access(STANDIN, os.X_OK):
        sys.exit("%s or %s is not built: run 'make all standin'" % (QUEUECTL, STANDIN))
    unittest.main()
