# SPDX-License-Identifier: GPL-2.0-only
"""figures - what a session's runs say, as rows, verdicts and bars

Place   between store (runs) and report (the page); pure
Model   A combination is one level of each factor; its repetitions make one row: median and range.
        The compared factor is the baseline's, else `subject`. Levels of it are compared within
        a facet (the same levels of all other factors) and within a repetition: these two runs
        are a pair. A published value has a column of its own and no ratio is made from it.
Owner   runs belong to the session; nothing here changes them
Limits  a run that is not usable (dirty, failed, skipped) counts in no median and in no pair;
        how many were left out is said with each verdict
Units   each figure in its own unit
"""
from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import stats

Factors = Dict[str, str]

TIMES = ("ns", "us", "ms", "s")
SIZES = ("B", "kB", "KiB", "MB", "MiB")
# Units of what is counted: one too many is one too many, whichever run it is in.
COUNTS = ("requests", "answers", "connections", "frames", "packets", "faults", "switches", "0/1")

STAGE_STEP = 1 / 64     # the responder's own histograms: 64 buckets an octave


class Study:
    """A session's runs, read once: each keeps the files that it was asked for."""

    def __init__(self, session):
        self.session = session
        self.experiment = session.experiment
        self.runs = list(session.runs)
        self._by_factors: Dict[Tuple, list] = {}
        for run in self.runs:
            self._by_factors.setdefault(key(run.factors), []).append(run)

    def at(self, factors: Factors) -> list:
        """All repetitions of a combination."""
        return self._by_factors.get(key(factors), [])


def key(factors: Factors) -> Tuple:
    return tuple(sorted(factors.items()))


@dataclass(frozen=True)
class Cell:
    """One figure over the repetitions of one combination; None where no run has it."""
    median: Optional[float]
    low: Optional[float]
    high: Optional[float]
    n: int


@dataclass
class Row:
    factors: Factors
    runs: list
    usable: list
    cells: Dict[str, Cell] = field(default_factory=dict)


@dataclass(frozen=True)
class Judged:
    """A verdict and what it is about."""
    figure: object
    level: str
    facet: Factors
    verdict: stats.Verdict


@dataclass(frozen=True)
class Bar:
    """met is None where a figure is missing, or too few runs have it."""
    text: str
    met: Optional[bool]
    found: str


# --- runs --------------------------------------------------------------------------


def usable(run) -> bool:
    return getattr(run, "usable", run.state == "done")


def compared(experiment) -> Optional[str]:
    """The factor whose levels are set side by side, if there is any."""
    if experiment.baseline:
        return experiment.baseline[0]
    if "subject" in experiment.factors:
        return "subject"
    return next(iter(experiment.factors), None)


def facet_of(experiment, factors: Factors) -> Factors:
    inner = compared(experiment)
    return {name: level for name, level in factors.items() if name != inner}


def name_of(factors: Factors, experiment=None) -> str:
    """`saker-native, rate=200`: the subject stands for itself, and so does what is compared. A
    factor of one level says nothing."""
    inner = compared(experiment) if experiment else None
    parts = [level if name in ("subject", inner) else f"{name}={level}"
             for name, level in factors.items()
             if experiment is None or len(experiment.factors.get(name, "ab")) > 1]
    return ", ".join(parts) or ", ".join(factors.values()) or "all runs"


def combinations(study) -> List[Factors]:
    """Those that have runs, in the order of the experiment's levels."""
    levels = study.experiment.factors
    order = {name: {level: i for i, level in enumerate(of)} for name, of in levels.items()}
    there = {tuple(run.factors.get(name, "") for name in levels) for run in study.runs}
    ordered = sorted(there, key=lambda c: tuple(order[name].get(level, len(order[name]))
                                                for name, level in zip(levels, c)))
    return [{name: level for name, level in zip(levels, c)} for c in ordered]


def facets(study) -> List[Factors]:
    found = []
    for factors in combinations(study):
        facet = facet_of(study.experiment, factors)
        if facet not in found:
            found.append(facet)
    return found


def modes(study, facet: Factors) -> set:
    """How the load of these runs asked: constant, poisson, burst, closed; empty without a load."""
    found = {(run.json("load") or {}).get("mode") for factors in combinations(study)
             if facet_of(study.experiment, factors) == facet for run in study.at(factors)}
    return found - {None}


