#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""measure_highest.py - the rate that is asked for, or the highest one that holds

Place   experiments/rate100k.lab runs it on the client's CPU, beside a subject that is up.
Model   The aim first, for the whole time. If it does not hold, because p99.9 is above --limit-us
        or the client could not keep up, short steps look between an eighth of it and it, and what
        they find must hold for the whole time too: if not, a tenth less is tried, and so on.
Limits  At most --tries long runs after the first. Below an eighth nothing is looked for: then the
        answer is 0. A search of its own, because saker-load's --find-max would go on down to
        rates at which a step takes minutes. What short steps find too low is not found.
Units   --limit-us, and all times in the figures: microseconds. Rates: requests a second.
Errors  As loadgen.py has them. Where the client is the limit, client_limited is 1: then the
        subject may be able to do more than the figure says.
"""

import argparse
import math
from typing import Optional

import loadgen

LESS = 0.9  # of the rate, for the next try
LOWEST = 8  # the aim over this is where steps begin
NEAR = 1.1  # two steps that differ by less are one: a tenth is what a try takes off
SAMPLES = 12000  # ten beyond p99.9, and some to spare


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="measure_highest.py")
    parser.add_argument("--build", required=True)
    parser.add_argument("--run", required=True, help="folder of this run: load.json goes there")
    parser.add_argument("--path", default="/compute?n=0")
    parser.add_argument("--aim", type=float, default=100000, help="requests a second")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--step-s", type=float, default=3, help="of a step, at least")
    parser.add_argument("--limit-us", type=float, default=1000, help="that p99.9 stays below")
    parser.add_argument("--tries", type=int, default=6)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("address")
    parser.add_argument("port")
    return parser.parse_args()


class Asker:
    """saker-load with what all its runs have in common."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.url = f"http://{args.address}:{args.port}"

    def ask(self, rate: float, *options: str, keep: str = "") -> dict:
        args = self.args
        common = [f"--mix=1:{args.path}", f"--connections={args.connections}", "--spin"]
        common.append(f"--rate={rate:.0f}")
        return loadgen.run(args.build, self.url, *common, *options, keep=keep)

    def long(self, rate: float) -> dict:
        """For the whole time; the last one's result is the run's load.json."""
        return self.ask(rate, f"--seconds={self.args.seconds:g}", keep=f"{self.args.run}/load.json")

    def step_holds(self, rate: float) -> bool:
        seconds = max(self.args.step_s, SAMPLES / rate)
        return self.holds(self.ask(rate, f"--seconds={seconds:.2f}", "--warm=0.3"))

    def holds(self, result: dict) -> bool:
        """Was the whole of it answered, in time, by a client that kept up?"""
        p999 = loadgen.us(result, "latency", "p999")
        failed = any(loadgen.failures(result).values()) or result["refused"]
        if failed or not result["valid"] or p999 is None:
            return False
        return p999 < self.args.limit_us

    def highest_of_steps(self) -> float:
        low, high = self.args.aim / LOWEST, self.args.aim
        if not self.step_holds(low):
            return 0.0
        while high / low > NEAR:
            middle = math.sqrt(low * high)
            if self.step_holds(middle):
                low = middle
            else:
                high = middle
        return low

    def search(self) -> tuple[float, Optional[dict]]:
        """The highest rate that holds for the whole time, and its run; 0 and None: none does."""
        rate = self.highest_of_steps()
        for _ in range(self.args.tries if rate else 0):
            result = self.long(rate)
            if self.holds(result):
                return rate, result
            rate *= LESS
        return 0.0, None


def main() -> None:
    args = arguments()
    asker = Asker(args)
    first = asker.long(args.aim)
    rate, best = args.aim, first
    if not asker.holds(first):
        rate, best = asker.search()
    figures = {
        "held_rate": rate,
        "held_p50": best and loadgen.us(best, "latency", "p50"),
        "held_p99": best and loadgen.us(best, "latency", "p99"),
        "held_p999": best and loadgen.us(best, "latency", "p999"),
        "aim_rate": first["rate_ok"],
        "aim_p999": loadgen.us(first, "latency", "p999"),
        "client_limited": int(loadgen.client_was_late(first)),
        **loadgen.failures(*([best] if best else [])),
    }
    # An aim that the client cannot reach is a finding where a lower rate held; where none did, it
    # is the reason, and the run does not count.
    judged = {"held": best} if best else {"aim": first} if loadgen.client_was_late(first) else {}
    loadgen.done(figures, judged, aim={"invalid": first.get("invalid")})


if __name__ == "__main__":
    main()
