# SPDX-License-Identifier: Apache-2.0
"""test_cli_defrag.py - a rack is freed for a waiting job, shown first and then done by the daemon."""
import json
import unittest

import cli_site


class Defrag(cli_site.CliSite):
    def submit_with(self, name, pods, more):
        job = cli_site.JOB % {"name": name, "pods": pods, "annotations": ""}
        return self.good("submit", "-f", "-", "-o", "name", stdin=job + more).split("/")[1].strip()

    def job(self, name):
        return json.loads(self.good("describe", name, "-o", "json"))["status"]

    def node(self, name):
        return self.job(name)["attempts"][-1]["pods"][0]["node"]

    def racks(self):
        nodes = json.loads(self.good("nodes", "-o", "json"))["items"]
        return {n["name"]: n["domains"][0] for n in nodes}

    def restart_with(self, keys):
        with open(self.path("queued.yaml"), "a", encoding="utf-8") as f:
            f.write(keys)
        self.daemon.terminate()
        self.daemon.wait(10)
        self.start_daemon()

    def test_a_rack_is_freed_by_moving_who_opted_in(self):
        self.restart_with("preemption: {minRuntime: 1s}\n")
        movable = "  preemption: {movable: true}\n  checkpoint: {grace: 1s}\n"
        small = [self.submit_with("small", 1, movable) for _ in range(8)]
        cli_site.wait_for(
            lambda: all(self.job(j)["state"] == "Running" for j in small), "the small ones")
        racks, kept = self.racks(), {}
        for j in small:
            kept.setdefault(racks[self.node(j)], []).append(j)
        self.assertEqual([len(v) for v in kept.values()], [4, 4])
        kept = [v[:2] for v in kept.values()]
        self.good("cancel", "-y", *[j for j in small if j not in sum(kept, [])])
        cli_site.wait_for(lambda: len(json.loads(
            self.good("list", "--state", "active", "-o", "json"))["items"]) == 4, "their ends")
        large = self.submit_with("large", 4, "  topology: {required: rack}\n")
        cli_site.wait_for(
            lambda: "defragmentation would free rack" in self.good("why", large), "the plan", 10)
        self.assertIn("moving 2 gangs", self.good("why", large))
        shown = json.loads(self.good("defrag", "plan", "-o", "json"))
        self.assertEqual((shown["budgetGpuSeconds"], shown["movable"]), (0, 4))
        self.assertEqual((shown["plan"]["job"], len(shown["plan"]["moves"])), (large, 2))
        self.assertRegex(self.good("defrag", "plan"), r"(?s)plan +free rack .*for +job/large-.*MOVE")
        self.restart_with("defragmentation: {gpuHoursPerDay: 1}\n")
        cli_site.wait_for(lambda: self.job(large)["state"] == "Running", "the large one")
        now = self.racks()
        self.assertEqual(len({now[p["node"]] for p in self.job(large)["attempts"][-1]["pods"]}), 1)
        cli_site.wait_for(lambda: all(
            self.job(j)["state"] == "Running" for j in sum(kept, [])), "those who were moved")
        moved = [j for j in sum(kept, []) if "Moved" in self.good("describe", j, "--events")]
        self.assertEqual(sorted(moved) in [sorted(v) for v in kept], True, moved)
        left = json.loads(self.good("defrag", "plan", "-o", "json"))
        self.assertLess(left["leftGpuSeconds"], 3600)
        self.refused(2, "say plan", "defrag")


if __name__ == "__main__":
    unittest.main()