def clock_said(study) -> str:
    """From when latency counts: it is not the same in an open and in a closed loop."""
    by_facet = [(facet, modes(study, facet)) for facet in facets(study)]
    closed = [facet for facet, found in by_facet if "closed" in found]
    opened = [facet for facet, found in by_facet if found - {"closed"}]
    due = ("Latency counts from when the send was due, so a request that waits behind a stalled "
           "server counts with its wait.")
    real = ("latency counts from the send itself: a stalled server is asked less, the requests "
            "that it kept from being sent are in no percentile (coordinated omission). Read the "
            "rate and p50 there; the tail flatters.")
    if not closed:
        return due if opened else ""
    if not opened:
        return "In a closed loop " + real
    names = "; ".join(name_of(facet, study.experiment) for facet in closed)
    return f"{due} In a closed loop ({names}) {real}"


# --- the table ---------------------------------------------------------------------


def cell(runs: Sequence, figure) -> Cell:
    values = [v for v in (run.figure(figure) for run in runs) if v is not None]
    if not values:
        return Cell(None, None, None, 0)
    return Cell(stats.median(values), min(values), max(values), len(values))


def table(study) -> List[Row]:
    rows = []
    for factors in combinations(study):
        runs = study.at(factors)
        row = Row(factors, runs, [run for run in runs if usable(run)])
        for figure in study.experiment.figures:
            row.cells[figure.name] = cell(row.usable, figure)
        rows.append(row)
    return rows


def show(value: Optional[float]) -> str:
    """At least three digits that count, thousands apart."""
    if value is None:
        return "-"
    size = abs(value)
    if size >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.1f}" if size >= 10 else f"{value:.2f}" if size >= 1 else f"{value:.3g}"


def spell(unit: str) -> str:
    return {"us": "µs"}.get(unit, unit)


def unit_of(figure) -> str:
    return spell(figure.unit)


# --- verdicts ----------------------------------------------------------------------


def words_for(figure) -> Tuple[str, str]:
    """What better and worse are called."""
    if figure.better == "higher":
        return "more", "less"
    if figure.unit in TIMES:
        return stats.FASTER, stats.SLOWER
    return ("smaller", "larger") if figure.unit in SIZES else ("less", "more")


def step_of(figure) -> float:
    """What two values must differ by to be told apart, as a share."""
    return STAGE_STEP if figure.path.startswith("stages:") else stats.STEP


def pairs_of(study, level: str, against: str, facet: Factors):
    """The pairs of usable runs, how many were left out, and why."""
    inner = compared(study.experiment)
    sides = [{run.repetition: run for run in study.at({
        name: here if name == inner else facet[name] for name in study.experiment.factors})}
        for here in (level, against)]
    pairs, reasons = [], []
    for repetition in sorted({*sides[0], *sides[1]}):
        both = [side.get(repetition) for side in sides]
        bad = sorted({"not run" if run is None else run.state for run in both
                      if run is None or not usable(run)})
        if bad:
            reasons += [word for word in bad if word not in reasons]
        else:
            pairs.append((both[0], both[1]))
    left_out = len({*sides[0], *sides[1]}) - len(pairs)
    return pairs, left_out, " or ".join(reasons)


def judge(study, figure, level: str, facet: Factors) -> stats.Verdict:
    against = study.experiment.baseline[1]
    pairs, left_out, why = pairs_of(study, level, against, facet)
    values = [(a.figure(figure), b.figure(figure)) for a, b in pairs]
    where = name_of(facet, study.experiment) if facet else ""
    better, worse = words_for(figure)
    names = stats.Names(f"{level}, {where}" if where and where != "all runs" else level,
                        figure.name, against, better, worse)
    return stats.compare(values, figure.better, names, left_out, why, step_of(figure))


def seen(study, figure, factors: Factors) -> List[Optional[float]]:
    return [run.figure(figure) for run in study.at(factors) if usable(run)]


def lacking(values: Sequence[Optional[float]]) -> bool:
    """There are runs, and none of them has it."""
    return bool(values) and all(value is None for value in values)


def _candidates(study) -> Iterator[Tuple]:
    """(figure, level, facet, its values, the baseline's), without what was skipped."""
    experiment = study.experiment
    if not experiment.baseline:
        return
    inner, against = experiment.baseline
    for figure, facet in itertools.product(experiment.figures, facets(study)):
        base = seen(study, figure, {**facet, inner: against})
        for level in experiment.factors[inner]:
            runs = study.at({**facet, inner: level})
            if level != against and runs and not all(run.state == "skipped" for run in runs):
                yield figure, level, facet, seen(study, figure, {**facet, inner: level}), base


def verdicts(study) -> List[Judged]:
    """Figure by figure. What was nothing but zero on both sides (no error, say) has no ratio, and
    what one side never has cannot be compared: neither gets a verdict."""
    return [Judged(figure, level, facet, judge(study, figure, level, facet))
            for figure, level, facet, here, base in _candidates(study)
            if not lacking(here) and not lacking(base)
            and not (here + base and all(value == 0 for value in here + base))]


