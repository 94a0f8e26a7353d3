# SPDX-License-Identifier: GPL-2.0-only
"""grammar - the lines of an experiment file, one by one

Place   experiment calls parse(); pure
Model   First the statements: KEY, VALUE and line. With quick, a `quick` statement takes the
        place of those that say the same thing. Then each KEY's function reads its VALUE
        into the Experiment: factors first, as the others name their levels.
Limits  a level or a name means the same all through the file
"""
from __future__ import annotations

import difflib
import re
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Tuple

import figure
import words
from experiment import BUILT_IN, SETTABLE, Bar, Experiment, Let, Line, Need, Subject
from figure import Figure
from trouble import USAGE, Trouble

FACTOR = re.compile(r"[a-z][a-z0-9_]*\Z")
NAME = re.compile(r"[A-Za-z_]\w*\Z")
LEVEL = re.compile(r"[\w.:+/%,@-]+\Z")
THINGS = ("command:", "file:", "cpus:", "module:", "link:", "place:", "isolated", "cgroup2", "root")
KINDS = ("saker", "nginx", "peer")
ORDERS = ("random", "abba", "given")

ONCE = ("title", "question", "read", "load", "measure", "start", "probe", "repeat", "order",
        "seed", "rest", "limit", "figures", "baseline")
MANY = ("factor", "subject", "let", "before", "after", "beside", "without", "need", "figure",
        "published", "bar")
NAMED = {"factor": 1, "subject": 1, "figure": 1, "let": 2}     # words that tell one from another
FIRST = ("factor", "figure", "baseline")      # others name what they define
EMPTY = ("before", "after", "beside", "without", "need", "published", "bar")  # quick: none


class Statement(NamedTuple):
    line: int
    key: str
    value: str


def parse(text: str, path: Path, quick: bool, name: str) -> Experiment:
    parser = Parser(Experiment(name, path, quick))
    parser.run(parser.statements(text, quick))
    return parser.exp


def same(one: Statement) -> Tuple[str, ...]:
    """Statements of which this is equal, replace one another."""
    if one.key not in NAMED:
        return (one.key,)
    parts = one.value.split()
    count = NAMED[one.key] if one.key != "let" or "=" in (parts or [""])[0] else 1
    return (one.key, *parts[:count])


