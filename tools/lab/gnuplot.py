# SPDX-License-Identifier: GPL-2.0-only
"""gnuplot - commands in, one small SVG element out, ready to stand in a page

Place   under plots; the only module that starts gnuplot
Model   gnuplot draws with the colours of PALETTE, and black and grey. Here they become the page's
        CSS variables, so that light and dark are the page's matter, fonts are inherited, and
        what an inline element does not need (a prologue, definitions, empty groups, a second
        decimal) is taken out. The element scales with its box.
Owner   nothing is left on disk
Limits  RUN_SECONDS a plot. Text is never enhanced, never a command: see quoted()
Units   the SVG's own: WIDE across
Errors  Trouble when gnuplot is not there or refuses
"""
from __future__ import annotations

import html
import math
import re
import subprocess
from typing import Iterable, List, Sequence, Tuple

from trouble import Trouble

WIDE, HIGH = 460, 290
RUN_SECONDS = 60

# Okabe and Ito's colours, which colour-blind readers tell apart; the page's CSS has a lighter set
# for dark. s0 is the baseline's grey. k0 ... are tones from dark to light, for parts of a whole.
PALETTE = {
    "s0": "#6b6b6b", "s1": "#0072b2", "s2": "#d55e00", "s3": "#009e73", "s4": "#cc79a7",
    "s5": "#e69f00", "s6": "#56b4e9", "s7": "#a08a00",
    "k0": "#3b2f6b", "k1": "#3a6a9c", "k2": "#2f9c95", "k3": "#7cc46a", "k4": "#ecd94a",
    "grid": "#d0d0d1", "ink": "#202124",
}
SUBJECT_COLORS = ["s1", "s2", "s3", "s4", "s5", "s6", "s7"]
TONES = ["k0", "k1", "k2", "k3", "k4"]

# The heat map is a picture, whose colours are baked in: viridis, whose darkest end is cut off so
# that it shows on a dark page too.
HEAT = ["#46327e", "#365c8d", "#277f8e", "#1fa187", "#4ac16d", "#a0da39", "#fde725"]

# What <use> elements of any plot refer to; stands once on the page.
SYMBOLS = ('<svg width="0" height="0" aria-hidden="true" class="symbols"><defs>'
           '<circle id="gpPt5" stroke-width="0.2" stroke="currentColor" fill="none" r="1"/>'
           '<circle id="gpPt6" fill="currentColor" stroke="none" r="1"/></defs></svg>')


def quoted(text: str) -> str:
    """A single-quoted string: no escapes, no substitution. A backquote and a line's end, which
    have a meaning everywhere, become harmless."""
    return "'" + re.sub(r"[\x00-\x1f]", " ", text).replace("`", "´").replace("'", "''") + "'"


def tics(axis: str, found: Iterable[Tuple[str, float]], more: str = "") -> str:
    """Named ones; a name would be a format, so its per cent signs are doubled."""
    named = ", ".join(f"{quoted(name.replace('%', '%%'))} {at:.6g}" for name, at in found)
    return f"set {axis}tics ({named}) {more}"


def color(name: str) -> str:
    return f"rgb '{PALETTE[name]}'"


def block(name: str, rows: Iterable[Sequence]) -> str:
    """A data block; None and NaN are gaps."""
    lines = (" ".join("NaN" if v is None else f"{v:.6g}" if isinstance(v, float) else str(v)
                      for v in row) for row in rows)
    return "${} << EOD\n{}\nEOD".format(name, "\n".join(lines))


# --- axes --------------------------------------------------------------------------


def time_label(ns: float) -> str:
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if ns >= size * 0.999:
            return f"{ns / size:g} {unit}"
    return f"{ns:g} ns" if ns else "0"


