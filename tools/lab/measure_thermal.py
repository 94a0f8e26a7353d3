#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""measure_thermal - temperature, frequency, tail and L1I refills, second by second

Usage   measure_thermal.py [OPTIONS] ADDRESS PORT [LOAD OPTIONS...]
        measure_thermal.py --replay=FOLDER
Place   the `thermal` experiment; the client's side, beside a responder that runs
Model   At rest for --idle seconds, then under the load; saker-probe over both. The rows of
        the seconds go into bins of BIN_C degrees and of the frequency's hundreds: a table of
        temperature x frequency x tail x refills. The tail of a second is its p99 where the
        second has the requests for one, else its slowest answer, and "tail" says which.
Limits  Without a temperature it is skipped, with the reason. Cool and hot are the thirds of
        the seconds with the lowest and the highest temperature; of less than RISE_C between
        them no ratio is made: nothing got warm.
Units   degrees C, MHz, us
"""
from __future__ import annotations

from collections import defaultdict
from typing import Any, Dict, List, Optional, Sequence, Tuple

import watched
from measured import Figures, die, finish, median, skip
from watched import Row, Watch

BIN_C = 2.0
RISE_C = 2.0
LEAST_SECONDS = 6


def values(rows: Sequence[Row], name: str) -> List[float]:
    return [r[name] for r in rows if r.get(name) is not None]


def tail_name(rows: Sequence[Row]) -> str:
    return "p99_us" if len(values(rows, "p99_us")) * 2 > len(rows) else "max_us"


def thirds(rows: Sequence[Row]) -> Tuple[List[Row], List[Row]]:
    """The coolest and the hottest."""
    ordered = sorted(rows, key=lambda r: r["temp_c"])
    count = max(1, len(ordered) // 3)
    return ordered[:count], ordered[-count:]


def per_degree(rows: Sequence[Row], name: str) -> Optional[float]:
    """The slope of a straight line through it (least squares)."""
    points = [(r["temp_c"], r[name]) for r in rows if r.get(name) is not None]
    if len(points) < 2:
        return None
    mid_x = sum(x for x, _ in points) / len(points)
    mid_y = sum(y for _, y in points) / len(points)
    spread = sum((x - mid_x) ** 2 for x, _ in points)
    return sum((x - mid_x) * (y - mid_y) for x, y in points) / spread if spread else None


def table(rows: Sequence[Row], tail: str) -> List[Dict[str, Any]]:
    bins: Dict[Tuple[float, Optional[float]], List[Row]] = defaultdict(list)
    for row in rows:
        freq = row.get("freq_mhz")
        bins[(row["temp_c"] // BIN_C * BIN_C, freq and round(freq, -2))].append(row)
    return [{"temp_c": temp, "freq_mhz": freq, "seconds": len(some),
             "tail_us": median(values(some, tail)), "p50_us": median(values(some, "p50_us")),
             "l1i_refills_per_request": median(values(some, "l1i_refills_per_request"))}
            for (temp, freq), some in sorted(bins.items(), key=lambda b: (b[0][0], b[0][1] or 0))]


def figures_of(watch: Watch, rows: Sequence[Row], tail: str) -> Figures:
    idle = watched.mean(watched.before(watch), "temp_c")
    temps, freqs = values(rows, "temp_c"), values(rows, "freq_mhz")
    cool, hot = thirds(rows)
    apart = median(values(hot, "temp_c")) - median(values(cool, "temp_c"))
    cool_tail, hot_tail = median(values(cool, tail)), median(values(hot, tail))
    ratio = hot_tail / cool_tail if apart >= RISE_C and cool_tail and hot_tail else None
    return {"temp_idle_c": idle, "temp_max_c": max(temps),
            "rise_c": None if idle is None else max(temps) - idle,
            "freq_min_mhz": min(freqs) if freqs else None,
            "freq_max_mhz": max(freqs) if freqs else None,
            "p99_us": watched.us(watch.load["latency"]["p99"]),
            "tail_cool_us": cool_tail, "tail_hot_us": hot_tail, "tail_hot_over_cool": ratio,
            "tail_us_per_c": per_degree(rows, tail) if ratio else None,
            "l1i_refills_per_request": median(values(rows, "l1i_refills_per_request")),
            "l1i_hot": median(values(hot, "l1i_refills_per_request")),
            "throttled_s": float(sum(v > 0 for v in values(rows, "throttled_now")))
            if values(rows, "throttled_now") else None}


def tell(watch: Watch, freq: Optional[str]) -> None:
    if not watched.column(watch.rows, "temp_c"):
        skip(watch.absent.get("temperature", "the probe has no temperature"))
    rows = [r for r in watched.seconds(watch, freq) if r["temp_c"] is not None]
    if len(rows) < LEAST_SECONDS:
        die(f"{len(rows)} seconds have both requests and a temperature, {LEAST_SECONDS} are the "
            "least: give the load more --seconds")
    tail = tail_name(rows)
    finish(figures_of(watch, rows, tail), watch.load["invalid"], replayed=watch.replayed,
           tail="p99 of a second" if tail == "p99_us" else "slowest answer of a second",
           table=table(rows, tail), seconds=rows, absent=watch.absent)


def main() -> None:
    parser = watched.options(__doc__.split("\n")[0], "5")
    parser.add_argument("--pid", help="whose counters: the responder's")
    parser.add_argument("--server-cpu", default="", help="and off the server's; its frequency")
    args = parser.parse_args()
    freq = f"freq_mhz_cpu{args.server_cpu or 0}"
    if args.replay:
        tell(watched.replay(args.replay), freq)
    if not args.port:
        parser.error("wanted: ADDRESS PORT [LOAD OPTIONS...], or --replay=FOLDER")
    probe = [f"--hz={args.hz}"] + [f"--{n}={v}" for n in ("pid", "root")
                                   for v in [getattr(args, n)] if v]
    watched.skip_without(args.build, probe, "temperature")
    tell(watched.run(args.build, args.run, args.idle, f"http://{args.address}:{args.port}",
                     args.load, probe, (args.cpu, args.server_cpu)), freq)


if __name__ == "__main__":
    main()
