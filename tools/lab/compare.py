# SPDX-License-Identifier: GPL-2.0-only
"""compare - two sessions against each other, across a reboot, a kernel or a machine

Place   on top of figures, pictures and page, beside report; `saker-lab compare A/ B/`
Model   Runs with equal levels of all factors are set side by side: B over A, by Welch's t on
        logarithms. Nothing was shared between the sessions but what is equal in their facts, so
        the page says UNPAIRED, and which facts differ. A line of experiment.lab that changes
        what is measured is said on top: the ratios may come from it.
Owner   both sessions stay as they are
Limits  PLOTS combinations have a plot by percentile
Errors  Trouble: no combination, or no figure, in common
"""
from __future__ import annotations

from pathlib import Path
from typing import Dict, List, NamedTuple, Tuple

import figures
import grammar
import page
import pictures
import plots
import report
import stats
import store
from page import paragraph, section, tag
from trouble import Trouble

PLOTS = 12
# Lines that change what is read and how often, not what is measured.
HARMLESS = ("title", "question", "read", "need", "repeat", "seed", "limit", "figure", "figures",
            "baseline", "published", "bar")


class Side(NamedTuple):
    name: str
    study: figures.Study

    def usable(self, factors: Dict[str, str]) -> list:
        return [run for run in self.study.at(factors) if figures.usable(run)]


class Both(NamedTuple):
    """A figure of a combination, in both sessions."""
    figure: object
    factors: Dict[str, str]
    cells: Tuple[figures.Cell, figures.Cell]
    verdict: stats.Verdict


def sides(a, b) -> Tuple[Side, Side]:
    """Called by their folders, unless these are called the same."""
    folders = [Path(a), Path(b)]
    names = [folder.resolve().name for folder in folders]
    if names[0] == names[1]:
        names = [f"A ({folder})" for folder in folders[:1]] + [f"B ({folders[1]})"]
    return tuple(Side(name, figures.Study(store.Session(folder)))
                 for name, folder in zip(names, folders))


def common(a: Side, b: Side) -> List[Dict[str, str]]:
    """Combinations with a usable run on both sides, in A's order."""
    return [factors for factors in figures.combinations(a.study)
            if a.usable(factors) and b.usable(factors)]


def shared_figures(a: Side, b: Side) -> list:
    """Of A's figures those that B defines the same way."""
    known = {f.name: f for f in [*b.study.experiment.known.values(), *b.study.experiment.figures]}
    return [f for f in a.study.experiment.figures
            if f.name in known and (known[f.name].path, known[f.name].unit) == (f.path, f.unit)]


def judged(a: Side, b: Side) -> List[Both]:
    found = []
    for figure in shared_figures(a, b):
        for factors in common(a, b):
            runs = [side.usable(factors) for side in (a, b)]
            values = [[run.figure(figure) for run in of] for of in runs]
            nothing = all(value == 0 for of in values for value in of)
            if nothing or any(map(figures.lacking, values)):
                continue
            better, worse = figures.words_for(figure)
            names = stats.Names(f"{figures.name_of(factors, a.study.experiment)}, {b.name}",
                                figure.name, a.name, better, worse)
            found.append(Both(figure, factors, tuple(figures.cell(of, figure) for of in runs),
                              stats.compare_unpaired(values[1], values[0], figure.better, names,
                                                     figures.step_of(figure))))
    return found


def differing(a: Side, b: Side) -> List[Tuple[str, str, str]]:
    """(fact, A's, B's)"""
    facts = [dict(report.flat(side.study.session.facts)) for side in (a, b)]
    names = list(facts[0]) + [name for name in facts[1] if name not in facts[0]]
    found = [(name, facts[0].get(name, "-"), facts[1].get(name, "-")) for name in names
             if facts[0].get(name) != facts[1].get(name)]
    steered = (ways(a), ways(b))
    return found + ([("receives at the client's CPU (rps)", *steered)]
                    if steered[0] != steered[1] else [])


def lines_of(side: Side) -> List[str]:
    """Of experiment.lab, as --quick made it; blanks do not tell lines apart. A factor's levels
    stand one by one, since what only one side ran is not compared anyway."""
    own = side.study.experiment
    statements = grammar.Parser(own).statements(own.path.read_text(encoding="utf-8"), own.quick)
    return [" ".join([one.key, *one.value.split()]) for one in statements
            if one.key not in (*HARMLESS, "factor", "without")]


def unlike(a: Side, b: Side) -> List[Tuple[str, str]]:
    """(whose, line) of each line that only one of them has, and --quick."""
    there = [lines_of(side) for side in (a, b)]
    found = [(side.name, line) for side, own, other in ((a, *there), (b, *reversed(there)))
             for line in own if line not in other]
    quick = [side.name for side in (a, b) if side.study.session.plan.get("quick")]
    return found + ([(quick[0], "--quick")] if len(quick) == 1 else [])


def ways(side: Side) -> str:
    """How the client's kernel received, by run.json: it moves every latency of a veth."""
    said = {(run.json("run") or {}).get("rps") for run in side.study.runs}
    return ", ".join(sorted(report.spoken(one) for one in said)) or "-"


# --- the page --------------------------------------------------------------------------


def _verdicts(a: Side, found: List[Both]) -> page.Safe:
    return section("verdicts", "Verdicts", *report.verdict_groups(a.study, [
        figures.Judged(one.figure, "", one.factors, one.verdict) for one in found]))


