# SPDX-License-Identifier: GPL-2.0-only
"""plots - the pictures of a report

Place   between report, which says what belongs side by side, and gnuplot, which draws
Model   Each function takes plain numbers and gives one SVG element. Latency has a logarithmic
        axis: subjects differ by factors. Where repetitions are drawn, each is a thin line and
        their median (point by point) a thick one, so that the picture and the table agree.
Limits  a curve ends where fewer than BEYOND samples lie beyond it; long labels are cut
Units   ns for latencies, seconds for time
"""
from __future__ import annotations

import math
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

import gnuplot
import stats
from gnuplot import block, color, quoted

Curve = List[Tuple[float, float]]

BEYOND = 10             # samples beyond the last percentile that is drawn, as saker-load has it
STEPS_A_DECADE = 24     # points of a percentile curve: 24 are smooth at 460 dots across
PROBE_POINTS = 80       # of a temperature or a frequency
LABEL = 27              # characters of a row's name
TOP, BELOW = 6, 58      # margins of a bar chart: above, and for its axis and that axis' name
ROW = 20                # height of a row of a bar chart


class Line(NamedTuple):
    """One level in a plot: the name of its colour, a curve per run."""
    color: str
    curves: List[Curve]


class Row(NamedTuple):
    label: str
    color: str
    values: Sequence[float]


# --- latency by percentile -----------------------------------------------------------


def percentile_curve(histogram: Sequence[Sequence[float]]) -> Curve:
    """[(1/(1-p), ns)], always at the same 1/(1-p), from [[ns, count]] as saker-load writes it."""
    total = sum(count for _, count in histogram)
    curve, seen, buckets = [], 0, iter(histogram)
    value = 0.0
    for i in range(STEPS_A_DECADE * 10):
        x = 10 ** (i / STEPS_A_DECADE)
        if total / x < BEYOND * 0.999:
            break
        rank = max(1, math.ceil(total * (1 - 1 / x) - 1e-9))
        while seen < rank:
            value, count = next(buckets)
            seen += count
        curve.append((x, value))
    return curve


def middle_curve(curves: Sequence[Curve]) -> Curve:
    """As far as all of them go."""
    return [(points[0][0], stats.median([y for _, y in points])) for points in zip(*curves)]


def _range(curves: Sequence[Curve]) -> Tuple[float, float]:
    values = [y for curve in curves for _, y in curve if y and y > 0]
    return (min(values), max(values)) if values else (1e3, 1e6)


PERCENTILES = [("0", 1), ("50 %", 2), ("90 %", 10), ("99 %", 100), ("99.9 %", 1e3),
               ("99.99 %", 1e4), ("99.999 %", 1e5), ("99.9999 %", 1e6)]


def by_percentile(title: str, lines: Sequence[Line]) -> str:
    curves = [curve for line in lines for curve in line.curves if curve]
    right = max((curve[-1][0] for curve in curves), default=10)
    shown = [(name, x) for name, x in PERCENTILES if x <= right * 1.0001]
    commands = ["set logscale x", f"set xrange [1:{right:g}]", "set nomxtics",
                gnuplot.tics("x", shown),
                gnuplot.log_axis("y", *_range(curves)),
                f"set ylabel {quoted('latency')}", f"set xlabel {quoted('percentile')}"]
    plots = []
    for line in lines:
        there = [curve for curve in line.curves if curve]
        for curve in there if len(there) > 1 else []:
            commands.append(block(f"d{len(plots)}", curve))
            plots.append(f"$d{len(plots)} using 1:2 with lines lw 0.7 lc {color(line.color)}")
        if there:
            commands.append(block(f"d{len(plots)}", middle_curve(there)))
            plots.append(f"$d{len(plots)} using 1:2 with lines lw 2.4 lc {color(line.color)}")
    return gnuplot.draw("\n".join(commands + ["plot " + ", ".join(plots)]), title)


# --- over time -----------------------------------------------------------------------


