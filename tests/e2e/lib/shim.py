# SPDX-License-Identifier: Apache-2.0
"""shim - what is preloaded into a daemon under test; above all, a kill like a power failure.

build() compiles any of tests/e2e/shim. For lostsync.c this also says with what environment to start
the daemon, and after a kill plays undo.log back into data.mdb: the store is then what was synced,
and nothing more.
"""

import os
import struct
import subprocess

from procs import Trouble

SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "shim")
HEAD = struct.Struct("=QQ")


def build(where, name):
    """Compile tests/e2e/shim/NAME.c into the folder where; the path of the library."""
    library = os.path.join(where, name + ".so")
    argv = [os.environ.get("CC", "cc"), "-std=c11", "-D_GNU_SOURCE", "-O2", "-fPIC", "-shared"]
    argv += ["-o", library, os.path.join(SOURCES, name + ".c"), "-ldl"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Trouble("%s.c does not compile: %s" % (name, done.stderr.strip()))
    return library


def environment(where, is_nosync):
    """Build lostsync into the folder where; the environment that loads it."""
    env = {"LD_PRELOAD": build(where, "lostsync")}
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
