# SPDX-License-Identifier: Apache-2.0
"""test_cli - queuectl as a user would: the real daemon, the stand-in API server, exit codes.

$B is the build directory. One daemon serves all tests; each test submits jobs of its own.
"""

import csv
import glob
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from cli_site import B, HERE, JOB, CliSite, wait_for


def processor_time():
    """Of the programs that were run and have ended, in seconds."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Cli(CliSite):
    # ---- the path of a job

    def test_a_job_runs_and_its_end_is_told(self):
        job = self.submit("runs", 2, "gang.queued/run-duration: 1s")
        self.assertRegex(job, "^runs-[0-9a-z]{4}$")
        code, out, err = self.run_cli("wait", job, "--timeout", "30s")
        self.assertEqual((code, out), (0, ""), err)
        self.assertIn(job + "  Succeeded", err)
        d = json.loads(self.good("describe", job, "-o", "json"))
        self.assertEqual(d["kind"], "GangJob")
        self.assertEqual(d["status"]["state"], "Succeeded")
        pods = d["status"]["attempts"][-1]["pods"]
        self.assertEqual([p["exitCode"] for p in pods], [0, 0])
        self.assertEqual([p["index"] for p in pods], [0, 1])
        self.assertEqual(d["spec"]["roles"][0]["resources"]["gpus"], 8)
        self.assertRegex(d["metadata"]["created"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")

    def test_the_code_of_a_failed_job_is_passed_on(self):
        job = self.submit("fails", 1, "gang.queued/fail-after: 1s")
        code = self.run_cli("wait", job, "--timeout", "30s")[0]
        d = json.loads(self.good("describe", job, "-o", "json"))
        self.assertEqual(d["status"]["state"], "Failed")
        self.assertEqual(code, d["status"].get("exitCode") or 1)
        self.assertNotEqual(code, 0)

    def test_submit_waits_when_asked(self):
        job = JOB % {"name": "waits", "pods": 1, "annotations": "gang.queued/run-duration: 1s"}
        code, out, err = self.run_cli("submit", "-f", "-", "--wait", stdin=job)
        self.assertEqual(code, 0, err)
        self.assertRegex(out, r"^job/waits-\w{4} submitted \(tenant vision, needs 8 GPUs\)\n$")

    def test_cancelled_and_endless_jobs_have_codes_of_their_own(self):
        job = self.submit("endless", 1, "gang.queued/run-duration: 1h")
        self.assertEqual(self.run_cli("wait", job, "--for", "running", "--timeout", "30s")[0], 0)
        self.assertEqual(self.run_cli("wait", job, "--timeout", "200ms")[0], 124)
        self.assertIn("job/" + job, self.good("cancel", job, "--reason", "a test"))
        self.assertEqual(self.run_cli("wait", job, "--timeout", "30s")[0], 120)
        self.assertIn("job/" + job, self.good("cancel", job))

    def test_a_job_is_held_released_requeued_and_preempted(self):
        waits = self.submit("waits", 12, "gang.queued/run-duration: 1h")
        self.assertEqual(self.good("hold", waits, "--reason", "a test"), f"job/{waits} is Held\n")
        self.assertRegex(self.good("why", waits), r"(?s)Held.*by \w+: a test.*queuectl release")
        self.assertEqual(self.good("hold", waits, "-o", "name"), f"job/{waits}\n")
        self.assertEqual(self.good("release", waits), f"job/{waits} is Pending\n")
        self.assertNotEqual(self.state(waits), "Held")
        self.good("cancel", waits)
        self.refused(5, "submit an ended one again", "requeue", waits)
        self.refused(5, "only a running job is preempted", "preempt", waits)
        self.refused(5, "has something to save", "checkpointed", waits)
        self.refused(3, "no job nope", "release", "nope")
        self.refused(2, "name the jobs", "hold")
        job = self.submit("again", 1, "gang.queued/run-duration: 1h")
        self.assertEqual(self.run_cli("wait", job, "--for", "running", "--timeout", "30s")[0], 0)
        self.refused(5, "requeue a running one first", "hold", job)
        self.assertEqual(self.good("checkpointed", job), f"job/{job} is Running\n")
        self.assertRegex(self.good("describe", job), r"\n  saved +\d{4}-")
        for attempt, verb in ((2, "requeue"), (3, "preempt")):
            self.assertIn("job/" + job, self.good(verb, job))
            for _ in range(300):
                d = json.loads(self.good("describe", job, "-o", "json"))["status"]
                if d["state"] == "Running" and d["attempts"][-1]["number"] == attempt:
                    break
                time.sleep(0.1)
            self.assertEqual((d["state"], d["attempts"][-1]["number"]), ("Running", attempt))
            self.assertEqual(d.get("restarts", 0), 0)
        self.good("cancel", job)

    def test_a_waiting_job_is_changed_and_its_history_says_so(self):
        job = self.submit("changes", 12)
        self.assertEqual(self.good("prioritize", job, "low"), f"job/{job} changed (Pending)\n")
        self.good("update", job, "--max-runtime", "90m", "--topology", "required:rack",
                  "--reason", "a test")
        spec = json.loads(self.good("describe", job, "-o", "json"))["spec"]
        self.assertEqual((spec["priorityClass"], spec["topology"]), ("low", {"required": "rack"}))
        self.assertEqual(spec["maxRuntime"], "1h30m")
        moved = json.loads(self.good("update", job, "--tenant", "infra", "-o", "json"))
        self.assertEqual(moved["items"][0]["metadata"]["name"], job)
        shown = json.loads(self.good("describe", job, "-o", "json"))
        self.assertEqual(shown["metadata"]["tenant"], "infra")
        self.assertEqual(shown["spec"]["namespace"], "infra")
        self.refused(7, "no class 'nope'", "prioritize", job, "nope")
        self.refused(7, "no topology level 'nope'", "update", job, "--topology", "required:nope")
        self.refused(2, "write required:LEVEL", "update", job, "--topology", "rack")
        self.refused(2, "write a time", "update", job, "--max-runtime", "soon")
        self.refused(2, "say what to change", "update", job)
        self.good("cancel", job)
        self.refused(5, "only a waiting job is changed", "prioritize", job, "normal")
        out = self.run_cli("watch", job, "--from", "0", "--exit-when-done", "-o", "jsonl")[1]
        told = [e["text"] for e in map(json.loads, out.splitlines()) if e["reason"] == "Updated"]
        self.assertEqual(len(told), 3, out)
        self.assertRegex(told[0], r"^by \w+: class normal -> low$")
        self.assertRegex(told[1], r"maxRuntime 1d -> 1h30m, topology any -> required:rack; a test$")

    def node(self, name):
        nodes = json.loads(self.good("nodes", "-o", "json"))["items"]
        return next(n for n in nodes if n["name"] == name)

    def test_a_stopped_tenant_waits_until_it_is_resumed(self):
        out = self.good("tenant", "stop", "infra", "--reason", "moving")
        self.assertEqual(out, "tenant/infra stopped; what runs goes on\n")
        self.assertRegex(self.log(), r'"a tenant is to be stopped" tenant=infra user=\w+ .*moving"')
        job = self.submit("stopped", 1, "gang.queued/run-duration: 1h", "--tenant", "infra")
        self.daemon.kill()
        self.daemon.wait()
        self.start_daemon()
        wait_for(lambda: "QueueStopped" in self.good("why", job), "the reason")
        self.assertRegex(self.good("tenant", "get", "infra"), r"infra +stopped +1 .* by \w+: moving")
        item = json.loads(self.good("tenant", "get", "infra", "-o", "json"))["items"][0]
        self.assertRegex(item["stopped"]["text"], r"^by \w+: moving$")
        self.assertEqual(self.good("tenant", "resume", "infra"), "tenant/infra resumed\n")
        self.assertEqual(self.run_cli("wait", job, "--for", "running", "--timeout", "30s")[0], 0)
        self.assertRegex(self.good("quota", "infra"), r"infra +H100 +16 +8 +0 ")
        self.good("cancel", job)
        self.refused(3, "no tenant nosuch", "tenant", "stop", "nosuch")

    def test_a_drained_node_takes_nothing_new_until_it_is_given_back(self):
        job = self.submit("drained", 1, "gang.queued/run-duration: 1h")
        self.assertEqual(self.run_cli("wait", job, "--for", "running", "--timeout", "30s")[0], 0)
        attempt = json.loads(self.good("describe", job, "-o", "json"))["status"]["attempts"][-1]
        name = attempt["pods"][0]["node"]
        out = self.good("drain", name, "--reason", "disk swap")
        self.assertEqual(out, f"node/{name} drained, 1 jobs on it run on\n")
        self.assertRegex(self.log(), '"a node is to be drained" node=%s .*disk swap"' % name)
        self.daemon.kill()
        self.daemon.wait()
        self.start_daemon()
        node = self.node(name)
        self.assertEqual((node["usable"], node["trouble"]), (False, "drained"))
        self.assertRegex(node["drained"]["text"], r"^by \w+: disk swap$")
        self.assertIn("drained", self.good("nodes", "--unhealthy"))
        self.assertRegex(self.good("nodes", "-o", "wide"), r"drained by \w+: disk swap")
        self.assertEqual(self.state(job), "Running")
        self.assertIn("job/" + job, self.good("drain", name, "--requeue"))
        wait_for(lambda: self.state(job) == "Running" and self.node(name)["pods"] == 0, "the move")
        self.assertEqual(self.good("undrain", name), f"node/{name} takes jobs again\n")
        self.assertEqual(self.good("undrain", name), f"node/{name} takes jobs again\n")
        self.assertTrue(self.node(name)["usable"])
        self.refused(3, "no node nosuch", "drain", "nosuch")
        self.refused(2, "name the nodes", "undrain")
        self.good("cancel", job)

    def test_waiting_for_several_tells_good_from_bad_only(self):
        good = self.submit("good", 1, "gang.queued/run-duration: 1s")
        bad = self.submit("bad", 1, "gang.queued/fail-after: 1s")
        self.assertEqual(self.run_cli("wait", good, bad, "--timeout", "30s")[0], 1)
        self.assertEqual(self.run_cli("wait", good, bad, "--any", "--timeout", "30s")[0], 0)

    def test_waiting_survives_a_restart_of_the_daemon(self):
        job = self.submit("survives", 1, "gang.queued/run-duration: 4s")
        self.assertEqual(self.run_cli("wait", job, "--for", "running", "--timeout", "30s")[0], 0)
        with subprocess.Popen(
            self.command(["wait", job]), stderr=subprocess.PIPE, text=True, env=self.env()
        ) as waiting:
            time.sleep(0.3)
            self.daemon.kill()
            self.daemon.wait()
            time.sleep(0.3)
            self.start_daemon()
            err = waiting.communicate(timeout=40)[1]
        self.assertEqual(waiting.returncode, 0, err)

    def test_ctrl_c_detaches_and_says_how_to_go_on(self):
        job = self.submit("detaches", 1, "gang.queued/run-duration: 1h")
        with subprocess.Popen(
            self.command(["wait", job]), stderr=subprocess.PIPE, text=True, env=self.env()
        ) as waiting:
            time.sleep(0.5)
            waiting.send_signal(signal.SIGINT)
            err = waiting.communicate(timeout=10)[1]
        self.assertEqual(waiting.returncode, 130)
        self.assertIn("queuectl wait " + job, err)
        self.assertNotIn(self.state(job), ("Cancelled", "Stopping"))
        self.good("cancel", job)

    def test_the_stream_of_a_job_ends_with_it(self):
        job = self.submit("streams", 1, "gang.queued/run-duration: 1s")
        out = self.good("watch", job, "--from", "0", "--exit-when-done", "-o", "jsonl")
        events = [json.loads(line) for line in out.splitlines()]
        self.assertEqual({e["name"] for e in events}, {job})
        self.assertEqual(events[-1]["to"], "Succeeded")
        seqs = [e["seq"] for e in events]
        self.assertEqual(seqs, sorted(set(seqs)))

    # ---- looking

    def test_why_gives_reason_and_next_step(self):
        job = self.submit("toolarge", 12)
        try:
            out = self.good("why", job)
            self.assertRegex(out, r"^PENDING [\w.]+   NoSuchHardware   position \d+ in tenant vision")
            self.assertIn("  try ", out)
            self.assertLessEqual(len(out.splitlines()), 8)
            d = json.loads(self.good("why", job, "-o", "json"))
            self.assertIn("nextStep", d["why"])
        finally:
            self.good("cancel", job)

    def test_lists_select_and_fit_the_line(self):
        job = self.submit("lists", 1, "gang.queued/run-duration: 1h")
        try:
            out = self.good("list", "-l", "test=lists")
            self.assertEqual(len(out.splitlines()), 2, out)
            self.assertTrue(out.startswith("JOB "), out)
            self.assertLessEqual(max(map(len, self.good("list", "-A").splitlines())), 100)
            self.assertEqual(self.good("list", "-l", "test=lists", "-o", "name"), "job/%s\n" % job)
            listed = json.loads(self.good("list", "-A", "-l", "test=lists", "-o", "json"))
            self.assertEqual(listed["kind"], "GangJobList")
            self.assertNotIn("continue", listed)
            self.assertEqual(listed["items"][0]["metadata"]["name"], job)
            page = json.loads(self.good("list", "-A", "--limit", "1", "-o", "json"))
            self.assertEqual(len(page["items"]), 1)
            rest = json.loads(self.good("list", "-A", "--continue", page["continue"], "-o", "json"))
            self.assertNotIn(
                page["items"][0]["metadata"]["id"], [j["metadata"]["id"] for j in rest["items"]]
            )
            self.assertEqual(self.run_cli("list", "-l", "test=lists", "-q")[:2], (0, ""))
        finally:
            self.good("cancel", job)

    def test_free_says_what_the_largest_gang_is(self):
        nodes = json.loads(self.good("nodes", "-o", "json"))["items"]
        free = json.loads(self.good("free", "-o", "json"))
        self.assertEqual(free["kind"], "FreeList")
        by_level = {i["level"]: i for i in free["items"]}
        self.assertEqual(list(by_level), ["cluster", "block", "rack", "host"])
        whole = sum(n["gpus"]["free"] == 8 for n in nodes)
        self.assertEqual(by_level["cluster"]["largestGang"]["8"], whole)
        self.assertEqual(by_level["cluster"]["free"], sum(n["gpus"]["free"] for n in nodes))
        self.assertEqual((by_level["rack"]["domains"], by_level["host"]["domains"]), (2, 8))
        racks = {}
        for n in nodes:
            racks.setdefault(n["domains"][0], []).append(n["gpus"]["free"] == 8)
        self.assertEqual(by_level["rack"]["largestGang"]["8"], max(map(sum, racks.values())))
        self.assertIn(by_level["rack"]["where"]["8"], racks)
        out = self.good("free", "--by", "rack", "--no-headers")
        self.assertRegex(out, r"^rack +H100 +2 +\d+/64 ")
        self.refused(2, "no level of that name", "free", "--by", "galaxy")

    def test_lists_are_written_as_csv_and_in_chosen_columns(self):
        job = self.submit("csv", 12)
        out = self.good("list", "-l", "test=csv", "-o", "csv").splitlines()
        self.assertEqual(out[0].split(",")[:2], ["JOB", "TENANT"])
        self.assertEqual(out[1].split(",")[:2], [job, "vision"])
        out = self.good("list", "-l", "test=csv", "--columns", "state,Job")
        self.assertEqual(out.split(), ["STATE", "JOB", "Pending", job])
        self.refused(2, 'there is no column "nope"', "list", "--columns", "nope", "-l", "test=csv")
        self.refused(2, "there is no column", "list", "--columns", "nope", "-l", "test=none")
        self.refused(2, "--columns goes with", "list", "--columns", "job", "-o", "json")
        rows = list(csv.reader(self.good("nodes", "-o", "csv").splitlines()))
        self.assertEqual({len(row) for row in rows}, {len(rows[0])})
        self.assertEqual(len(rows), 9)
        self.good("cancel", job)

    def test_verbs_take_what_labels_select_and_the_newest_job(self):
        first = self.submit("many", 12)
        last = self.submit("many", 12)
        self.assertEqual(self.good("describe", "@last", "-o", "name"), f"job/{last}\n")
        self.refused(2, "this would hold 2 jobs", "hold", "-l", "test=many")
        out = self.good("hold", "-l", "test=many", "-y")
        self.assertEqual(out, f"job/{first} is Held\njob/{last} is Held\n")
        self.assertEqual(self.good("release", "@last"), f"job/{last} is Pending\n")
        out = self.good("release", "--all", "--tenant", "vision", "-l", "test=many", "-y")
        self.assertEqual(out, f"job/{first} is Pending\n")
        self.assertEqual(self.run_cli("release", "-l", "test=many", "-y")[:2], (0, ""))
        self.refused(2, "--all needs --tenant", "preempt", "--all")
        # an unset variable of a script selects nothing, and not everything
        self.refused(2, '"": write KEY=VALUE', "cancel", "-l", "", "-y")
        self.refused(2, "--tenant is empty", "cancel", "--all", "--tenant", "", "-y")
        self.assertEqual(len(self.good("cancel", "-l", "test=many", "-y").splitlines()), 2)

    def test_more_jobs_than_are_asked_for_at_once_are_all_changed_in_their_order(self):
        jobs = [self.submit("heap", 12) for _ in range(35)]
        out = self.good("hold", "-l", "test=heap", "-y")
        self.assertEqual(out, "".join(f"job/{j} is Held\n" for j in jobs))
        code, out, err = self.run_cli("release", *jobs[:2], "no-such-job", *jobs[2:])
        self.assertNotEqual(code, 0)
        self.assertEqual(out, "".join(f"job/{j} is Pending\n" for j in jobs))
        self.assertEqual(err.count("no job no-such-job"), 1, err)
        self.assertEqual(len(self.good("cancel", "-l", "test=heap", "-y").splitlines()), 35)

    def test_describe_tells_the_history_of_one_job_when_asked(self):
        job = self.submit("history", 12)
        self.good("prioritize", job, "low", "--reason", "a test")
        self.good("cancel", job)
        events = json.loads(self.good("describe", job, "--events", "-o", "json"))["events"]
        self.assertEqual([e["reason"] for e in events],
                         ["NotEvaluated", "Updated", "Cancelled", "Cancelled"])
        self.assertEqual({e["name"] for e in events}, {job})
        out = self.good("describe", job, "--events")
        self.assertRegex(out, r"\nEvents\n\d+  .*submitted, Pending(?s:.*)low; a test\n")
        self.assertNotIn("Events", self.good("describe", job))
        self.refused(2, "neither --spec", "describe", job, "--spec", "--events")

    def test_the_shell_completes_commands_options_and_what_the_daemon_knows(self):
        job = self.submit("completes", 12)
        script = self.good("completion", "bash")

        def complete(*words):
            line = 'COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _queuectl; echo "${COMPREPLY[@]}"'
            words = [os.path.join(B, "queuectl"), *words]
            done = subprocess.run(["bash", "-c", script + line, "bash", *words], env=self.env(),
                                  capture_output=True, text=True, timeout=20, check=True)
            self.assertEqual(done.stderr, "")
            return done.stdout.split()

        self.assertEqual(complete("dra"), ["drain"])
        self.assertEqual(complete("update", "--max"), ["--max-runtime"])
        self.assertEqual(complete("why", "completes-"), [job])
        self.assertEqual(complete("drain", ""), [
            n["name"] for n in json.loads(self.good("nodes", "-o", "json"))["items"]])
        self.assertEqual(complete("list", "--tenant", "vi"), ["vision"])
        self.refused(2, "say for which shell", "completion", "fish")
        self.good("cancel", job)

    def test_titles_are_bold_where_colour_is_wanted(self):
        self.assertTrue(self.good("nodes", "--color", "always").startswith("\033[1mNODE"))
        for args in ([], ["--color", "auto"], ["--color", "never"]):
            self.assertTrue(self.good("nodes", *args).startswith("NODE"), args)

    def test_an_empty_list_is_no_error_unless_asked_quietly(self):
        code, out, err = self.run_cli("list", "-l", "test=nobody")
        self.assertEqual((code, out), (0, ""))
        self.assertIn("no job", err)
        self.assertEqual(self.run_cli("list", "-l", "test=nobody", "-q")[:2], (1, ""))
        listed = json.loads(self.good("list", "-l", "test=nobody", "-o", "json"))
        self.assertEqual(listed["items"], [])

    def test_yaml_says_what_json_says(self):
        out = self.good("nodes", "-o", "yaml")
        self.assertTrue(out.startswith("apiVersion: gang.queued/v1\nkind: NodeList\nitems:\n- name"))
        nodes = json.loads(self.good("nodes", "-o", "json"))["items"]
        self.assertEqual(len(nodes), 8)
        self.assertEqual(nodes[0]["gpus"]["allocatable"], 8)

    def test_cluster_and_tenants_are_shown(self):
        self.assertEqual(len(self.good("nodes", "--no-headers").splitlines()), 8)
        self.assertIn("rack", self.good("topology"))
        self.assertRegex(self.good("quota", "vision"), r"vision +H100 +32 +\d+ +\d+ +\d+ +96 ")
        self.refused(3, "no tenant nosuch", "quota", "nosuch")
        self.assertIn("queued ", self.good("version"))

    # ---- submitting

    def test_a_stored_spec_is_a_job_file_again(self):
        job = self.submit("again", 1, "gang.queued/run-duration: 1s")
        spec = self.good("describe", job, "--spec")
        other = self.good("submit", "-f", "-", "-o", "name", stdin=spec).strip()[4:]
        self.assertRegex(other, "^again-")
        self.assertEqual(self.good("describe", other, "--spec"), spec)
        self.good("cancel", job, other)

    def test_a_submit_key_gives_the_same_job(self):
        job = JOB % {"name": "keyed", "pods": 1, "annotations": "gang.queued/run-duration: 1s"}
        first = self.good("submit", "-f", "-", "--key", "k1", "-o", "name", stdin=job)
        again = self.good("submit", "-f", "-", "--key", "k1", stdin=job)
        self.assertIn(first.strip() + " already submitted", again)
        other = job.replace("replicas: 1", "replicas: 2")
        code, out, err = self.run_cli("submit", "-f", "-", "--key", "k1", stdin=other)
        self.assertEqual((code, out), (5, ""))
        self.assertEqual(err.splitlines()[1:], ["- replicas: 1", "+ replicas: 2"], err)

    def test_dry_runs_store_nothing(self):
        job = JOB % {"name": "dry", "pods": 1, "annotations": ""}
        self.assertIn("not submitted", self.good("submit", "-f", "-", "--dry-run=client", stdin=job))
        self.assertIn("would be", self.good("submit", "-f", "-", "--dry-run", stdin=job))
        self.assertIn("kind: GangJob", self.good("submit", "-f", "-", "--print-spec", stdin=job))
        self.assertEqual(self.run_cli("list", "-A", "-l", "test=dry", "-q")[0], 1)

    def test_a_directory_is_submitted_whole_or_not_at_all(self):
        with tempfile.TemporaryDirectory() as where:
            job = JOB % {"name": "whole", "pods": 1, "annotations": ""}
            for name, text in (("a.yaml", job), ("b.yaml", "name: x\nimge: y\n")):
                with open(os.path.join(where, name), "w", encoding="utf-8") as f:
                    f.write(text)
            want = "b.yaml:2:1: imge: unknown key; did you mean image?"
            self.refused(2, want, "submit", "-f", where)
            self.assertEqual(self.run_cli("list", "-A", "-l", "test=whole", "-q")[0], 1)
            os.remove(os.path.join(where, "b.yaml"))
            self.assertIn("job/whole-", self.good("submit", "-f", where))
            self.good("cancel", "-l", "test=whole", "-y")

    # ---- bad moments

    def test_what_is_wrong_is_said_with_the_right_code(self):
        job = JOB % {"name": "wrong", "pods": 1, "annotations": ""}
        self.refused(7, "nosuch", "submit", "-f", "-", "--tenant", "nosuch", stdin=job)
        large = job.replace("replicas: 1", "replicas: 9")
        self.refused(7, "", "submit", "-f", "-", "--require-feasible", stdin=large)
        self.refused(2, "stdin:1:1: ", "submit", "-f", "-", stdin="- a\n")
        self.refused(2, "No such file", "submit", "-f", self.path("nosuch.yaml"))
        self.refused(3, "nosuch", "describe", "nosuch")
        self.refused(3, "nosuch", "wait", "nosuch")
        self.refused(3, "nosuch", "why", "nosuch")
        self.refused(2, "did you mean list?", "lisst")
        self.refused(2, "did you mean --tenant?", "list", "--tennant", "x")
        self.refused(2, "did you mean --timeout?", "update", "x", "--time", "2h")
        self.refused(2, "did you mean --timeout?", "list", "--timeo=2h")
        self.refused(2, "-o xml: this command writes", "list", "-o", "xml")

    def test_no_daemon_is_said_at_once(self):
        began = time.monotonic()
        self.refused(6, "there is no socket", "list", "--endpoint", "ipc://%s/no" % self.where)
        self.assertLess(time.monotonic() - began, 1)
        self.refused(125, "there is no socket", "wait", "x", "--endpoint", "ipc:///no/sock")
        nobody = ("--endpoint", "tcp://127.0.0.1:1", "--timeout", "300ms")
        self.refused(6, "is the daemon running?", "list", *nobody)
        self.refused(2, "write ipc://", "list", "--endpoint", "http://127.0.0.1:1")

    def test_stdout_that_is_closed_is_noticed(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run(
                self.command(["nodes"]),
                stdout=full,
                stderr=subprocess.PIPE,
                env=self.env(),
                check=False,
            )
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"cannot write to stdout", done.stderr)

    def test_start_up_is_quick(self):
        with open(os.path.join(B, "queuectl"), "rb") as f:
            if b"__ubsan_handle" in f.read():
                self.skipTest("sanitizers take their time")
        times = []
        for _ in range(5):  # processor time: what else runs on the machine is not measured
            began = processor_time()
            self.run_cli("version", "--client")
            times.append(processor_time() - began)
        self.assertLess(min(times), 0.02)

    def test_every_command_has_help_with_examples_first(self):
        overview = self.good("help")
        table = overview[overview.index("Commands") : overview.index("Options")].splitlines()[1:-1]
        names = [line.split()[0] for line in table]
        self.assertIn("submit", names)
        for name in names:
            out = self.good("help", name)
            self.assertTrue(out.startswith("  queuectl "), out)
            if name != "help":
                self.assertEqual(out, self.good(name, "--help"))

    def test_manual_pages_name_every_option_of_the_help(self):
        pages = os.path.join(HERE, "..", "..", "docs", "man")
        overview = self.good("help")
        table = overview[overview.index("Commands") : overview.index("Options")].splitlines()[1:-1]
        for name in [line.split()[0] for line in table]:
            if name == "help":
                continue
            with open(os.path.join(pages, "queuectl-%s.1.scd" % name), encoding="utf-8") as f:
                page = f.read().replace("\\", "")
            text = self.good("help", name).split("Options of every command")[0]
            for option in set(re.findall(r"(?<![\w-])--?[a-zA-Z][a-z-]*", text)):
                self.assertIn(option, page, name)

    def test_every_reason_is_explained_and_tested(self):
        root = os.path.join(HERE, "..", "..")
        listed = json.loads(self.good("explain", "-o", "json"))["items"]
        waits = [r["code"] for r in listed if r["waits"]]
        with open(os.path.join(root, "queued", "view", "explain.def"), encoding="utf-8") as f:
            codes = re.findall(r"^EXPLAIN\((\w+)", f.read(), re.M)
        self.assertEqual([c for c in waits if c in codes], codes)  # in order of precedence
        for code in (
            "Held Dependency DependencyFailed BeginTime Invalid UnknownTenant UnknownClass "
            "NamespaceQuota ExceedsTenantLimit NoSuchHardware SelectorMismatch UntoleratedTaint "
            "NodesUnhealthy TenantShare Priority InsufficientGpus NeedsWholeNodes "
            "TopologyUnavailable InsufficientOther ReservedForLarger WaitingForPreemption "
            "WaitingForBind WaitingForStart BackOff QueueStopped Draining Maintenance ArrayLimit "
            "NotEvaluated ClusterUnreachable TenantLimit"
        ).split():
            self.assertIn("means", self.good("explain", code.lower()))
        core = tests = ""
        for where in ("queued/core", "queued/life", "queued/view", "tests/unit"):
            for name in sorted(os.listdir(os.path.join(root, where))):
                with open(os.path.join(root, where, name), encoding="utf-8") as f:
                    text = f.read()
                tests += text if where == "tests/unit" else ""
                core += "" if where == "tests/unit" else text
        ends = re.findall(r'\.code = "(\w+)"', core)
        self.assertEqual([c for c in ends if c not in [r["code"] for r in listed]], [])
        self.assertEqual([c for c in codes if '"%s"' % c not in tests], [])
        self.refused(3, "there is no reason Nosuch", "explain", "Nosuch")

    def test_manual_pages_name_every_key_and_reason(self):
        root = os.path.join(HERE, "..", "..")

        def read(*path):
            with open(os.path.join(root, *path), encoding="utf-8") as f:
                return f.read()

        keys = set()
        for part in ("yaml", "role", "placement", "short", "volume", "read", "failure"):
            source = read("client", "lib", "spec_%s.c" % part)
            keys |= set(re.findall(r'^    \{"(\w+)", (?:read_|NULL)', source, re.M))
        self.assertIn("maxRuntime", keys)
        page = read("docs", "man", "queued-job.5.scd")
        self.assertEqual([k for k in sorted(keys) if k not in page], [])
        codes = re.findall(r"^EXPLAIN\((\w+)", read("queued", "view", "explain.def"), re.M)
        page = read("docs", "man", "queued-reasons.7.scd")
        self.assertEqual([c for c in codes if "*%s*" % c not in page], [])
        for part in glob.glob(os.path.join(root, "queued", "life", "*.c")):
            for said in re.findall(r"\.code =[^,]*", read(part)):
                codes += re.findall(r'"(\w+)"', said)
        listed = self.good("explain").split()
        self.assertIn("Reclaimed", codes)
        self.assertEqual([c for c in codes if c not in listed], [])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
