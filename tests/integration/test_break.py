# SPDX-License-Identifier: Apache-2.0
"""test_break - scenarios that broke an earlier build, or were tried to break it: somebody else deletes
pods and nodes at bad moments, the configuration loses what jobs name.

Black box: the daemon, queuectl, and the stand-in API server as the cluster.
"""

import http.client
import json
import os
import subprocess
import time
import unittest

from test_daemon_jobs import CONFIG, STANDIN, JobTest, job


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


if __name__ == "__main__":
    unittest.main()
