# SPDX-License-Identifier: GPL-2.0-only
"""report - a session as one page

Place   on top of figures, pictures and page; `saker-lab report DIR`, and the end of each run
Model   The answer first, then what it rests on, then how to do it again. Every sentence of a
        verdict is stats' own. The page needs nothing but itself.
Owner   report.html in the session's folder; it is made anew each time
Limits  a page stays below 2 MB for 100 runs (pictures.RUN_BYTES)
Errors  Trouble
"""
from __future__ import annotations

import datetime
import os
import shlex
from pathlib import Path
from typing import Dict, Iterable, List, Sequence, Tuple

import figures
import page
import pictures
import stats
import store
from page import Safe, details, paragraph, section, tag
from trouble import Trouble

OPEN_VERDICTS = 12      # more than a screenful of sentences helps nobody; the rest folds


# --- what was found --------------------------------------------------------------------


def _p_said(verdict: stats.Verdict) -> str:
    if verdict.p is None:
        return ""
    least = 2 / 2 ** verdict.n
    more = f", the least that {verdict.n} pairs can give" if verdict.p <= least * 1.001 else ""
    return f"sign-flip p = {verdict.p:.3g}{more}"


def verdict_items(judged: Sequence[figures.Judged]) -> Safe:
    items = []
    for one in judged:
        said = _p_said(one.verdict)
        items.append(tag("li", tag("span", one.verdict.sentence), " ",
                         tag("small", said) if said else "", class_=_class(one.verdict)))
    return tag("ul", *items, class_="verdicts")


def _class(verdict: stats.Verdict) -> str:
    return {stats.SAME: "same"}.get(verdict.word, verdict.word)


def tally(judged: Sequence[figures.Judged]) -> str:
    words = [one.verdict.word for one in judged]
    better, worse = words.count(stats.FASTER), words.count(stats.SLOWER)
    valid = len(words) - words.count(stats.INVALID)
    chance = ("" if valid < 10 else f" With {valid} intervals of 95 %, {valid * 0.05:.0f} or so "
              "would miss 1 by chance where nothing differs.")
    return (f"{len(words)} verdicts: {better} better, {worse} worse, "
            f"{words.count(stats.SAME)} no difference shown, {words.count(stats.INVALID)} invalid."
            + chance)


def _verdicts(study, judged: Sequence[figures.Judged]) -> Safe:
    experiment = study.experiment
    if not experiment.baseline:
        return section("verdicts", "Verdicts", paragraph(
            "No verdict: the experiment names no baseline. The table has medians and ranges."))
    if not judged:
        return section("verdicts", "Verdicts", paragraph(
            "No verdict: no run of the baseline and another level came to an end, or none has the "
            "figures."))
    return section("verdicts", "Verdicts", *verdict_groups(study, judged), _never_had(study))


def _never_had(study) -> Safe:
    """Not invalid: there is nothing to compare. A percentile is not had where the sample is too
    small for it."""
    found = figures.never_had(study)
    if not found:
        return Safe("")
    return details("Without a verdict, since no run of these has the figure",
                   page.listing(found))


def verdict_groups(study, judged: Sequence[figures.Judged]) -> List[Safe]:
    """Those of the main figure open, the others folded, figure by figure."""
    main = figures.main_figure(study.experiment)
    first = [one for one in judged if one.figure is main]
    if len(judged) <= OPEN_VERDICTS or not first:
        first = list(judged)
    parts = [paragraph(tally(judged)), verdict_items(first)]
    for figure in study.experiment.figures:
        rest = [one for one in judged if one.figure is figure and one not in first]
        if rest:
            parts.append(details(f"{figure.name}: {len(rest)} verdicts", verdict_items(rest)))
    return parts


