#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cases - does every case from the field have a test, and did that test run?

Reads tests/cases.tsv: id, tests, what must hold. A test is SOURCE:FUNCTION; for a part that does
not exist yet the second field is "missing: PART". Fails on an id without either, on a test that its
source does not have, and on one that did not pass by the files RAN, which tests/run.sh and
tests/e2e/suite leave. Cases of the suite need a real API server: where only the others ran, they
are just looked for in their source, and the other way round. The ids are compared with the rows
of ../shared/cases where that is there.
usage: cases.py [RAN...]     exit: 0 all is well, 1 faults
"""

import os
import re
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
TREE = os.path.dirname(HERE)
ROWS = os.path.join(TREE, "..", "shared", "cases")
FILES = ["kubernetes-api", "scheduling"]
PARTS = ["batch-systems"]  # of these, only the rows that tests/cases.tsv names
SUITE = "tests/e2e/cases/"


def read_table(path):
    """{id: (tests, reason)}, and what is wrong with the lines."""
    table, faults = {}, []
    with open(path, encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            if line.startswith("#") or not line.strip():
                continue
            fields = line.rstrip("\n").split("\t")
            where = "tests/cases.tsv:%d: " % number
            if len(fields) != 3 or not all(fields):
                faults.append(where + "wanted id, tests and text with tabs between")
                continue
            if fields[0] in table:
                faults.append(where + "%s is there twice" % fields[0])
            is_missing = fields[1].startswith("missing: ")
            reason = fields[1][len("missing: ") :].strip() if is_missing else ""
            table[fields[0]] = ([] if is_missing else fields[1].split(), reason)
            if is_missing and not reason:
                faults.append(where + "%s does not name the part that is missing" % fields[0])
    return table, faults


def rows_there():
    """The ids of ../shared/cases, None when it is not there."""
    ids = set()
    for name in FILES + PARTS:
        try:
            with open(os.path.join(ROWS, name + ".md"), encoding="utf-8") as f:
                rows = re.findall(r"^\| *([A-Z]\d+)(?: [AF])? *\||^(\d+)\. ", f.read(), re.M)
                ids |= {"%s/%s" % (name, a or b) for a, b in rows}
        except FileNotFoundError:
            if name in FILES:
                return None
    return ids


def has_function(test):
    source, _, name = test.partition(":")
    try:
        with open(os.path.join(TREE, source), encoding="utf-8") as f:
            text = f.read()
    except OSError:
        return False
    begin = r"^static void %s\(" if source.endswith(".c") else r"^ *def %s\("
    return bool(name) and re.search(begin % re.escape(name), text, re.M) is not None


def ran_tests(paths):
    ran = set()
    for path in paths:
        with open(path, encoding="utf-8") as f:
            ran |= set(f.read().split())
    return ran


def check_tests(table, ran):
    """What is wrong with the tests of the table. Which kinds ran at all is seen by their names."""
    kinds = {test.startswith(SUITE) for test in ran}
    for ident, (tests, reason) in sorted(table.items()):
        if not tests and not reason:
            yield "%s has neither a test nor a reason" % ident
        for test in tests:
            if not has_function(test):
                yield "%s: there is no test %s" % (ident, test)
            elif test not in ran and test.startswith(SUITE) in kinds:
                yield "%s: %s did not run and pass" % (ident, test)


def main():
    table, faults = read_table(os.path.join(HERE, "cases.tsv"))
    rows = rows_there()
    if rows is None:
        print("cases: ../shared/cases IS NOT HERE: the ids are those of tests/cases.tsv alone")
    else:
        faults += [
            "%s has no line in tests/cases.tsv" % i
            for i in sorted(rows - set(table))
            if i.split("/")[0] in FILES
        ]
        faults += ["%s is no row of ../shared/cases" % i for i in sorted(set(table) - rows)]
    try:
        ran = ran_tests(sys.argv[1:])
    except OSError as e:
        print("cases: %s: run the tests first" % e)
        return 1
    faults += check_tests(table, ran)
    for fault in faults:
        print("cases: " + fault)
    tested = [t for t, _ in table.values() if t]
    print(
        "cases: %d rows, %d with tests (%d tests), %d that wait for a part, %d faults"
        % (len(table), len(tested), sum(map(len, tested)), len(table) - len(tested), len(faults))
    )
    return 1 if faults else 0


sys.exit(main())
