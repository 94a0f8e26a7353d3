# SPDX-License-Identifier: GPL-2.0-only
"""pictures - which plots a session gives, with captions and legends

Place   between figures (runs) and plots (numbers), for report
Model   One colour per level of the compared factor, in every plot of the page; the baseline is
        grey. A plot that needs what no run has (a histogram, stages, a sweep) is left out. Of each
        combination the median run is shown: the one whose main figure is nearest to the median.
Limits  RUN_BYTES for plots of single runs: then only the median run of each combination, which
        the page says
"""
from __future__ import annotations

import csv
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

import figures
import gnuplot
import page
import plots
import stats
from page import Safe

RUN_BYTES = 900_000     # a page of 2 MB opens on a phone; this half is for single runs
STAGES = ["steer", "parse", "wait", "compute", "reply"]
SWEEP_LEVELS = 3        # numeric levels that make a factor a sweep


class Colors:
    """The colour of each level of the compared factor."""

    def __init__(self, experiment):
        inner = figures.compared(experiment)
        levels = list(experiment.factors.get(inner, [])) if inner else []
        base = experiment.baseline[1] if experiment.baseline else None
        free = iter(gnuplot.SUBJECT_COLORS * (len(levels) // 7 + 1))
        self.inner = inner
        self.levels = {level: "s0" if level == base else next(free) for level in levels}

    def of(self, factors: Dict[str, str]) -> str:
        return self.levels.get(factors.get(self.inner, ""), "s1")

    def legend(self, levels: Optional[Sequence[str]] = None) -> Safe:
        return page.legend((c, name) for name, c in self.levels.items()
                           if levels is None or name in levels)


class Picture(NamedTuple):
    title: str
    svg: str
    caption: str = ""
    key: Safe = Safe("")

    def html(self) -> Safe:
        return page.picture(self.title, self.svg, self.caption, self.key)


def title_of(facet: Dict[str, str], experiment) -> str:
    name = figures.name_of(facet, experiment) if facet else ""
    return "" if name in ("", "all runs") else name


def _load(run) -> Dict:
    return run.json("load") or {}


def histogram(run) -> List:
    return (_load(run).get("histogram") or {}).get("latency") or []


def series(run) -> List[Dict]:
    return _load(run).get("series") or []


def median_run(study, factors: Dict[str, str]):
    """None where no run is usable."""
    runs = [run for run in study.at(factors) if figures.usable(run)]
    figure = figures.main_figure(study.experiment)
    values = [(run.figure(figure), run) for run in runs] if figure else []
    there = [(v, run) for v, run in values if v is not None]
    if not there:
        return runs[0] if runs else None
    middle = stats.median([v for v, _ in there])
    return min(there, key=lambda one: (abs(one[0] - middle), one[1].number))[1]


def _levels_of(study, facet: Dict[str, str], colors: Colors):
    """(level, its colour, its usable runs) of a facet."""
    for level, line in colors.levels.items():
        runs = [run for run in study.at({**facet, colors.inner: level}) if figures.usable(run)]
        if runs:
            yield level, line, runs


# --- over all repetitions --------------------------------------------------------------


def ratio_plots(study, judged, colors: Colors) -> List[Picture]:
    made = []
    for figure in study.experiment.figures:
        here = [j for j in judged if j.figure is figure]
        # Where all is the same, as the rate of an open loop, there is nothing to see.
        if all(j.verdict.ratio in (None, 1) for j in here):
            continue
        lines = [(figures.name_of({**{colors.inner: j.level}, **j.facet}, study.experiment),
                  colors.levels.get(j.level, "s1"), j.verdict) for j in here]
        base = study.experiment.baseline[1]
        made.append(Picture(f"{figure.name}: ratio to {base}",
                            plots.ratios(f"Ratios of {figure.name} to {base}", lines)))
    return made


def percentile_plots(study, colors: Colors) -> List[Picture]:
    made = []
    for facet in figures.facets(study):
        lines, levels = [], []
        for level, line, runs in _levels_of(study, facet, colors):
            curves = [plots.percentile_curve(h) for h in map(histogram, runs) if h]
            if any(curves):
                lines.append(plots.Line(line, curves))
                levels.append(level)
        if lines:
            title = title_of(facet, study.experiment) or "all levels"
            svg = plots.by_percentile(f"Latency by percentile, {title}", lines)
            made.append(Picture(title, svg, key=colors.legend(levels)))
    return made


def time_plots(study, colors: Colors) -> List[Picture]:
    """p99 by second, or p50 where the seconds of some level do not carry p99."""
    made = []
    for facet in figures.facets(study):
        lines = [(level, line, series(median_run(study, {**facet, colors.inner: level})))
                 for level, line, _ in _levels_of(study, facet, colors)]
        lines = [one for one in lines if sum(row.get("p50") is not None for row in one[2]) > 1]
        if not lines:
            continue
        carried = all(sum(row.get("p99") is not None for row in rows) * 2 > len(rows)
                      for _, _, rows in lines)
        name = "p99" if carried else "p50"
        title = f"{name}: {title_of(facet, study.experiment) or 'all levels'}"
        made.append(Picture(title, plots.together_over_time(
            f"By second, {title}", [(line, rows) for _, line, rows in lines], name),
            key=colors.legend([level for level, _, _ in lines])))
    return made


def _number(level: str) -> Optional[float]:
    try:
        return float(level)
    except ValueError:
        return None


def sweep_factor(experiment) -> Optional[str]:
    """A factor whose levels are all numbers, three at least: `rate` before any other."""
    inner = figures.compared(experiment)
    found = [name for name, levels in experiment.factors.items() if name != inner
             and len(levels) >= SWEEP_LEVELS and all(_number(v) is not None for v in levels)]
    return "rate" if "rate" in found else next(iter(found), None)


def _sweep_lines(study, facet: Dict[str, str], swept: str, figure, colors: Colors):
    rate = study.experiment.known["rate_ok"]
    for level, line in colors.levels.items():
        points = []
        for step in study.experiment.factors[swept]:
            runs = [r for r in study.at({**facet, colors.inner: level, swept: step})
                    if figures.usable(r)]
            x, y = figures.cell(runs, rate), figures.cell(runs, figure)
            if x.median and y.median:
                points.append((x.median, y.median * 1e3, y.low * 1e3, y.high * 1e3))
        if points:
            yield line, sorted(points), level


def sweep_plots(study, colors: Colors) -> List[Picture]:
    """Throughput against latency, one plot per facet without the swept factor."""
    experiment, made = study.experiment, []
    swept = sweep_factor(experiment)
    if swept is None:
        return []
    outer = []
    for facet in figures.facets(study):
        rest = {name: level for name, level in facet.items() if name != swept}
        if rest not in outer:
            outer.append(rest)
    for rest in outer:
        for figure in (experiment.known["p50"], experiment.known["p99"]):
            lines = list(_sweep_lines(study, rest, swept, figure, colors))
            if max((len(points) for _, points, _ in lines), default=0) >= SWEEP_LEVELS:
                where = title_of(rest, experiment)
                title = f"{figure.name} by throughput{', ' + where if where else ''}"
                made.append(Picture(title, plots.sweep(
                    title, [(line, points) for line, points, _ in lines], "right answers a second",
                    figure.name), key=colors.legend([level for _, _, level in lines])))
    return made


def stage_rows(study) -> List[Tuple[str, List[float]]]:
    """The median over the runs of each stage's p50, in ns."""
    found = []
    for factors in figures.combinations(study):
        parts = []
        for run in study.at(factors):
            stages = ((run.json("stages") or {}).get("since") or {}).get("stages") or {}
            one = [(stages.get(name) or {}).get("p50_ns") for name in STAGES]
            if figures.usable(run) and None not in one:
                parts.append(one)
        if parts:
            found.append((figures.name_of(factors, study.experiment),
                          [stats.median(values) for values in zip(*parts)]))
    return found


def stage_plot(study) -> List[Picture]:
    lines = stage_rows(study)
    if not lines:
        return []
    return [Picture("median time in each stage", plots.stages("Stages of the responder", lines),
                    "", page.legend(zip(gnuplot.TONES, STAGES)))]


def strip_plots(study, colors: Colors) -> List[Picture]:
    made = []
    for figure in study.experiment.figures:
        lines = []
        for factors in figures.combinations(study):
            values = [v for v in (run.figure(figure) for run in study.at(factors)
                                  if figures.usable(run)) if v is not None]
            if values:
                lines.append(plots.Row(figures.name_of(factors, study.experiment),
                                       colors.of(factors), values))
        if any(len(set(row.values)) > 1 for row in lines):
            made.append(Picture(f"{figure.name}, each run", plots.strips(
                f"{figure.name} of each run", lines, figure.unit)))
    return made


# --- single runs -----------------------------------------------------------------------


def _io_cpu(run) -> Optional[int]:
    io = ((run.json("stages") or {}).get("mode") or {}).get("io") or []
    return io[0].get("cpu") if io else None


def probe_of(run, started_ns: int, seconds: int) -> Optional[plots.Probe]:
    """Temperature and the frequency of the responder's core (else of the fastest one) while the
    load ran."""
    try:
        text = (run.folder / "probe.csv").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    found = list(csv.DictReader(line for line in text.splitlines() if not line.startswith("#")))
    cores = [name for name in (found[0] if found else {}) if name.startswith("freq_mhz_cpu")]
    own = f"freq_mhz_cpu{_io_cpu(run)}"
    chosen = [own] if own in cores else cores
    temperature, frequency = [], []
    for row in found:
        when = (float(row["unix_ns"] or 0) - started_ns) / 1e9
        if not 0 <= when <= seconds:
            continue
        degrees = _number(row.get("temp_c") or "")
        speeds = [v for v in (_number(row.get(name) or "") for name in chosen) if v is not None]
        if degrees is not None:
            temperature.append((when, degrees))
        if speeds:
            frequency.append((when, max(speeds)))
    return plots.Probe(temperature, frequency,
                       f"CPU {own[12:]}" if own in cores else "the fastest CPU")


def _probe_said(probe: Optional[plots.Probe]) -> str:
    said = []
    if probe and probe.temperature:
        said.append("temperature (full line)")
    if probe and probe.frequency:
        said.append(f"frequency of {probe.cpu} (dashed)")
    return f"Beneath: {' and '.join(said)}." if said else "No temperature or frequency was read."


def _ramp(most: int) -> Safe:
    return page.paragraph("1", page.tag("span", class_="ramp"), f"{most:,} requests, logarithmic",
                          class_="note")


def of_run(run, name: str, line: str) -> List[Picture]:
    rows = series(run)
    if len(rows) < 2:
        return []
    load = _load(run)
    probe = probe_of(run, load.get("started_unix_ns", 0), max(row["s"] for row in rows) + 1)
    title = f"run {run.number}: {name}"
    made = [Picture(f"{title}, by second", plots.over_time(title, rows, probe, line),
                    _probe_said(probe))]
    heat = load.get("heat")
    if heat and heat.get("rows"):
        made.append(Picture(f"{title}, heat map", plots.heat(f"Heat map of {title}", heat),
                            key=_ramp(plots.heat_most(heat))))
    return made


def run_plots(study, colors: Colors) -> Tuple[List[Tuple[str, List[Picture]]], int]:
    """By combination, the median run first; and how many runs had no room."""
    groups, size, no_room = [], 0, 0
    chosen = [(factors, median_run(study, factors)) for factors in figures.combinations(study)]
    made: Dict[int, List[Picture]] = {}
    # First the median runs of all, then as many others as there is room for.
    others = [run for factors, first in chosen for run in study.at(factors)
              if figures.usable(run) and run is not first and series(run)]
    for run in [first for _, first in chosen if first and series(first)] + others:
        if size > RUN_BYTES:
            no_room += 1
            continue
        made[run.number] = of_run(run, figures.name_of(run.factors, study.experiment),
                                  colors.of(run.factors))
        size += sum(len(one.svg) for one in made[run.number])
    for factors, first in chosen:
        runs = sorted(study.at(factors), key=lambda run: (run is not first, run.number))
        here = [one for run in runs for one in made.get(run.number, [])]
        if here:
            groups.append((figures.name_of(factors, study.experiment), here))
    return groups, no_room
