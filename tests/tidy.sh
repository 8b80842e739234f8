#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tidy.sh - the rules of CONTRIBUTING.md that a program can check: sizes, nesting, layers, library
# headers, names, first lines, and the walk of docs/architecture.md. Judges the tree that holds it,
# prints one line "file:line: what" for each fault and the biggest files and functions.
# Exit 0 clean, 1 faults, 2 a tool is missing.
# shellcheck disable=SC2129 # each rule adds to the faults for itself
set -eu
cd "$(dirname "$0")/.."

FUNCTION_LINES=70
FILE_LINES=600
NESTING=3
PARAMETERS=5
CORE_LINES=10000 # with its headers: it is to be read in an evening

if ! ctags --version 2> /dev/null | grep -q Universal; then
    echo "tidy: universal-ctags is not installed: run 'make deps'" >&2
    exit 2
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
faults=$work/faults
: > "$faults"

dirs=
for d in queued client include tests proto deploy docs .ci; do
    if [ -d "$d" ]; then
        dirs="$dirs $d"
    fi
done
# shellcheck disable=SC2086 # the folder names hold no blanks
find $dirs -type f ! -name '*.pyc' | LC_ALL=C sort > "$work/all"
grep -E '\.(c|h|def)$' "$work/all" > "$work/sources"
grep -E '\.[ch]$' "$work/all" > "$work/c"
{
    grep -E '\.(sh|py)$' "$work/all" || true
    xargs grep -m 1 -anH '' < "$work/all" | LC_ALL=C sed -n 's/:1:#!.*//p'
    echo Makefile
} | LC_ALL=C sort -u > "$work/scripts"

# ---- functions: length and parameters (f: definitions, p: prototypes)
ctags --languages=C --langmap=C:.c.h --kinds-C=fp -L "$work/c" -x \
    --_xformat='%{input}	%{line}	%{end}	%{kind}	%{name}	%{signature}' > "$work/tags"

awk -F '\t' -v max="$FUNCTION_LINES" '$4 == "function" && $3 - $2 + 1 > max {
    printf "%s:%d: %s() has %d lines, at most %d\n", $1, $2, $5, $3 - $2 + 1, max }' \
    "$work/tags" >> "$faults"
# (what libmicrohttpd calls has the form that libmicrohttpd wants)
awk -F '\t' -v max="$PARAMETERS" '$6 !~ /struct MHD_Connection/ {
    s = substr($6, 2, length($6) - 2)
    while (gsub(/\([^()]*\)/, "", s)) { } # function pointers count once
    n = s == "" || s == "void" ? 0 : gsub(/,/, ",", s) + 1
    if (n > max) printf "%s:%d: %s() has %d parameters, at most %d: use a struct\n", $1, $2, $5, n, max
}' "$work/tags" >> "$faults"

# ---- files: length
xargs wc -l < "$work/all" | awk '$2 != "total" { print $1, $2 }' > "$work/lines"
grep -E '\.(c|h|def|sh|py|proto)$' "$work/lines" > "$work/sizes"
awk -v max="$FILE_LINES" '$1 > max { printf "%s:1: %d lines, at most %d\n", $2, $1, max }' \
    "$work/sizes" >> "$faults"
awk -v max="$CORE_LINES" '$2 ~ /^queued\/core\// { n += $1 }
    END { if (n >= max) printf "queued/core:1: %d lines, fewer than %d\n", n, max }' "$work/lines" >> "$faults"

# ---- nesting: clang-format indents by four, so a control statement shows how deep it is
xargs grep -nHE '^ +(\} )?(if|for|while|do|switch|HASH_ITER|[A-Z_]+_FOREACH[A-Z_]*) ?[({]' < "$work/c" |
    awk -F : -v max="$NESTING" '{
        match($3, /^ +/)
        if (RLENGTH / 4 > max) printf "%s:%d: nested %d deep, at most %d\n", $1, $2, RLENGTH / 4, max
    }' >> "$faults"

# ---- words in code: floating point
xargs awk -f tests/code.awk < "$work/c" > "$work/code"
sed -nE 's/^(queued\/(core|spec|cluster|life|view)\/[^:]+:[0-9]+):(.*[^A-Za-z0-9_])?(float|double)([^A-Za-z0-9_].*)?$/\1: \4 in the core: amounts are whole numbers/p' \
    "$work/code" >> "$faults"

