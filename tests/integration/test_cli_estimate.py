# SPDX-License-Identifier: Apache-2.0
"""test_cli_estimate.py - queuectl estimate against a daemon, on the rig of test_cli.py."""
from datetime import datetime
import json
import unittest

import test_cli


class Estimate(test_cli.Cli):
    def test_an_estimate_names_the_start_and_stores_nothing(self):
        job = test_cli.JOB % {"name": "asked", "pods": 1, "annotations": ""}
        before = self.good("list", "-A", "-o", "name")
        asked = json.loads(self.good("estimate", "-f", "-", "-o", "json", stdin=job))["status"]
        self.assertEqual(asked["state"], "Pending")
        self.assertIn("predictedStart", asked)
        self.assertIn("maxRuntime", asked["predictedStartBasis"])
        self.assertRegex(self.good("estimate", "-f", "-", stdin=job), r"\n  eta        now, at 20")
        nodes = json.loads(self.good("nodes", "-o", "json"))["items"]
        without = ["--without=" + n["name"] for n in nodes]
        none = self.good("estimate", "-f", "-", "-o", "json", *without, stdin=job)
        none = json.loads(none)["status"]
        self.assertNotIn("predictedStart", none)
        self.assertIn("unknown", none["predictedStartBasis"])
        self.assertEqual(self.run_cli("estimate", "-f-", "--tenant=no", stdin=job)[0], 7)
        large = job.replace("replicas: 1", "replicas: 9") + "  topology: {required: rack}\n"
        asked = ("estimate", "-f", "-", "-o", "json")
        self.assertNotIn("predictedStart", json.loads(self.good(*asked, stdin=large))["status"])
        added = ("--what-if", "nodes+9", "--like", nodes[0]["name"], "--in", "rack=new")
        grown = json.loads(self.good(*asked, *added, stdin=large))["status"]
        self.assertIn("predictedStart", grown)
        self.refused(2, "no level galaxy", *asked, *added, "--in", "galaxy=g", stdin=large)
        self.refused(2, "no node nosuch", *asked, *added[:2], "--like", "nosuch", stdin=large)
        self.refused(2, "rack: name one domain", *asked, *added, "--in", "rack=two", stdin=large)
        self.refused(2, "rack: name one domain", *asked, *added[:4], "--in", "rack=", stdin=large)
        self.refused(2, "write nodes+N", *asked, "--what-if", "4", stdin=large)
        self.refused(2, "need --what-if", *asked, "--like", "x", stdin=large)
        self.assertEqual(len(json.loads(self.good("nodes", "-o", "json"))["items"]), len(nodes))
        array = job + "  array: {indices: 0-2, maxParallel: 1}\n  maxRuntime: 1h\n"
        swept = json.loads(self.good("estimate", "-f", "-", "-o", "json", stdin=array))["status"]
        ends = [datetime.fromisoformat(swept["predicted" + x].replace("Z", "+00:00"))
                for x in ("Start", "LastStart", "End")]
        self.assertEqual([round((b - a).total_seconds() / 3600) for a, b in zip(ends, ends[1:])], [2, 1])
        self.assertRegex(self.good("estimate", "-f", "-", stdin=array), r"\n  array      last index starts at 20")
        self.refused(2, "name one job file", "estimate")
        self.assertEqual(self.good("list", "-A", "-o", "name"), before)


def load_tests(_loader, _tests, _pattern):
    return unittest.TestSuite([Estimate("test_an_estimate_names_the_start_and_stores_nothing")])


if __name__ == "__main__":
    unittest.main()
