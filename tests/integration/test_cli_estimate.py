# SPDX-License-Identifier: Apache-2.0
"""test_cli_estimate.py - queuectl estimate against a daemon, on the rig of test_cli.py."""
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
        self.refused(2, "name one job file", "estimate")
        self.assertEqual(self.good("list", "-A", "-o", "name"), before)


def load_tests(_loader, _tests, _pattern):
    return unittest.TestSuite([Estimate("test_an_estimate_names_the_start_and_stores_nothing")])


if __name__ == "__main__":
    unittest.main()