# ---- includes: layers and the libraries that each layer may see
xargs grep -nHE '^[ \t]*#[ \t]*include' < "$work/c" | awk -F: -f tests/layers.awk >> "$faults"

# ---- words that are never committed
grep -vE '\.(pb|bin)$' "$work/all" | xargs grep -nHIwE 'TO''DO|FIX''ME' | sed 's/\([^:]*:[0-9]*\):.*/\1: unfinished: do it, or file an issue/' >> "$faults" || true

# ---- names and first lines
sed 's|.*/||' "$work/sources" | LC_ALL=C sort | uniq -d > "$work/doubles"
while read -r name; do
    echo "$(grep "/$name\$" "$work/sources" | tr '\n' ' '): base name $name occurs more than once"
done < "$work/doubles" >> "$faults"
# name, first and second line of each file of LIST, with tabs between
# shellcheck disable=SC2094 # the list is only read
first_lines() { # LIST
    xargs grep -m 2 -nH '' < "$1" | awk '
        NR == FNR { file[++n] = $0; next }
        { split($0, at, ":"); line[at[1], at[2]] = substr($0, length(at[1] at[2]) + 3) }
        END { for (i = 1; i <= n; i++) print file[i] "\t" line[file[i], 1] "\t" line[file[i], 2] }' "$1" -
}
first_lines "$work/sources" | awk -F '\t' '
    $2 != "/* SPDX-License-Identifier: Apache-2.0 */" {
        print $1 ":1: the first line is not /* SPDX-License-Identifier: Apache-2.0 */" }
    $3 !~ /^\/\* / { print $1 ":2: the file does not open with what it is for" }' >> "$faults"
first_lines "$work/scripts" | awk -F '\t' -v want='# SPDX-License-Identifier: Apache-2.0' '
    $2 != want && $3 != want { print $1 ":1: no line \047" want "\047 at the top" }' >> "$faults"

# ---- the walks: each `path.c` `function()` of a numbered row exists
awk -F '\t' '$4 == "function" { print $1 "\t" $5 }' "$work/tags" > "$work/defined"
walks=
for file in docs/architecture.md docs/a-decision.md; do
    [ ! -e "$file" ] || walks="$walks $file"
done
# shellcheck disable=SC2086 # a list
awk '
    NR == FNR { known[$1 "\t" $2] = 1; files[$1] = 1; next }
    /^\| *[0-9]+ *\|/ {
        rows++
        n = split($0, part, "`")
        path = ""
        found = 0
        for (i = 2; i <= n; i += 2) {
            if (part[i] ~ /^[a-z_\/]+\.[ch]$/) {
                path = part[i]
                if (!(path in files)) printf "%s:%d: %s does not exist or defines nothing\n", FILENAME, FNR, path
            } else if (part[i] ~ /^[a-z0-9_]+\(\)$/ && path != "") {
                found = 1
                name = substr(part[i], 1, length(part[i]) - 2)
                if ((path in files) && !((path "\t" name) in known))
                    printf "%s:%d: %s has no function %s()\n", FILENAME, FNR, path, name
            }
        }
        if (!found) printf "%s:%d: names no function\n", FILENAME, FNR
    }
    END { if (rows < 10) printf "%s:1: the walk of a job is missing\n", FILENAME }' \
    "$work/defined" ${walks:-/dev/null} >> "$faults"

# ---- report
echo "biggest files (lines):"
LC_ALL=C sort -k1,1nr -k2 "$work/sizes" | head -n 10 | sed 's/^/  /'
echo "biggest functions (lines):"
awk -F '\t' '$4 == "function" { print $3 - $2 + 1, $5 "()", $1 }' "$work/tags" |
    LC_ALL=C sort -k1,1nr -k2 | head -n 10 | sed 's/^/  /'
count=$(wc -l < "$faults")
cat "$faults"
echo "tidy: $(wc -l < "$work/sources") files, $(wc -l < "$work/defined") functions, $count faults"
[ "$count" -eq 0 ]
