# SPDX-License-Identifier: Apache-2.0
# layers.awk - reads "file:line:#include ..." lines (field separator :) and prints those that reach
# up, across or into a library that the file's layer does not own. tidy.sh calls it.

function rank(dir)
{
    if (dir == "util") return 0
    if (dir == "spec") return 1
    if (dir == "cluster") return 2
    if (dir == "core") return 3
    if (dir == "life") return 4
    if (dir == "view") return 5
    if (dir == "port") return 6
    if (dir ~ /^(store|kube|rpc|http)$/) return 7
    return 8 # queued/*.c: engine, loop, daemon, main
}

# Folder of a file below queued/, "" for queued/ itself.
function layer_of(path)
{
    sub(/^queued\//, "", path)
    return path ~ /\// ? substr(path, 1, index(path, "/") - 1) : ""
}

function fault(text)
{
    printf "%s:%d: includes %s: %s\n", $1, $2, name, text
}

function check_ours(    from, to)
{
    to = name ~ /\// ? substr(name, 1, index(name, "/") - 1) : ""
    if ($1 ~ /^client\/sim\//) {
        if (to !~ /^(util|spec|cluster|core|life|view|)$/) fault("the simulator sees only util and the pure layers")
        return
    }
    if ($1 ~ /^client\//) {
        if (to != "util" && to != "" && to != "queued" && name !~ allowed_client)
            fault("the client sees only util and the wire")
        return
    }
    from = layer_of($1)
    if (name ~ /^\.\./) fault("paths begin at queued/")
    else if (rank(to) > rank(from)) fault("layer " (to == "" ? "shell" : to) " is above " from)
    else if (rank(from) == 7 && rank(to) == 7 && to != from) fault(from " and " to " never see each other")
    else if (from ~ /^(spec|cluster|core|life|view)$/ && name == "util/log.h") fault("the core does not log")
}

function check_library(    i)
{
    if (is_core && name !~ core_system) {
        fault("not one of the headers that the core may use")
        return
    }
    for (i = 1; i <= n_owners; i++)
        if (name ~ owner_header[i]) {
            if ($1 !~ owner_files[i]) fault("this library belongs to others (see CONTRIBUTING.md)")
            return
        }
}

function own(header, files)
{
    owner_header[++n_owners] = header
    owner_files[n_owners] = files
}

BEGIN {
    core_system = "^(assert|ctype|inttypes|limits|stdarg|stdbool|stddef|stdint|stdio|stdlib|strings?|uthash|utlist)\\.h$"
    allowed_client = "^spec/(limits|ids)\\.h$"
    own("^protobuf-c/|\\.pb-c\\.h$", "^(queued/(rpc|store|kube)|client/lib)/|^queued/util/pack\\.c$")
    own("^lmdb\\.h$", "^queued/store/")
    own("^curl/", "^queued/(kube|http|store)/|^client/")
    own("^(cjson/)?cJSON\\.h$", "^queued/(kube|http|store)/|^client/")
    own("^microhttpd\\.h$", "^queued/http/")
    own("^zmq\\.h$", "^queued/rpc/|^queued/loop\\.c$|^client/lib/")
    own("^yaml\\.h$", "^queued/util/yaml[a-z_]*\\.c$")
    own("^sodium\\.h$", "^queued/(rpc|store|kube)/|^client/")
}

$1 ~ /^tests\// { next }
$1 !~ /^(queued|client)\// { next }
{
    is_core = $1 ~ /^queued\/(spec|cluster|core|life|view)\//
    line = $0
    if (!match(line, /[<"][^>"]+[>"]/)) next
    quote = substr(line, RSTART, 1)
    name = substr(line, RSTART + 1, RLENGTH - 2)
    if (quote == "<" || name ~ /\.pb-c\.h$/) check_library()
    else check_ours()
}
