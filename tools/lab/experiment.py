# SPDX-License-Identifier: GPL-2.0-only
"""experiment - the file that says what is compared, how, and what is read from it

Place   pure but for reading the file; saker-lab.1 has the grammar
Model   load() returns an Experiment or raises Trouble("FILE:LINE: what; cure"). It is strict:
        what it does not know, it refuses; and each combination of levels is tried, so that
        an undefined $NAME shows before the first run.
        `quick KEY VALUE` lines replace lines of that key when quick is asked for; they are
        checked either way.
Owner   the lines stay text until run fills them in: what $NAMEs stand for, a run knows
Units   seconds where nothing else is said
"""
from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from pathlib import Path
from typing import Dict, Iterator, List, Mapping, Optional, Tuple

import figure
import words
from figure import Figure
from trouble import USAGE, Trouble

# What a run fills in. The last three may be set by `let`.
BUILT_IN = ("address", "port", "iface", "build", "run", "server", "server_run", "pid",
            "client_netns", "client_run", "client_load", "client_build", "here", "lab",
            "server_cpu", "client_cpu", "rps")
SETTABLE = ("server_cpu", "client_cpu", "rps")


@dataclass(frozen=True)
class Line:
    """A template, and where it stands."""
    text: str
    number: int


@dataclass(frozen=True)
class Subject:
    kind: str           # saker, nginx, peer
    line: Line          # options, body or command


@dataclass(frozen=True)
class Let:
    where: Mapping[str, str]    # empty: the default
    name: str
    line: Line


@dataclass(frozen=True)
class Need:
    where: Mapping[str, str]
    thing: Line
    reason: str


@dataclass(frozen=True)
class Bar:
    """The median of `figure` at `level` of `factor` (and at `where` of other factors) is to be
    at most or at least `value`: of the figure's unit, or times what level `against` has."""
    figure: str
    level: str
    op: str
    value: float
    unit: str
    against: Optional[str]
    factor: str
    where: Mapping[str, str]


@dataclass
class Experiment:
    name: str
    path: Path
    quick: bool = False
    title: str = ""
    question: str = ""
    read: str = ""
    factors: Dict[str, List[str]] = field(default_factory=dict)
    subjects: Dict[str, Subject] = field(default_factory=dict)
    lets: List[Let] = field(default_factory=list)
    load: Optional[Line] = None
    measure: Optional[Line] = None
    start: bool = True
    probe: Optional[Line] = Line("--hz=10", 0)
    before: List[Line] = field(default_factory=list)
    after: List[Line] = field(default_factory=list)
    beside: List[Line] = field(default_factory=list)
    without: List[Dict[str, str]] = field(default_factory=list)
    needs: List[Need] = field(default_factory=list)
    repeat: int = 1
    order: str = "random"
    seed: int = 1
    rest: float = 0.0
    limit: float = 600.0
    known: Dict[str, Figure] = field(default_factory=lambda: dict(figure.BUILT_IN))
    figures: List[Figure] = field(default_factory=list)
    baseline: Optional[Tuple[str, str]] = None
    published: List[Tuple[str, float, str, str]] = field(default_factory=list)
    bars: List[Bar] = field(default_factory=list)

    def combinations(self) -> Iterator[Dict[str, str]]:
        """The matrix: the first factor changes slowest."""
        for levels in itertools.product(*self.factors.values()):
            one = dict(zip(self.factors, levels))
            if not any(holds(w, one) for w in self.without):
                yield one

    def subject(self, levels: Mapping[str, str]) -> Optional[Subject]:
        return self.subjects.get(levels.get("subject", ""))

    def values(self, levels: Mapping[str, str], built_in: Mapping[str, str]) -> Dict[str, str]:
        """What the names stand for at these levels."""
        values = {**built_in, **levels}
        values.update({one.name: one.line.text for one in self.lets if not one.where})
        values.update({one.name: one.line.text for one in self.lets
                       if one.where and holds(one.where, levels)})
        return values

    def needs_of(self, levels: Mapping[str, str]) -> List[Need]:
        return [n for n in self.needs if holds(n.where, levels)]

    def filled(self, line: Line, values: Mapping[str, str]) -> str:
        try:
            return words.fill(line.text, values)
        except words.Undefined as e:
            raise self.trouble(line.number, f"${e} is not defined",
                               f"let {e} VALUE, or $$ for a dollar") from None
        except words.Endless as e:
            raise self.trouble(line.number, f"${e} is made of itself", "let it be something else"
                               ) from None

    def command(self, line: Line, values: Mapping[str, str]) -> List[str]:
        text = self.filled(line, values)
        try:
            return words.split(text)
        except ValueError:
            raise self.trouble(line.number, f"a quotation mark has no second one: {text}",
                               "close it, or write \\' for the mark itself") from None

    def trouble(self, number: int, what: str, cure: str) -> Trouble:
        return Trouble(f"{self.path}:{number}: {what}; {cure}", USAGE)


def holds(where: Mapping[str, str], levels: Mapping[str, str]) -> bool:
    return all(levels.get(f) == level for f, level in where.items())


def load(path, quick: bool = False, name: Optional[str] = None) -> Experiment:
    """The file is read and checked as it is, and as --quick makes it; one of them comes back."""
    from grammar import parse

    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as e:
        why = e.strerror if isinstance(e, OSError) else "it is not UTF-8"
        raise Trouble(f"{path}: {why}; name an experiment file, or one of `saker-lab list`",
                      USAGE) from None
    both = {q: parse(text, path, q, name or path.stem) for q in (False, True)}
    for one in both.values():
        check(one)
    return both[quick]


def check(exp: Experiment) -> None:
    """Every line of every combination can be filled in, and split into words."""
    built_in = {name: "0" for name in BUILT_IN}
    combinations = list(exp.combinations())
    if not combinations:
        raise Trouble(f"{exp.path}: no combination of levels is left; take a `without` away", USAGE)
    for levels in combinations:
        values = exp.values(levels, built_in)
        subject = exp.subject(levels)
        for line in filter(None, (exp.load, exp.measure, exp.probe, subject and subject.line)):
            exp.command(line, values)
        for line in [*exp.before, *exp.after, *exp.beside, *(n.thing for n in exp.needs_of(levels)),
                     *(let.line for let in exp.lets if holds(let.where, levels))]:
            exp.filled(line, values)
        _two_lets(exp, levels)


def _two_lets(exp: Experiment, levels: Mapping[str, str]) -> None:
    """Two factors that both say what a name is would leave it to the order of lines."""
    said: Dict[str, Let] = {}
    for let in exp.lets:
        if let.where and holds(let.where, levels):
            if let.name in said:
                raise exp.trouble(let.line.number, f"${let.name} has a value by line "
                                  f"{said[let.name].line.number} too, at " + spelled(levels),
                                  "use two names")
            said[let.name] = let


def spelled(levels: Mapping[str, str]) -> str:
    return " ".join(f"{f}={level}" for f, level in levels.items())
