# SPDX-License-Identifier: GPL-2.0-only
"""words - lines of an experiment file, the names in them, and the words of a command

Place   pure; experiment reads files with it, run fills in what only a run knows
Model   A template is a line with $NAMEs. They are replaced as text, again in what came in,
        and only then is the line split into words: a value of two words is two words, an
        empty one is none.
Limits  a name within itself is an error; $$ is a dollar, and so is one that no name follows
"""
from __future__ import annotations

import re
import shlex
from typing import Iterator, List, Mapping, Tuple

NAME = re.compile(r"\$(?:\$|([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})")
COMMENT = re.compile(r"(?:^|(?<=\s))#.*$")


class Undefined(Exception):
    """args[0] is the name."""


class Endless(Exception):
    """args[0] is the name that is made of itself."""


def joined(text: str) -> Iterator[Tuple[int, str]]:
    """Lines without comments and blanks at the ends, under the number of their first one; a
    backslash at the end goes on with the next."""
    begun, parts = 0, []
    for number, line in enumerate(text.splitlines(), 1):
        line = COMMENT.sub("", line).replace("\\#", "#").strip()
        goes_on = line.endswith("\\")
        if not parts:
            begun = number
        parts.append(line[:-1].strip() if goes_on else line)
        if goes_on:
            continue
        yield begun, " ".join(p for p in parts if p)
        parts = []
    if parts:
        yield begun, " ".join(p for p in parts if p)


def fill(text: str, values: Mapping[str, str], within: Tuple[str, ...] = ()) -> str:
    def one(match: "re.Match[str]") -> str:
        name = match.group(1) or match.group(2)
        if name is None:
            return "$"
        if name in within:
            raise Endless(name)
        if name not in values:
            raise Undefined(name)
        return fill(values[name], values, within + (name,))

    return NAME.sub(one, text)


def split(text: str) -> List[str]:
    """ValueError: a quotation mark that has no second one."""
    return shlex.split(text)


def join(command: List[str]) -> str:
    """So that split gives the same words, and fill changes none."""
    return shlex.join(command).replace("$", "$$")
