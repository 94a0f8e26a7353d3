#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""measure_overload.py - more is asked than can be computed

Place   experiments/overload.lab runs it on the client's CPU, beside a subject that is up.
Model   Three loads, one after another: closed, with as many connections as there are lanes, which
        gives the capacity; a tenth of it, which is `unloaded`; and --share of it (1.5), with so
        many connections that it is the server who says no.
Limits  The unloaded run lasts as long as a p99 needs, 40 s at most; where that is not enough the
        ratio is absent.
Units   Figures: per second, microseconds.
Errors  As loadgen.py has them.
"""

import argparse

import loadgen

P99_SAMPLES = 1100  # ten beyond the 99th percentile, and some to spare
UNLOADED_S = (1.0, 40.0)
CONNECTIONS = 200  # more than 64 lanes and a queue of 2 ms take; the socket rung has 256


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="measure_overload.py")
    parser.add_argument("--build", required=True)
    parser.add_argument("--run", required=True, help="folder of this run: load.json goes there")
    parser.add_argument("--path", default="/compute", help="what is asked for")
    parser.add_argument("--lanes", type=int, default=64, help="requests that it has at once")
    parser.add_argument("--share", type=float, default=1.5, help="of the capacity")
    parser.add_argument("--capacity-s", type=float, default=3)
    parser.add_argument("--seconds", type=float, default=20, help="of overload")
    parser.add_argument("address")
    parser.add_argument("port")
    return parser.parse_args()


def unloaded_s(rate: float) -> float:
    """How long a tenth must last."""
    least, most = UNLOADED_S
    return min(most, max(least, P99_SAMPLES / rate))


def main() -> None:
    args = arguments()
    url = f"http://{args.address}:{args.port}"
    mix = f"--mix=1:{args.path}"

    def ask(*options: str, keep: str = "") -> dict:
        return loadgen.run(args.build, url, mix, *options, keep=keep)

    capacity = ask("--closed", f"--connections={args.lanes}", f"--seconds={args.capacity_s}")
    rate = capacity["rate_ok"]
    if not rate:
        loadgen.die(f"{url}{args.path}: nothing was answered: is that a /compute?")
    unloaded = ask(
        f"--rate={rate / 10:.3f}",
        f"--connections={args.lanes}",
        f"--seconds={unloaded_s(rate / 10):.1f}",
    )
    over = ask(
        f"--rate={rate * args.share:.3f}",
        f"--connections={CONNECTIONS}",
        f"--seconds={args.seconds}",
        keep=f"{args.run}/load.json",
    )
    figures = {
        "capacity": rate,
        "unloaded_p99": loadgen.us(unloaded, "latency", "p99"),
        "accepted_p50": loadgen.us(over, "latency", "p50"),
        "accepted_p99": loadgen.us(over, "latency", "p99"),
        "accepted_ratio": loadgen.ratio(
            loadgen.us(over, "latency", "p99"), loadgen.us(unloaded, "latency", "p99")
        ),
        "accepted_rate": over["rate_ok"],
        "refused_p50": loadgen.us(over, "refusal", "p50"),
        "refused_p99": loadgen.us(over, "refusal", "p99"),
        "refused_share": over["refused"] / over["requests"] if over["requests"] else None,
        **loadgen.failures(capacity, unloaded, over),
    }
    loadgen.done(figures, {"capacity": capacity, "unloaded": unloaded, "overload": over})


if __name__ == "__main__":
    main()