def steps(low: float, high: float) -> List[float]:
    """1, 2, 5, 10 ... from at or below low to at or above high."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    all_steps = [round(m * 10.0 ** d, 12) for d in range(first, last + 1) for m in (1, 2, 5)]
    inner = [s for s in all_steps if low < s < high]
    below = max(s for s in all_steps if s <= low * 1.0001)
    above = min((s for s in all_steps if s >= high * 0.9999), default=all_steps[-1])
    return [below, *inner, above] if above > below else [below, below * 2]


def readable(found: List[float], most: int = 8) -> List[float]:
    """No more names than an axis has room for: beyond that, decades alone (every second one of
    many), and an end that is not too near to one."""
    decades = [s for s in found if f"{s:e}".startswith("1.0")]
    if len(found) <= most or not decades:
        return found
    if len(decades) > most:
        return decades[::-(-len(decades) // most)]
    if found[0] < decades[0] / 4:
        decades.insert(0, found[0])
    if found[-1] > decades[-1] * 4:
        decades.append(found[-1])
    return decades


def even(low: float, high: float, most: int) -> List[float]:
    """Round numbers within, evenly spaced, `most` of them at most."""
    size = 10.0 ** math.floor(math.log10((high - low) / most))
    for step in (size * m for m in (1, 2, 5, 10, 20)):
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        if last - first + 1 <= most:
            break
    return [round(i * step, 12) for i in range(first, last + 1)]


def log_axis(axis: str, low: float, high: float, label=time_label, most: int = 8) -> str:
    ends = steps(low, high)
    named = tics(axis, ((label(s), s) for s in readable(ends, most)))
    # A hair wider, or rounding drops the names at its ends.
    return (f"set logscale {axis}\n{named}\nset m{axis}tics default\n"
            f"set {axis}range [{ends[0] * 0.9999:.8g}:{ends[-1] * 1.0001:.8g}]")


# --- running it --------------------------------------------------------------------


def _prologue(wide: int, high: int) -> str:
    return (f"set encoding utf8\nset terminal svg noenhanced size {wide},{high} dynamic "
            "font 'sans-serif,12'\n"
            f"set border 3 lc {color('ink')} lw 1\nset tics nomirror scale 0.6,0.3\n"
            f"set grid lc {color('grid')} lt 1 lw 0.6 dt solid\nset key off\n"
            "set tmargin 0.8\n")


def run(commands: str, wide: int, high: int) -> str:
    """gnuplot's SVG as it writes it."""
    try:
        done = subprocess.run(["gnuplot"], input=_prologue(wide, high) + commands + "\n",
                              capture_output=True, text=True, encoding="utf-8", check=False,
                              timeout=RUN_SECONDS)
    except FileNotFoundError:
        raise Trouble("gnuplot is not here, and draws the plots; tools/deps install lab (Debian: "
                      "gnuplot-nox)") from None
    except subprocess.TimeoutExpired:
        raise Trouble(f"gnuplot drew for more than {RUN_SECONDS} s; is the machine busy?") from None
    # It goes on after an error, and tells it by words only.
    complaints = [line for line in done.stderr.splitlines()
                  if line.strip() and "warning" not in line.lower()]
    if done.returncode or "<svg" not in done.stdout:
        said = " ".join(complaints)[:300] or "no plot came"
        raise Trouble(f"gnuplot: {said}; this is a fault of the report")
    return done.stdout


def _by_variable(match: "re.Match[str]") -> str:
    attribute, red, green, blue = match.group(1), *map(int, match.groups()[1:])
    name = _NAMES.get((red, green, blue))
    if name is None:
        return f'{attribute}="#{red:02x}{green:02x}{blue:02x}"'
    return f'style="{attribute}:var(--{name})"'


def _short(coordinates: str) -> str:
    """A tenth of a unit is finer than a screen's dot."""
    return " ".join(re.sub(r"\d+\.\d+", lambda m: f"{float(m.group()):.1f}".replace(".0", ""),
                           coordinates).split())


_NAMES = {tuple(int(value[i:i + 2], 16) for i in (1, 3, 5)): name
          for name, value in PALETTE.items()}

_SLIM = [(re.compile(pattern, re.S), by) for pattern, by in (
    (r"^.*?<g id=\"gnuplot_canvas\">", "<g>"),
    (r"<defs>.*?</defs>", ""),
    (r"<rect x=\"0\" y=\"0\"[^>]*fill=\"none\"/>", ""),
    (r"<title>[^<]*</title>", ""),
    (r"(stroke|fill|color)\s*=\s*['\"]rgb\(\s*(\d+),\s*(\d+),\s*(\d+)\)['\"]", _by_variable),
    (r" class=\"gridline\"", ""),
    (r" id=\"[^\"]*\"", ""),
    (r" stroke-(linecap|linejoin)=\"[a-z]*\"", ""),
    (r" font-(family|size)=\"[^\"]*\"", ""),
    (r"<tspan\s*>|</tspan>", ""),
    (r" xml:space=\"preserve\"", ""),
    (r" color=\"(black|white|gray)\"", ""),
    (r"(stroke|fill)=['\"]black['\"]", r'\1="currentColor"'),
    (r"(stroke|fill)=['\"]gray['\"]", r'style="\1:var(--grid)"'),
    (r"(?<=[ \n])(d|transform|points)\s*=\s*(['\"])(.*?)\2",
     lambda m: f'{m.group(1)}="{_short(m.group(3))}"'),
    # The element itself has these, and what is within inherits them.
    (r" fill=\"none\" stroke=\"currentColor\"(?= stroke-width)", ""),
    (r" stroke-width=\"1.00\"", ""),
    (r" style=\"stroke:var\(--ink\)\"", ""),
    (r"style=\"fill:var\(--ink\)\"", 'fill="currentColor"'),
    (r"style=\"stroke:var\(--grid\)\"", 'class="g"'),
    (r"<g transform=\"[^\"]*\"[^>]*>\s*<text>\s*</text>\s*</g>", ""),
    (r"  +", " "),
    (r"\s*\n\s*", "\n"),
)]
_EMPTY = re.compile(r"<g[^>]*>\s*</g>\s*")


def slim(svg: str, wide: int, high: int, title: str) -> str:
    for pattern, by in _SLIM:
        svg = pattern.sub(by, svg)
    while True:
        svg, n = _EMPTY.subn("", svg)
        if not n:
            break
    label = html.escape(title, quote=True)
    return (f'<svg class="plot" viewBox="0 0 {wide} {high}" role="img" fill="none" '
            f'stroke="currentColor" aria-label="{label}">{svg}')


def draw(commands: str, title: str, wide: int = WIDE, high: int = HIGH) -> str:
    """title: what a screen reader says of it."""
    return slim(run(commands, wide, high), wide, high, title)
