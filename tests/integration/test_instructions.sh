#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Instructions per decision of tests/bench/fixed_case.c, counted by callgrind, within 10 percent of
# the committed figure: a change that makes decisions dearer or cheaper is seen, whatever else runs
# on the machine. --write commits a new figure to the file.
set -eu
cd "$(dirname "$0")/../.."
figure=tests/bench/instructions.txt
case=${B:-build}/tests/bench/fixed_case

skip() {
    echo "SKIPPED: instructions per decision: $1"
    exit 0
}

[ -x "$case" ] || { echo "no $case: make ${B:-build}/tests/bench/fixed_case" >&2; exit 1; }
[ -z "${SAN:-}" ] || skip "the figure is for builds without sanitizers"
[ "$(uname -m)" = x86_64 ] || skip "the figure is for x86-64, this is $(uname -m)"
readelf --debug-dump=info "$case" > "${case}.info" 2>/dev/null || true
how=$(grep 'DW_AT_producer.* -std=c11' "${case}.info" | sed 's/.*): //' | sort -u | head -n 1)
rm -f "${case}.info"
case $how in
*" -fsanitize"* | *--coverage* | *-fprofile*) skip "the figure is for a plain build, not: $how" ;;
"GNU C11 12."*" -O2"*) ;;
*) skip "the figure is for gcc 12 -O2, not: ${how:-an unknown compiler}" ;;
esac
command -v valgrind > /dev/null || skip "no valgrind: run make deps; NOTHING WAS CHECKED"

# one variant of memset() and its like, on every processor
out=$(GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX512F,-AVX2,-AVX,-ERMS valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect=fixed_case_decide \
    "$case" 2>&1) || { echo "$out"; exit 1; }
n=$(echo "$out" | sed -n 's/^decisions //p')
all=$(echo "$out" | sed -n 's/^==[0-9]*== Collected : //p')
is=$((all / n))
if [ "${1:-}" = --write ]; then
    echo "$is" > "$figure"
    echo "$figure: $is"
    exit 0
fi
was=$(cat "$figure")
echo "instructions per decision: $is, committed $was"
if [ $((is * 10)) -gt $((was * 11)) ] || [ $((is * 10)) -lt $((was * 9)) ]; then
    echo "A decision takes $is instructions, more than 10 percent off the $was of $figure." >&2
    echo "Find out why (valgrind --tool=callgrind --toggle-collect=fixed_case_decide $case, then" >&2
    echo "callgrind_annotate). If it is meant, commit a new figure: $0 --write" >&2
    exit 1
fi
