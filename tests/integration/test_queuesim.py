#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""queuesim against a reference simulator: start by start, and by the figures of whole runs.

The small schedules below are computed by hand. Where ../shared has the traces and the reference's
schedules, those are compared too (SKIPPED says when not); QUEUESIM_FULL=1 adds the big trace.
"""
import csv
import json
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SIM = os.path.join(os.environ.get("B", os.path.join(ROOT, "build")), "queuesim")
TRACES = os.path.join(os.path.dirname(ROOT), "shared", "data", "traces")
ORACLE = os.path.join(TRACES, "oracle")

CLUSTER = "node,gpus,gpu_model,rack,block\n" + "".join(
    f"n{i},8,G,r{i // 2},b{i // 4}\n" for i in range(4))
HEAD = "job_id,tenant,priority,submit_s,duration_s,pods,gpus_per_pod,gpu_model\n"
# a leaves 8 free; b is too big; c is short and d is long: what may pass b?
JOBS = HEAD + "a,t,0,0,100,3,8,\nb,u,0,1,50,4,8,\nc,t,0,2,98,1,8,\n" "d,u,5,2,200,1,8,\n"


def simulate(jobs, cluster, *options):
    with tempfile.NamedTemporaryFile("r", suffix=".csv") as out:
        p = subprocess.run([SIM, "--jobs", jobs, "--cluster", cluster, "-o", "json",
                            "--out", out.name, *options], capture_output=True, text=True)
        if p.returncode:
            raise AssertionError(p.stderr)
        text = out.read()
    return json.loads(p.stdout), {r["job_id"]: r for r in csv.DictReader(text.splitlines())}, text


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.cluster = self.write("cluster.csv", CLUSTER)

    def tearDown(self):
        self.folder.cleanup()

    def write(self, name, text):
        path = os.path.join(self.folder.name, name)
        with open(path, "w") as f:
            f.write(text)
        return path

    def starts(self, *options, jobs=JOBS):
        _, rows, _ = simulate(self.write("jobs.csv", jobs), self.cluster, *options)
        return {j: float(r["start_s"]) for j, r in rows.items()}


class Small(Folder):
    def test_nothing_passes_the_head_of_the_line(self):
        self.assertEqual(self.starts("--queue", "hol"), {"a": 0, "b": 100, "c": 150, "d": 150})

    def test_easy_lets_pass_what_ends_by_the_reservation(self):
        self.assertEqual(self.starts("--queue", "easy"), {"a": 0, "b": 100, "c": 2, "d": 150})

    def test_skip_lets_pass_all_that_fits(self):
        jobs = JOBS.replace("c,t,0,2,98", "c,t,0,2,198")
        self.assertEqual(self.starts("--queue", "skip", jobs=jobs), dict(a=0, c=2, d=100, b=300))

    def test_depth_bounds_what_is_looked_at(self):
        jobs = JOBS.replace("c,t,0,2,98", "c,t,0,3,97") # behind d, which may not pass
        self.assertEqual(self.starts("--queue", "easy", jobs=jobs)["c"], 3)
        self.assertEqual(self.starts("--queue", "easy", "--depth", "1", jobs=jobs)["c"], 150)

    def test_orders_differ(self):
        jobs = HEAD + "a,t,0,0,100,4,8,\nb,t,1,1,50,4,8,\nc,t,2,2,70,4,8,\n" "d,u,0,3,90,4,8,\n"
        self.assertEqual(self.starts("--order", "fifo", jobs=jobs), dict(a=0, b=100, c=150, d=220))
        self.assertEqual(self.starts("--order", "sjf", jobs=jobs), dict(a=0, b=100, c=150, d=220))
        self.assertEqual(self.starts("--order", "prio", jobs=jobs), dict(a=0, c=100, b=170, d=220))
        jobs = jobs.replace("b,t,1,1,50", "b,t,1,1,80")
        self.assertEqual(self.starts("--order", "sjf", jobs=jobs), dict(a=0, c=100, b=170, d=250))
        jobs = HEAD + "a,t,0,0,100,2,8,\nb,t,0,0,50,2,8,\nc,t,0,1,10,2,8,\n" "d,u,0,2,10,2,8,\n"
        self.assertEqual(self.starts("--order", "fair", jobs=jobs), dict(a=0, b=0, d=50, c=60))

    def test_topo_keeps_a_gang_in_one_rack_where_best_fit_does_not(self):
        jobs = HEAD + "a,t,0,0,100,1,4,\nb,t,0,1,100,2,4,\nc,t,0,2,100,2,8,\n"
        path = self.write("jobs.csv", jobs)
        for place, nodes in (("bestfit", "n0:4 n1:4"), ("topo", "n1:8")):
            _, rows, _ = simulate(path, self.cluster, "--place", place)
            self.assertEqual(rows["b"]["nodes"], nodes)

    def test_what_can_never_fit_is_dropped_and_counted(self):
        path = self.write("jobs.csv", HEAD + "a,t,0,0,1,5,8,\nb,t,0,0,1,1,8,X\nc,t,0,0,1,1,8,X|G\n")
        figures, rows, _ = simulate(path, self.cluster)
        self.assertEqual((figures["jobs"], figures["dropped_never_fit"], list(rows)), (1, 2, ["c"]))

    def test_names_of_tenants_are_json_and_empty_lines_and_marks_are_passed_over(self):
        text = "\ufeff" + HEAD + 'a,say "hi"\\,0,0,1,1,8,\n\nb,t,0,0,1,1,8,\n'
        path = self.write("jobs.csv", text.replace("\n", "\r\n"))
        figures, rows, _ = simulate(path, self.cluster)
        self.assertEqual({t["tenant"] for t in figures["tenants"]}, {'say "hi"\\', "t"})
        self.assertEqual(list(rows), ["a", "b"])

    def test_times_beyond_what_can_be_counted_are_refused_or_cut(self):
        path = self.write("jobs.csv", HEAD + "a,t,0,1e10,1,1,8,\n")
        with self.assertRaisesRegex(AssertionError, r"jobs\.csv:2: divided by --speed"):
            simulate(path, self.cluster, "--speed", "1e-6")
        path = self.write("jobs.csv", HEAD + "a,t,0,0,1e10,1,8,\nb,t,0,0,9e9,1,8,\n")
        _, rows, _ = simulate(path, self.cluster, "--estimate", "1000", "--queue", "easy")
        self.assertEqual(list(rows), ["a", "b"])

    def test_a_wrong_value_is_named_with_file_line_and_column(self):
        path = self.write("jobs.csv", HEAD + "a,t,0,0,1,1,0.5,\n")
        with self.assertRaisesRegex(AssertionError, r"jobs\.csv:2: gpus_per_pod: '0\.5'"):
            simulate(path, self.cluster)


POLICY = """\
levels:
- {name: fabric, levels: [{name: block, labels: [gang.queued/block]}, {name: rack, labels: [gang.queued/rack]}]}
models: {G: [G]}
tenants:
- {name: t, quota: {G: 16}, namespaces: [t]}
- {name: u, quota: {G: 0}, namespaces: [u]}
- {name: v, namespaces: [v]}
- {name: w, namespaces: [w], limit: {G: 8}}
"""


class Policy(Folder):
    """The daemon's own decisions, by its own configuration."""

    def starts(self, *options, jobs=JOBS, policy=POLICY):
        path = self.write("queued.yaml", policy)
        return super().starts("--policy", path, *options, jobs=jobs)

    def test_the_tenant_inside_its_quota_goes_first_and_no_limit_is_passed(self):
        jobs = HEAD + ("a,u,0,0,100,4,8,\nb,u,0,1,50,1,8,\nc,u,0,1,50,1,8,\n"
                       "d,w,0,3,50,1,8,\ne,w,0,3,50,1,8,\nf,t,0,4,50,2,8,\n")
        self.assertEqual(self.starts(jobs=jobs), dict(a=0, b=100, c=150, d=100, e=150, f=100))

    def test_a_job_is_reserved_for_by_what_others_say_they_run(self):
        jobs = JOBS.replace("d,u,5", "d,u,0").replace("c,t", "c,u")
        self.assertEqual(self.starts(jobs=jobs), {"a": 0, "b": 100, "c": 2, "d": 150})
        starts = {self.starts("--estimate", "2", "--seed", str(s), jobs=jobs)["c"] for s in range(8)}
        self.assertEqual(starts, {2, 150}, "what is said to end too late does not pass")

    def test_an_evicted_job_begins_anew_or_goes_on(self):
        jobs = self.write("jobs.csv", HEAD + "a,u,0,0,1000,4,8,\nb,t,0,100,50,2,8,\n")
        policy = self.write("queued.yaml", POLICY + "preemption: {minRuntime: 10s}\n")
        for how, end in (((), 1150), (("--preempt", "restart"), 1150), (("--preempt", "resume"), 1050)):
            figures, rows, _ = simulate(jobs, self.cluster, "--policy", policy, *how)
            self.assertEqual((figures["evictions"], float(rows["b"]["start_s"])), (1, 100), how)
            self.assertEqual(float(rows["a"]["end_s"]), end, how)
        with self.assertRaisesRegex(AssertionError, "the plain policies evict nobody"):
            simulate(jobs, self.cluster, "--preempt", "resume")

    def test_every_tenant_is_shown_beside_its_max_min_share(self):
        jobs = HEAD + "w,w,0,0,500,1,4,\n" + "".join(
            f"{t}{i},{t},0,0,100,1,8,\n" for t in "tuv" for i in range(3))
        policy = self.write("queued.yaml", POLICY.replace(", quota: {G: 16}", ""))
        figures, _, _ = simulate(self.write("jobs.csv", jobs), self.cluster, "--policy", policy)
        self.assertAlmostEqual(figures["share_hours"] * 3600, 200, places=4)
        self.assertEqual([(t["tenant"], t["gpu_s"], t["share_gpu_s"]) for t in figures["tenants"]],
                         [("t", 1600, 1867), ("u", 1600, 1867), ("v", 1600, 1867), ("w", 800, 800)])

    def test_a_gang_that_ended_is_charged_no_longer(self):
        jobs = HEAD + "a,w,0,0,100,2,4,\nb,w,0,1,50,2,4,\n"
        self.assertEqual(self.starts(jobs=jobs), dict(a=0, b=100))

    def test_a_gang_inside_its_quota_evicts_one_of_a_tenant_above_its_own(self):
        jobs = HEAD + "a,u,0,0,2000,2,8,\nb,u,0,0,2000,2,8,\nc,t,0,100,50,2,8,\n"
        figures, rows, _ = simulate(self.write("jobs.csv", jobs), self.cluster, "--policy",
                                    self.write("queued.yaml", POLICY))
        self.assertEqual(figures["evictions"], 1)
        self.assertEqual(float(rows["c"]["start_s"]), 600, "when minRuntime is over")
        self.assertEqual(sorted((float(rows[j]["start_s"]), float(rows[j]["wait_s"])) for j in "ab"),
                         [(0, 0), (650, 50)])

    def test_room_kept_for_the_oldest_does_not_change_the_order_of_tenants(self):
        jobs = HEAD + "w,w,0,0,500,1,4,\n" + "".join(
            f"{t}{i},{t},0,0,100,1,8,\n" for t in "tuv" for i in range(3))
        starts = self.starts(jobs=jobs, policy=POLICY.replace(", quota: {G: 16}", ""))
        self.assertEqual([starts[t + "1"] for t in "tuv"], [100, 100, 100])

    def test_what_the_policy_does_not_know_is_named(self):
        for old, new, said in (("name: u", "name: x", "tenant 'u' has jobs; add it to the policy"),
                               ("{G: [G]}", "{H: [H]}", "queued.yaml:")):
            with self.assertRaisesRegex(AssertionError, said):
                self.starts(policy=POLICY.replace(old, new))
        with self.assertRaisesRegex(AssertionError, "--policy stands instead of --order"):
            self.starts("--order", "sjf")


