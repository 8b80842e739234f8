#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run many simulations, each in two processes, and hold the two against each other.

The second process has another hash function (a second binary), shuffled allocations and fresh
memory filled with other bytes; it must store the same bytes and take the same decisions. Prints
how often each row of the state table and each kind of fault was taken; with --least N every one
that this version takes must be taken N times.
"""

import argparse
import concurrent.futures
import os
import subprocess
import sys

PIECE = 250  # seeds of one pair of processes: what fails is told before all have run


def seeds_of(path):
    with open(path, encoding="ascii") as f:
        return [line.split()[0] for line in f if line.strip() and not line.startswith("#")]


def start(binary, first, count, turns, env):
    args = [binary, "--seed", str(first), "--seeds", str(count), "--turns", str(turns), "--table"]
    return subprocess.Popen(args, stdout=subprocess.PIPE, text=True, env={**os.environ, **env})


REPLAY_TURNS = 500  # in which the kept seeds showed what they did


def run_twice(options, first, count, turns):
    """Lines of both processes, and whether both ended well."""
    plain = start(options.sim, first, count, turns, {})
    other = start(
        options.other or options.sim, first, count, turns,
        {"QUEUED_SIM_JUNK": str(0x5EED + first), "MALLOC_PERTURB_": "165", "MALLOC_TOP_PAD_": "4096"},
    )
    # both write little, but either may fill its pipe: read the one, then the other
    lines = plain.communicate()[0].splitlines(), other.communicate()[0].splitlines()
    for process in (plain, other):
        if process.returncode < 0:
            print(f"{process.args[0]}: ended by signal {-process.returncode}")
    return lines, plain.returncode == 0 and other.returncode == 0


def compare(lines):
    """Print what differs or failed; the number of seeds with trouble."""
    plain, other = ([x for x in side if x.startswith("seed ")] for side in lines)
    bad = {x for x in plain + other if "FAILED" in x}
    bad |= {f"{a} and then {b}: not the same bytes and decisions"
            for a, b in zip(plain, other) if a != b and a not in bad and b not in bad}
    for line in sorted(bad):
        print(line, flush=True)
    if len(plain) != len(other):
        print(f"one process ran {len(plain)} seeds, the other {len(other)}")
    return len(bad)


def add_counts(counts, lines):
    """Sum up `row ...` and `fault ...` lines; they keep their order."""
    for line in lines:
        words = line.split()
        if line.startswith("row "):
            key, n, note = ("row", " ".join(words[1:4])), int(words[4]), words[5]
        elif line.startswith("fault "):
            key, n, note = ("fault", words[1]), int(words[2]), "taken"
        elif line.startswith("met "):
            name = line.split(maxsplit=2)[2]
            counts["met"][name] = counts["met"].get(name, 0) + int(words[1])
            continue
        elif line.startswith("total "):
            for name, value in zip(words[1::2], words[2::2]):
                counts["totals"][name] = counts["totals"].get(name, 0) + int(value)
            continue
        else:
            continue
        counts["rows"][key] = (counts["rows"].get(key, (0,))[0] + n, note)


def print_table(counts, least):
    rare = 0
    for (kind, name), (n, note) in counts["rows"].items():
        mark = ""
        if note == "later":
            mark = "  waits for a later version"
        elif n < least:
            mark = f"  fewer than {least}"
            rare += 1
        print(f"{kind:5} {name:45} {n:9}{mark}")
    for name, n in sorted(counts["met"].items()):
        print(f"met   {name:45} {n:9}")
    print("total " + " ".join(f"{k} {v}" for k, v in counts["totals"].items()))
    return rare


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--sim", required=True, help="the simulation")
    p.add_argument("--other", help="the same with another hash function")
    p.add_argument("--first", type=int, default=1)
    p.add_argument("--seeds", type=int, default=60)
    p.add_argument("--turns", type=int, default=300)
    p.add_argument("--pairs", type=int, default=1, help="pairs of processes at a time")
    p.add_argument("--least", type=int, default=0, help="fail when a row or fault is rarer")
    p.add_argument("--replay", help="file of seeds that failed once, a line each")
    options = p.parse_args()
    counts = {"rows": {}, "met": {}, "totals": {}}
    end = options.first + options.seeds
    runs = [(at, min(PIECE, end - at), options.turns) for at in range(options.first, end, PIECE)]
    if options.replay:
        turns = max(options.turns, REPLAY_TURNS)
        runs = [(int(s), 1, turns) for s in seeds_of(options.replay)] + runs
    failed, all_well = 0, True
    with concurrent.futures.ThreadPoolExecutor(options.pairs) as pool:
        for lines, well in pool.map(lambda run: run_twice(options, *run), runs):
            failed += compare(lines)
            all_well &= well and len(lines[0]) == len(lines[1])
            add_counts(counts, lines[0])
    seeds = sum(count for _, count, _ in runs)
    rare = print_table(counts, options.least) if options.least else 0
    print(f"simulation: {seeds} seeds of {options.turns} turns and more, each in two processes: "
          f"{failed} failed, {rare} rows or faults too rare")
    sys.exit(1 if failed or rare or not all_well else 0)


if __name__ == "__main__":
    main()