def never_had(study) -> List[str]:
    """`bypass: nginx; p999: saker, rate=200`: what gets no verdict for that."""
    experiment, who = study.experiment, {}
    for figure, level, facet, here, base in _candidates(study):
        for name, values in ((level, here), (experiment.baseline[1], base)):
            place = name_of({experiment.baseline[0]: name, **facet}, experiment)
            if lacking(values) and place not in who.setdefault(figure.name, []):
                who[figure.name].append(place)
    return [f"{figure}: {'; '.join(places)}" for figure, places in who.items() if places]


def main_figure(experiment):
    """The one that the page opens with."""
    by_name = {figure.name: figure for figure in experiment.figures}
    return by_name.get("p99") or next(iter(experiment.figures), None)


# --- bars --------------------------------------------------------------------------


def _figure_named(experiment, name: str):
    shown = next((f for f in experiment.figures if f.name == name), None)
    return shown or getattr(experiment, "known", {}).get(name)


class Taken(NamedTuple):
    """What a bar is held against: n of so many runs (or pairs) have a value; `how` is what is
    taken of them. why: nothing can be said, and the reason."""
    value: Optional[float]
    how: str
    n: int
    of: int
    what: str
    why: str = ""

    @property
    def share(self) -> str:
        return f"{self.n} of {self.of} {self.what}{'' if self.of == 1 else 's'}"


def _of_runs(study, bar, figure, factors: Factors) -> Taken:
    """A median forgives what happens in less than half of the runs, so of what is counted, and of
    what must be none, the worst run is taken: also one that failed by it."""
    worst = figure.unit in COUNTS or bar.value == 0
    runs = study.at(factors)
    had = [run.figure(figure) for run in runs if usable(run) or (worst and run.state == "failed")]
    values = [value for value in had if value is not None]
    if not values:
        return Taken(None, "", 0, len(runs), "run", "not measured in this session")
    if 2 * len(values) < len(runs):
        return Taken(None, "", len(values), len(runs), "run", "fewer than half")
    if not worst:
        return Taken(stats.median(values), "median", len(values), len(runs), "run")
    value = max(values) if bar.op == "<=" else min(values)
    return Taken(value, "worst", len(values), len(runs), "run")


def _of_pairs(study, bar, figure, facet: Factors) -> Taken:
    pairs, left_out, _ = pairs_of(study, bar.level, bar.against, facet)
    values = [(a.figure(figure), b.figure(figure)) for a, b in pairs]
    ratios = [a / b for a, b in values if a is not None and b]
    n, of = len(ratios), len(pairs) + left_out
    if n == 0:
        return Taken(None, "", n, of, "pair", "not measured in this session")
    if n < stats.LEAST:
        return Taken(None, "", n, of, "pair", f"{stats.LEAST} are needed")
    if n < len(pairs):
        return Taken(None, "", n, of, "pair", "the others lack the figure")
    return Taken(stats.median(ratios), "median", n, of, "pair")


def _bar(study, bar, figure, inner: str, facet: Factors) -> Bar:
    where = name_of(facet, study.experiment) if facet else ""
    where = "" if where == "all runs" else where
    limit = f"{bar.value:g}x {bar.against}'s" if bar.against else f"{bar.value:g} {spell(bar.unit)}"
    text = f"{bar.level}{', ' + where if where else ''}: {bar.figure} {bar.op} {limit}"
    taken = (_of_pairs(study, bar, figure, facet) if bar.against else
             _of_runs(study, bar, figure, {**facet, inner: bar.level}))
    if taken.value is None:
        return Bar(text, None, f"not judged: {taken.share}; {taken.why}" if taken.n else taken.why)
    met = taken.value <= bar.value if bar.op == "<=" else taken.value >= bar.value
    shown = (stats.show_ratio(taken.value) + "x" if bar.against else
             f"{show(taken.value)} {spell(bar.unit)}")
    by = f" by {abs(taken.value / bar.value - 1) * 100:.0f} %" if bar.value else ""
    return Bar(text, met, f"{shown}, {taken.how} of {taken.share}; "
                          f"{'met' if met else 'missed'}{by}")


def bars(study) -> List[Bar]:
    """Each bar in every facet that it names, so that one that is missed somewhere is seen."""
    experiment, found = study.experiment, []
    for bar in experiment.bars:
        figure = _figure_named(experiment, bar.figure)
        for facet in facets(study):
            if figure is None or any(facet.get(n) != level for n, level in bar.where.items()):
                continue
            runs = study.at({**facet, bar.factor: bar.level})
            if runs and not all(run.state == "skipped" for run in runs):
                found.append(_bar(study, bar, figure, bar.factor, facet))
    return found
