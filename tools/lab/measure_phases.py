#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""measure_phases - the start of the responder by its phases

Usage   measure_phases.py [OPTIONS] ADDRESS PORT SERVER...
Place   the `pages` experiment; in the responder's namespaces, as root
Model   measure-first sees it from outside, by one clock: first answer, and `saker: ready`.
        The responder's map `mode` says the same from inside, from main on: listening, and
        bypass in effect. What is before main (fork, exec, the dynamic linker) is the rest.
Limits  `before_main_ms` has the way of the ready line through the pipe in it too, and is a
        difference: some 0.1 ms of it are not to be believed
Units   ms
"""
from __future__ import annotations

import argparse
import shlex
from typing import Any, Dict

from measured import Figures, call, cpu_options, finish, program


def phases(seen: Dict[str, Any], mode: Dict[str, Any]) -> Figures:
    def ms(end: str) -> float:
        return (mode[end] - mode["started_ns"]) / 1e6

    bypass = ms("ready_ns") if mode["ready_ns"] else None
    return {"first_answer_ms": seen["first_answer_ms"], "bypass_ms": seen["bypass_ms"],
            "listening_inside_ms": ms("listening_ns"), "bypass_inside_ms": bypass,
            "attach_ms": bypass and bypass - ms("listening_ns"),
            "before_main_ms": bypass and seen["bypass_ms"] - bypass,
            "minflt": seen["minflt"], "majflt": seen["majflt"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0], allow_abbrev=False)
    parser.add_argument("--build", default="build", help="where measure-first and saker-stat are")
    parser.add_argument("--iface", required=True, help="the responder's")
    parser.add_argument("--cpu", help="that asks")
    parser.add_argument("--server-cpu", help="of the responder")
    parser.add_argument("address")
    parser.add_argument("port")
    parser.add_argument("server", nargs=argparse.REMAINDER, help="its command")
    args = parser.parse_args()
    if not args.server:
        parser.error("wanted: ADDRESS PORT SERVER...")
    stat = shlex.join([program(args.build, "saker-stat"), "-i", args.iface, "--json"])
    said = call([program(args.build, "measure-first"), "--bypass", f"--after={stat}",
                 *cpu_options(args.cpu, args.server_cpu), args.address, args.port, *args.server],
                may=(0, 3))
    mode = said["after"]["mode"]
    finish(phases(said["figures"], mode), said["invalid"], rung=mode["rung"], ready=said["ready"])


if __name__ == "__main__":
    main()
