# SPDX-License-Identifier: GPL-2.0-only
"""watched - a load with saker-probe beside it, and the two put side by side

Place   measure_thermal and measure_energy
Model   run()    the machine at rest for a while, then under the load: one probe over both
        replay() the same from files, load.json and probe.csv, that somebody recorded
        seconds() for each second of the load a row: what the load saw, and the probe's
                  columns as mean, or as growth where they count
Limits  a source that the probe has not is absent from rows and named in `absent`, with why
Units   the probe's; times of the load in us
"""
from __future__ import annotations

import argparse
import csv
import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional, Sequence

import loadgen
from measured import die, program, skip

Row = Dict[str, Optional[float]]
COUNTERS = ("cycles", "instructions", "l1i_refills", "cache_misses", "itlb_misses")
END_S = 10              # the probe writes what it has


def options(text: str, hz: str) -> argparse.ArgumentParser:
    """What every measure takes that watches a load; its own options come to it."""
    parser = argparse.ArgumentParser(description=text, allow_abbrev=False)
    parser.add_argument("--build", default="build", help="where saker-load and saker-probe are")
    parser.add_argument("--run", default=".", help="the folder for the probe's file")
    parser.add_argument("--idle", type=float, default=10, help="seconds at rest before (10)")
    parser.add_argument("--hz", default=hz, help=f"of the probe ({hz})")
    parser.add_argument("--root", help="of the probe (tests)")
    parser.add_argument("--cpu", help="the client's: the probe keeps off it")
    parser.add_argument("--replay", help="load.json and probe.csv of this folder instead")
    parser.add_argument("address", nargs="?")
    parser.add_argument("port", nargs="?")
    parser.add_argument("load", nargs=argparse.REMAINDER, help="options of saker-load")
    return parser


class Watch(NamedTuple):
    load: Dict[str, Any]
    rows: List[Row]             # of the probe, with unix_ns
    absent: Dict[str, str]      # source: why
    rest_ns: float              # the load had not begun to do anything then
    replayed: bool              # files that were recorded, or made, and not this machine
    csv: str


def read_probe(path: str) -> "tuple[List[Row], Dict[str, str]]":
    try:
        lines = Path(path).read_text().splitlines()
    except OSError as error:
        die(f"{path}: {error.strerror}: wanted what saker-probe --out=FILE writes")
    absent = {}
    for line in lines:
        if line.startswith("# source ") and ": absent: " in line:
            name, _, why = line[len("# source "):].partition(": absent: ")
            absent[name] = why
    table = csv.DictReader(line for line in lines if not line.startswith("#"))
    rows = [{k: float(v) if v else None for k, v in row.items() if k} for row in table]
    if not rows or "unix_ns" not in rows[0]:
        die(f"{path}: no rows with unix_ns: is it what saker-probe --out=FILE writes?")
    return rows, absent


def skip_without(build: str, probe: Sequence[str], *sources: str) -> None:
    """One of these sources is wanted: without, there is nothing to wait for."""
    done = subprocess.run([program(build, "saker-probe"), "--list", *probe], text=True,
                          capture_output=True)
    if done.returncode:
        die(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "saker-probe --list "
            "failed: run it by hand")
    listed = {parts[0]: parts[1:] for parts in (line.split(None, 2)
                                                for line in done.stdout.splitlines())}
    if not any(listed.get(name, ["absent"])[0] == "ok" for name in sources):
        skip("; ".join(f"{name}: {(listed.get(name) or ['', 'not listed'])[-1]}"
                       for name in sources))


def off(hot: Sequence[Optional[str]]) -> List[str]:
    """Words in front of a command that shall keep off these CPUs, where others are left."""
    cold = set(range(os.cpu_count() or 1)) - {int(cpu) for cpu in hot if cpu and cpu.isdigit()}
    return ["taskset", "-c", ",".join(map(str, sorted(cold)))] if cold else []


def run(build: str, folder: str, idle_s: float, url: str, load: Sequence[str],
        probe: Sequence[str], hot: Sequence[Optional[str]]) -> Watch:
    out = os.path.join(folder, "watched.csv")
    beside = subprocess.Popen([*off(hot), program(build, "saker-probe"), f"--out={out}", *probe],
                              stderr=subprocess.PIPE, text=True)
    time.sleep(idle_s)
    rest_ns = time.time_ns()
    result = loadgen.run(build, url, *load)
    beside.send_signal(signal.SIGTERM)
    try:
        said = beside.communicate(timeout=END_S)[1]
    except subprocess.TimeoutExpired:
        beside.kill()
        die(f"saker-probe does not end within {END_S} s of SIGTERM")
    if beside.returncode:
        die(said.strip().splitlines()[-1] if said.strip() else "saker-probe failed")
    fake = any(option.startswith("--root=") for option in probe)
    return Watch(result, *read_probe(out), rest_ns, fake, out)


def replay(folder: str) -> Watch:
    try:
        load = json.loads(Path(folder, "load.json").read_text())
    except (OSError, ValueError) as error:
        die(f"{folder}/load.json: {error}: wanted what saker-load --json=FILE writes")
    path = os.path.join(folder, "probe.csv")
    # Warm-up, and the jitter floor before that, which is under a second.
    rest_ns = load["started_unix_ns"] - (load["warm_s"] + 1) * 1e9
    return Watch(load, *read_probe(path), rest_ns, True, path)


def column(rows: Sequence[Row], *names: str) -> Optional[str]:
    """The first of these that has values."""
    return next((n for n in names if any(r.get(n) is not None for r in rows)), None)


def mean(rows: Sequence[Row], name: Optional[str]) -> Optional[float]:
    values = [r[name] for r in rows if name and r.get(name) is not None]
    return sum(values) / len(values) if values else None


def growth(rows: Sequence[Row], name: str) -> Optional[float]:
    values = [r[name] for r in rows if r.get(name) is not None]
    return values[-1] - values[0] if len(values) > 1 else None


def before(watch: Watch) -> List[Row]:
    """At rest."""
    return [r for r in watch.rows if r["unix_ns"] < watch.rest_ns]


def us(value: Optional[float]) -> Optional[float]:
    return None if value is None else value / 1e3


def seconds(watch: Watch, freq: Optional[str]) -> List[Row]:
    """A row for each whole second of the load that the probe has readings of."""
    start, out = watch.load["started_unix_ns"], []
    for one in watch.load["series"]:
        begin = start + one["s"] * 1e9
        rows = [r for r in watch.rows if begin <= r["unix_ns"] <= begin + 1e9]
        if not rows or not one["ok"]:
            continue
        row: Row = {"s": one["s"], "ok": one["ok"], "p50_us": us(one["p50"]),
                    "p99_us": us(one["p99"]), "max_us": us(one["max"]),
                    "temp_c": mean(rows, "temp_c"), "freq_mhz": mean(rows, freq),
                    "throttled_now": mean(rows, "throttled_now")}
        span = (rows[-1]["unix_ns"] - rows[0]["unix_ns"]) / 1e9
        for name in COUNTERS:
            grown = growth(rows, name)
            row[f"{name}_per_request"] = grown and span and grown / span / one["ok"] or None
        out.append(row)
    return out
