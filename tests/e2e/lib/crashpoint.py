# SPDX-License-Identifier: Apache-2.0
"""crashpoint - let a daemon end right before or right after one of its commits.

Builds tests/e2e/shim/crashpoint.c and shares a small file with it: set() says at which commit,
count() how many there were since.
"""

import mmap
import os
import struct

import shim

PLAN = struct.Struct("=QQQ")  # commits begun, the one to die at, side
SIDES = {"before": 1, "after": 2}


class Commits:
    def __init__(self, where):
        """Builds the shim into the folder where, and makes the file there."""
        path = os.path.join(where, "crashpoint.plan")
        with open(path, "wb") as f:
            f.write(bytes(PLAN.size))
        with open(path, "r+b") as f:
            self.plan = mmap.mmap(f.fileno(), PLAN.size)
        library = shim.build(where, "crashpoint")
        self.environment = {"LD_PRELOAD": library, "QUEUED_CRASH_FILE": path}

    def set(self, number=0, side="before"):
        """Count from 0 and die at this commit; 0: at none."""
        self.plan[:] = PLAN.pack(0, number, SIDES[side])

    def count(self):
        return PLAN.unpack(self.plan[:])[0]
