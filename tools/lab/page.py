# SPDX-License-Identifier: GPL-2.0-only
"""page - HTML in which nothing of the data is markup

Place   under report and compare; pure
Model   A Safe is HTML; any other value is text and is escaped where it is put in. One column, no
        script, nothing from elsewhere; what is wide scrolls in its own box; light and dark by the
        reader's system. The plots' colours are the variables that gnuplot.py names.
"""
from __future__ import annotations

import html
import re
from typing import Iterable, Sequence

import gnuplot


class Safe(str):
    """HTML as it stands."""


def safe(value) -> Safe:
    if isinstance(value, Safe):
        return value
    # What no HTML may hold, not even escaped.
    return Safe(html.escape(re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f]", "\ufffd", str(value))))


def join(parts: Iterable) -> Safe:
    return Safe("".join(safe(part) for part in parts))


def tag(name: str, *parts, **attributes) -> Safe:
    """tag("td", 5, class_="n")"""
    said = "".join(f' {key.rstrip("_").replace("_", "-")}="{html.escape(str(value))}"'
                   for key, value in attributes.items() if value is not None)
    return Safe(f"<{name}{said}>{join(parts)}</{name}>")


def rows(body: Iterable[Sequence], head: bool = True) -> Safe:
    """head: the first cell of each names the row."""
    made = []
    for row in body:
        first = tag("th", row[0], scope="row") if head else tag("td", row[0])
        made.append(tag("tr", first, *(tag("td", one) for one in row[1:])))
    return join(made)


def table(columns: Sequence, *bodies: Safe, class_: str = "") -> Safe:
    """A focusable box, so that it scrolls from a keyboard too."""
    head = tag("thead", tag("tr", *(tag("th", c, scope="col") for c in columns))) if columns else ""
    return tag("div", tag("table", head, *(tag("tbody", body) for body in bodies), class_=class_),
               class_="wide", tabindex="0", role="region", aria_label="table")


def section(name: str, title: str, *parts) -> Safe:
    return tag("section", tag("h2", title), *parts, id=name)


def details(summary, *parts, open_: bool = False) -> Safe:
    return tag("details", tag("summary", summary), *parts, open="" if open_ else None)


def paragraph(*parts, class_=None) -> Safe:
    return tag("p", *parts, class_=class_)


def listing(items: Iterable) -> Safe:
    return tag("ul", *(item if isinstance(item, Safe) and item.startswith("<li") else
                       tag("li", item) for item in items))


def legend(entries: Iterable[Sequence[str]]) -> Safe:
    """(colour's name, text) of each."""
    return tag("ul", *(tag("li", tag("i", style=f"background:var(--{color})"), text)
                       for color, text in entries), class_="legend")


def picture(title, svg: str, caption="", key: Safe = Safe("")) -> Safe:
    return tag("figure", tag("figcaption", tag("b", title)), key, Safe(svg),
               tag("p", caption, class_="note") if caption else "")


def grid(pictures: Iterable[Safe]) -> Safe:
    return tag("div", *pictures, class_="grid")


DARK = {
    "s0": "#a3a7ad", "s1": "#5aaee6", "s2": "#f0803c", "s3": "#3cc79a", "s4": "#e59cc4",
    "s5": "#f0b840", "s6": "#8fd0f7", "s7": "#d2c24a",
    "k0": "#8a7fd0", "k1": "#5f93cf", "k2": "#3fb3aa", "k3": "#86cf72", "k4": "#f0df5a",
    "grid": "#3a3d42", "ink": "#e4e6e8",
}


def _variables(colors) -> str:
    return "".join(f"--{name}:{value};" for name, value in colors.items())


STYLE = """
:root{color-scheme:light dark;%s--paper:#fff;--soft:#f5f6f7;--rule:#dcdee1;--dim:#5c6167;
--good:#00694c;--bad:#a84300}
@media (prefers-color-scheme:dark){:root{%s--paper:#16181c;--soft:#1f2227;--rule:#363a40;
--dim:#a4a9b0;--good:#4fd0a5;--bad:#ff9b61}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%%}
body{margin:0 auto;max-width:74rem;padding:1.2rem 1rem 4rem;background:var(--paper);
color:var(--ink);font:16px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
h1{font-size:1.7rem;line-height:1.2;margin:.4rem 0 .6rem}
h2{font-size:1.2rem;margin:2.4rem 0 .7rem;padding-top:.7rem;border-top:1px solid var(--rule)}
h3{font-size:1rem;margin:1.4rem 0 .4rem}
p{max-width:46rem;margin:.5rem 0}
.question{font-size:1.15rem}
.meta,.note,small{color:var(--dim)}
.note,small{font-size:.82rem}
ul{padding-left:1.2rem;margin:.5rem 0}
.verdicts{list-style:none;padding:0}
.verdicts li{border-left:4px solid var(--s0);padding:.3rem .7rem;margin:.35rem 0;
background:var(--soft)}
.verdicts li.faster{border-color:var(--good)}
.verdicts li.slower{border-color:var(--bad)}
.verdicts li.invalid{border-left-style:dotted}
.verdicts small{display:inline-block}
.faster small.ratio,.met{color:var(--good)}
.slower small.ratio,.missed{color:var(--bad)}
.met,.missed{font-weight:600}
.unpaired{display:inline-block;border:2px solid var(--bad);color:var(--bad);font-weight:700;
padding:0 .5rem;letter-spacing:.06em}
.warning{border:2px solid var(--bad);padding:.3rem .7rem;font-weight:600}
.wide{overflow-x:auto;margin:.6rem 0;max-width:100%%}
.wide:focus-visible{outline:2px solid var(--s1)}
table{border-collapse:separate;border-spacing:0;font-size:.92rem;font-variant-numeric:tabular-nums;
overflow-wrap:normal}
th,td{text-align:left;vertical-align:top;padding:.35rem .9rem .35rem 0;
border-bottom:1px solid var(--rule)}
th{font-weight:600}
thead th{border-bottom:2px solid var(--rule);white-space:nowrap}
tr.facet th{padding-top:1rem;border-bottom-color:var(--dim)}
.figures td,.figures thead th+th{text-align:right;white-space:nowrap;padding-left:.6rem}
.figures small{display:block;line-height:1.35}
.figures th[scope=row]{font-weight:400;white-space:nowrap}
.figures td.published{white-space:normal;min-width:11rem;text-align:left;padding-left:1.2rem}
.figures span.published{padding-left:.6rem;display:block;text-align:left}
.figures th[scope=row]{position:sticky;left:0;background:var(--paper)}
.figures thead i,.legend i{display:inline-block;width:.8em;height:.8em;border-radius:2px;
margin-right:.4em}
.commands td,.commands th,code{font-family:ui-monospace,monospace;font-size:.85em}
.commands td{min-width:22rem}
.facts td{min-width:14rem}
.grid{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%%,27rem),1fr));
gap:1.2rem 2rem}
.grid figure:only-child{grid-column:1/-1}
figure{margin:.8rem 0;min-width:0}
.legend{list-style:none;display:flex;flex-wrap:wrap;gap:.1rem 1rem;padding:0;margin:.3rem 0;
font-size:.88rem}
.plot{display:block;width:100%%;max-width:36rem;height:auto;font:12px system-ui,sans-serif;
color:var(--ink)}
.plot .g{stroke:var(--grid)}
.plot image{image-rendering:pixelated}
.symbols{position:absolute}
.ramp{display:inline-block;width:8rem;height:.7em;margin:0 .4em;
background:linear-gradient(90deg,%s)}
details{margin:.6rem 0}
summary{cursor:pointer;font-weight:600;padding:.25rem 0}
a{color:var(--s1)}
@media (max-width:30rem){body{padding:.8rem .8rem 3rem}h1{font-size:1.35rem}
th,td{padding-right:.7rem}}
@media print{details>*{display:block}.wide{overflow:visible}}
""" % (_variables(gnuplot.PALETTE), _variables(DARK), ",".join(gnuplot.HEAT))


def page(title: str, *parts) -> str:
    return ("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
            "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
            "<link rel=\"icon\" href=\"data:,\">\n"
            f"<title>{safe(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
            f"{gnuplot.SYMBOLS}\n{join(parts)}\n</body>\n</html>\n")
