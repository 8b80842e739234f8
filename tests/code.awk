# SPDX-License-Identifier: Apache-2.0
# code.awk - prints C files without comments and without the insides of strings, each line as
# "file:line:code". tidy.sh looks for words in that.
FNR == 1 { inside = 0 }
{
    s = $0
    out = ""
    while (s != "") {
        if (inside) {
            i = index(s, "*/")
            if (!i)
                break
            s = substr(s, i + 2)
            inside = 0
        } else if (match(s, /\/\*|\/\/|"(\\.|[^"\\])*"/)) {
            out = out substr(s, 1, RSTART - 1)
            what = substr(s, RSTART, 2)
            s = substr(s, RSTART + RLENGTH)
            if (what == "/*")
                inside = 1
            else if (what == "//")
                s = ""
            else
                out = out "\"\""
        } else {
            out = out s
            s = ""
        }
    }
    if (out ~ /[^ \t]/)
        printf "%s:%d:%s\n", FILENAME, FNR, out
}
