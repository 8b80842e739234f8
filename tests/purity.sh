#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# purity.sh - the core decides from what it is told: its objects, and those of util that they pull
# in, may need only the symbols listed here, and keep no data that can change.
# A file, socket, clock, thread, random source, the environment or the logger is a fault that names
# the symbol and the object. usage: purity.sh OBJECT-DIR
set -eu
dir=${1:?usage: purity.sh OBJECT-DIR}

if [ -n "${SAN:-}" ]; then
    echo "purity: skipped: a sanitizer build ($SAN) adds symbols of its own"
    exit 0
fi
if [ -n "${COVERAGE:-}" ]; then
    echo "purity: skipped: a coverage build adds symbols of its own"
    exit 0
fi

# memory, strings, sorting, formatting into memory, and the end of the process
ALLOWED="
calloc free malloc realloc
memchr memcmp memcpy memmem memmove memset
stpcpy strcasecmp strchr strcmp strcspn strlen strncasecmp strncmp strncpy strnlen strpbrk strrchr strspn
strstr strtol strtoll strtoul strtoull
bsearch qsort
snprintf sscanf vsnprintf
__assert_fail abort exit __stack_chk_fail _GLOBAL_OFFSET_TABLE_
"
# of util alone: text that grows, 128-bit arithmetic of exact quantities
ALLOWED_MEM="vasprintf"
ALLOWED_PARSE="__udivmodti4 __udivti3 __umodti3"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if ! find "$dir/queued/core" -name '*.o' 2> /dev/null | grep -q .; then
    echo "purity: no objects in $dir/queued/core: build them first" >&2
    exit 2
fi

find "$dir/queued/core" "$dir/queued/spec" "$dir/queued/cluster" "$dir/queued/life" "$dir/queued/view" "$dir/queued/util" -name '*.o' 2> /dev/null | LC_ALL=C sort > "$work/objects"
xargs nm -uA < "$work/objects" > "$work/needed"
xargs nm --defined-only -gA < "$work/objects" > "$work/defined"

# judges the objects of the core, then those that they pull in, until nothing new comes
awk -v dir="$dir/" -v allowed="$ALLOWED" -v mem="$ALLOWED_MEM" -v parse="$ALLOWED_PARSE" \
    -v judged="$work/judged" '
    function allow(symbols, where,   part, i, n) {
        n = split(symbols, part)
        for (i = 1; i <= n; i++)
            may[part[i], where] = 1
    }
    function judge(o) {
        if (!(o in seen)) {
            seen[o] = 1
            objects[++n_objects] = o
            print dir o > judged
        }
    }
    BEGIN { allow(allowed, ""); allow(mem, "queued/util/mem.o"); allow(parse, "queued/util/parse.o") }
    { o = substr($1, length(dir) + 1); sub(/:.*/, "", o) }
    NR == FNR { home[$NF] = o; if (o ~ /^queued\/(core|spec|cluster|life|view)\//) judge(o); next }
    { needs[o] = needs[o] " " $NF }
    END {
        for (i = 1; i <= n_objects; i++) {
            o = objects[i]
            n = split(needs[o], symbol)
            for (k = 1; k <= n; k++) {
                s = symbol[k]
                if (home[s] ~ /\/util\/(log|yaml.*)\.o$/)
                    print o ": needs " s " of " home[s] ": that is not for the core"
                else if (home[s] != "")
                    judge(home[s])
                else if (!((s, "") in may) && !((s, o) in may))
                    print o ": needs " s ": not on the short list of tests/purity.sh"
            }
        }
    }' "$work/defined" "$work/needed" > "$work/faults"
xargs objdump -t < "$work/judged" | awk -v dir="$dir/" '
    /file format/ { o = substr($1, length(dir) + 1); sub(/:$/, "", o); next }
    NF >= 4 && $(NF - 2) ~ /^\.(data|bss|tbss|tdata|data\.rel)(\.[^r].*)?$/ && $(NF - 2) !~ /^\.data\.rel\.ro/ &&
        $(NF - 1) !~ /^0+$/ { print o ": " $NF " can change: static data is constant" }' >> "$work/faults"

cat "$work/faults"
echo "purity: $(wc -l < "$work/judged") objects, $(wc -l < "$work/faults") faults"
[ ! -s "$work/faults" ]
