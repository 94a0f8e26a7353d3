# SPDX-License-Identifier: GPL-2.0-only
"""markdown - a session as a page of text, for documents in a repository

Place   on top of figures, beside report, whose words it uses; `saker-lab report DIR --markdown`
Model   The question, the machine, the medians, the verdicts of the main figure, the bars, what
        was not done. Levels of the compared factor are columns, the others groups of rows.
        What is not in it (ranges, plots, raw data) is in report.html.
Owner   nobody: it is text, and writes nothing
Limits  a table has COLUMNS columns at most, more levels make another table; REASONS lines of
        what was not done
Units   each figure in its own unit
"""
from __future__ import annotations

import re
from typing import Iterable, List, Optional, Sequence

import figures
import report
import store

COLUMNS = 8         # what still fits beside a file tree, without scrolling
REASONS = 12        # a screenful; report.html has them all


# --- text ------------------------------------------------------------------------------


def plain(text) -> str:
    """Text in which nothing is markup, on GitHub either ($ is mathematics there)."""
    text = re.sub(r"[\x00-\x1f\x7f]+", " ", str(text)).strip()
    text = re.sub(r"([\\`*\[\]|~$])", r"\\\1", text)
    text = re.sub(r"(?<!\w)_|_(?!\w)", r"\\_", text)
    text = re.sub(r"<(?=[A-Za-z/!?])", r"\\<", text)
    return re.sub(r"&(?=#?\w+;)", r"\\&", text)


def line(text) -> str:
    """The same where a line begins: it is no heading, list or quotation."""
    text = re.sub(r"^([-+>#=])", r"\\\1", plain(text))
    return re.sub(r"^(\d+)([.)])(?=\s|$)", r"\1\\\2", text)


def row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def items(texts: Sequence[str], most: Optional[int] = None) -> str:
    """most: so many lines, and how many there are more."""
    if most is not None and len(texts) > most:
        texts = [*texts[:most - 1], f"{len(texts) - most + 1} more in report.html"]
    return "\n".join("- " + line(text) for text in texts)


# --- parts -----------------------------------------------------------------------------


def _host(study) -> str:
    facts, client = study.session.facts, study.session.facts.get("client") or {}
    place = facts.get("place")
    parts = [facts.get("board"), facts.get("cpu"),
             f"{facts['cpus']} CPUs" if facts.get("cpus") else "",
             f"kernel {facts['kernel']}" if facts.get("kernel") else "",
             "on a veth pair: no NIC, no wire" if place == "veth" else
             f"on {place}" if place else "",
             f"the load from {client['host']}" if client.get("host") else "",
             report.when(study)]
    return ", ".join(str(part) for part in parts if part)


def _head(study) -> List[str]:
    experiment = study.experiment
    ran = ", ".join(filter(None, (report.version(study), report.counted(study))))
    return ["# " + plain(experiment.title or experiment.name), line(experiment.question),
            *(f"**{plain(one)}**" for one in report.warnings(study)),
            line(_host(study)), line(ran) + "."]


def _cell(found: figures.Cell, runs: Sequence) -> str:
    if not runs:
        return "not run"
    if found.n == 0:
        return "skipped" if all(run.state == "skipped" for run in runs) else "-"
    few = f" ({found.n} of {len(runs)})" if found.n < len(runs) else ""
    return figures.show(found.median) + few


def _levels(study) -> List[str]:
    """Of the compared factor, those that ran."""
    inner = figures.compared(study.experiment)
    ran = {run.factors.get(inner) for run in study.runs}
    return [level for level in study.experiment.factors.get(inner, []) if level in ran]


def _published(experiment, name: str) -> str:
    return "; ".join(figures.show(value) for figure, value, _, _ in experiment.published
                     if figure == name) or "-"


def _group(study, facet: figures.Factors, levels: Sequence[str], cells) -> List[List[str]]:
    """The rows of a facet: its name, then a figure each."""
    experiment = study.experiment
    inner, rows = figures.compared(experiment), []
    title = report.facet_title(study, facet)
    if title:
        rows.append([f"**{plain(title)}**"])
    for figure in experiment.figures:
        made = [plain(f"{figure.name}, {figures.unit_of(figure)}")]
        for level in levels:
            one = cells.get(figures.key({**facet, inner: level} if inner else {}))
            made.append(_cell(one.cells[figure.name], one.runs) if one else "not run")
        if experiment.published:
            made.append(_published(experiment, figure.name))
        rows.append(made)
    return rows


def _table(study, levels: Sequence[str]) -> str:
    heads = ["median", *map(plain, levels)] + ["published"] * bool(study.experiment.published)
    cells = {figures.key(one.factors): one for one in figures.table(study)}
    lines = [row(heads), row(["---"] + ["---:"] * (len(heads) - 1))]
    for facet in figures.facets(study):
        lines += [row(made + [""] * (len(heads) - len(made)))
                  for made in _group(study, facet, levels, cells)]
    return "\n".join(lines)


def _tables(study) -> List[str]:
    levels = _levels(study) or ["all runs"]
    wide = COLUMNS - 1 - bool(study.experiment.published)
    return ["## Figures",
            *(_table(study, levels[i:i + wide]) for i in range(0, len(levels), wide)),
            *filter(None, [figures.clock_said(study)]), *_sources(study)]


def _sources(study) -> List[str]:
    found = [f"{figure}, {figures.show(value)} {figures.spell(unit)}: {source}"
             for figure, value, unit, source in study.experiment.published]
    return ["Published elsewhere, on other machines; no ratio is made from it:",
            items(found)] if found else []


def _verdicts(study) -> List[str]:
    """Those of the main figure, or of the first that has any."""
    judged = figures.verdicts(study)
    if not judged:
        return []
    main = figures.main_figure(study.experiment)
    if not any(one.figure is main for one in judged):
        main = judged[0].figure
    mine = [one.verdict.sentence for one in judged if one.figure is main]
    more = [] if len(mine) == len(judged) else ["Of all figures: " + report.tally(judged)]
    return ["## Verdicts", items(mine), *more]


def _bars(study) -> List[str]:
    found = figures.bars(study)
    return ["## Bars", items([f"{bar.text}: {bar.found}" for bar in found])] if found else []


def _not_done(study) -> List[str]:
    counts = any(run.state == "dirty" and figures.usable(run) for run in study.runs)
    found = [f"{state}{', counted' if counts and state == 'dirty' else ''}: {what}: {why} "
             f"(run {which})"
             for state in store.STATES if state != "done"
             for what, why, which in report.reasons(study, state)]
    return ["## Dirty, failed and skipped runs", items(found, REASONS)] if found else []


def render(session) -> str:
    study = figures.Study(session)
    parts = [*_head(study), *_tables(study), *_verdicts(study), *_bars(study),
             *_not_done(study)]
    return "\n\n".join(part for part in parts if part) + "\n"
