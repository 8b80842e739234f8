# SPDX-License-Identifier: Apache-2.0
"""shim - run a daemon so that a kill costs it what a power failure would.

Builds tests/e2e/shim/lostsync.c, says with what environment to start the daemon, and after a kill
plays undo.log back into data.mdb: the store is then what was synced, and nothing more.
"""

import os
import struct
import subprocess

from procs import Trouble

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "shim", "lostsync.c")
HEAD = struct.Struct("=QQ")


def environment(where, is_nosync):
    """Build the shim into the folder where; the environment that loads it."""
    library = os.path.join(where, "lostsync.so")
    argv = [os.environ.get("CC", "cc"), "-std=c11", "-D_GNU_SOURCE", "-O2", "-fPIC", "-shared"]
    done = subprocess.run(
        argv + ["-o", library, SOURCE, "-ldl"], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise Trouble("lostsync.c does not compile: %s" % done.stderr.strip())
    env = {"LD_PRELOAD": library}
    if is_nosync:
        env["QUEUED_SHIM_NOSYNC"] = "1"
    return env


def _records(log):
    """The complete records of an undo log; a record cut by the kill was not yet needed."""
    at = 0
    while at + HEAD.size <= len(log):
        offset, length = HEAD.unpack_from(log, at)
        at += HEAD.size
        if at + length > len(log):
            return
        yield offset, log[at : at + length]
        at += length


def play_back(store):
    """Take from the store in this folder what was never synced. Returns the bytes put back."""
    path = os.path.join(store, "undo.log")
    if not os.path.exists(path):
        return 0
    with open(path, "rb") as f:
        records = list(_records(f.read()))
    with open(os.path.join(store, "data.mdb"), "r+b") as data:
        for offset, old in reversed(records):
            data.seek(offset)
            data.write(old)
    os.remove(path)
    return sum(len(old) for _, old in records)
