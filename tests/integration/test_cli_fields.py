# SPDX-License-Identifier: Apache-2.0
"""test_cli_fields - what a job file may say, from queuectl to the nodes and back."""

import sys
import unittest

from cli_site import JOB, CliSite


class Fields(CliSite):
    def submit_after(self, name, on, condition):
        job = JOB % {"name": name, "pods": 4, "annotations": "gang.queued/run-duration: 1h"}
        after = "{job: %s, condition: %s}" % (on, condition)
        job = job.replace(
            "  roles:",
            "  dependsOn: [%s]\n  topology: {slice: {size: 2, required: rack}}\n  roles:" % after,
        ).replace(
            "    resources:",
            "    placement:\n      excludeNodes: [gpu-none]\n      affinity: {nodeAffinity: {"
            "requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions:"
            " [{key: gang.queued/rack, operator: Exists}]}]}, preferredDuringSchedulingIgnoredDuring"
            "Execution: [{weight: 9, preference: {matchExpressions: [{key: nosuch, operator: Exists}]}}]"
            "}}\n    resources:",
        )
        return self.good("submit", "-f", "-", "-o", "name", stdin=job).strip()[4:]

    def test_a_job_waits_for_another_and_says_which_nodes_it_takes(self):
        first = self.submit("first", 1, "gang.queued/run-duration: 1s", "--hold")
        self.assertEqual(self.state(first), "Held")
        second = self.submit_after("second", "first", "succeeded")
        why = self.good("why", second)
        self.assertRegex(why, r"(?s)Dependency.*waits for %s \(Held for .* to succeed" % first)
        third = self.submit_after("third", second, "succeeded")
        self.good("release", first)
        self.assertEqual(self.run_cli("wait", second, "--for", "running", "--timeout", "30s")[0], 0)
        stored = self.good("describe", second, "--spec")
        for want in ("size: 2", "operator: Exists", "weight: 9", "gpu-none", "condition: succeeded"):
            self.assertIn(want, stored)
        self.good("cancel", second)
        self.assertEqual(self.run_cli("wait", third, "--timeout", "30s")[0], 1)
        self.assertIn("DependencyFailed", self.good("describe", third))

    def test_a_pod_has_variables_from_elsewhere_and_an_account_of_the_list(self):
        job = JOB % {"name": "keys", "pods": 1, "annotations": "gang.queued/run-duration: 1h"}
        more = (
            "    imagePullSecrets: [registry]\n    envFrom: [{secretRef: {name: keys}}]\n"
            "    env: [{name: TOKEN, valueFrom: {secretKeyRef: {name: wandb, key: token}}}]\n"
        )
        job = job.replace("    resources:", more + "    resources:")
        name = self.good("submit", "-f", "-", "-o", "name", stdin=job).strip()[4:]
        self.assertEqual(self.run_cli("wait", name, "--for", "running", "--timeout", "30s")[0], 0)
        stored = self.good("describe", name, "--spec")
        for want in ("secretRef:", "key: token", "registry"):
            self.assertIn(want, stored)
        job = job.replace("    resources:", "    serviceAccountName: admin\n    resources:")
        self.refused(7, "may not use 'admin'", "submit", "-f", "-", stdin=job)

    def test_an_estimate_waits_for_what_the_job_depends_on(self):
        held = self.submit("held", 1, "gang.queued/run-duration: 1h", "--hold")
        job = JOB % {"name": "after", "pods": 1, "annotations": ""}
        after = "  dependsOn: [%s]\n  roles:"

        def estimate(*waits):
            on = ", ".join("{job: %s, condition: %s}" % w for w in waits)
            return ("estimate", "-f", "-"), {"stdin": job.replace("  roles:", after % on)}

        args, more = estimate(("nosuch", "succeeded"))
        self.refused(2, "has no job 'nosuch'", *args, **more)
        done = self.submit("done", 1)
        self.good("cancel", done)
        self.run_cli("wait", done, "--timeout", "30s")
        args, more = estimate((done, "succeeded"))
        self.refused(7, "waiting for it to succeed would never end", *args, **more)
        args, more = estimate((done, "finished"), (held, "started"))
        out = self.good(*args, **more)
        self.assertRegex(out, r"(?s)Dependency.*waits for %s \(Held" % held)
        self.assertNotIn("eta", out)
        args, more = estimate((done, "finished"))
        self.assertRegex(self.good(*args, **more), r"eta +now")
        self.good("cancel", held)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
