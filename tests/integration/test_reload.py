# SPDX-License-Identifier: Apache-2.0
"""test_reload - another configuration for a running daemon: taken over whole or not at all, by
SIGHUP or because the file has changed, and what the log and the service manager are told.

Black box: the program, its file, its socket, its log. $B is the build directory.
"""

import json
import os
import signal
import socket
import time
import unittest

from queued_site import DaemonTest, run

JOB = """apiVersion: gang.queued/v1
kind: GangJob
metadata: {name: %s}
spec:
  tenant: %s
  roles:
  - {replicas: %d, image: example.com/a:1, resources: {gpus: 8, gpuModel: H100}}
"""


class Reload(DaemonTest):
    def setUp(self):
        super().setUp()
        self.one = self.site()
        self.one.start()
        self.text = self.read()

    def read(self):
        with open(self.one.config, encoding="utf-8") as f:
            return f.read()

    def change(self, *pairs, more=""):
        """The file with these replaced, put in place at once."""
        text = self.text
        for old, new in pairs:
            self.assertIn(old, text)
            text = text.replace(old, new)
        self.one.write("next.yaml", text + more)
        os.rename(os.path.join(self.one.where, "next.yaml"), self.one.config)

    def hup(self):
        self.one.process.send_signal(signal.SIGHUP)

    def submit(self, name, pods, tenant="vision"):
        self.one.write(name + ".yaml", JOB % (name, tenant, pods))
        return self.one.ctl("submit", "-f", os.path.join(self.one.where, name + ".yaml"))

    def count(self, text):
        return self.one.log().count(text)

    def test_a_good_file_is_in_force_after_sighup(self):
        code, _, err = self.submit("wide", 20)
        self.assertNotEqual(code, 0)
        self.assertIn("limit", err)
        self.change(("limit: {H100: 96}", "limit: {H100: 960}"))
        self.hup()
        self.one.wait_log("the configuration was reloaded")
        self.assertIn('key=tenants[vision].limit.H100 was="96" now="960"', self.one.log())
        self.assertEqual(self.submit("wide", 20)[0], 0)

    def test_a_changed_file_is_taken_over_without_a_signal(self):
        self.change(more="weights: {topology: 0.2, packing: 0.8}\n")
        self.one.wait_log("the configuration was reloaded")
        self.assertIn('key=weights.topology was="0.800" now="0.200"', self.one.log())

    def test_a_broken_file_changes_nothing_and_says_where_it_is_broken(self):
        self.change(("limit: {H100: 96}", "limit: {H100: 960, H1000: 1}"))
        self.hup()
        self.one.wait_log("the configuration was not taken over")
        self.assertIn("%s:5:" % self.one.config, self.one.log())
        self.assertIn("tenants[0].limit.H1000", self.one.log())
        self.assertNotEqual(self.submit("wide", 20)[0], 0)
        self.one.write("queued.yaml", self.text)
        self.hup()
        self.one.wait_log("nothing has changed")

    def test_a_missing_file_changes_nothing(self):
        os.unlink(self.one.config)
        self.hup()
        self.one.wait_log("there is no such file")
        self.one.hello()

    def test_what_is_read_at_the_start_only_is_refused_with_its_paths_and_the_rest_with_it(self):
        self.change(
            ("limit: {H100: 96}", "limit: {H100: 960}"),
            ("/store}", "/store2}"),
            more="models: {H100: [H100]}\n",
        )
        self.hup()
        self.one.wait_log("the configuration was not taken over")
        self.assertRegex(self.one.log(), r"models, models.A100, .*, store.dir: read at the start only")
        self.assertNotEqual(self.submit("wide", 20)[0], 0)

    def test_tenants_come_and_go_and_come_back(self):
        code, job, _ = self.submit("stays", 1)
        self.assertEqual(code, 0)
        self.change(("{name: vision, limit: {H100: 96}", "{name: audio"))
        self.hup()
        self.one.wait_log("generation=2")
        self.assertNotEqual(self.submit("late", 1)[0], 0)
        self.assertIn(job.split()[0][4:], self.one.ctl("list", "-A")[1])
        self.change()
        self.hup()
        self.one.wait_log("generation=3")
        self.assertEqual(self.one.ctl("cancel", job.split()[0][4:])[0], 0)
        self.assertEqual(self.submit("late", 1)[0], 0)

    def test_the_generation_outlives_the_daemon_and_counts_a_file_changed_while_it_was_down(self):
        self.assertEqual(self.submit("one", 1)[0], 0)
        self.change(more="nodeLostTimeout: 7m\n")
        self.hup()
        self.one.wait_log("generation=2")
        self.one.stop()
        self.assertEqual(self.generation(), 2)
        self.one.start()
        self.assertEqual(self.submit("two", 1)[0], 0)
        self.one.stop()
        self.assertEqual(self.generation(), 2)
        self.change(more="nodeLostTimeout: 8m\n")
        self.one.start()
        self.assertEqual(self.submit("three", 1)[0], 0)
        self.one.stop()
        self.assertEqual(self.generation(), 3)

    def generation(self):
        rows = map(json.loads, run("--dump-store", self.one.where + "/store")[1].splitlines())
        return next(r["value"]["config_generation"] for r in rows if r["table"] == "meta")

    def test_users_have_their_new_rights(self):
        self.change(more="users: [{name: nobody, role: viewer}]\n")
        self.hup()
        self.one.wait_log("key=users[nobody].role")

    def diff(self, *args):
        code, out, err = self.one.ctl("config", "diff", self.one.where + "/wish.yaml", *args)
        return code, out, err

    def test_diff_says_what_a_file_would_change_and_what_needs_a_restart(self):
        wish = self.text.replace("{H100: 96}", "{H100: 960}") + "nodeLostTimeout: 7m\n"
        self.one.write("wish.yaml", wish)
        code, out, err = self.diff()
        self.assertEqual(code, 0, err)
        self.assertRegex(out, r"nodeLostTimeout +5m +7m +no\n")
        self.assertRegex(out, r"tenants\[vision\].limit.H100 +96 +960 +no\n")
        self.assertIn("generation 1 is in force", err)
        self.one.write("wish.yaml", wish.replace("/store}", "/store2}"))
        code, out, err = self.diff("-o", "json")
        self.assertEqual(code, 1)
        got = json.loads(out)
        self.assertTrue(got["needsRestart"])
        self.assertEqual(
            [c["key"] for c in got["changes"] if c["needsRestart"]], ["store.dir"])
        self.one.write("wish.yaml", self.text)
        self.assertIn("nothing would change", self.diff()[2])
        self.assertEqual(self.count("configuration changed"), 0)

    def test_diff_says_why_the_last_reading_was_refused(self):
        self.one.write("wish.yaml", self.text)
        self.change(more="nonsense: 1\n")
        self.hup()
        self.one.wait_log("the configuration was not taken over")
        self.assertIn("the last reading was refused", self.diff()[2])
        self.assertIn("nonsense", json.loads(self.diff("-o", "json")[1])["refusal"])
        self.assertEqual(json.loads(self.diff("-o", "json")[1])["refusals"], 1)

    def test_check_needs_no_daemon_and_names_the_line(self):
        self.one.stop()
        self.assertEqual(self.one.ctl("config", "check", self.one.config)[0], 0)
        self.one.write("wish.yaml", self.text + "nonsense: 1\n")
        code, _, err = self.one.ctl("config", "check", self.one.where + "/wish.yaml")
        self.assertEqual(code, 2)
        self.assertIn("wish.yaml:6:1: nonsense", err)
        self.assertEqual(self.one.ctl("config", "check")[0], 2)

    def test_the_service_manager_is_told(self):
        self.one.stop()
        path = self.where + "/notify"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(path)
            manager.settimeout(10)
            self.one.start({"NOTIFY_SOCKET": path})
            self.assertEqual(manager.recv(100), b"READY=1")
            self.change(more="nodeLostTimeout: 7m\n")
            self.hup()
            self.assertRegex(manager.recv(100), rb"^RELOADING=1\nMONOTONIC_USEC=\d+$")
            self.assertRegex(manager.recv(100), rb"^READY=1\b")
            self.change(more="nodeLostTimeout: 7\n")
            self.hup()
            self.assertRegex(manager.recv(100), rb"^RELOADING=1\n")
            self.assertRegex(manager.recv(100), rb"^READY=1\nSTATUS=.*refused")

    def test_a_file_that_stays_broken_is_read_once(self):
        self.change(more="nonsense: 1\n")
        self.one.wait_log("the configuration was not taken over")
        time.sleep(2.5)
        self.assertEqual(self.count("the configuration was not taken over"), 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
