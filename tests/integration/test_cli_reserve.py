# SPDX-License-Identifier: Apache-2.0
"""test_cli_reserve.py - reservations of nodes, topology.maxWait and deadline, with the real daemon."""
import datetime
import json
import unittest

import cli_site
import wire


class Reserve(cli_site.CliSite):
    def submit(self, name, pods, more=""):
        job = cli_site.JOB % {"name": name, "pods": pods, "annotations": ""}
        return self.good("submit", "-f", "-", "-o", "name", stdin=job + more).split("/")[1].strip()

    def state(self, job):
        return json.loads(self.good("describe", job, "-o", "json"))["status"]["state"]

    def reservations(self):
        return json.loads(self.good("reserve", "list", "-o", "json"))["items"]

    def tearDown(self):
        for r in self.reservations():
            self.good("reserve", "cancel", r["name"])
        self.run_cli("cancel", "--all", "--tenant", "vision", "-y")
        cli_site.wait_for(lambda: json.loads(
            self.good("list", "-A", "--state", "active", "-o", "json"))["items"] == [], "the ends")

    def test_maintenance_keeps_long_jobs_away_survives_a_kill_and_ends(self):
        nodes = [n["name"] for n in json.loads(self.good("nodes", "-o", "json"))["items"]]
        self.good("reserve", "--nodes", ",".join(nodes), "--from", "+1h", "--to", "+4h",
                  "--name", "power", "--reason", "new cables")
        long = self.submit("long", 2, "  maxRuntime: 2h\n")
        short = self.submit("short", 2, "  maxRuntime: 30m\n")
        cli_site.wait_for(lambda: self.state(short) == "Running", "the short one")
        why = self.good("why", long)
        self.assertRegex(why, r"Maintenance.*\n(?s:.*)reserved for maintenance \(power\) from 20")
        self.assertIn("maxRuntime of at most", why)
        self.daemon.kill()
        self.daemon.wait(10)
        self.start_daemon()
        power = self.reservations()
        self.assertEqual([(r["name"], len(r["nodes"]), "new cables" in r["text"]) for r in power],
                         [("power", 8, True)])
        self.assertEqual(self.state(long), "Pending")
        self.assertRegex(self.good("reserve", "list"), r"power +maintenance +20")
        self.good("reserve", "cancel", "power")
        cli_site.wait_for(lambda: self.state(long) == "Running", "the long one")
        self.refused(3, "no reservation power", "reserve", "cancel", "power")

    def test_a_tenants_window_is_for_its_jobs_alone_and_names_who_runs_there(self):
        running = self.submit("running", 1)
        cli_site.wait_for(lambda: self.state(running) == "Running", "the running one")
        rc, out, err = self.run_cli("reserve", "--domain", "block-0", "--to", "+1h", "--tenant", "infra",
                                    "--dry-run")
        self.assertEqual((rc, self.reservations()), (0, []), err)
        self.assertIn("could be made for infra", out)
        self.assertIn(running, err)
        rc, out, err = self.run_cli("reserve", "--domain", "block-0", "--to", "+1h", "--tenant", "infra")
        self.assertEqual(rc, 0, err)
        self.assertEqual(self.reservations()[0]["overlappingJobs"], [running])
        waits = self.submit("waits", 1)
        own = self.submit("own", 2)
        infra = (cli_site.JOB % {"name": "theirs", "pods": 2, "annotations": ""}).replace(
            "tenant: vision", "tenant: infra")
        theirs = self.good("submit", "-f", "-", "-o", "name", stdin=infra).split("/")[1].strip()
        cli_site.wait_for(lambda: self.state(theirs) == "Running", "the tenant's own")
        self.assertEqual((self.state(waits), self.state(own)), ("Pending", "Pending"))
        self.assertIn("ReservedForTenant", self.good("why", waits))
        self.good("cancel", "-y", theirs)
        self.good("reserve", "--nodes", "node-000,node-000", "--to", "+1h", "--name", "twice")
        self.assertEqual([r["nodes"] for r in self.reservations() if r["name"] == "twice"],
                         [["node-000"]])

    def call_over_a_kill(self, payload):
        """What a client is told whose answer was lost when the daemon died, and asks again."""
        codes = []
        for _ in range(2):
            peer = wire.Peer(self.path("queued.sock"))
            codes.append(peer.call(payload)[1])
            peer.close()
            self.daemon.kill()
            self.daemon.wait(10)
            self.start_daemon()
        return codes

    def test_one_whose_answer_was_lost_is_made_and_cancelled_once(self):
        fields = ((2, "once"), (4, 1), (5, 1 << 55), (6, "node-001"))
        self.assertEqual(self.call_over_a_kill(wire.request("reserve", *fields)), [0, 0])
        self.assertEqual([r["name"] for r in self.reservations()], ["once"])
        again = wire.request("reserve", *fields, request_id=b"another request.")
        self.assertEqual(self.call_over_a_kill(again), [6, 6])
        gone = wire.request("unreserve", (2, "once"), request_id=b"its end is told.")
        self.assertEqual(self.call_over_a_kill(gone), [0, 0])

    def test_a_required_level_is_given_up_after_max_wait_also_over_a_kill(self):
        job = self.submit("wide", 6, "  topology: {required: rack, maxWait: 4s}\n")
        self.assertRegex(self.good("why", job), r"in one rack until 20\S+, then preferred")
        self.daemon.kill()
        self.daemon.wait(10)
        self.start_daemon()
        cli_site.wait_for(lambda: self.state(job) == "Running", "the wide one")
        spec = self.good("describe", job, "--spec")
        self.assertIn("maxWait: 4s", spec)

    def test_a_deadline_ends_what_waits_and_what_runs(self):
        at = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=3)
        deadline = "  deadline: %s\n" % at.strftime("%Y-%m-%dT%H:%M:%SZ")
        runs, waits = self.submit("runs", 6, deadline), self.submit("waits", 6, deadline)
        cli_site.wait_for(lambda: self.state(runs) == "Running", "the first")
        for job in (runs, waits):
            cli_site.wait_for(lambda job=job: self.state(job) == "TimedOut", "the deadline")
            self.assertIn("its deadline was 20", self.good("describe", job))

    def test_what_is_wrong_is_said(self):
        late = cli_site.JOB % {"name": "late", "pods": 1, "annotations": ""}
        self.refused(2, "2020-01-01T00:00:00Z is past", "submit", "-f", "-",
                     stdin=late + "  deadline: 2020-01-01T00:00:00Z\n")
        self.refused(2, "--to is missing", "reserve", "--nodes", "x")
        self.refused(2, "give --nodes, or else", "reserve", "--to", "+1h")
        self.refused(2, "say list, cancel", "reserve", "list", "--tenant", "vision")
        self.refused(2, "say list, cancel", "reserve", "cancel", "x", "--dry-run")
        self.refused(2, "give names", "reserve", "--nodes", "", "--to", "+1h")
        many = ",".join("gpu-%08d" % i for i in range(6000))
        self.refused(2, "name fewer at once", "reserve", "--nodes", many, "--to", "+1h")
        self.refused(2, "without a --reason", "checkpointed", "x", "--reason", "y")
        self.refused(2, "--from soon", "reserve", "--nodes", "x", "--from", "soon", "--to", "+1h")
        self.refused(3, "no node x", "reserve", "--nodes", "x", "--to", "+1h")
        self.refused(3, "no node is meant", "reserve", "--domain", "nowhere", "--to", "+1h")
        self.refused(3, "no node is meant", "reserve", "-l", "no=such", "--to", "+1h")
        self.refused(3, "no tenant nobody", "reserve", "--domain", "block-0", "--to", "+1h",
                     "--tenant", "nobody")


if __name__ == "__main__":
    unittest.main()
