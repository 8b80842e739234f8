# SPDX-License-Identifier: Apache-2.0
"""miniyaml - the little YAML that our own manifests and kubeconfigs are written in.

Block maps and lists, flow maps and lists that may span lines, quoted and plain scalars, comments,
several documents. No anchors, tags, block scalars or multi-line plain scalars: those raise
ValueError with the line, so a file that needs more is noticed instead of misread.
"""

import re

KEY = re.compile(r'^("(?:[^"\\]|\\.)*"|\'[^\']*\'|[^\s{}\[\],#][^{}\[\],]*?)\s*:(?:\s+|$)')


def _strip_comment(line):
    quote = ""
    for i, c in enumerate(line):
        if quote:
            if c == quote and not (quote == '"' and line[i - 1] == "\\"):
                quote = ""
        elif c in "\"'" and (i == 0 or line[i - 1] in " {[,:"):
            quote = c
        elif c == "#" and (i == 0 or line[i - 1] in " \t"):
            return line[:i]
    return line


def _depth(text):
    """How many flow brackets are open at the end of text."""
    bare = re.sub(r'"(?:[^"\\]|\\.)*"|\'[^\']*\'', "", text)
    return sum(bare.count(c) for c in "[{") - sum(bare.count(c) for c in "]}")


def _scalar(text):
    text = text.strip()
    if len(text) >= 2 and text[0] == text[-1] == '"':
        return re.sub(r"\\(.)", lambda m: {"n": "\n", "t": "\t"}.get(m[1], m[1]), text[1:-1])
    if len(text) >= 2 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    if text in ("", "~", "null"):
        return None
    if text in ("true", "false"):
        return text == "true"
    if re.fullmatch(r"-?(0|[1-9][0-9]*)", text):
        return int(text)
    if re.fullmatch(r"-?[0-9]+\.[0-9]+", text):
        return float(text)
    if text[0] in "&*!|>%@`":
        raise ValueError("miniyaml: not supported here: %r" % text)
    return text


class _Flow:
    """Reader of one flow value, for example {a: [1, "x"]}."""

    def __init__(self, text):
        self.text = text
        self.at = 0

    def skip(self):
        while self.at < len(self.text) and self.text[self.at] in " \t\n":
            self.at += 1

    def peek(self):
        self.skip()
        if self.at >= len(self.text):
            raise ValueError("miniyaml: flow value is not closed: %r" % self.text)
        return self.text[self.at]

    def token(self, stop):
        self.skip()
        m = re.compile(r'"(?:[^"\\]|\\.)*"|\'[^\']*\'').match(self.text, self.at)
        if m:
            self.at = m.end()
            return m[0]
        start = self.at
        while self.at < len(self.text) and self.text[self.at] not in stop:
            if self.text[self.at] == ":" and self.text[self.at + 1 : self.at + 2] in (
                "",
                " ",
                "\n",
            ):
                break
            self.at += 1
        return self.text[start : self.at]

    def value(self):
        c = self.peek()
        if c not in "{[":
            return _scalar(self.token(",]}"))
        self.at += 1
        close = "}" if c == "{" else "]"
        ret = {} if c == "{" else []
        while self.peek() != close:
            if c == "[":
                ret.append(self.value())
            else:
                self.member(ret)
            if self.peek() == ",":
                self.at += 1
        self.at += 1
        return ret

    def member(self, ret):
        key = _scalar(self.token(",]}"))
        if self.peek() != ":":
            ret[key] = None
            return
        self.at += 1
        ret[key] = None if self.peek() in ",}" else self.value()


class _Block:
    """Reader of the lines of one document: a list of (indent, text, line number)."""

    def __init__(self, lines):
        self.lines = lines
        self.at = 0

    def value(self, indent):
        text = self.lines[self.at][1]
        if text.startswith("- ") or text == "-":
            return self.sequence(indent)
        if KEY.match(text):
            return self.mapping(indent)
        self.at += 1
        return _Flow(text).value()

    def below(self, indent, key_of_map):
        """What stands under a key or dash that has nothing behind it."""
        if self.at >= len(self.lines):
            return None
        inner, text, _ = self.lines[self.at]
        if inner > indent or (
            key_of_map and inner == indent and (text.startswith("- ") or text == "-")
        ):
            return self.value(inner)
        return None

    def sequence(self, indent):
        ret = []
        while self.at < len(self.lines) and self.lines[self.at][0] == indent:
            _, text, number = self.lines[self.at]
            if not (text.startswith("- ") or text == "-"):
                break
            rest = text[1:].lstrip()
            if not rest:
                self.at += 1
                ret.append(self.below(indent, False))
                continue
            inner = indent + len(text) - len(rest)
            self.lines[self.at] = (inner, rest, number)
            ret.append(self.value(inner))
        return ret

    def mapping(self, indent):
        ret = {}
        while self.at < len(self.lines) and self.lines[self.at][0] == indent:
            _, text, number = self.lines[self.at]
            m = KEY.match(text)
            if not m:
                raise ValueError("miniyaml: line %d: expected 'key: value': %r" % (number, text))
            key = _scalar(m[1])
            if key in ret:
                raise ValueError("miniyaml: line %d: key %r twice" % (number, key))
            rest = text[m.end() :].strip()
            self.at += 1
            ret[key] = (
                _Flow(rest).value()
                if rest[:1] in ("{", "[")
                else _scalar(rest) if rest else self.below(indent, True)
            )
        if self.at < len(self.lines) and self.lines[self.at][0] > indent:
            raise ValueError("miniyaml: line %d: indented too far" % self.lines[self.at][2])
        return ret


def _documents(text):
    lines = []
    for number, raw in enumerate(text.splitlines(), 1):
        if raw.rstrip() == "---":
            yield lines
            lines = []
            continue
        line = _strip_comment(raw).rstrip()
        if not line.strip():
            continue
        if lines and _depth(lines[-1][1]) > 0:
            indent, before, at = lines[-1]
            lines[-1] = (indent, before + "\n" + line.strip(), at)
            continue
        lines.append((len(line) - len(line.lstrip()), line.lstrip(), number))
    yield lines


def load_all(text):
    """All documents of text, empty ones left out. ValueError for what is not supported."""
    return [_Block(lines).value(lines[0][0]) for lines in _documents(text) if lines]


def load(text):
    """The only document of text; {} when there is none."""
    found = load_all(text)
    return found[0] if found else {}