def thin(curve: Curve, most: int) -> Curve:
    """The median of each group of neighbours, so that no more than `most` points are left."""
    group = -(-len(curve) // most) or 1
    parts = [curve[i:i + group] for i in range(0, len(curve), group)]
    return [(stats.mean([x for x, _ in part]), stats.median([y for _, y in part]))
            for part in parts]


class Probe(NamedTuple):
    """What ran beside: (s, degrees), (s, MHz); empty where the source was absent."""
    temperature: Curve
    frequency: Curve
    cpu: str


def _seconds(series: Sequence[Dict], name: str) -> Curve:
    """In the middle of each second; a gap where the second does not carry it."""
    return [(row["s"] + 0.5, row.get(name)) for row in series]


def alone(curve: Curve) -> Curve:
    """Points between gaps, through which no line goes."""
    gap = [(0.0, None)]
    around = zip(gap + list(curve), curve, list(curve[1:]) + gap)
    return [here for before, here, after in around
            if here[1] is not None and before[1] is None and after[1] is None]


def _padded(values: Sequence[float], least: float) -> Tuple[float, float]:
    low, high = min(values), max(values)
    more = max((high - low) * 0.15, least)
    return low - more, high + more


def _probe_panel(probe: Probe, right: float) -> List[str]:
    """Beneath: the temperature is the full line, the frequency the dashed one."""
    commands, plots = ["unset logscale y", "set nomytics", "unset label"], []
    commands.append(f"set xrange [0:{right:g}]\nset xlabel 'second'\nset xtics format '%g'")
    if probe.temperature:
        low, high = _padded([y for _, y in probe.temperature], 0.5)
        commands += [block("t", thin(probe.temperature, PROBE_POINTS)),
                     f"set yrange [{low:g}:{high:g}]",
                     gnuplot.tics("y", ((f"{v:g} °C", v) for v in gnuplot.even(low, high, 4)))]
        plots.append(f"$t using 1:2 with lines lw 1.4 lc {color('ink')}")
    else:
        commands += ["unset ytics", "set yrange [0:1]"]
    if probe.frequency:
        low, high = _padded([y for _, y in probe.frequency], 50)
        commands += [block("f", thin(probe.frequency, PROBE_POINTS)),
                     f"set y2range [{low:g}:{high:g}]",
                     gnuplot.tics("y2", ((f"{v:g} MHz", v)
                                         for v in gnuplot.even(low, high, 4)), "nomirror"),
                     "set border 11"]
        plots.append(f"$f using 1:2 axes x1y2 with lines lw 1.4 dt (4,3) lc {color('ink')}")
    return commands + ["plot " + ", ".join(plots)]


def _time_axis(right: float, curves: Sequence[Curve]) -> List[str]:
    return [f"set xrange [0:{right:g}]", gnuplot.log_axis("y", *_range(curves)),
            "set ylabel 'latency'", "set xlabel 'second'"]


def over_time(title: str, series: Sequence[Dict], probe: Optional[Probe], line: str) -> str:
    """One run: p50 thick, p99 thin, the slowest answer of each second as a dot."""
    names = ("p50", "p99", "max")
    curves = [_seconds(series, name) for name in names]
    right = max(row["s"] for row in series) + 1
    draws = ["plot $p50 using 1:2 with lines lw 2.4 lc {0}, $p99 using 1:2 with lines lw 1 lc {0}, "
             "$max using 1:2 with points pt 7 ps 0.4 lc {0}".format(color(line))]
    blocks = [block(name, curve) for name, curve in zip(names, curves)]
    axis = _time_axis(right, curves)
    if not probe or not (probe.temperature or probe.frequency):
        return gnuplot.draw("\n".join(blocks + axis + draws), title)
    high = gnuplot.HIGH + 110
    split = 0.36
    upper = ["unset xlabel", "set xtics format ''", f"set bmargin at screen {split + 0.03}",
             "set tmargin at screen 0.97"]
    lower = ["set bmargin at screen 0.14", f"set tmargin at screen {split - 0.05}",
             "unset ylabel"]
    commands = (blocks + ["set multiplot", "set lmargin at screen 0.13",
                          "set rmargin at screen 0.85"] + axis + upper + draws + lower
                + _probe_panel(probe, right) + ["unset multiplot"])
    return gnuplot.draw("\n".join(commands), title, high=high)


def together_over_time(title: str, lines: Sequence[Tuple[str, Sequence[Dict]]],
                       name: str = "p99") -> str:
    """One figure of several runs, second by second."""
    curves = [_seconds(series, name) for _, series in lines]
    right = max(row["s"] for _, series in lines for row in series) + 1
    commands, plots = [], []
    for i, ((line, _), curve) in enumerate(zip(lines, curves)):
        commands += [block(f"d{i}", curve), block(f"a{i}", alone(curve) or [(0, None)])]
        plots += [f"$d{i} using 1:2 with lines lw 1.8 lc {color(line)}",
                  f"$a{i} using 1:2 with points pt 7 ps 0.5 lc {color(line)}"]
    return gnuplot.draw("\n".join(commands + _time_axis(right, curves)
                                  + ["plot " + ", ".join(plots)]), title)


# --- heat map ------------------------------------------------------------------------


def _bucket_tics(edges: Sequence[float]) -> List[Tuple[str, float]]:
    """Where 1, 2, 5 ... lie between the lower edges of buckets, in buckets."""
    tics = []
    for step in gnuplot.steps(edges[0], edges[-1]):
        if not edges[0] <= step <= edges[-1]:
            continue
        i = max(k for k, edge in enumerate(edges) if edge <= step)
        part = 0.0
        if i + 1 < len(edges):
            part = math.log(step / edges[i]) / math.log(edges[i + 1] / edges[i])
        tics.append((gnuplot.time_label(step), i + part))
    return tics


def heat(title: str, found: Dict) -> str:
    """found: saker-load's "heat". A colour tells how many requests, on a logarithmic scale; no
    colour: none. A row of a long run is row_s seconds."""
    edges = [max(1.0, float(edge)) for edge in found["bucket_ns"]]
    each = int(found.get("row_s", 1))
    rows = {int(s) // each: counts for s, counts in found["rows"]}
    right, top = max(rows) + 1, len(edges)
    cells = []
    for i in range(top):
        for s in range(right):
            counts = rows.get(s, ())
            n = counts[i] if i < len(counts) else 0
            cells.append(((s + 0.5) * each, i + 0.5, math.log10(n) if n else None))
    palette = ", ".join(f"{i} '{c}'" for i, c in enumerate(gnuplot.HEAT))
    most = max((c for _, _, c in cells if c is not None), default=1) or 1
    commands = [block("h", cells), f"set palette defined ({palette})", "unset colorbox",
                f"set cbrange [0:{most:g}]", f"set xrange [0:{right * each}]",
                f"set yrange [0:{top}]", gnuplot.tics("y", _bucket_tics(edges)), "unset grid",
                "set ylabel 'latency'", "set xlabel 'second'", "plot $h using 1:2:3 with image"]
    return gnuplot.draw("\n".join(commands), title)


def heat_most(found: Dict) -> int:
    return max((n for _, counts in found["rows"] for n in counts), default=0)


# --- rows side by side ---------------------------------------------------------------


def _cut(label: str) -> str:
    return label if len(label) <= LABEL else label[:LABEL - 1] + "…"


def _rows_axis(labels: Sequence[str], unit: str) -> Tuple[List[str], int]:
    """Commands for named rows from the top, and the plot's height; unit: of the axis beneath."""
    names = [_cut(label) for label in labels]
    below = BELOW if unit else BELOW - 22
    high = TOP + ROW * len(names) + below
    # A character of a proportional font of 12 is 6.5 wide on average.
    left = (max(map(len, names), default=1) * 6.5 + 14) / gnuplot.WIDE
    return [f"set yrange [{len(names) - 0.4:g}:-0.6]",
            gnuplot.tics("y", ((name, i) for i, name in enumerate(names)), "scale 0"),
            f"set lmargin at screen {min(left, 0.45):.3f}", "set rmargin at screen 0.92",
            f"set tmargin at screen {1 - TOP / high:.4f}",
            f"set bmargin at screen {below / high:.4f}",
            "unset grid", f"set grid xtics lc {color('grid')} lt 1 lw 0.6",
            f"set xlabel {quoted(unit)}"], high


def _value_axis(low: float, high: float, label) -> List[str]:
    """From zero where that wastes no more than half of it, logarithmic over a decade."""
    if low > 0 and high / low > 12:
        return [gnuplot.log_axis("x", low * 0.97, high, label, 5)]
    left = 0 if 0 <= low < high / 2 else low - (high - low) * 0.15 - abs(high) * 0.01
    right = high + (high - left) * 0.05 + 1e-9
    return [f"set xrange [{left:g}:{right:g}]",
            gnuplot.tics("x", ((label(v), v) for v in gnuplot.even(left, right, 5)))]


NANOSECONDS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}


def strips(title: str, rows: Sequence[Row], unit: str) -> str:
    """Each run a dot, the median of a row a stroke."""
    said = "" if unit in NANOSECONDS else unit
    axis, high = _rows_axis([row.label for row in rows], said)
    # Times say their own unit, as on the other plots.
    label = gnuplot.time_label if unit in NANOSECONDS else lambda v: f"{v:,.6g}"
    scale = NANOSECONDS.get(unit, 1)
    rows = [row._replace(values=[v * scale for v in row.values]) for row in rows]
    values = [v for row in rows for v in row.values]
    commands, plots = axis + _value_axis(min(values), max(values), label), []
    for i, row in enumerate(rows):
        if not row.values:
            continue
        middle = stats.median(row.values)
        commands += [block(f"d{i}", [(v, i) for v in row.values]),
                     block(f"m{i}", [(middle, i - 0.33), (middle, i + 0.33)])]
        plots += [f"$m{i} using 1:2 with lines lw 2.4 lc {color(row.color)}",
                  f"$d{i} using 1:2 with points pt 7 ps 0.45 lc {color(row.color)}"]
    return gnuplot.draw("\n".join(commands + ["plot " + ", ".join(plots)]), title, high=high)


# The more important first.
RATIO_TICS = [1, 0.5, 2, 0.1, 10, 0.01, 100, 0.2, 5, 0.05, 20, 0.7, 1.5, 0.3, 3, 0.9, 1.1, 0.8, 1.2,
              0.6, 0.95, 1.05, 0.98, 1.02, 0.99, 1.01]


def _spaced(wanted: Sequence[float], left: float, right: float) -> List[float]:
    """Those that have room for their name on a logarithmic axis."""
    taken: List[float] = []
    for tic in wanted:
        if left <= tic <= right and all(
                abs(math.log(tic / other)) > 0.13 * math.log(right / left) for other in taken):
            taken.append(tic)
    return taken


def ratios(title: str, rows: Sequence[Tuple[str, str, stats.Verdict]]) -> str:
    """Each verdict a dot with its interval; 1 is the baseline. Invalid ones keep an empty row."""
    axis, high = _rows_axis([label for label, _, _ in rows], "")
    valid = [v for _, _, v in rows if v.ratio is not None]
    low = min([1.0] + [v.low for v in valid])
    top = max([1.0] + [v.high for v in valid])
    spread = max(top / low, 1.2)
    left, right = low / spread ** 0.06, top * spread ** 0.06
    tics = _spaced(RATIO_TICS, left, right)
    commands = axis + ["set logscale x", f"set xrange [{left:g}:{right:g}]", "set nomxtics",
                       gnuplot.tics("x", ((f"{t:g}x", t) for t in tics)),
                       f"set arrow from 1, graph 0 to 1, graph 1 nohead lw 1.4 lc {color('ink')}"]
    plots = []
    for i, (_, line, v) in enumerate(rows):
        if v.ratio is None:
            continue
        commands.append(block(f"d{i}", [(v.ratio, i, v.low, v.high)]))
        plots += [f"$d{i} using 3:2:($4-$3):(0) with vectors nohead lw 2 lc {color(line)}",
                  f"$d{i} using 1:2 with points pt 7 ps 0.6 lc {color(line)}"]
    return gnuplot.draw("\n".join(commands + ["plot " + (", ".join(plots) or "NaN")]), title,
                        high=high)


def stages(title: str, rows: Sequence[Tuple[str, Sequence[float]]]) -> str:
    """Stacked bars, in ns: the parts in the order of TONES."""
    most = max(sum(parts) for _, parts in rows) or 1
    unit, size = ("ms", 1e6) if most >= 2e6 else ("µs", 1e3) if most >= 2e3 else ("ns", 1.0)
    axis, high = _rows_axis([label for label, _ in rows], unit)
    commands, plots = axis + [f"set xrange [0:{most / size * 1.05:g}]"], []
    for k, tone in enumerate(gnuplot.TONES):
        boxes = []
        for i, (_, parts) in enumerate(rows):
            begun = sum(parts[:k]) / size
            ended = begun + parts[k] / size
            boxes.append(((begun + ended) / 2, i, begun, ended, i - 0.36, i + 0.36))
        commands.append(block(f"k{k}", boxes))
        plots.append(f"$k{k} using 1:2:3:4:5:6 with boxxyerror fs solid noborder lc {color(tone)}")
    return gnuplot.draw("\n".join(commands + ["plot " + ", ".join(plots)]), title, high=high)


def sweep(title: str, lines: Sequence[Tuple[str, Sequence[Tuple[float, float, float, float]]]],
          unit: str, name: str) -> str:
    """Throughput against latency: per line (rate, median, lowest, highest), the latter three in
    ns."""
    rates = [point[0] for _, points in lines for point in points]
    values = [v for _, points in lines for point in points for v in point[1:]]
    commands = [gnuplot.log_axis("x", min(rates) * 0.9, max(rates) * 1.1, lambda v: f"{v:,.0f}", 6)
                if max(rates) / min(rates) > 8 else f"set xrange [0:{max(rates) * 1.05:g}]",
                gnuplot.log_axis("y", min(values), max(values)),
                f"set ylabel {quoted(name)}", f"set xlabel {quoted(unit)}"]
    plots = []
    for i, (line, points) in enumerate(lines):
        commands.append(block(f"d{i}", points))
        plots += [f"$d{i} using 1:3:(0):($4-$3) with vectors nohead lw 1 lc {color(line)}",
                  f"$d{i} using 1:2 with lines lw 2 lc {color(line)}",
                  f"$d{i} using 1:2 with points pt 7 ps 0.5 lc {color(line)}"]
    return gnuplot.draw("\n".join(commands + ["plot " + ", ".join(plots)]), title)