class Parser:
    def __init__(self, exp: Experiment):
        self.exp = exp
        self.at = 0
        self.levels: Dict[str, List[str]] = {}      # with those that --quick leaves out
        self.wanted: Optional[Statement] = None     # `figures`

    # --- statements

    def wrong(self, what: str, cure: str) -> Trouble:
        return self.exp.trouble(self.at, what, cure)

    def key(self, line: str) -> Statement:
        key, _, value = line.partition(" ")
        if key not in ONCE + MANY + ("quick",):
            near = difflib.get_close_matches(key, ONCE + MANY + ("quick",), 1)
            raise self.wrong(f"{key}: no such key", f"perhaps {near[0]}" if near else
                             "the keys are " + " ".join(ONCE + MANY + ("quick",)))
        return Statement(self.at, key, value.strip())

    def statements(self, text: str, quick: bool) -> List[Statement]:
        plain: List[Statement] = []
        instead: List[Statement] = []
        for self.at, line in words.joined(text):
            if not line:
                continue
            one = self.key(line.replace("\t", " "))
            if one.key == "quick":
                one = self.key(one.value)
                if one.key == "quick":
                    raise self.wrong("quick quick", "say it once")
                instead.append(one)
            else:
                plain.append(one)
            if not one.value and one.key != "load" and not (one in instead and one.key in EMPTY):
                raise self.wrong(f"{one.key}: nothing behind it", "give it a value")
        self.once(plain)
        for one in plain + instead:
            if one.key == "factor":
                self.at = one.line
                self.learn(one.value.split())
        return self.replaced(plain, instead) if quick else plain

    def once(self, statements: List[Statement]) -> None:
        first: Dict[Tuple[str, ...], Statement] = {}
        for one in statements:
            if one.key in ONCE or one.key in NAMED:
                if same(one) in first:
                    self.at, there = one.line, first[same(one)].line
                    raise self.wrong(f"{' '.join(same(one))} stands on line {there} already",
                                     "say it once")
                first[same(one)] = one

    def replaced(self, plain: List[Statement], instead: List[Statement]) -> List[Statement]:
        gone = {same(one) for one in instead}
        kept = [one for one in plain if same(one) not in gone]
        return kept + [one for one in instead if one.value]

    def run(self, statements: List[Statement]) -> None:
        for pass_keys in (("factor",), ("figure", "baseline"), None):
            for one in statements:
                if (one.key in pass_keys) if pass_keys else one.key not in FIRST:
                    self.at = one.line
                    getattr(self, "do_" + one.key)(one.value)
        self.whole()

    def whole(self) -> None:
        """What only the whole file shows."""
        exp = self.exp
        self.at = 1
        if not exp.title:
            raise self.wrong("no title", "add: title TEXT")
        if not exp.load and not exp.measure:
            raise self.wrong("nothing is measured", "add: load OPTIONS, or: measure COMMAND")
        if exp.load and "subject" not in exp.factors:
            raise self.wrong("a load, but no subject",
                             "add: factor subject NAME, and: subject NAME saker")
        for level in exp.factors.get("subject", []):
            if level not in exp.subjects:
                raise self.wrong(f"what is subject {level}?",
                                 f"add: subject {level} saker|nginx|peer ...")
        if exp.order == "abba" and not exp.baseline:
            raise self.wrong("order abba turns the levels of the baseline round",
                             "add: baseline FACTOR=LEVEL")
        if exp.baseline and exp.baseline[1] not in exp.factors[exp.baseline[0]]:
            raise self.wrong("--quick leaves the baseline out",
                             f"keep {exp.baseline[1]} in quick factor "
                             + exp.baseline[0])
        if not self.wanted:
            own = [f for f in exp.known.values() if f.name not in figure.BUILT_IN]
            common = ("mean", "p50", "p99", "rate_ok") if exp.load else ()
            exp.figures = [exp.known[n] for n in common] + own
        if not exp.figures:
            raise self.wrong("no figure", "add: figure NAME PATH UNIT lower|higher TEXT")

    # --- parts of a value

    def number(self, text: str, what: str, least: float) -> float:
        try:
            value = float(text)
        except ValueError:
            value = -1
        if not least <= value < 1e12:
            raise self.wrong(f"{what} {text}: not a number from {least:g} on", "give such a number")
        return value

    def whole_number(self, text: str, what: str, least: int) -> int:
        if not text.isdigit() or int(text) < least:
            raise self.wrong(f"{what} {text}: not a whole number from {least} on",
                             "give such a number")
        return int(text)

    def learn(self, parts: List[str]) -> None:
        """A factor's levels, those of --quick too."""
        name, levels = parts[0], parts[1:]
        if not FACTOR.match(name) or name in BUILT_IN:
            raise self.wrong(f"factor {name}: not a name for it", "use a-z 0-9 _, and none of $"
                             + " $".join(BUILT_IN))
        if not levels:
            raise self.wrong(f"factor {name} has no level", "name at least one")
        for i, level in enumerate(levels):
            if not LEVEL.match(level):
                raise self.wrong(f"level {level}: not a name for it",
                                 "use letters, digits and . : + / % , @ _ -")
            if level in levels[:i]:
                raise self.wrong(f"factor {name} has level {level} twice", "take one away")
        known = self.levels.setdefault(name, [])
        known += [level for level in levels if level not in known]

    def at_level(self, text: str) -> Tuple[str, str]:
        """FACTOR=LEVEL"""
        name, equals, level = text.partition("=")
        if not equals:
            raise self.wrong(f"{text}: not FACTOR=LEVEL", "name a level of a factor so")
        if name not in self.levels:
            raise self.wrong(f"{name}: no such factor",
                             "the factors are " + (" ".join(self.levels) or "none"))
        if level not in self.levels[name]:
            raise self.wrong(f"{name} has no level {level}",
                             "its levels are " + " ".join(self.levels[name]))
        return name, level

    def of_level(self, level: str) -> str:
        """The factor that a lone level belongs to: the baseline's, subject, or the only one."""
        baseline = self.exp.baseline[0] if self.exp.baseline else None
        for name in (baseline, "subject"):
            if level in self.levels.get(name or "", []):
                return name
        having = [name for name, levels in self.levels.items() if level in levels]
        if len(having) != 1:
            what = "a level of " + " and ".join(having) if having else "no factor has such a level"
            raise self.wrong(f"{level}: {what}", "name one that only one factor has")
        return having[0]

    def leading(self, text: str) -> Tuple[Dict[str, str], str]:
        """[FACTOR=LEVEL]... REST"""
        where: Dict[str, str] = {}
        parts = text.split(None, 1)
        while parts and re.match(r"[a-z][a-z0-9_]*=", parts[0]):
            name, level = self.at_level(parts[0])
            where[name] = level
            parts = parts[1].split(None, 1) if len(parts) > 1 else []
        return where, " ".join(parts)

    def known_figure(self, name: str) -> Figure:
        if name not in self.exp.known:
            near = difflib.get_close_matches(name, self.exp.known, 1)
            raise self.wrong(f"{name}: no such figure", f"perhaps {near[0]}" if near else
                             f"add: figure {name} PATH UNIT lower|higher TEXT")
        return self.exp.known[name]

    def in_unit(self, value: float, unit: str, wanted: Figure) -> float:
        by = figure.factor(unit, wanted.unit)
        if by is None:
            raise self.wrong(f"{unit} does not convert to {wanted.unit}, the unit of {wanted.name}",
                             f"give it in {wanted.unit}")
        return value * by

    # --- keys

    def do_title(self, value: str) -> None:
        self.exp.title = value

    def do_question(self, value: str) -> None:
        self.exp.question = value

    def do_read(self, value: str) -> None:
        self.exp.read = value

    def do_factor(self, value: str) -> None:
        name, *levels = value.split()
        self.exp.factors[name] = levels

    def do_subject(self, value: str) -> None:
        level, kind, rest = (value.split(None, 2) + ["", ""])[:3]
        self.at_level(f"subject={level}")
        if kind not in KINDS:
            raise self.wrong(f"{kind or 'nothing'}: no kind of subject",
                             "the kinds are " + " ".join(KINDS))
        if kind == "peer" and not rest:
            raise self.wrong("a peer without a command", f"add it: subject {level} peer COMMAND")
        self.exp.subjects[level] = Subject(kind, Line(rest, self.at))

    def do_let(self, value: str) -> None:
        where: Dict[str, str] = {}
        name, _, rest = value.partition(" ")
        if "=" in name:
            factor, level = self.at_level(name)
            where = {factor: level}
            name, _, rest = rest.strip().partition(" ")
        if not NAME.match(name):
            raise self.wrong(f"{name or 'nothing'}: not a name", "use letters, digits and _")
        if name in self.levels or (name in BUILT_IN and name not in SETTABLE):
            raise self.wrong(f"${name} stands for something already", "use another name")
        self.exp.lets.append(Let(where, name, Line(rest.strip(), self.at)))

    def do_load(self, value: str) -> None:
        self.exp.load = Line(value, self.at)

    def do_measure(self, value: str) -> None:
        self.exp.measure = Line(value, self.at)

    def do_start(self, value: str) -> None:
        if value not in ("yes", "no"):
            raise self.wrong(f"start {value}", "it is yes or no")
        self.exp.start = value == "yes"

    def do_probe(self, value: str) -> None:
        self.exp.probe = None if value == "no" else Line(value, self.at)

    def do_before(self, value: str) -> None:
        self.exp.before.append(Line(value, self.at))

    def do_after(self, value: str) -> None:
        self.exp.after.append(Line(value, self.at))

    def do_beside(self, value: str) -> None:
        self.exp.beside.append(Line(value, self.at))

    def do_without(self, value: str) -> None:
        where, rest = self.leading(value)
        if rest or len(where) < 2:
            raise self.wrong(f"without {value}: not two levels or more",
                             "without FACTOR=LEVEL FACTOR=LEVEL...")
        self.exp.without.append(where)

    def do_need(self, value: str) -> None:
        where, rest = self.leading(value)
        thing, _, reason = rest.partition(" ")
        kind, colon, rest_of_it = thing.partition(":")
        if kind + colon not in THINGS or bool(colon) != bool(rest_of_it):
            raise self.wrong(f"need {thing or 'nothing'}: no such thing",
                             "the things are " + " ".join(THINGS))
        if not reason.strip():
            raise self.wrong(f"need {thing}: no reason", "say what is missing without it")
        self.exp.needs.append(Need(where, Line(thing, self.at), reason.strip()))

    def do_repeat(self, value: str) -> None:
        self.exp.repeat = self.whole_number(value, "repeat", 1)

    def do_order(self, value: str) -> None:
        if value not in ORDERS:
            raise self.wrong(f"order {value}: no such order", "the orders are " + " ".join(ORDERS))
        self.exp.order = value

    def do_seed(self, value: str) -> None:
        self.exp.seed = self.whole_number(value, "seed", 0)

    def do_rest(self, value: str) -> None:
        self.exp.rest = self.number(value, "rest", 0)

    def do_limit(self, value: str) -> None:
        self.exp.limit = self.number(value, "limit", 1)

    def do_figure(self, value: str) -> None:
        parts = value.split(None, 4)
        if len(parts) < 5 or parts[3] not in ("lower", "higher"):
            raise self.wrong("figure: five things", "figure NAME PATH UNIT lower|higher TEXT")
        one = Figure(*parts)
        if not NAME.match(one.name):
            raise self.wrong(f"figure {one.name}: not a name", "use letters, digits and _")
        bad = figure.wrong_path(one.path)
        if bad:
            raise self.wrong(f"figure {one.name}: {one.path}: {bad}",
                             "name a place that a run leaves")
        if figure.factor(figure.source_unit(one.path), one.unit) is None:
            raise self.wrong(f"figure {one.name}: {one.path} is in {figure.source_unit(one.path)}, "
                             f"which does not convert to {one.unit}", "name another unit")
        self.exp.known[one.name] = one

    def do_figures(self, value: str) -> None:
        self.wanted = Statement(self.at, "figures", value)
        self.exp.figures = [self.known_figure(name) for name in value.split()]

    def do_baseline(self, value: str) -> None:
        self.exp.baseline = self.at_level(value)

    def do_published(self, value: str) -> None:
        parts = value.split(None, 3)
        if len(parts) < 4:
            raise self.wrong("published: four things", "published FIGURE VALUE UNIT SOURCE...")
        one = self.known_figure(parts[0])
        number = self.in_unit(self.number(parts[1], "published", 0), parts[2], one)
        self.exp.published.append((one.name, number, one.unit, parts[3]))

    def do_bar(self, value: str) -> None:
        form = re.match(r"(\S+) +(\S+)((?: +\S+=\S+)*) +(<=|>=) +(\S+)(?: +(\S+))?\Z", value)
        if not form:
            raise self.wrong("bar: not one",
                             "bar FIGURE LEVEL [FACTOR=LEVEL...] <=|>= VALUE [UNIT], "
                             "or RATIOx LEVEL2")
        name, level, where, op, number, last = form.groups()
        one, factor = self.known_figure(name), self.of_level(level)
        others = dict(self.at_level(w) for w in where.split())
        against = None
        if number.endswith("x"):
            number, against = number[:-1], last
            if last is None or last not in self.levels[factor]:
                raise self.wrong(f"bar: {number}x of what?",
                                 f"name another level of {factor} behind it")
            ratio = self.number(number, "bar", 0)
            self.exp.bars.append(Bar(name, level, op, ratio, "x", against, factor, others))
            return
        limit = self.in_unit(self.number(number, "bar", 0), last or one.unit, one)
        self.exp.bars.append(Bar(name, level, op, limit, one.unit, None, factor, others))
