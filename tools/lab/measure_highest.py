#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""measure_highest.py - the rate that is asked for, or the highest one that holds

Place   experiments/rate100k.lab runs it on the client's CPU, beside a subject that is up.
Model   The aim first, for the whole time. If its p99.9 is above --limit-us, or the client
        could not keep up, --find-max looks below it in short steps, and what it finds must hold
        for the whole time too: if not, a tenth less is tried, and so on.
Limits  At most TRIES long runs after the first. What short steps find too low is not found.
Units   --limit-us, and all times in the figures: microseconds. Rates: requests a second.
Errors  As loadgen.py has them. Where the client is the limit, client_limited is 1: then the
        subject may be able to do more than the figure says.
"""

import argparse
from typing import Optional

import loadgen

TRIES = 6
LESS = 0.9  # of the rate, for the next try
FROM = 8  # the search begins at the aim over this: a p99.9 needs some thousands of answers a step


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="measure_highest.py")
    parser.add_argument("--build", required=True)
    parser.add_argument("--run", required=True, help="folder of this run: load.json goes there")
    parser.add_argument("--path", default="/compute?n=0")
    parser.add_argument("--aim", type=float, default=100000, help="requests a second")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--step-s", type=float, default=3, help="of a step of --find-max")
    parser.add_argument("--limit-us", type=float, default=1000, help="that p99.9 stays below")
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("address")
    parser.add_argument("port")
    return parser.parse_args()


class Asker:
    """saker-load with what all its runs have in common."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.url = f"http://{args.address}:{args.port}"

    def ask(self, *options: str, seconds: float, keep: str = "") -> dict:
        args = self.args
        common = [f"--mix=1:{args.path}", f"--connections={args.connections}", "--spin", f"--seconds={seconds:g}"]
        return loadgen.run(args.build, self.url, *common, *options, keep=keep)

    def long(self, rate: float) -> dict:
        """For the whole time; the last one's result is the run's load.json."""
        return self.ask(f"--rate={rate:.0f}", seconds=self.args.seconds, keep=f"{self.args.run}/load.json")

    def highest_of_steps(self) -> float:
        args = self.args
        condition = f"--find-max=p99.9<{args.limit_us:g}us"
        found = self.ask(
            condition, f"--rate={args.aim / FROM:.0f}", f"--max-rate={args.aim:.0f}", "--warm=0.3",
            seconds=args.step_s,
        )
        return (found.get("find_max") or {}).get("rate") or 0.0


def holds(result: dict, limit_us: float) -> bool:
    """Was the whole of it answered, in time, by a client that kept up?"""
    p999 = loadgen.us(result, "latency", "p999")
    failed = any(loadgen.failures(result).values())
    return bool(result["valid"]) and not failed and p999 is not None and p999 < limit_us


def search(asker: Asker, limit_us: float) -> tuple[float, Optional[dict]]:
    """The highest rate that holds for the whole time, and its run; 0 and None: none does."""
    rate = asker.highest_of_steps()
    for _ in range(TRIES):
        if rate < 1:
            break
        result = asker.long(rate)
        if holds(result, limit_us):
            return rate, result
        rate *= LESS
    return 0.0, None


def main() -> None:
    args = arguments()
    asker = Asker(args)
    first = asker.long(args.aim)
    rate, best = args.aim, first
    if not holds(first, args.limit_us):
        rate, best = search(asker, args.limit_us)
    figures = {
        "held_rate": rate,
        "held_p50": best and loadgen.us(best, "latency", "p50"),
        "held_p99": best and loadgen.us(best, "latency", "p99"),
        "held_p999": best and loadgen.us(best, "latency", "p999"),
        "aim_rate": first["rate_ok"],
        "aim_p999": loadgen.us(first, "latency", "p999"),
        "client_limited": int(not first["valid"]),
        **loadgen.failures(*([best] if best else [])),
    }
    # An aim that the client cannot reach is a finding, not a fault of the run that holds.
    loadgen.done(figures, {"held": best} if best else {}, aim={"invalid": first.get("invalid")})


if __name__ == "__main__":
    main()
