#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# purity.sh - the core decides from what it is told: its objects, and those of util that they pull
# in, may need only the symbols listed here, and keep no data that can change.
# A file, socket, clock, thread, random source, the environment or the logger is a fault that names
# the symbol and the object. usage: purity.sh OBJECT-DIR
# shellcheck disable=SC2094 # the list of what is judged grows while it is read
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

set -- "$dir"/queued/core/*.o
if [ ! -e "$1" ]; then
    echo "purity: no objects in $dir/queued/core: build them first" >&2
    exit 2
fi

needed() { # OBJECT: symbols that it does not define itself
    nm -u "$1" | awk '{ print $NF }'
}

for o in "$@" "$dir"/queued/util/*.o; do
    nm --defined-only -g "$o" | awk -v o="$o" '{ print $3, o }'
done > "$work/defined"

# objects to judge: those of the core, then what they pull in, until nothing new comes
printf '%s\n' "$@" > "$work/judged"
: > "$work/faults"
while read -r o; do
    allowed=$ALLOWED
    case $o in
    */util/mem.o) allowed="$allowed $ALLOWED_MEM" ;;
    */util/parse.o) allowed="$allowed $ALLOWED_PARSE" ;;
    esac
    for symbol in $(needed "$o"); do
        home=$(awk -v s="$symbol" '$1 == s { print $2; exit }' "$work/defined")
        case $home in
        */util/log.o | */util/yaml*.o)
            echo "${o#"$dir"/}: needs $symbol of ${home#"$dir"/}: that is not for the core" >> "$work/faults"
            ;;
        ?*)
            grep -qxF "$home" "$work/judged" || echo "$home" >> "$work/judged"
            ;;
        *)
            case " $(echo "$allowed" | tr '\n' ' ') " in
            *" $symbol "*) ;;
            *) echo "${o#"$dir"/}: needs $symbol: not on the short list of tests/purity.sh" >> "$work/faults" ;;
            esac
            ;;
        esac
    done
    objdump -t "$o" | awk -v o="${o#"$dir"/}" '
        NF >= 4 && $(NF - 2) ~ /^\.(data|bss|tbss|tdata|data\.rel)(\.[^r].*)?$/ && $(NF - 2) !~ /^\.data\.rel\.ro/ &&
        $(NF - 1) !~ /^0+$/ { print o ": " $NF " can change: static data is constant" }' >> "$work/faults"
done < "$work/judged"

cat "$work/faults"
echo "purity: $(wc -l < "$work/judged") objects, $(wc -l < "$work/faults") faults"
[ ! -s "$work/faults" ]
