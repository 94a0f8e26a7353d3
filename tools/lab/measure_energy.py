#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""measure_energy - joules of a request, and requests of a joule

Usage   measure_energy.py [OPTIONS] ADDRESS PORT [LOAD OPTIONS...]
        measure_energy.py --replay=FOLDER
Place   the `energy` experiment; the client's side, beside a responder that runs
Model   At rest for --idle seconds, then under the load, saker-probe over both; the area is
        saker-probe --energy's. A request's joules are all that the board took during the load
        by the requests that were answered; `over_idle` leaves out what it takes at rest, with
        the responder running. Requests a second per watt is the same number upside down.
Limits  Without a PMIC and without a meter's file it is skipped. What the PMIC's rails leave
        out (converters, 5 V) is in neither; `source` says which it was. From files that
        somebody recorded, "replayed" is true: then it shows the arithmetic, and no board.
Units   J, W, 1/s per W
"""
from __future__ import annotations

from typing import Any, Dict, List, Optional

import watched
from measured import Figures, call, die, finish, program, skip
from watched import Watch


def area(build: str, watch: Watch, begin: float, end: float, requests: int) -> Dict[str, Any]:
    options = [f"--requests={requests}"] if requests else []
    return call([program(build, "saker-probe"), f"--energy={watch.csv}", f"--from={int(begin)}",
                 f"--to={int(end)}", *options])


def figures_of(load: Dict[str, Any], under: Dict[str, Any],
               rest: Optional[Dict[str, Any]]) -> Figures:
    idle = rest and rest["mean_watts"]
    over = None if idle is None else under["joules"] - idle * under["seconds"]
    return {"watts": under["mean_watts"], "watts_idle": idle, "joules": under["joules"],
            "joules_per_request": under["joules_per_request"],
            "millijoules_over_idle": None if over is None else over / load["ok"] * 1e3,
            "requests_per_s_per_watt": under["requests_per_s_per_watt"],
            "rate_ok": load["rate_ok"], "p99_us": watched.us(load["latency"]["p99"]),
            "readings": under["readings"]}


def tell(build: str, watch: Watch) -> None:
    if not watched.column(watch.rows, "power_w", "watts"):
        skip("no power: PMIC: " + watch.absent.get("pmic", "not in the file") + "; meter: "
             + watch.absent.get("power", "not in the file"))
    load = watch.load
    if not load["ok"]:
        die("no request was answered: there is nothing to divide by")
    under = area(build, watch, load["started_unix_ns"], load["ended_unix_ns"], load["ok"])
    still: List[watched.Row] = watched.before(watch)
    rest = area(build, watch, still[0]["unix_ns"], still[-1]["unix_ns"], 0) \
        if len(still) > 1 else None
    finish(figures_of(load, under, rest), load["invalid"], replayed=watch.replayed,
           source=under["source"], longest_gap_ns=under["longest_gap_ns"], absent=watch.absent)


def main() -> None:
    parser = watched.options(__doc__.split("\n")[0], "10")
    parser.add_argument("--power", help="a meter's CSV file, as saker-probe --power takes it")
    parser.add_argument("--server-cpu", help="and off the server's")
    args = parser.parse_args()
    if args.replay:
        tell(args.build, watched.replay(args.replay))
    if not args.port:
        parser.error("wanted: ADDRESS PORT [LOAD OPTIONS...], or --replay=FOLDER")
    probe = [f"--hz={args.hz}"] + [f"--{n}={v}" for n in ("power", "root")
                                   for v in [getattr(args, n)] if v]
    watched.skip_without(args.build, probe, "pmic", "power")
    tell(args.build, watched.run(args.build, args.run, args.idle,
                                 f"http://{args.address}:{args.port}", args.load, probe,
                                 (args.cpu, args.server_cpu)))


if __name__ == "__main__":
    main()
