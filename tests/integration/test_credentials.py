# SPDX-License-Identifier: Apache-2.0
"""test_credentials - how the daemon shows who it is: service accounts, kubeconfigs, certificates and
plugins, and what happens when they rotate, are refused, or fail.

Black box: the daemon at log level debug, queuectl, the stand-in API server behind a TLS door. After
each test every word that was secret is looked for in the log and in what queuectl said.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
import unittest

from cred_gate import Gate, Pki, Proxy
from queued_site import QUEUED, DaemonTest, Site
from test_daemon_jobs import STANDIN, JobTest, job

KUBECONFIG = """apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {%s}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
current-context: c
users: [{name: u, user: {%s}}]
"""
CONFIG = """store: {dir: %%(where)s/store}
listen: {rpc: ["%%(rpc)s"]}
%s
levels: [{name: fabric, levels: [{name: rack, labels: [gang.queued/rack]}]}]
allowSimulation: true
tenants: [{name: vision, limit: {H100: 96}, namespaces: [vision]}]
"""
PLUGIN = """#!/bin/sh
cd "%s" || exit 9
mkdir running || echo twice >> twice
echo run >> runs
sleep 0.3
. ./how
rmdir running
"""
ANSWER = """printf '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":%s}' \
"$(cat status)"
"""
EXEC = "exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: ./plugin}"


class Case(DaemonTest):
    """A stand-in, the door before it, and a site whose kubeconfig a test writes."""

    certificate = "plain"
    submit, state, wait_state, wait_why = (
        JobTest.submit,
        JobTest.state,
        JobTest.wait_state,
        JobTest.wait_why,
    )

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="queued-pki.")
        cls.pki = Pki(cls.folder.name)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def setUp(self):
        super().setUp()
        self.secrets = [s for k in ("alice.key", "bob.key") for s in self.pki.text(k).split("\n")[1:-2]]
        self.told = []
        self.gate = Gate(self.stand_in(), self.pki, self.certificate)
        self.addCleanup(self.gate.server_close)
        self.addCleanup(self.gate.shutdown)

    def stand_in(self):
        port_file = os.path.join(self.where, "port")
        server = subprocess.Popen(
            [STANDIN, "--port-file", port_file, "--make-nodes", "4", "--namespaces", "vision"],
            stderr=subprocess.DEVNULL,
        )
        self.addCleanup(server.wait, 10)
        self.addCleanup(server.terminate)
        end = time.monotonic() + 10
        while not os.path.exists(port_file) or not os.path.getsize(port_file):
            self.assertLess(time.monotonic(), end, "the stand-in does not start")
            time.sleep(0.01)
        with open(port_file, encoding="ascii") as f:
            return int(f.read())

    def token(self, name):
        """A token that must not be seen anywhere."""
        token = "sekrit-%s-0a1B2c3D4e5F6g7H8i9J" % name
        self.secrets.append(token)
        return token

    def make(self, user="", cluster=None, config="kubernetes: {kubeconfig: %(where)s/kubeconfig}"):
        where = os.path.join(self.where, "a")
        if cluster is None:
            cluster = "certificate-authority: " + self.pki.path("ca-one.crt")
        site = Site(where, config=CONFIG % config)
        self.addCleanup(self.look_for_secrets, site)
        self.addCleanup(site.stop)
        server = 'server: "https://127.0.0.1:%d", ' % self.gate.port
        site.write("kubeconfig", KUBECONFIG % (server + cluster, user))
        return site

    def start(self, site, env=None):
        site.start(env, ("sh", "-c", 'exec "$@" --log-level debug', "sh"))

    def good(self, site):
        site.wait_log("the API server answers")

    def look_for_secrets(self, site):
        if not os.path.exists(os.path.join(site.where, "log")):
            return
        log = site.log()
        for secret in self.secrets:
            for piece in (secret, secret[: len(secret) // 2], secret[len(secret) // 2 :]):
                self.assertNotIn(piece, log)
                for said in self.told:
                    self.assertNotIn(piece, said)

    def jobs_through(self, site, change, n=6):
        """Jobs all the time, and a change in the middle: none fails, none waits for long."""
        names = []
        for i in range(n):
            if i == n // 2:
                change()
            names.append(self.submit(site, job(name="j%d" % i, run="200ms")))
            time.sleep(0.15)
        for name in names:
            self.wait_state(site, name, "Succeeded")
        self.assertEqual(self.gate.never_repeated(), [])
        self.assertNotIn("does not answer", site.log())


class Names(Case):
    certificate = "named"

    def test_the_name_of_the_certificate_is_asked_for_and_verified(self):
        self.gate.tokens = {self.token("n")}
        ca = "certificate-authority: " + self.pki.path("ca-one.crt")
        site = self.make("token: " + self.secrets[-1], ca + ", tls-server-name: api.cluster.example")
        self.start(site)
        self.good(site)
        self.assertEqual({s["name"] for s in self.gate.seen}, {"api.cluster.example"})

    def test_another_name_ends_before_anything_is_sent(self):
        ca = "certificate-authority: " + self.pki.path("ca-one.crt")
        for cluster in (ca, ca + ", tls-server-name: other.cluster.example"):
            site = self.make("token: " + self.token("n"), cluster)
            self.start(site)
            site.wait_log("does not answer")
            self.assertIn("no alternative certificate subject name matches", site.log())
            site.stop()
        self.assertEqual(self.gate.seen, [])

    def test_an_authority_that_is_unknown_ends_before_anything_is_sent(self):
        ca = "certificate-authority: " + self.pki.path("ca-two.crt")
        site = self.make("token: " + self.token("n"), ca + ", tls-server-name: api.cluster.example")
        self.start(site)
        site.wait_log("does not answer")
        self.assertIn("SSL certificate problem", site.log())
        self.assertEqual(self.gate.seen, [])

    def test_nothing_is_verified_where_the_kubeconfig_says_so(self):
        self.gate.tokens = {self.token("n")}
        site = self.make("token: " + self.secrets[-1], "insecure-skip-tls-verify: true")
        self.start(site)
        self.good(site)


class Accounts(Case):
    def swap(self, where, token, ca="ca-one.crt"):
        """As the kubelet does it: a new folder, and the link of the old one turned to it."""
        folder = tempfile.mkdtemp(prefix="..", dir=where)
        with open(os.path.join(folder, "token"), "w", encoding="ascii") as f:
            f.write(token)
        with open(os.path.join(folder, "ca.crt"), "w", encoding="ascii") as f:
            f.write(self.pki.text(ca))
        os.symlink(os.path.basename(folder), os.path.join(where, "..data_tmp"))
        os.rename(os.path.join(where, "..data_tmp"), os.path.join(where, "..data"))

    def account(self):
        """The folder that a pod has, with its first token; and a daemon in it."""
        where = os.path.join(self.where, "account")
        os.mkdir(where)
        for name in ("token", "ca.crt"):
            os.symlink("..data/" + name, os.path.join(where, name))
        token = self.token("one")
        self.swap(where, token)
        self.gate.tokens = {token}
        site = self.make(config="")
        self.start(
            site,
            {
                "QUEUED_SERVICE_ACCOUNT_DIR": where,
                "KUBERNETES_SERVICE_HOST": "127.0.0.1",
                "KUBERNETES_SERVICE_PORT": str(self.gate.port),
            },
        )
        self.good(site)
        return site, where

    def test_a_token_that_rotates_costs_no_request(self):
        site, where = self.account()

        def change():
            token = self.token("two")
            self.swap(where, token)
            self.gate.tokens = {token}

        self.jobs_through(site, change)
        self.assertGreaterEqual(len(self.gate.refused()), 1)

    def test_a_new_token_before_the_server_wants_it_is_no_trouble(self):
        site, where = self.account()

        def change():
            token = self.token("two")
            self.swap(where, token)
            self.gate.tokens.add(token)

        self.jobs_through(site, change)
        self.assertEqual(self.gate.refused(), [])

    def test_an_authority_that_rotates_is_read_again(self):
        site, where = self.account()
        self.gate.use("moved")
        self.swap(where, self.secrets[-1], "ca-two.crt")
        self.gate.hang_up()
        name = self.submit(site, job(run="200ms"))
        self.wait_state(site, name, "Succeeded")

    def test_a_token_that_is_no_good_is_told_and_its_follower_is_found(self):
        site, where = self.account()
        self.gate.tokens = set()
        name = self.submit(site, job(run="200ms"))
        site.wait_log("does not answer")
        self.told.append(site.ctl("why", name)[1])
        token = self.token("two")
        self.gate.tokens = {token}
        self.swap(where, token)
        self.wait_state(site, name, "Succeeded")


class Kubeconfigs(Case):
    def test_certificate_files_that_rotate_cost_no_request(self):
        site = self.make("client-certificate: me.crt, client-key: me.key")
        for kind in (".crt", ".key"):
            site.write("me" + kind, self.pki.text("alice" + kind))
        self.gate.users = {"alice"}
        self.start(site)
        self.good(site)

        def change():
            for kind in (".crt", ".key"):
                site.write("new", self.pki.text("bob" + kind))
                os.rename(os.path.join(site.where, "new"), os.path.join(site.where, "me" + kind))
            self.gate.users = {"bob"}

        self.jobs_through(site, change)
        self.assertEqual({s["user"] for s in self.gate.seen}, {"alice", "bob"})
        self.assertEqual({s["user"] for s in self.gate.refused()}, {"alice"})

    def test_a_proxy_is_used_and_its_password_kept(self):
        proxy = Proxy()
        self.addCleanup(proxy.stop)
        self.gate.tokens = {self.token("n")}
        ca = "certificate-authority: " + self.pki.path("ca-one.crt")
        url = "http://me:%s@127.0.0.1:%d" % (self.token("proxy"), proxy.port)
        site = self.make("token: " + self.secrets[-2], ca + ', proxy-url: "%s"' % url)
        self.start(site, {"HTTPS_PROXY": "http://127.0.0.1:1", "NO_PROXY": "*"})
        self.good(site)
        self.assertIn("CONNECT 127.0.0.1:%d" % self.gate.port, proxy.heads[0])
        self.assertIn("Proxy-Authorization: Basic", proxy.heads[0])
        self.assertNotIn("Bearer", "".join(proxy.heads))

    def test_a_proxy_that_is_down_is_told_without_its_password(self):
        ca = "certificate-authority: " + self.pki.path("ca-one.crt")
        url = "http://me:%s@127.0.0.1:1" % self.token("proxy")
        site = self.make("token: t", ca + ', proxy-url: "%s"' % url)
        self.start(site)
        site.wait_log("does not answer")

    def test_no_proxy_of_the_environment_is_used(self):
        self.gate.tokens = {self.token("n")}
        site = self.make("token: " + self.secrets[-1])
        self.start(site, {"HTTPS_PROXY": "http://127.0.0.1:1", "https_proxy": "http://127.0.0.1:1"})
        self.good(site)

    def test_whom_it_acts_as_is_said_with_each_request(self):
        self.gate.tokens = {self.token("n")}
        site = self.make("token: %s, as: robot, as-groups: [one, two]" % self.secrets[-1])
        self.start(site)
        self.good(site)
        for seen in self.gate.seen:
            self.assertEqual(seen["headers"].get("Impersonate-User"), "robot")
            self.assertEqual(seen["headers"].get_all("Impersonate-Group"), ["one", "two"])

    def test_what_is_not_supported_is_refused_with_its_place(self):
        site = self.make("username: me, password: " + self.token("basic"))
        line = self.refused(["--config", site.config], 78, "kubeconfig:6:36: users[0].user.username")
        self.assertNotIn(self.secrets[-1], line)


class Plugins(Case):
    def plugin(self, how, status=None, user=EXEC):
        site = self.make(user)
        site.write("plugin", PLUGIN % site.where)
        os.chmod(os.path.join(site.where, "plugin"), 0o700)
        site.write("how", how)
        site.write("status", status or '{"token":"%s"}' % self.token("one"))
        return site

    def runs(self, site):
        with open(os.path.join(site.where, "runs"), encoding="ascii") as f:
            return len(f.readlines())

    def test_a_token_that_is_refused_is_fetched_anew_and_requests_wait(self):
        site = self.plugin(ANSWER)
        self.gate.tokens = {self.secrets[-1]}
        self.start(site)
        self.good(site)
        self.assertEqual(self.runs(site), 1)

        def change():
            token = self.token("two")
            site.write("status", '{"token":"%s"}' % token)
            self.gate.tokens = {token}

        self.jobs_through(site, change)
        self.assertEqual(self.runs(site), 2)
        self.assertFalse(os.path.exists(os.path.join(site.where, "twice")))

    def test_a_token_is_fetched_ahead_of_its_end(self):
        site = self.plugin(ANSWER)
        text = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 4))
        site.write(
            "status", '{"token":"%s","expirationTimestamp":"%s"}' % (self.secrets[-1], text)
        )
        self.gate.tokens = {self.secrets[-1]}
        self.start(site)
        self.good(site)
        token = self.token("two")
        site.write("status", '{"token":"%s"}' % token)
        self.gate.tokens.add(token)
        end = time.monotonic() + 20
        while token not in {s["token"] for s in self.gate.seen}:
            self.assertLess(time.monotonic(), end, site.log())
            name = self.submit(site, job(run="100ms"))
            self.wait_state(site, name, "Succeeded")
        self.assertEqual(self.gate.refused(), [])
        self.assertEqual(self.runs(site), 2)

    def test_a_certificate_is_an_answer_too(self):
        pair = [self.pki.text("alice" + kind).replace("\n", "\\n") for kind in (".crt", ".key")]
        status = '{"clientCertificateData":"%s","clientKeyData":"%s"}' % tuple(pair)
        site = self.plugin(ANSWER, status)
        self.gate.users = {"alice"}
        self.start(site)
        self.good(site)
        self.assertEqual({s["user"] for s in self.gate.seen}, {"alice"})

    def test_a_plugin_that_fails_is_told_and_tried_again(self):
        site = self.plugin('echo "cannot log in with $(cat status)" >&2\nexit 1\n')
        self.start(site)
        site.wait_log("does not answer")
        name = self.submit(site, job(run="200ms"))
        self.wait_why(site, name, "ended with exit code 1")
        self.told.append(site.ctl("why", name)[1])
        self.assertIn("it says 'cannot log in with", site.log())
        self.gate.tokens = {self.secrets[-1]}
        site.write("how", ANSWER)
        os.rmdir(os.path.join(site.where, "running"))
        self.wait_state(site, name, "Succeeded")

    def test_a_plugin_that_hangs_holds_up_nobody(self):
        site = self.plugin("sleep 100\n")
        self.start(site)
        for _ in range(10):
            began = time.monotonic()
            site.hello()
            self.assertLess(time.monotonic() - began, 1)
        self.assertEqual(self.gate.seen, [])
        site.process.terminate()
        self.assertEqual(site.process.wait(5), 0)

    def test_a_plugin_that_is_not_there_is_told_with_its_hint(self):
        site = self.plugin("", user=EXEC[:-1] + ", installHint: ask the admins}")
        os.unlink(os.path.join(site.where, "plugin"))
        self.start(site)
        site.wait_log("does not answer")
        self.assertIn("cannot be run: No such file or directory; ask the admins", site.log())


if __name__ == "__main__":
    if not os.access(QUEUED, os.X_OK):
        sys.exit("%s is not built: run 'make'" % QUEUED)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    unittest.main()
