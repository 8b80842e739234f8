# SPDX-License-Identifier: Apache-2.0
"""test_daemon_checkpoint - a signal that tells a job to save: from the job file to the program.

Black box: the daemon, queuectl, and the stand-in API server as the cluster. What the kubelet would
write into the pod's file the test writes, as there is no kubelet.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from queued_site import QUEUECTL
from test_daemon_jobs import STANDIN, JobTest

JOB = """apiVersion: gang.queued/v1
kind: GangJob
metadata: {name: saver, annotations: {gang.queued/stop-delay: 1s}}
spec:
  tenant: vision
  maxRuntime: %(runtime)s
  checkpoint: {signal: SIGUSR1, grace: 1m, path: /ckpt/run7}
  roles:
  - {name: worker, replicas: 2, image: r.example.com/a:1, command: [%(command)s], resources: {gpus: 8, gpuModel: H100}}
"""
WRAPPED = 'queuectl, pod-run, "--", train'
NOTE = "gang.queued/checkpoint-request"
PODS = "/api/v1/namespaces/vision/pods"


def job(command=WRAPPED, runtime="1h", more=""):
    return (JOB % {"command": command, "runtime": runtime}).replace("grace: 1m", "grace: 1m" + more)


class Asked(JobTest):
    def wait_asked(self, name):
        """Until a pod of the job has the request; then it is not being deleted yet."""
        end = time.monotonic() + 30
        while time.monotonic() < end:
            for pod in self.ask("GET", PODS)["items"]:
                meta = pod["metadata"]
                if meta["name"].startswith(name + "-") and NOTE in meta["annotations"]:
                    self.assertNotIn("deletionTimestamp", meta)
                    return
            time.sleep(0.1)
        self.fail("no pod of %s was asked" % name)

    def test_a_preempted_job_and_one_at_its_end_are_asked(self):
        site = self.start()
        self.cluster(site)
        name = self.submit(site, job())
        self.wait_state(site, name, "Running")
        spec = self.ask("GET", PODS)["items"][0]["spec"]
        env = {e["name"]: e.get("value") for e in spec["containers"][0]["env"]}
        self.assertEqual(env["QUEUED_CHECKPOINT_SIGNAL"], "SIGUSR1")
        self.assertEqual(env["QUEUED_CHECKPOINT_DIR"], "/ckpt/run7")
        mounts = {m["name"]: m["mountPath"] for m in spec["containers"][0]["volumeMounts"]}
        item = next(v for v in spec["volumes"] if "downwardAPI" in v)
        file = mounts[item["name"]] + "/" + item["downwardAPI"]["items"][0]["path"]
        self.assertEqual(env["QUEUED_CHECKPOINT_FILE"], file)
        site.ctl("preempt", name)
        self.wait_asked(name)
        site.ctl("cancel", name)
        last = self.submit(site, job(runtime="2s"))
        self.wait_state(site, last, "Running")
        self.wait_asked(last)
        self.wait_state(site, last, "TimedOut")

    def test_a_job_is_asked_before_its_end_and_runs_on(self):
        site = self.start()
        self.cluster(site)
        name = self.submit(site, job(runtime="1h", more=", beforeEnd: 3599900ms, target: leader"))
        self.wait_state(site, name, "Running")
        self.wait_asked(name)
        pods = self.ask("GET", PODS)["items"]
        self.assertTrue(all(p["metadata"]["annotations"].get(NOTE, " early").endswith(" early") for p in pods))
        told = [any(e["name"] == "QUEUED_CHECKPOINT_SIGNAL" for e in p["spec"]["containers"][0]["env"]) for p in pods]
        first = [p["metadata"]["labels"]["gang.queued/index"] == "0" for p in pods]
        self.assertEqual(told, first)
        self.assertEqual(self.state(site, name), "Running")
        self.assertIn("CheckpointAsked", site.ctl("describe", name, "--events", "-o", "json")[1])

    def test_a_signal_needs_the_wrapper(self):
        site = self.start()
        for more, want in [
            (", beforeEnd: 1h", "spec.checkpoint.beforeEnd: must be shorter than maxRuntime"),
            (", target: most", "spec.checkpoint.target: \"most\" must be all or leader"),
        ]:
            code, _, err = site.ctl("submit", "-f", "-", text=job(more=more))
            self.assertEqual(code, 2)
            self.assertIn(want, err)
        text = job(more=", beforeEnd: 1m").replace("signal: SIGUSR1, ", "")
        code, _, err = site.ctl("submit", "-f", "-", text=text)
        self.assertIn("spec.checkpoint.beforeEnd: goes with a checkpoint.signal other than SIGTERM", err)
        code, _, err = site.ctl("submit", "-f", "-", text=job("train"))
        self.assertEqual(code, 2)
        self.assertIn("spec.checkpoint.signal: needs 'queuectl pod-run --'", err)
        code, _, err = site.ctl("submit", "-f", "-", text=job().replace("SIGUSR1", "SIGKILL"))
        self.assertEqual(code, 2)
        self.assertIn("is none of SIGTERM", err)


class PodRun(unittest.TestCase):
    def run_program(self, script, name="SIGUSR1"):
        where = tempfile.TemporaryDirectory()
        self.addCleanup(where.cleanup)
        self.file = where.name + "/checkpoint"
        open(self.file, "w", encoding="utf-8").close()  # as the kubelet makes it, without annotation
        process = subprocess.Popen(
            [QUEUECTL, "pod-run", "--", "sh", "-c", "trap : WINCH; echo up; " + script],
            env=dict(os.environ, QUEUED_CHECKPOINT_SIGNAL=name, QUEUED_CHECKPOINT_FILE=self.file),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        return process

    def test_a_request_becomes_the_signal_and_sigterm_is_kept_away(self):
        loop = "trap 'echo saving; sleep 1; echo saved; exit 5' USR1; trap 'echo term' TERM; while :; do sleep 0.1; done"
        process = self.run_program(loop)
        self.assertEqual(process.stdout.readline(), "up\n")
        time.sleep(0.2)
        with open(self.file, "w", encoding="utf-8") as f:
            f.write("2026-12-01T02:00:00Z")
        self.assertEqual(process.stdout.readline(), "saving\n")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(10), 5)
        self.assertEqual(process.stdout.read(), "saved\n")

    def test_a_request_before_the_end_keeps_no_sigterm_away_and_a_new_one_is_another_signal(self):
        loop = "trap 'echo saving' USR1; trap 'echo term' TERM; while :; do sleep 0.1; done"
        process = self.run_program(loop)
        self.assertEqual(process.stdout.readline(), "up\n")
        for text in ["2026-12-01T02:00:00Z early", "2026-12-01T02:05:00Z"]:
            with open(self.file + ".new", "w", encoding="utf-8") as f:
                f.write(text)
            os.rename(self.file + ".new", self.file)
            self.assertEqual(process.stdout.readline(), "saving\n")
            if "early" in text:
                process.send_signal(signal.SIGTERM)
                self.assertEqual(process.stdout.readline(), "term\n")
        process.kill()
        process.wait(10)

    def test_without_a_request_sigterm_is_passed_on_and_the_end_is_the_programs(self):
        process = self.run_program("exec sleep 60")
        self.assertEqual(process.stdout.readline(), "up\n")
        time.sleep(0.2)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(10), 128 + signal.SIGTERM)
        self.assertEqual(self.run_program("exit 3").wait(10), 3)
        self.assertEqual(self.run_program("exec /no/such/program").wait(10), 127)

    def test_the_end_is_told_also_where_ends_were_ignored(self):
        """Who begins it may ignore SIGCHLD, which exec keeps."""
        ignore = lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        process = subprocess.Popen([QUEUECTL, "pod-run", "sh", "-c", "exit 3"], preexec_fn=ignore)
        self.addCleanup(process.kill)
        self.assertEqual(process.wait(10), 3)

    def test_usage(self):
        for words in [["pod-run"], ["pod-run", "--"], ["pod-run", "--bad", "x"]]:
            done = subprocess.run([QUEUECTL] + words, capture_output=True, text=True, timeout=10, check=False)
            self.assertEqual(done.returncode, 2)
        self.assertEqual(self.run_program("true", name="SIGKILL").wait(10), 2)
        done = subprocess.run([QUEUECTL, "pod-run", "/no/such"], capture_output=True, text=True, timeout=10, check=False)
        self.assertEqual(done.returncode, 127)


if __name__ == "__main__":
    if not os.access(QUEUECTL, os.X_OK) or not os.access(STANDIN, os.X_OK):
        sys.exit("%s or %s is not built: run 'make all standin'" % (QUEUECTL, STANDIN))
    unittest.main()