def cell(found: figures.Cell, runs: Sequence, verdict) -> Safe:
    if found.n == 0:
        skipped = bool(runs) and all(run.state == "skipped" for run in runs)
        return tag("td", "skipped" if skipped else "-")
    parts = [tag("b", figures.show(found.median))]
    if found.low != found.high:
        parts.append(tag("small", f"{figures.show(found.low)} to {figures.show(found.high)}"))
    if found.n < len(runs):
        parts.append(tag("small", f"{found.n} of {len(runs)} runs"))
    if verdict is None:
        return tag("td", *parts)
    if verdict.ratio is not None:
        ends = stats.apart(verdict.low, verdict.high)
        parts.append(tag("small", f"{stats.show_ratio(verdict.ratio)}x ({ends[0]} to {ends[1]})",
                         class_="ratio"))
    return tag("td", *parts, class_=_class(verdict))


def _published(experiment, name: str) -> Safe:
    found = [tag("div", tag("b", figures.show(value)), f" {figures.spell(unit)}",
                 tag("small", source))
             for figure, value, unit, source in experiment.published if figure == name]
    return tag("td", *(found or ["-"]), class_="published")


def facet_title(study, facet: figures.Factors) -> str:
    title = pictures.title_of(facet, study.experiment)
    return title + ", closed loop" if title and figures.modes(study, facet) == {"closed"} else title


def _table(study, judged: Sequence[figures.Judged], colors: pictures.Colors) -> Safe:
    experiment = study.experiment
    levels = list(colors.levels) or ["all runs"]
    by_place = {(one.figure.name, one.level, figures.key(one.facet)): one.verdict
                for one in judged}
    cells = {figures.key(row.factors): row for row in figures.table(study)}
    bodies = []
    for facet in figures.facets(study):
        lines: List[Safe] = []
        title = facet_title(study, facet)
        if title:
            wide = 1 + len(levels) + bool(experiment.published)
            lines.append(tag("tr", tag("th", title, colspan=wide, scope="rowgroup"),
                             class_="facet"))
        for figure in experiment.figures:
            made = []
            for level in levels:
                row = cells.get(figures.key({**facet, colors.inner: level} if colors.inner else {}))
                verdict = by_place.get((figure.name, level, figures.key(facet)))
                made.append(cell(row.cells[figure.name], row.runs, verdict) if row else
                            tag("td", "not run"))
            if experiment.published:
                made.append(_published(experiment, figure.name))
            lines.append(tag("tr", tag("th", f"{figure.name}, {figures.unit_of(figure)}",
                                       scope="row"), *made))
        bodies.append(page.join(lines))
    heads = ["median",
             *(page.join([tag("i", style=f"background:var(--{colors.levels.get(v, 's1')})"), v])
               for v in levels)]
    if experiment.published:
        heads.append(tag("span", "published elsewhere", class_="published"))
    return section("table", "Figures", page.table(heads, *bodies, class_="figures"),
                   _table_note(study))


def _table_note(study) -> Safe:
    experiment = study.experiment
    said = ["The median of the repetitions, beneath it the lowest and the highest."]
    if experiment.baseline:
        said.append(f"Then the ratio to {experiment.baseline[1]} with its 95 % interval, from "
                    "pairs.")
    if experiment.published:
        said.append("Published figures were measured by others on other machines: no ratio is made "
                    "from them.")
    clock = figures.clock_said(study)
    return page.join([paragraph(" ".join(said), class_="note"),
                      paragraph(clock, class_="note clock") if clock else ""])


# --- plots -----------------------------------------------------------------------------


def _group(title: str, found: List[pictures.Picture], note: str) -> Safe:
    if not found:
        return Safe("")
    return page.join([tag("h3", title), paragraph(note, class_="note"),
                      page.grid(one.html() for one in found)])


