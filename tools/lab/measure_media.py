#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""measure_media - a start with the program out of the page cache, beside a model of it

Usage   measure_media.py [OPTIONS] ADDRESS PORT SERVER...
Place   the `media` experiment; in the responder's namespaces, as root
Model   The program is copied to the medium. Each round starts the copy warm, takes it out of
        the page cache (measure-media looks that it is out), and starts it again. The model of
        the second start is made of things that are measured without it:
            warm start + (1 + major faults) x latency + bytes read / bandwidth
        The 1 is exec, which reads the head of the program itself: no fault. Latency: one
        16 KiB block at random less its transfer; bandwidth: reading on and on. Faults and
        bytes are those of that start; so the model is of what waiting costs, not of how
        often the kernel waits.
Limits  The program only: the libraries stay where they are, others have them mapped. A start
        that read nothing is invalid: then it was not cold.
Units   ms, KiB, MB/s (10^6), us; error_pct is (model - measured) / measured without its sign
"""
from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any, Dict, List

from measured import Figures, call, cpu_options, die, finish, median, program

TRIES = 40              # of 50 ms: processes of the round before go away
EXEC_READS = 1
MAPPED = 1              # status of measure-media: not all of it went out
MIB, READS = 16, 400    # of the scratch file; a microSD at 80 MB/s takes under a second


def model_ms(warm_ms: float, majflt: float, read_kib: float, latency_us: float,
             seq_mb_sec: float) -> float:
    waits_ms = (EXEC_READS + majflt) * latency_us / 1e3
    return warm_ms + waits_ms + read_kib * 1024 / (seq_mb_sec * 1e6) * 1e3


def error_pct(model: float, measured: float) -> float:
    return (model - measured) / measured * 100


def fitted(medium: Dict[str, float], warm: List[Dict[str, float]],
           cold: List[Dict[str, float]]) -> Figures:
    """Medians over the rounds; the model is made for each cold start by itself."""
    warm_ms = median([w["first_answer_ms"] for w in warm])
    models = [model_ms(warm_ms, c["majflt"], c["read_kib"], medium["latency_us"],
                       medium["seq_mb_sec"]) for c in cold]
    errors = [error_pct(m, c["first_answer_ms"]) for m, c in zip(models, cold)]
    evicted_ms = median([c["first_answer_ms"] for c in cold])
    return {"warm_ms": warm_ms, "evicted_ms": evicted_ms, "cost_ms": evicted_ms - warm_ms,
            "model_ms": median(models), "error_signed_pct": median(errors),
            "error_pct": median([abs(e) for e in errors]),
            "majflt": median([c["majflt"] for c in cold]),
            "read_kib": median([c["read_kib"] for c in cold]),
            "seq_mb_sec": medium["seq_mb_sec"], "latency_us": medium["latency_us"],
            "random_p50_us": medium["random_p50_us"]}


class Start:
    """One program, copied to the medium, started by measure-first."""

    def __init__(self, args: argparse.Namespace, folder: str):
        source = shutil.which(args.server[0])
        if not source:
            die(f"{args.server[0]}: no such program: name one, or its path")
        self.copy = os.path.join(folder, os.path.basename(source))
        shutil.copy2(os.path.realpath(source), self.copy)
        self.evictor = program(args.build, "measure-media")
        self.command = [program(args.build, "measure-first"),
                        *cpu_options(args.cpu, args.server_cpu), args.address, args.port,
                        self.copy, *args.server[1:]]

    def evict(self) -> None:
        """Children of the server before may have it mapped for another moment."""
        for left in reversed(range(TRIES)):
            if call([self.evictor, "evict", self.copy], may=(0, MAPPED) if left else (0,)):
                return
            time.sleep(0.05)

    def figures(self) -> Dict[str, float]:
        return call(self.command)["figures"]


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0], allow_abbrev=False)
    parser.add_argument("--build", default="build", help="where measure-* are")
    parser.add_argument("--dir", default=".", help="a folder on the medium (.)")
    parser.add_argument("--rounds", type=int, default=5, help="warm and evicted starts (5)")
    parser.add_argument("--cpu", help="that asks")
    parser.add_argument("--server-cpu", help="of the server")
    parser.add_argument("address")
    parser.add_argument("port")
    parser.add_argument("server", nargs=argparse.REMAINDER, help="its command")
    args = parser.parse_args()
    if args.rounds < 1 or not args.server:
        parser.error("wanted: --rounds of 1 or more, and ADDRESS PORT SERVER...")
    return args


def main() -> None:
    args = parse()
    try:
        folder = tempfile.TemporaryDirectory(dir=args.dir, prefix="saker-media-")
    except OSError as error:
        die(f"--dir={args.dir}: {error.strerror}: name a folder that can be written")
    with folder as name:
        medium = call([program(args.build, "measure-media"), "read", f"--mib={MIB}",
                       f"--reads={READS}", name])
        start = Start(args, name)
        start.figures()             # what it shares with others is warm then, and stays so
        warm, cold = [], []
        for _ in range(args.rounds):
            warm.append(start.figures())
            start.evict()
            cold.append(start.figures())
        size = Path(start.copy).stat().st_size
    invalid = [] if all(c["read_kib"] and c["majflt"] for c in cold) else [
        "evicted, but the start read nothing from the medium"]
    rounds: List[Dict[str, Any]] = [{"warm": w, "evicted": c} for w, c in zip(warm, cold)]
    finish(fitted(medium["figures"], warm, cold), invalid, medium=medium, rounds=rounds,
           program_kib=size // 1024, dir=os.path.realpath(args.dir))


if __name__ == "__main__":
    main()
