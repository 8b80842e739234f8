#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Run test programs, TEST_JOBS at a time (4); print the output of those that fail, what others say
# that they skipped (lines "SKIPPED: why"), and one closing line "N passed, N failed" that counts
# programs. WRAPPER goes before each program that is no script (valgrind and its options). A program
# that is not through after TEST_SECS has failed. The names of the tests that passed are left in the
# file RAN, "SOURCE:TEST" each, for tests/cases.py.

log_of() { # FOLDER PROGRAM
    echo "$1/$(echo "$2" | tr / _)"
}

if [ "${1:-}" = --one ]; then # FOLDER PROGRAM: run it, leave its output and its exit code there
    folder=$2
    program=$3
    log=$(log_of "$folder" "$program")
    # shellcheck disable=SC2086 # WRAPPER is a command with options
    case $program in
    *.py) set -- python3 -B "$program" -v ;;
    *.sh) set -- sh "$program" ;;
    *) set -- ${WRAPPER:-} "$program" ;;
    esac
    timeout -k 5 "${TEST_SECS:-300}" "$@" > "$log" 2>&1 < /dev/null
    echo $? > "$log.code"
    exit 0
fi

passed=0
failed=0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
printf '%s\n' "$@" | xargs -P "${TEST_JOBS:-4}" -n 1 "$0" --one "$folder"
passed_tests() { # PROGRAM LOG
    source=$(echo "$1" | sed 's|^.*tests/|tests/|; s|/\([^./]*\)$|/\1.c|')
    sed -n "/\.\.\. skipped/d; s|^\[ *OK \] \([A-Za-z0-9_]*\).*|$source:\1|p; s|^\(test_[A-Za-z0-9_]*\) (.*|$source:\1|p" "$2"
}
ran=${RAN:-$folder/ran}
mkdir -p "$(dirname "$ran")"
: > "$ran"
for t in "$@"; do
    log=$(log_of "$folder" "$t")
    if [ "$(cat "$log.code")" = 0 ]; then
        passed=$((passed + 1))
        passed_tests "$t" "$log" >> "$ran"
    else
        failed=$((failed + 1))
        echo "FAILED: $t (exit code $(cat "$log.code"))"
        tail -n 60 "$log"
    fi
    grep '^SKIPPED' "$log" | sed "s|^|$t: |"
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