def _plots(study, judged, colors: pictures.Colors) -> Safe:
    groups = [
        _group("Ratios and their intervals", pictures.ratio_plots(study, judged, colors),
               "An interval that crosses 1 shows no difference."),
        _group("Latency by percentile", pictures.percentile_plots(study, colors),
               "Thin: each run. Thick: their median at each percentile, as in the table. A line "
               "ends where fewer than 10 requests of a run lie beyond it."),
        _group("Throughput and latency", pictures.sweep_plots(study, colors),
               "Medians of the repetitions; the bars reach from the lowest to the highest."),
        _group("By second", pictures.time_plots(study, colors),
               "The median run of each: p99, or p50 where a second has fewer than 1,000 requests. "
               "A gap: that second does not carry it."),
        _group("Stages in the responder", pictures.stage_plot(study),
               "From the responder's own clocks. Medians of parts do not add up to the median of "
               "the whole; the length is a guide, not a sum."),
        _group("Every run", pictures.strip_plots(study, colors),
               "A dot is a run, a stroke the median."),
    ]
    return section("plots", "Plots", *groups) if any(groups) else Safe("")


def _run_plots(study, colors: pictures.Colors) -> Safe:
    groups, no_room = pictures.run_plots(study, colors)
    if not groups:
        return Safe("")
    parts: List[Safe] = [paragraph("Of each run p50 (thick), p99 (thin, where a second carries it) "
                                   "and the slowest answer (dots), by second. The median run of "
                                   "each comes first; what does not count has no plot.",
                                   class_="note")]
    if no_room:
        parts.append(paragraph(f"{no_room} runs have no plot of their own here, to keep the page "
                               "small; their load.json and probe.csv have the figures.",
                               class_="note"))
    if not any("heat map" in one.title for _, found in groups for one in found):
        parts.append(paragraph("No heat map: load.json has no heat.", class_="note"))
    parts += [details(name, page.grid(one.html() for one in found)) for name, found in groups]
    return section("runs-plots", "Over time, run by run", *parts)


# --- what it rests on ------------------------------------------------------------------


def _how_to_read(study) -> Safe:
    experiment = study.experiment
    parts = [paragraph(experiment.read)] if experiment.read else []
    if experiment.baseline:
        parts.append(paragraph(
            "Runs of the same repetition and the same levels are a pair. The ratio is the "
            "geometric mean of the pairs' ratios, its interval Student's t on their logarithms. "
            "Faster or slower is said when the interval leaves out 1. No difference shown is not "
            "the same as no difference: more repetitions narrow the interval. The sign-flip p value beside "
            "it assumes no normal distribution; with few pairs it cannot be small."))
    if study.session.plan.get("repeat", experiment.repeat) < stats.LEAST:
        parts.append(paragraph(f"With fewer than {stats.LEAST} repetitions no verdict is "
                               "possible."))
    if study.session.facts.get("place") == "veth":
        parts.append(paragraph("Client and responder ran on this one machine over a veth pair, on "
                               "cores of their own but sharing caches and memory. No NIC and no "
                               "wire is in these figures."))
    lines = [(f.name, figures.unit_of(f), f"{f.better} is better", f.text, tag("code", f.path))
             for f in experiment.figures]
    return section("read", "How to read it", *parts,
                   page.table(["figure", "unit", "", "what it is", "where it comes from"],
                              page.rows(lines)))


def _bars(study) -> Safe:
    found = figures.bars(study)
    if not found:
        return Safe("")
    lines = []
    for bar in found:
        word = {True: "met", False: "missed", None: "open"}[bar.met]
        lines.append((bar.text, tag("span", word, class_=word), bar.found))
    return section("bars", "Bars", page.table(["bar", "", "found"], page.rows(lines)), paragraph(
        "A bar on a ratio takes the median of the pairs' ratios, of "
        f"{stats.LEAST} pairs at least. One on what is counted (errors, wrong answers, faults), "
        "and one of 0, takes the worst run, be it one that failed; any other the median of the "
        "runs.",
        class_="note"))


def reasons(study, state: str) -> List[Tuple[str, str, str]]:
    """(what, why, which runs) of all runs in this state."""
    found: Dict = {}
    for run in study.runs:
        if run.state == state:
            key = (figures.name_of(run.factors, study.experiment), "; ".join(run.why))
            found.setdefault(key, []).append(run.number)
    return [(name, why or "no reason given", numbers(of)) for (name, why), of in found.items()]