def skip_without_traces(test):
    if not os.path.isdir(ORACLE):
        print("SKIPPED: no traces and reference schedules in ../shared/data/traces")
        test.skipTest("no ../shared/data/traces")


class Reference(unittest.TestCase):
    def setUp(self):
        skip_without_traces(self)

    def check(self, trace, text, *options):
        with tempfile.NamedTemporaryFile("w", suffix=".csv") as f:
            f.write(text)
            f.flush()
            p = subprocess.run([sys.executable, "-B", os.path.join(ORACLE, "check_schedule.py"),
                                *self.paths(trace), f.name, "--no-preempt", *options],
                               capture_output=True, text=True)
        self.assertEqual(p.returncode, 0, p.stdout)
        self.assertIn(" 0 jobs absent, 0 violations", p.stdout)

    @staticmethod
    def paths(trace):
        return [os.path.join(TRACES, trace, name) for name in ("jobs.csv", "cluster.csv")]

    def compare(self, order, queue, place):
        _, rows, text = simulate(*self.paths("kalos2023"), "--speed", "6", "--order", order,
                                 "--queue", queue, "--place", place)
        expected = os.path.join(ORACLE, "expected", f"kalos2023-x6--{order}-{queue}-{place}.csv")
        with open(expected) as f:
            for r in csv.DictReader(f):
                ours = rows.pop(r["job_id"])
                self.assertAlmostEqual(float(ours["start_s"]), float(r["start_s"]), delta=0.001)
                self.assertEqual(sorted(ours["nodes"].split()), sorted(r["nodes"].split()))
        self.assertEqual(rows, {})
        self.check("kalos2023", text, "--speed=6")

    def test_every_start_and_node_is_the_reference_simulators(self):
        for order in ("fifo", "sjf", "prio"):
            for queue in ("hol", "easy"):
                for place in ("bestfit", "topo"):
                    with self.subTest(order=order, queue=queue, place=place):
                        self.compare(order, queue, place)

    def test_the_averages_of_a_big_trace_are_the_reference_simulators(self):
        runs = ["fifo-hol-bestfit"]
        if os.environ.get("QUEUESIM_FULL"):
            runs = [f"{o}-{q}-{p}" for o in ("fifo", "sjf") for q in ("hol", "easy")
                    for p in ("bestfit", "topo")]
        with open(os.path.join(ORACLE, "expected", "summary.csv")) as f:
            expected = {r["run"]: r for r in csv.DictReader(f)}
        for run in runs:
            order, queue, place = run.split("-")
            with self.subTest(run=run):
                figures, _, text = simulate(*self.paths("itp2021"), "--depth", "200", "--order",
                                            order, "--queue", queue, "--place", place)
                for key in ("avg_jct_s", "avg_wait_s"):
                    want = float(expected["itp2021--" + run][key])
                    self.assertAlmostEqual(figures[key], want, delta=want * 0.01)
                self.check("itp2021", text)


if __name__ == "__main__":
    unittest.main()
