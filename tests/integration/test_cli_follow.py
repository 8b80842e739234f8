# SPDX-License-Identifier: Apache-2.0
"""test_cli_follow - commands that stay with a job: list -w, run, logs, exec, history, top.

$B is the build directory. kubectl is a script here that says how it was called.
"""

import json
import os
import pty
import re
import signal
import subprocess
import sys
import unittest

from cli_site import CliSite, wait_for

KUBECTL = """#!/bin/sh
# what a pod says, and how this was called
echo "$@" >> "$0.log"
case "$1" in
logs) echo "hello of $4"; printf 'no newline' ;;
exec) echo "exec $*"; exit 7 ;;
*) echo "$*" ;;
esac
"""


class Follow(CliSite):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.kubectl = cls.path("kubectl")
        with open(cls.kubectl, "w", encoding="utf-8") as f:
            f.write(KUBECTL)
        os.chmod(cls.kubectl, 0o755)

    @classmethod
    def env(cls, more=None):
        return super().env({"QUEUED_KUBECTL": cls.path("kubectl"), **(more or {})})

    def runs(self, name, pods=1):
        job = self.submit(name, pods, "gang.queued/run-duration: 1h")
        self.assertEqual(self.run_cli("wait", job, "--for", "running", "--timeout", "30s")[0], 0)
        return job

    # ---- list -w

    def until(self, stream, pattern):
        """Lines up to one that matches."""
        lines = []
        for line in stream:
            lines.append(line)
            if re.search(pattern, line):
                return lines
        self.fail("ended without %s: %s" % (pattern, lines))

    def test_a_list_goes_on_with_a_row_for_each_change(self):
        first = self.submit("before", 1, "", "--hold")
        with subprocess.Popen(
            self.command(["list", "-w", "-A"]), stdout=subprocess.PIPE, text=True, env=self.env()
        ) as p:
            self.until(p.stdout, "^" + first + " .*Held")
            second = self.submit("after", 1, "", "--hold")
            self.until(p.stdout, "^" + second + " .*Held")
            self.good("cancel", first)
            told = self.until(p.stdout, "^" + first + " .*Cancelled")
            self.assertFalse(any(line.startswith("JOB") for line in told), told)
            p.kill()
        self.good("cancel", second)
        self.refused(2, "-w goes with none of -q", "list", "-w", "-q")
        self.refused(2, "-w goes with -o table", "list", "-w", "-o", "json")

    def test_a_list_of_one_tenant_and_state_tells_only_of_these(self):
        with subprocess.Popen(
            self.command(["list", "-w", "--tenant", "vision", "--state", "held", "-o", "name"]),
            stdout=subprocess.PIPE, text=True, env=self.env(),
        ) as p:
            job = None
            # what is held before the stream begins is in the list, after it in the stream
            job = self.submit("told", 1, "", "--hold")
            lines = self.until(p.stdout, "job/" + job)
            self.assertTrue(all(re.match(r"job/\w+-\w{4}\n$", line) for line in lines), lines)
            p.kill()
        self.good("cancel", job)

    def test_a_terminal_shows_the_list_anew(self):
        job = self.submit("anew", 1, "", "--hold")
        mine, theirs = pty.openpty()
        with subprocess.Popen(
            self.command(["list", "-w"]), stdout=theirs, stdin=theirs, stderr=theirs, env=self.env()
        ) as p:
            os.close(theirs)
            seen = b""
            while job.encode() not in seen:
                seen += os.read(mine, 4096)
            self.good("cancel", job)
            while not re.search(rb"\x1b\[2J.*JOB .*" + job.encode() + rb" .*Cancelled", seen, re.S):
                seen += os.read(mine, 4096)
            p.kill()
        os.close(mine)

    # ---- top

    def test_one_screen_shows_gpus_tenants_and_jobs(self):
        runs = self.runs("busy", 1)
        waits = self.submit("queues", 12)
        out = self.good("top", "--tenant", "vision")
        self.assertRegex(out, r"(?m)^H100 +\[#+-*\] \d+ of 64 GPUs in use")
        self.assertRegex(out, r"(?m)^vision +\[#+-*\] \d+ of 32 H100.*; \d+ run, \d+ wait$")
        self.assertRegex(out, "(?ms)^With nodes$.*^%s .*Running.*^Waiting$.*^%s .*Pending"
                         % (runs, waits))
        self.assertNotIn("infra", out)
        self.refused(2, "100ms or more", "top", "--interval", "1ms")
        mine, theirs = pty.openpty()
        with subprocess.Popen(self.command(["top", "--interval", "100ms"]), stdout=theirs,
                              stdin=theirs, stderr=theirs, env=self.env()) as p:
            os.close(theirs)
            seen = b""
            while seen.count(b"\x1b[2J") < 3:
                seen += os.read(mine, 65536)
            p.kill()
        os.close(mine)
        self.good("cancel", runs, waits)

    # ---- into the pods

    def test_logs_of_all_pods_are_told_apart_and_saved(self):
        job = self.runs("talks", 2)
        out = self.good("logs", "job/" + job)
        pods = ["%s-worker-%d-1" % (job, i) for i in (0, 1)]
        self.assertEqual(out, "".join("[worker-%d] hello of %s\n[worker-%d] no newline\n"
                                      % (i, pods[i], i) for i in (0, 1)))
        self.assertEqual(self.good("logs", job, "--rank", "1"), "hello of %s\nno newline\n" % pods[1])
        self.assertEqual(len(self.good("logs", job, "-f", "--tail", "3").splitlines()), 4)
        with open(self.kubectl + ".log", encoding="utf-8") as f:
            self.assertIn("logs --namespace vision %s --follow --tail=3\n" % pods[0], f.read())
        self.assertEqual(self.good("logs", job, "--download", self.path("saved")), "")
        with open(os.path.join(self.path("saved"), pods[1] + ".log"), encoding="utf-8") as f:
            self.assertEqual(f.read(), "hello of %s\nno newline\n" % pods[1])
        self.refused(3, "no pod of", "logs", job, "--rank", "2-7")
        self.refused(2, "write ranks", "logs", job, "--rank", "2-1")
        self.refused(3, "no job nope", "logs", "nope")
        held = self.submit("silent", 1, "", "--hold")
        self.refused(3, "has no pods (Held)", "logs", held)
        code, out, err = self.run_cli("logs", job, env={"QUEUED_KUBECTL": "/nosuch/kubectl"})
        self.assertEqual((code, out), (1, ""))
        self.assertIn("cannot run /nosuch/kubectl", err)
        self.good("cancel", job, held)

    def test_a_pod_is_reached_by_kubectl_with_its_exit_code(self):
        job = self.runs("reached", 2)
        code, out, _ = self.run_cli("exec", job, "--rank", "1", "--", "ls", "-l")
        self.assertEqual(code, 7)
        self.assertEqual(out, "exec exec --namespace vision --stdin=false --tty=false "
                         "%s-worker-1-1 -- ls -l\n" % job)
        self.assertIn("-- /bin/sh", self.run_cli("shell", job)[1])
        self.assertEqual(self.good("port-forward", job, "80:81"),
                         "port-forward --namespace vision %s-worker-0-1 80:81\n" % job)
        self.refused(2, "and a program", "exec", job)
        self.refused(2, "name one job", "attach")
        self.good("cancel", job)

    # ---- run

    def run_job(self, *args, duration="1s"):
        return ["run", "--tenant", "vision", "--image", "example.com/a:1", *args]

    def test_a_program_runs_as_a_job_and_its_logs_are_shown(self):
        with subprocess.Popen(
            self.command(self.run_job("-N", "2", "-g", "8", "--model", "H100", "--name", "prog",
                                      "--", "train", "a b")),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.env(),
        ) as p:
            job = re.match(r"job/(prog-\w{4}) submitted", p.stderr.readline()).group(1)
            self.until(p.stderr, job + "  Running")
            self.until(p.stdout, r"\[worker-1\] no newline")
            spec = json.loads(self.good("describe", job, "-o", "json"))["spec"]
            self.assertEqual(spec["roles"][0]["command"], ["train", "a b"])
            self.assertEqual(spec["roles"][0]["replicas"], 2)
            self.good("cancel", job)
            err = p.communicate(timeout=60)[1]
        self.assertEqual(p.returncode, 120, err)

    def test_what_is_wrong_with_a_run_is_said_before_anything_is_stored(self):
        self.refused(2, "--image", "run", "-g", "8", "--", "train")
        self.refused(2, "PROGRAM", "run", "--image", "a")
        self.refused(2, "--gpus", "run", "--image", "a", "-g", "all", "--", "x")
        self.refused(2, "NAME=VALUE", "run", "--image", "a", "-e", "A", "--", "x")
        self.refused(7, "no tenant 'nosuch'", *self.run_job("--tenant", "nosuch", "--", "x"))

    def test_with_rm_nothing_is_left_behind(self):
        with subprocess.Popen(
            self.command(self.run_job("--rm", "--no-logs", "-g", "1", "--name", "gone", "--", "x")),
            stderr=subprocess.PIPE, text=True, env=self.env(),
        ) as p:
            job = re.match(r"job/(gone-\w{4}) submitted", p.stderr.readline()).group(1)
            self.until(p.stderr, job + "  Running")
            p.send_signal(signal.SIGINT)
            p.communicate(timeout=60)
        self.assertEqual(p.returncode, 130)
        wait_for(lambda: self.state(job) == "Cancelled", "the cancel")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
