# SPDX-License-Identifier: Apache-2.0
"""havoc - what chaos does to a daemon and to its API server, at random but by a seed.

Two threads, one for the daemon and one for the programs behind it, so that their troubles overlap.
Each trouble ends before the next one of its thread begins; stop() leaves everything running.
"""

import collections
import random
import signal
import threading
import time

import etcd
from kubeapi import Refused
from procs import Trouble


class Havoc:
    def __init__(self, cluster, daemon, seed):
        self.cluster, self.daemon = cluster, daemon
        self.done = collections.Counter()  # what: how often
        self.stopping = threading.Event()
        self.trouble = None
        self.threads = [
            self.thread(random.Random(seed * 10 + i), acts)
            for i, acts in enumerate((self.daemon_acts(), self.server_acts()))
        ]

    def thread(self, rng, acts):
        return threading.Thread(target=self.run, args=(rng, acts), daemon=True)

    def start(self):
        for thread in self.threads:
            thread.start()

    def stop(self):
        self.stopping.set()
        for thread in self.threads:
            thread.join()

    def run(self, rng, acts):
        """acts: [(weight, name, function of rng)]."""
        weights = [weight for weight, _, _ in acts]
        while not self.stopping.wait(rng.uniform(1, 8)):
            _, name, act = rng.choices(acts, weights)[0]
            try:
                act(rng)
                self.done[name] += 1
            except (OSError, Refused):
                self.done[name + ", in vain"] += 1  # the server has not recovered yet
            except Trouble as e:
                self.trouble = "%s: %s" % (name, e)
                return

    # ---- the daemon

    def daemon_acts(self):
        return [
            (5, "daemon killed", self.kill_daemon),
            (2, "daemon killed while it started", self.kill_daemon_twice),
            (4, "daemon stopped for a while", self.stop_daemon),
        ]

    def kill_daemon(self, rng):
        self.daemon.kill()
        time.sleep(rng.choice((0, 0, rng.uniform(0, 3))))
        self.daemon.start()

    def kill_daemon_twice(self, rng):
        self.kill_daemon(rng)
        time.sleep(rng.uniform(0, 0.5))
        self.kill_daemon(rng)

    def stop_daemon(self, rng):
        self.daemon.check_alive()
        self.daemon.process.send_signal(signal.SIGSTOP)
        time.sleep(rng.uniform(0.2, 8))
        self.daemon.process.send_signal(signal.SIGCONT)

    # ---- what is behind it

    def server_acts(self):
        return [
            (3, "API server killed", self.kill_server),
            (2, "API server restarted", self.restart_server),
            (4, "API server stopped for a while", self.stop_server),
            (4, "etcd stopped for a while", self.stop_etcd),
            (5, "etcd compacted", self.compact),
            (6, "pods deleted by somebody", self.delete_pods),
        ]

    def kill_server(self, rng):
        self.cluster.kill("kube-apiserver")
        time.sleep(rng.choice((0, rng.uniform(0, 5))))
        self.cluster.respawn("kube-apiserver")

    def restart_server(self, rng):
        self.cluster.kill("kube-apiserver", signal.SIGTERM, 75)
        self.cluster.respawn("kube-apiserver")

    def pause(self, name, seconds):
        self.cluster.pause(name)
        time.sleep(seconds)
        self.cluster.resume(name)

    def stop_server(self, rng):
        self.pause("kube-apiserver", rng.uniform(0.3, 8))

    def stop_etcd(self, rng):
        self.pause("etcd", rng.uniform(1, 8))

    def compact(self, rng):
        etcd.compact(self.cluster)

    def delete_pods(self, rng):
        """As a drain of a node does it: with the grace period, whatever the pods do just now."""
        api = self.cluster.api()
        chosen = [
            p["metadata"]
            for p in api.items("/api/v1/pods")
            if (p.get("status") or {}).get("phase") in ("Pending", "Running")
        ]
        for meta in rng.sample(chosen, min(len(chosen), rng.choice((1, 1, 2, 4)))):
            api.call(
                "DELETE", "/api/v1/namespaces/%s/pods/%s" % (meta["namespace"], meta["name"]), {}
            )