def _not_counted(study) -> Safe:
    parts = []
    lines = reasons(study, "skipped")
    if lines:
        parts.append(section("skipped", "Skipped", page.table(["what", "why", "runs"],
                                                              page.rows(lines))))
    bad = [run for run in study.runs if run.state in ("dirty", "failed")]
    if bad:
        lines = [(run.number, run.state + (", counted" if figures.usable(run) else ""),
                  figures.name_of(run.factors, study.experiment),
                  "; ".join(run.why) or "no reason given") for run in bad]
        parts.append(section("bad", "Dirty and failed runs", page.table(
            ["run", "state", "what", "why"], page.rows(lines)), paragraph(
                "They are in no median and in no verdict, unless it says counted (--accept-dirty).",
                class_="note")))
    todo = len(study.session.plan["runs"]) - len(study.runs)
    if todo:
        parts.append(paragraph(f"{todo} of {len(study.session.plan['runs'])} planned runs were not "
                               "made yet: saker-lab resume goes on."))
    return page.join(parts)


def numbers(found: Sequence[int]) -> str:
    """1-3, 7"""
    spans: List[List[int]] = []
    for n in sorted(found):
        if spans and n == spans[-1][1] + 1:
            spans[-1][1] = n
        else:
            spans.append([n, n])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in spans)


def flat(value, name: str = "") -> Iterable:
    """(a.b, text) of each leaf."""
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from flat(inner, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list) and not any(isinstance(one, (dict, list)) for one in value):
        yield name, " ".join(map(str, value)) or "none"
    else:
        yield name, spoken(value)


def spoken(value) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "not known" if value is None else str(value) or "none"


def _facts(study) -> Safe:
    found = list(flat(study.session.facts))
    shown = page.table([], page.rows(found), class_="facts") if found else paragraph(
        "No facts were recorded.")
    return section("facts", "The machine", shown, _costs(study.session.costs), _rungs(study))


def _rungs(study) -> Safe:
    """Which way the responder went, by its own word; it may differ from run to run."""
    lines = []
    for factors in figures.combinations(study):
        modes = [run_json.get("mode") for run_json in
                 (run.json("run") or {} for run in study.at(factors)) if run_json.get("mode")]
        said = [mode.get("text") or ", ".join(str(mode[k]) for k in ("rung", "copy") if mode.get(k))
                for mode in modes]
        lines += [(figures.name_of(factors, study.experiment), one, f"{said.count(one)} runs")
                  for one in sorted(set(said))]
    if not lines:
        return Safe("")
    return page.join([tag("h3", "Rungs"), page.table([], page.rows(lines))])


def _costs(costs) -> Safe:
    if not costs:
        return paragraph("Costs were not measured.", class_="note")
    why = costs.get("why") or {}
    lines = []
    for name, cost in costs.items():
        if name == "why":
            continue
        if isinstance(cost, dict) and "p50" in cost:
            lines.append((name, f"{cost['p50']} ns", f"{cost.get('p99')} ns", ""))
        else:
            lines.append((name, "-", "-", why.get(name, "not measured")))
    return page.join([tag("h3", "Measured costs"),
                      page.table(["", "p50", "p99", ""], page.rows(lines))])


# --- again -----------------------------------------------------------------------------


def _commands(study) -> Safe:
    plan = study.session.plan
    again = ["saker-lab", "run", "experiment.lab"]
    place = study.session.facts.get("place")
    again += [f"--place={place}"] if place and place != "veth" else []
    again += ["--quick"] if plan.get("quick") else []
    again += [f"--repeat={plan['repeat']}"] if plan.get("repeat") else []
    lines = []
    for factors in figures.combinations(study):
        for run in study.at(factors):
            commands = (run.json("run") or {}).get("commands") or {}
            if commands:
                lines += [(f"{figures.name_of(factors, study.experiment)}: {name}", _words(command))
                          for name, command in commands.items() if command]
                break
    return section("again", "To do it again",
                   paragraph(tag("code", shlex.join(again)), " on the copy of the experiment in "
                             "this folder; the order came from seed "
                             f"{plan.get('seed', study.experiment.seed)}, "
                             f"{plan.get('order', study.experiment.order)}."),
                   details("What each combination ran", page.table(
                       ["", "command"], page.rows(lines), class_="commands")) if lines else "")


