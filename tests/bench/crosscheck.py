#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""crosscheck.py RAW - the table of crosscheck.sh

Place    Behind crosscheck.sh, which has measured; RAW is its crosscheck.jsonl.
Model    A row compares a figure of saker-load with arithmetic or with another tool: the
         median of the rounds (steady: the least), and whether the difference is within the row's limit.
Units    RAW ns, but stops, which are seconds; the table ms or us.
Errors   Status 1 when a row is beyond its limit.
"""

from __future__ import annotations

import json
import statistics
import sys
from typing import Callable

RATE = 200  # of the stop test


def read(path: str) -> dict:
    """(part, rate, tool) -> the rounds' values."""
    rounds: dict = {}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            one = json.loads(line)
            rounds.setdefault((one["part"], one["rate"], one["tool"]), []).append(one["value"])
    return rounds


class Table:
    def __init__(self) -> None:
        self.rows: list[list[str]] = []
        self.good = True

    def row(self, what: str, ours: list[float], theirs: list[float], unit: float, limits: str,
            within: Callable[[float, float], bool],
            of: Callable[[list[float]], float] = statistics.median) -> None:
        """Values in ns; unit: ns of what is shown."""
        if not ours or not theirs:
            return
        a, b = of(ours), of(theirs)
        good = within(a, b)
        self.good &= good
        name = {1e6: "ms", 1e3: "us"}[unit]
        self.rows.append([what, f"{a / unit:.2f} {name}", f"{b / unit:.2f} {name}",
                          f"{(a / b - 1) * 100:+.2f} %", limits, "yes" if good else "NO"])

    def show(self) -> None:
        head = ["what", "saker-load", "reference", "difference", "limit", "within"]
        lines = [head, ["---"] * len(head), *self.rows]
        for line in lines:
            print("| " + " | ".join(line) + " |")


def share(limit: float, floor_ns: float = 0) -> Callable[[float, float], bool]:
    return lambda a, b: abs(a - b) <= max(limit * b, floor_ns)


def at_phase_zero(runs: list[dict], stops: list[float]) -> list[float]:
    """p99 as if the first request had been due when the stop began."""
    return [run["p99"] - run["max"] + stop * 1e9 for run, stop in zip(runs, stops)]


def stop_rows(table: Table, rounds: dict) -> None:
    ours, stops = rounds.get(("stop", RATE, "saker-load"), []), rounds.get(("stop", RATE, "stopped"), [])
    table.row("stop of 1 s in 20: mean, arithmetic", [r["mean"] for r in ours],
              [s * s / 2 / 20 * 1e9 + r["p50"] for s, r in zip(stops, ours)], 1e6, "1 %", share(0.01))
    # 1 % of 20 s is 200 ms; on average half a gap of 5 ms less.
    table.row("stop of 1 s in 20: p99, arithmetic", [r["p99"] for r in ours],
              [s * 1e9 - 0.2025e9 for s in stops], 1e6, "1 %", share(0.01))
    table.row("stop of 1 s in 20: p99 at phase 0, wrk2", at_phase_zero(ours, stops),
              at_phase_zero(rounds.get(("stop", RATE, "wrk2"), []), stops), 1e6, "1 ms",
              lambda a, b: abs(a - b) <= 1e6)
    table.row("stop of 1 s in 10, a connection each: mean, httperf",
              [r["mean"] for r in rounds.get(("stop", RATE, "saker-load-new"), [])],
              [r["mean"] for r in rounds.get(("stop", RATE, "httperf"), [])], 1e6, "5 %", share(0.05))


def steady_rows(table: Table, rounds: dict, rate: int) -> None:
    table.row(f"{rate:,}/s, a connection each: mean, httperf",
              [r["mean_from_connect"] for r in rounds.get(("steady", rate, "saker-load-new"), [])],
              [r["mean"] for r in rounds.get(("steady", rate, "httperf"), [])], 1e3, "5 % or 50 us",
              share(0.05, 50e3), min)
    for name in ("p50", "p90", "p99"):
        table.row(f"{rate:,}/s, one connection: service {name}, h2load's log",
                  [r["service"][name] for r in rounds.get(("steady", rate, "saker-load"), [])
                   if r["service"][name] is not None],
                  [r[name] for r in rounds.get(("steady", rate, "h2load"), [])], 1e3, "5 % or 10 us",
                  share(0.05, 10e3), min)


def main() -> int:
    if len(sys.argv) != 2:
        print("crosscheck.py: wanted the path of crosscheck.jsonl", file=sys.stderr)
        return 2
    rounds, table = read(sys.argv[1]), Table()
    stop_rows(table, rounds)
    for rate in (200, 5000):
        steady_rows(table, rounds, rate)
    table.show()
    return 0 if table.good and table.rows else 1


if __name__ == "__main__":
    sys.exit(main())
