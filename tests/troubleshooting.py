#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""troubleshooting.py [--list]: docs/troubleshooting.md against the source; TAP

What the document quotes, in a code span that begins with a word and has an ellipsis for
what varies, stands in the source; and each message of the responder stands in the
document; counters that it names are counters. A message is the first string of a call of refuse(), say(), value_refuse(), or
of one that writes to stderr. --list prints them.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "docs" / "troubleshooting.md"
CALL = re.compile(r"\b(refuse|say|value_refuse|refuse_[a-z]+|fprintf|fputs|report)\s*\(")
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')
CONVERSION = re.compile(r"%[-0-9.*]*(?:ll|l|z)?[a-zA-Z]")
# route.c's refuse() is an answer to a client, tools have manuals of their own; the rest
# is not said to a user but by a broken build.
OTHERS = {"route.c", "http.c", "http_body.c", "tcp_image.c", "worker_image.c", "image.c"}
TEXT = r'((?:"(?:[^"\\]|\\.)*"\s*)+)'
NEVER = re.compile(r"(?!)")
ASSIGNED = {
    "conf.c": re.compile(r"\bwhy = " + TEXT),
    "netev.c": re.compile(r"snprintf\([a-z]+, [A-Za-z_]+,\s*" + TEXT),
}
SHORTEST = 8  # a fragment between two variable parts that says something


def arguments(text, at):
    """The text of a call's arguments; at: behind its parenthesis."""
    depth, start, quoted = 1, at, False
    while depth:
        c = text[at]
        if c == "\\" and quoted:
            at += 1
        elif c == '"':
            quoted = not quoted
        elif not quoted:
            depth += (c == "(") - (c == ")")
        at += 1
    return text[start:at - 1]


def first_string(args):
    """Adjacent literals, with what stands between them (PRIu64, a name) as variable."""
    found, end = [], None
    for m in LITERAL.finditer(args):
        between = "" if end is None else args[end:m.start()]
        if end is not None and not re.fullmatch(r"[\sA-Za-z0-9_]*", between):
            break
        if between.strip():
            found.append("%s" if found and not found[-1].endswith("%") else "s")
        found.append(m.group(1))
        end = m.end()
    return "".join(found)


def plain(text):
    text = text.replace("\\n", " ").replace('\\"', '"')
    return re.sub(r"^saker: (?:%s: )?", "", re.sub(r"\s+", " ", text))


def messages():
    for path in sorted((ROOT / "userspace").glob("*.c")):
        text = path.read_text()
        for call in CALL.finditer(text):
            if path.name in OTHERS:
                continue
            args = arguments(text, call.end())
            if call.group(1) in ("fprintf", "fputs") and "stderr" not in args:
                continue
            string = plain(first_string(args))
            if fragments(string):
                yield path.name, string
        # Texts that are put together before they are said.
        for m in ASSIGNED.get(path.name, NEVER).finditer(text):
            string = plain(first_string(m.group(1)))
            if fragments(string):
                yield path.name, string


def fragments(string):
    pieces = CONVERSION.sub("…", string.replace("%%", "%")).split("…")
    pieces = [p.strip(" ;:,()`\n") for p in pieces]
    return [p for p in pieces if len(p) >= SHORTEST and " " in p]


def quoted(document):
    """Code spans of lines that begin with a message, and of the table of settings."""
    for line in document.splitlines():
        settings = re.match(r"\| (`.*?`) \| [^|]* \|$", line) if "…" in line or "`wanted" in line else None
        text = settings.group(1) if settings else line if line.startswith("**") else ""
        for bold in re.findall(r"\*\*(.*?)\*\*", text) or [text]:
            for span in re.findall(r"``\s*(.+?)\s*``|(?<!`)`([^`]+)`(?!`)", bold):
                yield plain(span[0] or span[1])


def main():
    said = sorted(set(messages()))
    if "--list" in sys.argv:
        for name, string in said:
            print("%-18s %s" % (name, string))
        return 0
    document = DOCUMENT.read_text()
    flat = plain(document)
    source = " ".join(plain(re.sub(r'"\s*"', "", p.read_text()))
                      for p in sorted((ROOT / "userspace").glob("*.[ch]")) +
                      sorted((ROOT / "tools").glob("*.[ch]")))
    source = plain(re.sub(r'"\s*[A-Za-z_0-9]*\s*"', "", source))
    count = bad = 0

    def result(good, name, detail=""):
        nonlocal count, bad
        count += 1
        bad += not good
        print("%s %d - %s" % ("ok" if good else "not ok", count, name))
        if not good and detail:
            print("#   " + detail)

    for name, string in said:
        missing = [f for f in fragments(string) if f not in flat]
        result(not missing, "%s: '%s' is explained" % (name, string[:70]),
               "not there: " + " | ".join(missing))
    quotes = sorted(set(quoted(document)))
    for quote in quotes:
        pieces = [p.strip() for p in quote.split("…")]
        gone = [p for p in pieces if len(p) > 3 and p not in source]
        result(not gone, "the source says '%s'" % quote[:80], "not there: " + " | ".join(gone))
    counters = set(re.findall(r"\bX\(([a-z0-9_]+),", (ROOT / "include" / "abi.h").read_text()))
    for name in sorted(set(re.findall(r"`((?:xdp|pkt|tcp|http|watch|rx|tx)_[a-z0-9_]+[a-z0-9])`", document))):
        result(name in counters, "%s is a counter" % name)
    result(len(said) > 60 and len(quotes) > 60, "%d messages, %d quotes" % (len(said), len(quotes)))
    print("1..%d" % count)
    return bad > 0


sys.exit(main())
