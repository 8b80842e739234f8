#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Run test programs one after the other; print the output of those that fail and one closing
# line "N passed, N failed" that counts programs. WRAPPER goes before each (valgrind and its options).
passed=0
failed=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT
for t in "$@"; do
    # shellcheck disable=SC2086 # WRAPPER is a command with options
    if ${WRAPPER:-} "$t" > "$log" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $t"
        tail -n 60 "$log"
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
