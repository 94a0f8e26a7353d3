# SPDX-License-Identifier: GPL-2.0-only
"""figure - one number of a run: where it stands, in which unit, and which way is better

Place   pure; experiment reads the `figure` lines, store looks the paths up
Model   PATH          in
        a.b.c         load.json, else measure.json
        stages:S.F    the stage S of stages.json, since the mark
        counters:N    a counter of stages.json, since the mark
        probe:COL.AGG a column of probe.csv
        run:NAME      run.json
Units   A time in load.json is in ns by definition; elsewhere the end of the name tells it
        (_ns, _us, _ms, _s, _kb). It comes in the figure's unit where one converts to the other.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, Optional

TIMES = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
SIZES = {"B": 1.0, "KiB": 1024.0, "MiB": 1048576.0, "kB": 1e3, "MB": 1e6}
AGGREGATES = ("max", "min", "mean", "first", "last", "rise", "delta")

# Members of load.json that hold times.
IN_NS = ("latency", "service", "outside", "lag", "floor", "refusal", "connect")


@dataclass(frozen=True)
class Figure:
    name: str
    path: str
    unit: str
    better: str
    text: str


def _latency(name: str, text: str) -> Figure:
    return Figure(name, "latency." + name, "us", "lower", text)


BUILT_IN: Dict[str, Figure] = {f.name: f for f in (
    _latency("mean", "mean latency, from when the send was due; closed loop: from the send"),
    _latency("p50", "median latency, from when the send was due; closed loop: from the send"),
    _latency("p90", "90 % of the answers came within"),
    _latency("p95", "95 % of the answers came within"),
    _latency("p99", "99 % of the answers came within"),
    _latency("p999", "99.9 % of the answers came within"),
    _latency("max", "the slowest answer"),
    Figure("rate_ok", "rate_ok", "1/s", "higher", "right answers in a second"),
    Figure("refused", "refused", "requests", "lower", "answered with 503"),
    Figure("errors", "errors", "requests", "lower", "not answered, or not as HTTP wants it"),
    Figure("wrong", "wrong", "requests", "lower", "answered with a wrong hash"),
    Figure("outside_p50", "outside.p50", "us", "lower",
           "median of the latency without the server's own part: network, NIC, kernel"),
    Figure("outside_p99", "outside.p99", "us", "lower",
           "99 % of the latency without the server's own part: network, NIC, kernel"),
    Figure("pss_kb", "run:pss_kb", "KiB", "lower",
           "memory of all the subject's processes, shared pages by share (PSS)"),
)}


def wrong_path(path: str) -> Optional[str]:
    """What is wrong with it, if anything."""
    kind, colon, rest = path.partition(":")
    if not colon:
        return None if all(path.split(".")) else "a part of it is empty"
    if kind == "probe":
        column, _, aggregate = rest.rpartition(".")
        if not column or aggregate not in AGGREGATES:
            return "wants probe:COLUMN.AGGREGATE, one of " + " ".join(AGGREGATES)
        return None
    if kind == "stages":
        return None if "." in rest else "wants stages:STAGE.FIELD, such as stages:total.p99_ns"
    if kind in ("counters", "run"):
        return None if rest else "wants a name behind the colon"
    return "no such place; there are stages: counters: probe: run:, else it is in load.json"


def source_unit(path: str) -> Optional[str]:
    kind, colon, rest = path.partition(":")
    first, _, last = (rest if colon else path).rpartition(".")
    if kind == "probe" and colon:
        last = first
    for end, unit in (("_ns", "ns"), ("_us", "us"), ("_ms", "ms"), ("_s", "s"), ("_kb", "KiB")):
        if last.endswith(end):
            return unit
    parts = path.split(".")
    if parts[0] == "mix":
        parts = parts[2:]
    return "ns" if len(parts) == 2 and parts[0] in IN_NS and parts[1] != "count" else None


def factor(source: Optional[str], unit: str) -> Optional[float]:
    """By how much to multiply; None: the two do not convert."""
    if source is None or source == unit:
        return 1.0
    for units in (TIMES, SIZES):
        if source in units and unit in units:
            return units[source] / units[unit]
    return None
