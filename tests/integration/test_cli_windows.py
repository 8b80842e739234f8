# SPDX-License-Identifier: Apache-2.0
"""test_cli_windows - time windows of tenants, as users and administrators see them.

The daemon reads a window that opens with the next minute of the real clock, so that a test takes
up to a minute.
"""

import calendar
import json
import signal
import time
import unittest

from cli_site import CliSite, wait_for

INFRA = "{name: infra, quota: {H100: 16}, namespaces: [infra]}"
DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


def clock(at):
    return time.strftime("%H:%M", time.gmtime(at))


def seconds(text):
    return calendar.timegm(time.strptime(text, "%Y-%m-%dT%H:%M:%SZ"))


class Windows(CliSite):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        with open(cls.path("queued.yaml"), encoding="utf-8") as f:
            cls.text = f.read()

    def configure(self, windows):
        """Tenant infra has these, and the daemon has taken them over."""
        n = self.log().count('"the configuration was reloaded"')
        text = self.text.replace(INFRA, INFRA[:-1] + ", windows: [%s]}" % windows)
        self.assertNotEqual(text, self.text)
        with open(self.path("queued.yaml"), "w", encoding="utf-8") as f:
            f.write(text)
        self.daemon.send_signal(signal.SIGHUP)
        wait_for(lambda: self.log().count('"the configuration was reloaded"') > n, "the reload")

    def tenant(self):
        return json.loads(self.good("tenant", "get", "infra", "-o", "json"))["items"][0]

    def why(self, job):
        return json.loads(self.good("why", job, "-o", "json"))

    def test_a_job_waits_for_its_window_over_a_kill_and_starts_when_it_opens(self):
        opens = (int(time.time() + 12) // 60 + 1) * 60
        self.configure("{name: soon, from: '%s', to: '%s'}" % (clock(opens), clock(opens + 7200)))
        job = self.submit("soon", 1, "gang.queued/run-duration: 1h", "--tenant", "infra")
        wait_for(lambda: "BeginTime" in self.good("why", job), "the reason")
        self.assertIn("soon: Mon-Sun %s-%s" % (clock(opens), clock(opens + 7200)),
                      self.good("why", job))
        self.assertIn("BeginTime", self.good("describe", job))
        self.assertRegex(self.good("tenant", "get", "infra"), r"infra +closed +1 .*soon: .* opens at ")
        self.assertIn("closed", self.good("quota", "infra"))
        self.assertEqual(seconds(self.tenant()["opensAt"]), opens)
        self.assertTrue(self.tenant()["closed"])
        self.daemon.kill()
        self.daemon.wait()
        self.start_daemon()
        self.assertIn("BeginTime", self.good("why", job))
        wait_for(lambda: "BeginTime" not in self.good("why", job), "the window", 90)
        self.assertGreaterEqual(time.time(), opens)
        self.assertLess(time.time(), opens + 10)
        self.assertEqual(self.run_cli("wait", job, "--for", "running", "--timeout", "30s")[0], 0)
        self.assertEqual(seconds(self.tenant()["closesAt"]), opens + 7200)
        self.configure("{name: other, days: [%s]}" % DAYS[(time.gmtime().tm_wday + 3) % 7])
        time.sleep(1)
        self.assertIn('"Running"', self.good("describe", job, "-o", "json"))
        self.good("cancel", job)

    def test_a_job_that_has_to_fit_is_told_how_short_it_would_have_to_be(self):
        now = int(time.time()) // 60 * 60
        self.configure("{name: short, from: '%s', to: '%s', fit: true}"
                       % (clock(now - 3600), clock(now + 7200)))
        long = self.submit("long", 1, "gang.queued/run-duration: 1h", "--tenant", "infra")
        wait_for(lambda: "BeginTime" in self.good("why", long), "the reason")
        self.assertIn("can never run", self.good("why", long))
        self.good("update", long, "--max-runtime", "1h")
        self.assertEqual(self.run_cli("wait", long, "--for", "running", "--timeout", "30s")[0], 0)
        self.good("cancel", long)

    def test_a_window_lends_more_than_the_day(self):
        self.configure("{name: now, limit: {H100: 8}, quota: {H100: 8}}")
        models = self.tenant()["models"]
        self.assertEqual([(m["model"], m["guaranteed"], m["limit"]) for m in models],
                         [("H100", 8, 8)])
        first = self.submit("first", 1, "gang.queued/run-duration: 1h", "--tenant", "infra")
        self.assertEqual(self.run_cli("wait", first, "--for", "running", "--timeout", "30s")[0], 0)
        second = self.submit("second", 1, "gang.queued/run-duration: 1h", "--tenant", "infra")
        wait_for(lambda: "TenantLimit" in self.good("why", second), "the reason")
        self.configure("{name: now, limit: {H100: 16}}")
        self.assertEqual(self.run_cli("wait", second, "--for", "running", "--timeout", "30s")[0], 0)
        self.good("cancel", first, second)


if __name__ == "__main__":
    unittest.main()
