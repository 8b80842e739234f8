# SPDX-License-Identifier: Apache-2.0
"""load - clients that keep submitting and cancelling gangs while the daemon is killed under them.

Each submission has a submitKey and is repeated until it is acknowledged, so what was acknowledged
is known exactly. Threads; shared is only what the lock guards. Decides nothing about right or
wrong.
"""

import random
import threading
import time

from procs import Trouble

TENANTS = ("vision", "foundation", "infra")
LEVELS = (
    "",
    "",
    "  topology: {required: rack}\n",
    "  topology: {required: block}\n",
    "  topology: {preferred: rack}\n",
)


def job_text(rng, name, key):
    """A gang of 2..16 pods that lives for a short time."""
    pods = rng.choice((2, 2, 3, 4, 4, 6, 8, 12, 16))
    gpus = rng.choice((1, 1, 2, 4, 8)) if pods <= 4 else rng.choice((1, 1, 2))
    return """apiVersion: gang.queued/v1
kind: GangJob
metadata:
  name: %s
  annotations:
    gang.queued/run-duration: "%.1fs"
    gang.queued/start-delay: "%.2fs"
    gang.queued/stop-delay: "%.2fs"
spec:
  tenant: %s
  submitKey: %s
  maxRuntime: 10m
%s  roles:
  - name: worker
    replicas: %d
    image: registry.example.com/test:1
    command: [sleep, "1"]
    resources: {gpus: %d, gpuModel: H100, cpu: "1", memory: 1Gi}
""" % (
        name,
        rng.uniform(0.3, 2.0),
        rng.uniform(0.05, 0.4),
        rng.uniform(0.05, 0.5),
        rng.choice(TENANTS),
        key,
        rng.choice(LEVELS),
        pods,
        gpus,
    )


class Load:
    def __init__(self, daemon, opts, moment, text=job_text, cancel_s=(0.2, 0.8)):
        """opts: seed, outstanding. moment: an Event, set at each acknowledgement. text: what makes
        a job of a random source, a name and a key. cancel_s: from one cancel to the next."""
        self.text, self.daemon, self.cancel_s = text, daemon, cancel_s
        self.outstanding, self.moment = opts.outstanding, moment
        self.lock = threading.Lock()
        self.acked = {}  # name or id as submit printed it: time of the acknowledgement
        self.cancelled = set()  # asked for, acknowledged or not
        self.keys = 0  # submissions begun
        self.done = 0  # jobs ended, as the last dump said
        self.retries = 0
        self.trouble = None
        self.stopping = threading.Event()
        self.threads = [
            self.thread(work, opts.seed * 100 + i)
            for i, work in enumerate((self.submit, self.submit, self.submit, self.cancel))
        ]

    def thread(self, work, seed):
        args = (work, random.Random(seed))
        return threading.Thread(target=self.guard, args=args, daemon=True)

    def start(self):
        for thread in self.threads:
            thread.start()

    def stop(self):
        """No new jobs; waits until every submission that was begun is acknowledged."""
        self.stopping.set()
        for thread in self.threads:
            thread.join()

    def guard(self, work, rng):
        try:
            work(rng)
        except Trouble as e:
            self.trouble = e

    def next_key(self):
        with self.lock:
            if self.keys - self.done >= self.outstanding:
                return None
            self.keys += 1
            return self.keys

    def submit(self, rng):
        while not self.stopping.is_set():
            number = self.next_key()
            if number is None:
                time.sleep(0.02)
                continue
            text = self.text(rng, "kt-%d" % number, "key-%d" % number)
            while True:
                done = self.daemon.ctl("submit", "-f", "-", "-o", "name", text=text)
                if done.returncode == 0:
                    self.moment.set()
                    break
                if done.returncode not in (6,):
                    raise Trouble("submit: exit %d: %s" % (done.returncode, done.stderr.strip()))
                self.retries += 1
                time.sleep(0.02)
            with self.lock:
                self.acked[done.stdout.strip().rpartition("/")[2]] = time.monotonic()

    def cancel(self, rng):
        while not self.stopping.wait(rng.uniform(*self.cancel_s)):
            self.cancel_one(rng)

    def cancel_one(self, rng):
        """Cancel one of the younger jobs, whatever it does just now."""
        with self.lock:
            young = [n for n in list(self.acked)[-12:] if n not in self.cancelled]
            if not young:
                return
            name = rng.choice(young)
            self.cancelled.add(name)
        self.daemon.ctl("cancel", name, "-y")
