# SPDX-License-Identifier: Apache-2.0
"""test_daemon_mig - jobs with MIG devices: where they go, what their pods ask for, what is charged.

Black box: the daemon, queuectl, and the stand-in API server with four nodes as the cluster, one of
which has two devices.
"""

import json
import os
import sys
import time
import unittest
import urllib.error

from queued_site import QUEUECTL
from test_daemon_jobs import STANDIN, JobTest

DEVICE = "nvidia.com/mig-3g.40gb"
JOB = """apiVersion: gang.queued/v1
kind: GangJob
metadata: {name: small}
spec:
  tenant: vision
  maxRuntime: 1h
  roles:
  - {name: worker, image: r.example.com/a:1, resources: {mig: {profile: 3g.40gb, count: %d}, gpuModel: H100}}
"""


class MigTest(JobTest):
    def cut_up(self):
        """GPUs of a node are offered as devices: its name."""
        end = time.monotonic() + 20
        while True:
            try:
                name = self.ask("GET", "/api/v1/nodes")["items"][2]["metadata"]["name"]
                break
            except urllib.error.URLError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.1)
        amounts = {"nvidia.com/gpu": "0", DEVICE: "2"}
        self.ask("PATCH", "/api/v1/nodes/" + name, {"metadata": {"labels": {"nvidia.com/mig.strategy": "mixed"}}})
        self.ask("PATCH", "/api/v1/nodes/%s/status" % name, {"status": {"capacity": amounts, "allocatable": amounts}})
        return name

    def used(self, site):
        """Thousandths of a GPU that the tenant is charged."""
        code, out, err = site.ctl("tenant", "get", "vision", "-o", "json")
        self.assertEqual(code, 0, err)
        found = json.loads(out)
        found = found.get("items", [found])[0]
        model = [m for m in found["models"] if m["model"] == "H100"][0]
        return 1000 * model["used"] + model.get("usedMilli", 0)

    def test_a_device_is_asked_for_charged_and_given_back(self):
        site = self.start()
        self.cluster(site)
        node = self.cut_up()
        first = self.submit(site, JOB % 1)
        self.wait_state(site, first, "Running")
        pod = self.ask("GET", "/api/v1/namespaces/vision/pods/%s-worker-0-1" % first)
        self.assertEqual(pod["spec"]["nodeName"], node)
        self.assertEqual(pod["spec"]["containers"][0]["resources"]["limits"][DEVICE], "1")
        self.assertNotIn("nvidia.com/gpu", pod["spec"]["containers"][0]["resources"]["limits"])
        self.assertEqual(self.used(site), 429)
        shown = [n for n in json.loads(site.ctl("nodes", "-o", "json")[1])["items"] if n["name"] == node][0]
        self.assertEqual(shown["mig"], [{"resource": DEVICE, "allocatable": 2, "used": 1}])
        second = self.submit(site, JOB % 2)
        self.wait_why(site, second, "2 %s asked for each pod" % DEVICE)
        site.stop()
        site.start()
        self.wait_why(site, second, "2 %s asked for each pod" % DEVICE)
        self.assertEqual(self.used(site), 429)
        site.ctl("cancel", first)
        self.wait_state(site, second, "Running")
        self.assertEqual(self.used(site), 857)


if __name__ == "__main__":
    if not os.access(QUEUECTL, os.X_OK) or not os.access(STANDIN, os.X_OK):
        sys.exit("%s or %s is not built: run 'make all standin'" % (QUEUECTL, STANDIN))
    unittest.main()
