# SPDX-License-Identifier: Apache-2.0
"""history_selftest - history.py is shown what chaos looks for, and must find it.

Invented changes of pods go in as etcd tells them; a sound life must give no finding, and each
damaged one exactly the finding that is meant for it.
"""

import base64
import json
import threading
import types

from gather import PREFIX
from history import History


class Still(History):
    def run(self):
        pass  # nothing to follow: the test brings the changes


def _change(index, uid, node, phase, attempt=1, gone=False):
    pod = {
        "metadata": {
            "name": "j-worker-%d-%d" % (index, attempt),
            "namespace": "vision",
            "uid": uid,
            "labels": {
                "app.kubernetes.io/managed-by": "queued",
                PREFIX + "job-id": "a",
                PREFIX + "role": "worker",
                PREFIX + "index": str(index),
                PREFIX + "attempt": str(attempt),
            },
        },
        "spec": {
            "nodeName": node,
            "containers": [{"resources": {"requests": {"nvidia.com/gpu": "4"}}}],
        },
        "status": {"phase": phase},
    }
    kv = {"key": uid, "mod_revision": "1"}
    if not gone:
        kv["value"] = base64.b64encode(json.dumps(pod).encode()).decode()
    return {"type": "DELETE" if gone else "PUT", "kv": kv}


def _found(changes, state="Succeeded", attempt=1):
    cluster = types.SimpleNamespace(record={"etcd": ""})
    history = Still(cluster, threading.Event(), {"n1": 8, "n2": 8})
    for change in changes:
        history.take(change)
    jobs = {"a": {"replicas": 2, "state": state, "attempt": attempt}}
    return (len(history.doubles), len(history.over), len(history.partial(jobs)))


def _gone(index, uid):
    return _change(index, uid, "", "", gone=True)


WHOLE = [_change(i, "u%d" % i, "n1", phase) for phase in ("Running", "Succeeded") for i in (0, 1)]
AGAIN = [_change(i, "v%d" % i, "n2", "Running", 2) for i in (0, 1)]
CASES = [
    # title, (double binds, nodes over, partial gangs), changes, attempt of the job
    ("a gang that ran", (0, 0, 0), WHOLE, 1),
    ("a part that was undone", (0, 0, 0), [WHOLE[0], _gone(0, "u0"), *AGAIN], 2),
    ("a member in two places", (1, 0, 0), [WHOLE[0], AGAIN[0], _gone(0, "u0"), AGAIN[1]], 2),
    ("a pod that moved", (1, 0, 0), [WHOLE[0], _change(0, "u0", "n2", "Running"), WHOLE[1]], 1),
    ("a node that holds too much", (0, 1, 0), WHOLE[:2] + [_change(2, "u4", "n1", "Running")], 1),
    ("half a gang", (0, 0, 1), [WHOLE[0]], 1),
]


def run():
    """Run all cases; the number of failures, each printed."""
    failures = 0
    for title, want, changes, attempt in CASES:
        got = _found(changes, attempt=attempt)
        if got != want:
            failures += 1
            print("history: %s: found %s, wanted %s" % (title, got, want))
    print("history: %d cases, %d failures" % (len(CASES), failures))
    return failures