def _words(command) -> str:
    return shlex.join(map(str, command)) if isinstance(command, list) else str(command)


def _files(study) -> Safe:
    folder = study.session.folder
    own = [name for name in ("experiment.lab", "plan.json", "facts.json", "costs.json",
                             "figures.csv") if (folder / name).exists()]
    lines = []
    for run in study.runs:
        there = sorted(one.name for one in run.folder.iterdir() if one.is_file()) \
            if run.folder.is_dir() else []
        lines.append((run.number, run.repetition, run.block, run.state,
                      figures.name_of(run.factors, study.experiment),
                      tag("code", f"runs/{run.folder.name}/"), ", ".join(there)))
    return section("files", "Raw data",
                   paragraph("In this folder: ", tag("code", ", ".join(own)), "."),
                   details(f"All {len(lines)} runs, in the order in which they ran", page.table(
                       ["run", "repetition", "block", "state", "what", "folder", "files"],
                       page.rows(lines))))


# --- the page --------------------------------------------------------------------------


def when(study) -> str:
    begun = [ns for ns in ((run.json("run") or {}).get("started_unix_ns") for run in study.runs)
             if ns]
    if not begun:
        return ""
    return datetime.datetime.fromtimestamp(min(begun) / 1e9, datetime.timezone.utc).strftime(
        "%Y-%m-%d %H:%M UTC")


def version(study) -> str:
    own = (study.session.facts.get("versions") or {}).get("saker")
    return "saker " + own.removeprefix("saker ") if own else ""


def counted(study) -> str:
    """80 runs: 78 done, 2 dirty"""
    states = [run.state for run in study.runs]
    said = ", ".join(f"{states.count(s)} {s}" for s in store.STATES if s in states)
    return f"{len(states)} runs: {said}" if said else "no run yet"


def _head(study) -> Safe:
    experiment, facts = study.experiment, study.session.facts
    meta = [study.session.plan.get("experiment", ""), when(study), version(study),
            facts.get("cpu"), facts.get("kernel"), counted(study)]
    return tag("header", tag("h1", experiment.title or experiment.name),
               paragraph(experiment.question, class_="question"),
               *(paragraph(one, class_="warning") for one in warnings(study)),
               paragraph(" · ".join(str(one) for one in meta if one), class_="meta"))


def warnings(study) -> List[str]:
    """What a reader must know before the first figure."""
    said = []
    dirty = sum(run.state == "dirty" and figures.usable(run) for run in study.runs)
    if dirty:
        said.append(f"{dirty} of {len(study.runs)} runs are dirty and count all the same, by "
                    "--accept-dirty: see why below.")
    if study.session.plan.get("quick"):
        said.append("Made with --quick: it shows that the experiment works, and measures little.")
    return said


def render(session) -> str:
    """The page as text."""
    study = figures.Study(session)
    colors = pictures.Colors(study.experiment)
    judged = figures.verdicts(study)
    return page.page(
        study.experiment.title or study.experiment.name, _head(study),
        tag("main", _verdicts(study, judged), _table(study, judged, colors),
            _plots(study, judged, colors), _run_plots(study, colors), _how_to_read(study),
            _bars(study), _not_counted(study), _facts(study), _commands(study), _files(study)))


def write(path: Path, text: str) -> Path:
    """Under another name first: a page that is there is whole."""
    part = path.with_name(path.name + ".part")
    try:
        part.write_text(text, encoding="utf-8", errors="replace")
        os.replace(part, path)
    except OSError as e:
        raise Trouble(f"{path}: {e.strerror}; is the folder writable?") from None
    return path


def build(folder) -> Path:
    return write(Path(folder) / "report.html", render(store.Session(folder)))
