# SPDX-License-Identifier: Apache-2.0
"""test_daemon_array - job arrays through the daemon: each index runs once, also over kills; what the
command line shows and changes of an array and of one index.
"""

import json
import subprocess
import time
import unittest

from queued_site import QUEUECTL
from test_daemon_jobs import JobTest, job


def array(name="sweep", pods=1, run="1s", said="indices: 0-5, maxParallel: 2", more=""):
    return job(name, pods=pods, run=run) + "  array: {%s}\n%s" % (said, more)


class Arrays(JobTest):
    def pods(self, name):
        items = self.ask("GET", "/api/v1/namespaces/vision/pods")["items"]
        return [p for p in items if p["metadata"]["labels"]["gang.queued/job"] == name]

    def item(self, site, *words):
        code, out, err = site.ctl("describe", *words, "-o", "json")
        self.assertEqual(code, 0, err)
        return json.loads(out)

    def indices(self, site, name):
        code, out, err = site.ctl("list", "--array", name, "-o", "json")
        self.assertEqual(code, 0, err)
        return {i["metadata"]["arrayIndex"]: i for i in json.loads(out)["items"]}

    def test_each_index_runs_once_and_never_more_than_allowed_over_kills(self):
        site = self.start()
        self.cluster(site)
        name = self.submit(site, array(run="700ms", said="indices: '0-5,8', maxParallel: 2, paramsFrom: {lines: [%s]}"
                                       % ", ".join("'lr=%d of $(PATH)'" % i for i in range(9))))
        end = time.monotonic() + 60
        next_kill = time.monotonic() + 0.3
        kills = 0
        while self.state(site, name) != "Succeeded":
            self.assertLess(time.monotonic(), end, site.log())
            self.assertLessEqual(self.running(name), 2)
            if time.monotonic() > next_kill and kills < 6:
                site.stop()  # SIGKILL
                site.start()
                kills += 1
                next_kill = time.monotonic() + 0.3
        self.assertGreater(kills, 2)
        wanted = {"%s-worker-%d-1" % (name, i) for i in (0, 1, 2, 3, 4, 5, 8)}
        self.assertEqual({p["metadata"]["name"] for p in self.pods(name)}, wanted)
        for p in self.pods(name):
            env = {e["name"]: e.get("value") for e in p["spec"]["containers"][0]["env"]}
            self.assertEqual(env["QUEUED_ARRAY_INDEX"], p["metadata"]["labels"]["gang.queued/index"])
            self.assertEqual(env["QUEUED_POD_INDEX"], "0")
            self.assertEqual(env["QUEUED_ARRAY_PARAMS"], "lr=%s of $$(PATH)" % env["QUEUED_ARRAY_INDEX"])
        counts = self.item(site, name)["status"]["array"]
        self.assertEqual((counts["indices"], counts["succeeded"], counts["failed"]), (7, 7, 0))
        self.assertEqual(sorted(self.indices(site, name)), [0, 1, 2, 3, 4, 5, 8])

    def test_an_array_is_one_row_and_each_begun_index_can_be_looked_at(self):
        site = self.start()
        self.cluster(site)
        name = self.submit(site, array(run="1h", said="indices: 0-49, maxParallel: 3"))
        self.wait_state(site, name, "Running")
        end = time.monotonic() + 30
        while self.running(name) < 3:
            self.assertLess(time.monotonic(), end, site.log())
            time.sleep(0.1)
        rows = site.ctl("list", "-A")[1].splitlines()
        self.assertEqual(len(rows), 2, rows)
        self.assertIn(name + "[0-49]", site.ctl("list", "-A", "-o", "wide")[1])
        self.assertIn("0 of 50 done, 0 failed", rows[1])
        why = site.ctl("why", name)[1]
        self.assertIn("ArrayLimit", why)
        self.assertIn("3 of 3 indices running", why)
        one = self.item(site, name + "[1]")
        self.assertEqual(one["metadata"]["arrayIndex"], 1)
        self.assertEqual(one["metadata"]["name"], name + "[1]")
        self.assertEqual(one["status"]["attempts"][0]["pods"][0]["name"], name + "-worker-1-1")
        whole = self.item(site, name)
        self.assertEqual(one["metadata"]["array"], whole["metadata"]["id"])
        self.assertEqual(whole["spec"]["array"], {"indices": "0-49", "maxParallel": 3})
        by_id = self.item(site, whole["metadata"]["id"] + "[2]")
        self.assertEqual(by_id["metadata"]["arrayIndex"], 2)
        self.assertEqual(site.ctl("wait", name + "[7]", "--timeout", "300ms")[0], 124)
        code, _, err = site.ctl("watch", name + "[7]")
        self.assertEqual(code, 3)
        self.assertIn("has not begun", err)
        self.assertEqual(site.ctl("cancel", name + "[1]")[0], 0)
        self.assertEqual(site.ctl("wait", name + "[1]")[0], 120)
        end = time.monotonic() + 30
        while 3 not in self.indices(site, name):
            self.assertLess(time.monotonic(), end, site.log())
            time.sleep(0.1)
        self.assertEqual(site.ctl("cancel", name)[0], 0)
        self.assertEqual(site.ctl("wait", name)[0], 120)
        self.assertEqual(self.running(name), 0)
        self.assertEqual({i["status"]["state"] for i in self.indices(site, name).values()}, {"Cancelled"})
        self.assertEqual(self.item(site, name)["status"]["array"]["cancelled"], 50)

    def test_indices_that_have_not_begun_are_held_cancelled_and_put_first_over_kills(self):
        site = self.start()
        self.cluster(site)
        name = self.submit(site, array(run="1h", said="indices: 0-9, maxParallel: 1"))
        self.wait_state(site, name, "Running")
        self.assertEqual(site.ctl("cancel", name + "[2-3]"), (0, "job/%s[2-3] cancelled\n" % name, ""))
        self.assertEqual(site.ctl("hold", name + "[1,4]", "--reason", "bad data")[:2],
                         (0, "job/%s[1,4] is Held\n" % name))
        self.assertEqual(site.ctl("prioritize", name + "[8]", "high")[0], 0)
        site.stop()  # SIGKILL
        site.start()
        self.wait_state(site, name, "Running")
        held = self.item(site, name + "[4]")
        self.assertEqual(held["status"]["state"], "Held")
        self.assertEqual(held["status"]["reason"]["code"], "Held")
        self.assertIn("bad data", held["status"]["reason"]["text"])
        self.assertNotIn("id", held["metadata"])
        self.assertEqual(held["metadata"]["arrayIndex"], 4)
        self.assertEqual(self.item(site, name + "[3]")["status"]["state"], "Cancelled")
        first = self.item(site, name + "[8]")
        self.assertEqual(first["status"]["state"], "Pending")
        self.assertEqual(first["spec"]["priorityClass"], "normal")  # of the array
        why = site.ctl("why", name + "[8]")[1]
        self.assertIn("index 8 is number 1 of 5 in turn", why)
        self.assertIn("1 of 1 indices running", why)
        self.assertIn("bad data", site.ctl("why", name + "[1]")[1])
        self.assertEqual(site.ctl("hold", name + "[0]")[0], 5)  # it runs
        self.assertEqual(site.ctl("cancel", name + "[12]")[0], 2)
        self.assertEqual(site.ctl("update", name + "[5]", "--tenant", "speech")[0], 2)
        self.assertEqual(site.ctl("requeue", name)[0], 0)  # all that run: index 0
        self.assertEqual(site.ctl("cancel", name + "[0]")[0], 0)
        self.assertEqual(site.ctl("wait", name + "[0]")[0], 120)
        end = time.monotonic() + 30
        while 8 not in self.indices(site, name):
            self.assertLess(time.monotonic(), end, site.log())
            time.sleep(0.1)
        self.assertEqual(site.ctl("release", name)[0], 0)
        self.assertEqual(self.item(site, name + "[4]")["status"]["state"], "Pending")
        waits = []
        for i in (4, 5):
            argv = [QUEUECTL, "--endpoint", "ipc://" + site.socket, "wait", "%s[%d]" % (name, i)]
            waits.append(subprocess.Popen(argv, stderr=subprocess.DEVNULL))
            self.addCleanup(waits[-1].kill)
        time.sleep(0.5)
        self.assertEqual(site.ctl("cancel", name + "[5]")[0], 0)
        self.assertEqual(waits[1].wait(timeout=20), 120)
        self.assertEqual(site.ctl("cancel", name + "[0-9]")[0], 0)
        self.assertEqual(site.ctl("wait", name)[0], 120)
        self.assertEqual(waits[0].wait(timeout=20), 120)
        self.assertEqual(self.item(site, name)["status"]["array"]["cancelled"], 10)

    def test_a_failed_index_of_a_fail_fast_array_ends_all_and_its_code_is_the_arrays(self):
        site = self.start()
        self.cluster(site)
        text = array(run="1h", said="indices: 0-9, maxParallel: 2, failFast: true").replace(
            "gang.queued/run-duration: 1h", "gang.queued/fail-after: 500ms"
        )
        name = self.submit(site, text + "  failurePolicy: {maxRestarts: 0}\n")
        self.assertEqual(site.ctl("wait", name)[0], 1)
        status = self.item(site, name)["status"]
        self.assertEqual(status["state"], "Failed")
        self.assertEqual(status["reason"]["code"], "ArrayFailed")
        self.assertGreaterEqual(status["array"]["failed"], 1)
        self.assertEqual(status["array"]["failed"] + status["array"]["cancelled"], 10)

    def test_a_held_array_begins_no_index_also_after_a_kill(self):
        site = self.start()
        self.cluster(site)
        name = self.submit(site, array(run="1s", said="indices: 0-3, maxParallel: 1"))
        self.wait_state(site, name, "Running")
        self.assertEqual(site.ctl("hold", name)[0], 0)
        site.stop()  # SIGKILL
        site.start()
        self.wait_state(site, name, "Held")
        self.assertLessEqual(len(self.indices(site, name)), 2)
        self.assertEqual(self.running(name), 0)
        self.assertEqual(site.ctl("release", name)[0], 0)
        self.wait_state(site, name, "Succeeded")

    def test_indices_of_several_pods_share_one_service_that_goes_with_the_array(self):
        site = self.start()
        self.cluster(site)
        name = self.submit(site, array(pods=2, run="1s", said="indices: 0-3, maxParallel: 2"))
        self.wait_state(site, name, "Running")
        services = self.ask("GET", "/api/v1/namespaces/vision/services")["items"]
        self.assertEqual([s["metadata"]["name"] for s in services], [name])
        self.assertEqual(services[0]["spec"]["selector"], {"gang.queued/job": name})
        self.wait_state(site, name, "Succeeded")
        self.assertEqual(self.ask("GET", "/api/v1/namespaces/vision/services")["items"], [])
        names = {p["metadata"]["name"] for p in self.pods(name)}
        self.assertEqual(names, {"%s-worker-%d-1" % (name, i) for i in range(8)})
        self.assertEqual({p["spec"]["subdomain"] for p in self.pods(name)}, {name})


if __name__ == "__main__":
    unittest.main()
