#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# test_checks.sh - the checks can fail: each fault is put into a copy of the tree, and the check
# must refuse it and name it. A check that passes everything would be found here.
set -eu
cd "$(dirname "$0")/../.."
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
failed=0

fresh() {
    rm -rf "${copy:?}/tree"
    mkdir "$copy/tree"
    for d in Makefile VERSION queued client include tests proto docs deploy .ci; do
        if [ -e "$d" ]; then
            cp -R "$d" "$copy/tree/"
        fi
    done
}

# The check COMMAND, run in the copy, must fail with a line that matches PATTERN.
refuses() { # WHAT PATTERN COMMAND...
    what=$1
    pattern=$2
    shift 2
    if (cd "$copy/tree" && "$@") > "$copy/out" 2>&1; then
        echo "FAILED: $what: the check passed"
        failed=1
    elif ! grep -qE "$pattern" "$copy/out"; then
        echo "FAILED: $what: no line of the check matches: $pattern"
        tail -n 20 "$copy/out"
        failed=1
    else
        echo "ok: $what: $(grep -E "$pattern" "$copy/out" | head -n 1)"
    fi
}

# FILE gets TEXT at its end and tidy must say PATTERN.
tidy_refuses() { # WHAT FILE TEXT PATTERN
    cp "$copy/tree/$2" "$copy/saved"
    printf '%s\n' "$3" >> "$copy/tree/$2"
    refuses "$1" "$4" tests/tidy.sh
    cp "$copy/saved" "$copy/tree/$2"
}

fresh
lines=$(awk 'BEGIN { for (i = 0; i < 68; i++) print "    (void)0;" }')
tidy_refuses "a function of 71 lines" queued/core/tenant.c "void too_long(void);
void too_long(void)
{
$lines
}" 'queued/core/tenant.c:[0-9]+: too_long\(\) has 71 lines, at most 70'
tidy_refuses "a double in the core" queued/core/tenant.c "static const double share = 1;" \
    'queued/core/tenant.c:[0-9]+: double in the core'
tidy_refuses "an include of a higher layer" queued/core/tenant.c '#include "store/store_lmdb.h"' \
    'queued/core/tenant.c:[0-9]+: includes store/store_lmdb.h: layer store is above core'
tidy_refuses "an include across" queued/store/store_lmdb.h '#include "rpc/rpc_server.h"' \
    'queued/store/store_lmdb.h:[0-9]+: includes rpc/rpc_server.h: store and rpc never see each other'
tidy_refuses "a library of another layer" queued/rpc/rpc_server.h '#include <lmdb.h>' \
    'queued/rpc/rpc_server.h:[0-9]+: includes lmdb.h'
tidy_refuses "the logger in the core" queued/core/tenant.c '#include "util/log.h"' \
    'queued/core/tenant.c:[0-9]+: includes util/log.h: the core does not log'
tidy_refuses "six parameters" queued/core/tenant.h "int six(int a, int b, int c, int d, int e, int f);" \
    'queued/core/tenant.h:[0-9]+: six\(\) has 6 parameters'
tidy_refuses "nesting of four" queued/core/tenant.c "                if (deep) {" \
    'queued/core/tenant.c:[0-9]+: nested 4 deep'
tidy_refuses "unfinished work" queued/core/tenant.c "/* TO""DO later */" \
    'queued/core/tenant.c:[0-9]+: unfinished'
tidy_refuses "a long file" queued/core/tenant.c "$(seq 600 | sed 's|.*|/* & */|')" \
    'queued/core/tenant.c:1: [0-9]+ lines, at most 600'
tidy_refuses "a walk to nowhere" docs/architecture.md "| 99 | \`queued/core/tenant.c\` \`job_id_vanished()\` | x |" \
    'queued/core/tenant.c has no function job_id_vanished\(\)'
cp queued/core/tenant.h "$copy/tree/queued/util/ids.h"
refuses "a base name that occurs twice" 'base name ids.h occurs more than once' tests/tidy.sh
rm "$copy/tree/queued/util/ids.h"
sed -i 1d "$copy/tree/queued/core/tenant.c"
refuses "a file without its licence line" 'queued/core/tenant.c:1: the first line is not' tests/tidy.sh

fresh
# one object is enough: purity looks at each of them by itself
judge='make -s B=build-checks SAN= CFLAGS= build-checks/obj/queued/core/tenant.o &&
    SAN= COVERAGE= tests/purity.sh build-checks/obj'
echo '#include <time.h>
int64_t core_clock(void);
int64_t core_clock(void) { return time(NULL); }' >> "$copy/tree/queued/core/tenant.c"
refuses "time(NULL) in the core" 'queued/core/tenant.o: needs time: not on the short list' sh -c "$judge"
fresh
echo 'extern int core_counter;
int core_counter = 1;' >> "$copy/tree/queued/core/tenant.c"
refuses "data that changes in the core" 'queued/core/tenant.o: core_counter can change' sh -c "$judge"

# A case from the field: LINE in the table and PATTERN in what is said
case_refused() { # WHAT LINE PATTERN
    cp tests/cases.tsv "$copy/tree/tests/cases.tsv"
    printf '%b\n' "$2" >> "$copy/tree/tests/cases.tsv"
    refuses "$1" "$3" tests/cases.py "$copy/ran"
}
fresh
echo tests/unit/test_resource.c:sums_are_right > "$copy/ran"
case_refused "a case without a test" 'x/B1\tmissing: \ttext' 'x/B1 does not name the part'
case_refused "a case with a test that does not exist" 'x/B1\ttests/unit/test_resource.c:not_there\ttext' \
    'x/B1: there is no test tests/unit/test_resource.c:not_there'
case_refused "a case with a test that did not run" \
    'x/B1\ttests/unit/test_kube_json.c:a_line_without_end_is_given_up\ttext' \
    'x/B1: tests/unit/test_kube_json.c:a_line_without_end_is_given_up did not run and pass'
case_refused "a case twice" 'kubernetes-api/B1\tmissing: a part\ttext' 'kubernetes-api/B1 is there twice'
mkdir -p "$copy/shared/cases"
echo '| B999 | a report | a fault | right | our test |' > "$copy/shared/cases/kubernetes-api.md"
: > "$copy/shared/cases/scheduling.md"
cp tests/cases.tsv "$copy/tree/tests/cases.tsv"
refuses "a row that has no line" 'kubernetes-api/B999 has no line in tests/cases.tsv' tests/cases.py
exit "$failed"