def _table(a: Side, b: Side, found: List[Both]) -> page.Safe:
    bodies, seen = [], []
    for one in found:
        if one.factors not in seen:
            seen.append(one.factors)
    for factors in seen:
        title = figures.name_of(factors, a.study.experiment)
        lines = [tag("tr", tag("th", title, colspan=3, scope="rowgroup"), class_="facet")]
        for one in found:
            if one.factors == factors:
                cells = [report.cell(cell, side.study.at(factors), verdict) for cell, side, verdict
                         in zip(one.cells, (a, b), (None, one.verdict))]
                lines.append(tag("tr", tag("th", f"{one.figure.name}, "
                                                 f"{figures.unit_of(one.figure)}", scope="row"),
                                 *cells))
        bodies.append(page.join(lines))
    return section("table", "Figures", page.table(["median", a.name, b.name], *bodies,
                                                  class_="figures"),
                   paragraph("The median of the runs, beneath it the lowest and the highest; then "
                             f"the ratio of {b.name} to {a.name} with its 95 % interval, unpaired. "
                             + figures.clock_said(a.study), class_="note"))


def _plots(a: Side, b: Side, found: List[Both]) -> page.Safe:
    made = []
    for figure in shared_figures(a, b):
        lines = [(figures.name_of(one.factors, a.study.experiment), "s1", one.verdict)
                 for one in found if one.figure is figure]
        if any(v.ratio is not None for _, _, v in lines):
            made.append(pictures.Picture(f"{figure.name}: ratio of B to A", plots.ratios(
                f"Ratios of {figure.name}", lines)))
    key = page.legend([("s0", a.name), ("s1", b.name)])
    for factors in common(a, b)[:PLOTS]:
        lines = []
        for color, side in (("s0", a), ("s1", b)):
            curves = [plots.percentile_curve(h)
                      for h in map(pictures.histogram, side.usable(factors)) if h]
            if any(curves):
                lines.append(plots.Line(color, curves))
        if lines:
            title = figures.name_of(factors, a.study.experiment)
            made.append(pictures.Picture(f"latency by percentile: {title}", plots.by_percentile(
                f"Latency by percentile, {title}", lines), key=key))
    if not made:
        return page.Safe("")
    return section("plots", "Plots", page.grid(one.html() for one in made))


def _facts(a: Side, b: Side) -> page.Safe:
    found = differing(a, b)
    boots = [side.study.session.facts.get("boot_id") for side in (a, b)]
    said = ("Between the sessions the machine was started anew, or it is another one."
            if None not in boots and boots[0] != boots[1] else
            "Both sessions ran since the same start of the machine." if boots[0] else
            "Whether the machine was started anew between the sessions is not known.")
    shown = page.table(["fact", a.name, b.name], page.rows(found)) if found else paragraph(
        "All recorded facts are equal.")
    return section("facts", "What differs", paragraph(said), shown)


def _alone(a: Side, b: Side) -> page.Safe:
    """What has no counterpart."""
    both = common(a, b)
    lines = []
    for side in (a, b):
        for factors in figures.combinations(side.study):
            if factors not in both:
                states = sorted({run.state for run in side.study.at(factors)})
                lines.append((figures.name_of(factors), side.name, ", ".join(states)))
    if not lines:
        return page.Safe("")
    return section("alone", "Without a counterpart", page.table(["what", "in", "runs are"],
                                                                page.rows(lines)))


def _not_the_same(a: Side, b: Side) -> page.Safe:
    found = unlike(a, b)
    if not found:
        return page.Safe("")
    said = (f"What was measured is not the same: {len(found)} lines of experiment.lab differ. "
            "The ratios below may be theirs." if len(found) > 1 else
            "What was measured is not the same: a line of experiment.lab differs. The ratios below "
            "may be its.")
    return page.join([paragraph(said, class_="warning"),
                      page.table(["only in", "line"], page.rows(
                          (name, tag("code", line)) for name, line in found), class_="unlike")])


def refuse_strangers(a: Side, b: Side) -> None:
    cure = "compare sessions of the same experiment"
    if not shared_figures(a, b):
        raise Trouble(f"{a.name} and {b.name}: they have no figure in common; {cure}")
    if not common(a, b):
        raise Trouble(f"{a.name} and {b.name}: no combination of levels has usable runs in both; "
                      f"{cure}")


def render(a: Side, b: Side) -> str:
    refuse_strangers(a, b)
    found = judged(a, b)
    title = f"{b.name} against {a.name}"
    head = tag("header", tag("h1", title), paragraph(tag("span", "UNPAIRED", class_="unpaired")),
               _not_the_same(a, b),
               paragraph("The sessions ran at different times: whatever changed between them, "
                         "temperature and neighbours among it, is in the ratios. Where it matters, "
                         "run both in one session, which compares pairs."),
               paragraph(f"A: {a.name}, {a.study.experiment.title}. B: {b.name}, "
                         f"{b.study.experiment.title}.", class_="meta"))
    return page.page(title, head, tag("main", _verdicts(a, found), _facts(a, b),
                                      _table(a, b, found), _plots(a, b, found), _alone(a, b)))


def build(a, b, out=None) -> Path:
    return report.write(Path(out or "compare.html"), render(*sides(a, b)))
