# SPDX-License-Identifier: Apache-2.0
"""procs - start, watch and kill the programs of a test.

A program is remembered as {"pid", "start"}: the start time from /proc tells a recycled pid from
ours, so nothing is ever killed that we did not start. Knows nothing of Kubernetes or queued.
"""

import os
import signal
import socket
import subprocess
import sys
import time


class Trouble(Exception):
    """Something outside went wrong; the text says what and what to do next."""


def die(text, code=1):
    print(text, file=sys.stderr, flush=True)
    sys.exit(code)


def free_port():
    """A TCP port on loopback that was free a moment ago."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def start_time(pid):
    """Start time of a running process in clock ticks, None when it is gone or a zombie."""
    try:
        with open("/proc/%d/stat" % pid, encoding="ascii", errors="replace") as f:
            fields = f.read().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else int(fields[19])


def spawn(argv, log, env=None):
    """Start argv in a session of its own, its output appended to the file log.
    Returns (the Popen, the record {"pid", "start"})."""
    with open(log, "ab") as out:
        p = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=env, start_new_session=True
        )
    return p, {"pid": p.pid, "start": start_time(p.pid)}


def is_alive(record):
    return (
        record is not None
        and record["start"] is not None
        and start_time(record["pid"]) == record["start"]
    )


def kill(record, sig=signal.SIGKILL, wait_s=10.0):
    """Send sig and wait until the process is gone. Harmless when it is gone already."""
    if not is_alive(record):
        return
    try:
        os.kill(record["pid"], sig)
    except ProcessLookupError:
        return

    def is_gone():
        ended = reap(record["pid"])
        return ended or (ended is None and not is_alive(record))

    wait_for(
        is_gone,
        wait_s,
        "the end of pid %d" % record["pid"],
        every_s=0.005,
    )


def reap(pid):
    """Collect a child that has ended with all its threads, which may hold its ports for a moment
    longer than it; False when it runs, None when it is no child of ours."""
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return None


def tail(path, lines=12):
    try:
        with open(path, "rb") as f:
            f.seek(max(0, os.path.getsize(path) - 8192))
            return "\n".join(
                "    " + x for x in f.read().decode("utf-8", "replace").splitlines()[-lines:]
            )
    except OSError as e:
        return "    (no log: %s)" % e


def wait_for(test, limit_s, what, every_s=0.1):
    """Ask test() until it is true. Returns its value; Trouble when limit_s have passed."""
    end = time.monotonic() + limit_s
    while True:
        value = test()
        if value:
            return value
        if time.monotonic() > end:
            raise Trouble("waited %.0f s for %s in vain" % (limit_s, what))
        time.sleep(every_s)
