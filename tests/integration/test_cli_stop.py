# SPDX-License-Identifier: Apache-2.0
"""test_cli_stop - how long the pods of a cancelled job have to end, from queuectl to the API server."""

import sys
import unittest

from cli_site import wait_for
from test_daemon_jobs import JobTest

JOB = """apiVersion: gang.queued/v1
kind: GangJob
metadata: {name: slow, annotations: {gang.queued/stop-delay: 1h}}
spec:
  tenant: vision
  checkpoint: {grace: 10m}
  roles:
  - {name: worker, replicas: 2, image: r.example.com/a:1, resources: {gpus: 8, gpuModel: H100}}
"""
PODS = "/api/v1/namespaces/vision/pods"


class Stop(JobTest):
    def wait_grace(self, seconds):
        """Until all pods have so much grace."""
        wait_for(lambda: [p["metadata"].get("deletionGracePeriodSeconds")
                          for p in self.ask("GET", PODS)["items"]] == [seconds] * 2, "the grace")

    def test_a_cancel_shortens_the_grace_and_once_more(self):
        site = self.start()
        self.cluster(site)
        name = self.submit(site, JOB)
        self.wait_state(site, name, "Running")
        for args, code, text in (
            (("cancel", name, "--grace", "1s", "--force"), 2, "not both"),
            (("cancel", name, "--grace", "1ms"), 2, "one second or more"),
            (("hold", name, "--force"), 2, "no option"),
        ):
            got, _, err = site.ctl(*args)
            self.assertEqual(got, code, err)
            self.assertIn(text, err)
        stopped = (0, "job/%s is being stopped\n" % name, "")
        self.assertEqual(site.ctl("cancel", name, "--grace", "20s"), stopped)
        self.wait_grace(20)
        self.assertEqual(site.ctl("cancel", name, "--grace", "1h"), stopped)
        self.assertEqual(site.ctl("cancel", name, "--force"), stopped)
        self.wait_grace(1)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
