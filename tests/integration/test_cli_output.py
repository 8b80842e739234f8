# SPDX-License-Identifier: Apache-2.0
"""test_cli_output - what queuectl prints of odd things, parts of JSON, and waiting for several jobs.

$B is the build directory. One daemon serves all tests; each test submits jobs of its own.
"""

import json
import subprocess
import sys
import time
import unittest

from cli_site import JOB, CliSite


class Output(CliSite):
    def test_a_job_may_be_waited_for_under_two_names(self):
        job = self.submit("twice", 1, "gang.queued/run-duration: 2s")
        code, _, err = self.run_cli("wait", job, "@last", "--timeout", "20s")
        self.assertEqual(code, 0, err)
        self.assertNotIn("@last", err)

    def test_indices_that_have_not_begun_are_all_told_of_the_end_of_their_array(self):
        text = JOB % {"name": "swept", "pods": 1, "annotations": ""}
        text = text.replace("spec:\n", "spec:\n  array: {indices: 0-5}\n")
        job = self.good("submit", "-f", "-", "--hold", "-o", "name", stdin=text).strip()[4:]
        names = [job + "[1]", job + "[3]", job + "[4]"]
        with subprocess.Popen(
            self.command(["wait", *names, "--timeout", "20s"]),
            stderr=subprocess.PIPE, text=True, env=self.env(),
        ) as waiting:
            time.sleep(0.5)
            self.good("cancel", job)
            err = waiting.communicate(timeout=30)[1]
        self.assertEqual(waiting.returncode, 1, err)
        self.assertEqual([name in err for name in names], [True, True, True], err)
        self.assertEqual(json.loads(
            self.good("describe", names[0], "--events", "-o", "json"))["events"], [])

    def test_one_that_runs_is_enough_where_any_is_asked_for(self):
        runs = self.submit("runs", 1, "gang.queued/run-duration: 1h")
        waits = self.submit("waits", 12)
        wait = ("wait", runs, waits, "--any", "--timeout", "20s", "--for")
        self.assertEqual(self.run_cli(*wait, "running")[0], 0)
        self.assertEqual(self.run_cli(*wait, "scheduled")[0], 0)
        self.assertEqual(self.run_cli("wait", runs, waits, "--any", "--timeout", "1s")[0], 124)
        self.good("cancel", runs, waits)
        self.assertEqual(self.run_cli(*wait, "finished")[0], 1)
        self.refused(2, "-o json: this command writes table", "wait", runs, "-o", "json")

    def test_what_a_command_prints_as_a_name_another_one_takes(self):
        job = self.good("submit", "-f", "-", "-o", "name", stdin=JOB % {
            "name": "named", "pods": 1, "annotations": "gang.queued/run-duration: 1s"}).strip()
        self.assertEqual(self.run_cli("wait", job, "--timeout", "20s")[0], 0)
        self.assertIn("Succeeded", self.good("describe", job))
        self.assertIn("had ended", self.good("cancel", job))
        node = self.good("nodes", "-o", "name").splitlines()[0]
        self.assertIn(node + " drained", self.good("drain", node))
        self.assertEqual(self.good("undrain", node), node + " takes jobs again\n")

    def test_text_beyond_ascii_is_aligned_and_cut_between_characters(self):
        plain = self.submit("plain", 12, "", "--key", "schluessel-1")
        other = self.submit("other", 12, "", "--key", "schl\u00fcssel-22")
        reason = "\u00e4\u00f6\u00fc" * 40
        self.good("hold", plain, other, "--reason", reason)
        lines = self.good("list", "-o", "wide").splitlines()
        at = lines[0].index("REASON")
        self.assertEqual({line[at - 2 : at + 5] for line in lines if "Held" in line}, {"  Held:"})
        lines = self.good("list").splitlines()
        self.assertEqual(max(map(len, lines)), 100)
        self.assertTrue(all(line.endswith(".") for line in lines if "Held" in line), lines)
        self.good("cancel", plain, other)

    def test_what_steers_a_terminal_is_refused_or_escaped(self):
        job = self.submit("steers", 12)
        self.refused(2, "control characters", "hold", job, "--reason", "a\u009b2Jb")
        self.refused(2, "control characters", "hold", job, "--reason", "a\033[2Jb")
        self.good("cancel", job)
        spec = json.loads(self.good("describe", job, "--spec", "-o", "json"))
        spec["spec"]["roles"][0]["env"] = [{"name": "A", "value": "a\u009bb\u2028c\ufeffd"}]
        job = self.good("submit", "-f", "-", "-o", "name", "--hold", stdin=json.dumps(spec))[4:-1]
        text = self.good("describe", job, "--spec")
        self.assertIn('"a\\u009bb\\u2028c\\ufeffd"', text)
        again = self.good("submit", "-f", "-", "--print-spec", "-o", "json", stdin=text)
        self.assertEqual(json.loads(again)["spec"]["roles"][0]["env"],
                         spec["spec"]["roles"][0]["env"])
        self.good("cancel", job)

    def test_parts_of_json_are_printed_by_path(self):
        one = self.submit("parts", 12)
        two = self.submit("parts", 12)
        mine = ("-l", "test=parts", "-o")

        def path(template):
            return self.good("list", *mine, "jsonpath=" + template)

        self.assertEqual(path("{.items[*].metadata.name}"), f"{one} {two}\n")
        self.assertEqual(path(".items[-1].metadata.name"), two + "\n")
        self.assertEqual(path("{.items[0]['metadata'].labels}"), '{"test":"parts"}\n')
        self.assertEqual(path("{.items[7].metadata.name}{.nothing.here}"), "")
        self.assertEqual(
            path('{range .items[*]}{.metadata.name}{"\\t"}{.status.state}{"\\n"}{end}'),
            f"{one}\tPending\n{two}\tPending\n",
        )
        self.assertEqual(path('{range .none[*]}{.a}{end}end'), "end\n")
        self.assertEqual(
            self.good("describe", one, "--spec", "-o", "jsonpath={.spec.roles[0].replicas}"), "12\n"
        )
        out = self.good("list", *mine, "custom-columns=JOB:.metadata.name,IT:.status.nothing")
        self.assertEqual(out.split(), ["JOB", "IT", one, "<none>", two, "<none>"])
        out = self.good("why", one, "-o", "custom-columns=CODE:.status.reason.code")
        self.assertRegex(out, "^CODE\n[A-Z][A-Za-z]+\n$")
        lines = self.good("list", *mine, "jsonl").splitlines()
        self.assertEqual([json.loads(line)["metadata"]["name"] for line in lines], [one, two])
        self.good("cancel", one, two)

    def test_a_wrong_path_is_an_error_with_its_place(self):
        for text, want in {
            "{.a": "character 4: } is expected",
            "{.a[}": "character 5: a number, * or a key in quotes",
            "{.a[?(@.b)]}": "a number, * or a key in quotes",
            "{.a[0:2]}": "] is expected; filters and slices",
            "{..a}": "character 3: a key is expected",
            "{range .a}": "{end} of a range is missing",
            "{end}": "there is no range to end",
            "{'a}": "a text does not end",
            "": "a path is expected",
            "a": "a path is expected",
        }.items():
            self.refused(2, want, "list", "-o", "jsonpath=" + text)
        self.refused(2, "write TITLE:.path", "list", "-o", "custom-columns=.a")
        self.refused(2, "write TITLE:.path", "list", "-o", "custom-columns=A:.a,")
        self.refused(2, "character 2: a path is expected", "list", "-o", "custom-columns=A:a")
        self.refused(2, "-o jsonpath={.a}: this command writes table, jsonl", "watch", "-o",
                     "jsonpath={.a}")

    def test_lists_begin_where_they_are_asked_to(self):
        old = self.submit("since", 12)
        time.sleep(2.1)
        new = self.submit("since", 12)
        mine = ("list", "-l", "test=since", "-o", "name", "--since")
        self.assertEqual(self.good(*mine, "1h"), f"job/{old}\njob/{new}\n")
        self.assertEqual(self.good(*mine, "2s", "--limit", "5"), f"job/{new}\n")
        created = json.loads(self.good("describe", new, "-o", "json"))["metadata"]["created"]
        self.assertEqual(self.good(*mine, created), f"job/{new}\n")
        self.assertEqual(self.run_cli(*mine, "1us", "-q")[0], 1)
        self.assertEqual(self.run_cli(*mine, "1h", "-q")[0], 0)
        self.refused(2, "is no duration", *mine, "yesterday")
        self.good("cancel", old, new)

    def test_an_estimate_of_several_jobs_is_one_document(self):
        one = JOB % {"name": "one", "pods": 1, "annotations": ""}
        two = JOB % {"name": "two", "pods": 12, "annotations": ""}
        text = self.good("estimate", "-f", "-", "-o", "json", stdin=one + "---\n" + two)
        items = json.loads(text)["items"]
        self.assertEqual(["why" in i for i in items], [True, True])
        text = self.good("estimate", "-f", "-", "-o", "json", stdin=one)
        self.assertEqual(json.loads(text)["kind"], "GangJob")

    def test_a_time_that_cannot_be_counted_is_refused(self):
        self.refused(2, "is too far away", "reserve", "--nodes", "a", "--to", "+15250000w")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
