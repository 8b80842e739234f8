#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Run test programs one after the other; print the output of those that fail, what others say that
# they skipped (lines "SKIPPED: why"), and one closing line "N passed, N failed" that counts
# programs. WRAPPER goes before each program that is no script (valgrind and its options). A program
# that is not through after TEST_SECS has failed.
passed=0
failed=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT

run() {
    # shellcheck disable=SC2086 # WRAPPER is a command with options
    case $1 in
    *.py) set -- python3 -B "$1" ;;
    *.sh) set -- sh "$1" ;;
    *) set -- ${WRAPPER:-} "$1" ;;
    esac
    timeout -k 5 "${TEST_SECS:-300}" "$@"
}

for t in "$@"; do
    if run "$t" > "$log" 2>&1 < /dev/null; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $t"
        tail -n 60 "$log"
    fi
    grep '^SKIPPED' "$log" | sed "s|^|$t: |"
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
