#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""fixtures - a whole session of an experiment, from fixed seeds

    fixtures.py FOLDER [--effect=X] [--seconds=N] [--repeat=N]     writes the session there

Place   tests of the report; nothing here was measured
Model   three subjects and a peer at four rates. A latency is lognormal with a rare slow tail;
        both sides of a repetition share one slow change, as runs of one hour do. Run 7 is dirty,
        run 11 failed, the last rung of the highest rate is skipped by name.
Units   ns inside, as saker-load writes them
"""
from __future__ import annotations

import atexit
import bisect
import csv
import json
import math
import random
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Dict, List, Tuple

SUBJECTS = ["nginx", "saker-socket", "saker-generic", "saker-native"]
RATES = ["200", "1000", "2500", "5000"]
MEDIAN_US = {"nginx": 92.0, "saker-socket": 61.0, "saker-generic": 48.0, "saker-native": 30.0}
TAIL = {"nginx": 0.012, "saker-socket": 0.008, "saker-generic": 0.006, "saker-native": 0.003}
STAGES = {"steer": 0.11, "parse": 0.06, "wait": 0.02, "compute": 0.24, "reply": 0.05}
STARTED = 1_780_000_000_000_000_000
HOSTILE = "<script>alert('x')</script> & \"quotes\""

# HdrHistogram's shape: 64 buckets an octave, upper edges, 1 us to 60 s.
EDGES = [round(1000 * 2 ** (i / 64)) for i in range(64 * 26)]

EXPERIMENT = f"""# SPDX-License-Identifier: GPL-2.0-only
title Made-up rungs against nginx {HOSTILE}
question Does this report show what these made-up figures hold?
read Lower is better but for rate_ok. Each rung is compared with nginx at the same rate and in the \\
same repetition.
factor subject nginx saker-socket saker-generic saker-native
factor rate 200 1000 2500 5000
subject nginx nginx
subject saker-socket saker --io=socket
subject saker-generic saker --io=xdp-generic
subject saker-native saker --io=xdp-native
load --rate=$rate --seconds=10 -c 8
repeat 5
order random
seed 7
figure held stages:total.p99_ns us lower in the responder
figures p50 p99 p999 rate_ok pss_kb
baseline subject=nginx
published p99 412 us another board, another decade: {HOSTILE}
bar p99 saker-native <= 0.7x nginx
bar p50 saker-socket <= 20 us
"""


def sample(rng: random.Random, subject: str, rate: int, seconds: int, shared: float,
           effect: float) -> List[Tuple[int, float]]:
    """(second, ns) of each request."""
    middle = MEDIAN_US[subject] * 1000 * shared * rng.lognormvariate(0, 0.02)
    if subject != "nginx":
        middle *= effect
    middle *= 1 + rate / 9000
    drawn = []
    for second in range(seconds):
        warm = 1 + 0.15 * math.sin(second / seconds * 6)
        slow = TAIL[subject] * (4 if second == seconds * 2 // 3 else 1)
        for _ in range(rate):
            ns = rng.lognormvariate(math.log(middle * warm), 0.12)
            if rng.random() < slow:
                ns += rng.expovariate(1 / (middle * 9))
            drawn.append((second, ns))
    return drawn


def percentile(ordered: List[float], share: float):
    """None where fewer than 10 samples lie beyond it."""
    if len(ordered) * (1 - share) < 10 - 1e-6:
        return None
    return round(ordered[min(len(ordered) - 1, math.ceil(len(ordered) * share) - 1)])


def summary(values: List[float]) -> Dict:
    v = sorted(values)
    shares = {"p50": .5, "p90": .9, "p95": .95, "p99": .99, "p999": .999, "p9999": .9999}
    return {"count": len(v), "mean": round(sum(v) / len(v)),
            **{name: percentile(v, share) for name, share in shares.items()}, "max": round(v[-1])}


def histogram(values: List[float]) -> List[List[int]]:
    counts: Dict[int, int] = {}
    for v in values:
        edge = EDGES[bisect.bisect_left(EDGES, v)]
        counts[edge] = counts.get(edge, 0) + 1
    return [[edge, counts[edge]] for edge in sorted(counts)]


def heat(drawn: List[Tuple[int, float]]) -> Dict:
    edges = [round(1000 * 10 ** (i / 16)) for i in range(80)]
    rows: Dict[int, List[int]] = {}
    for second, ns in drawn:
        rows.setdefault(second, [0] * len(edges))[bisect.bisect_right(edges, ns) - 1] += 1
    used = [i for i in range(len(edges)) if any(row[i] for row in rows.values())]
    first, last = used[0], used[-1] + 1
    return {"bucket_ns": edges[first:last],
            "rows": [[s, row[first:last]] for s, row in sorted(rows.items())]}


def series(drawn: List[Tuple[int, float]]) -> List[Dict]:
    seconds: Dict[int, List[float]] = {}
    for second, ns in drawn:
        seconds.setdefault(second, []).append(ns)
    rows = []
    for s, values in sorted(seconds.items()):
        v = sorted(values)
        rows.append({"s": s, "sent": len(v), "ok": len(v), "refused": 0, "failed": 0,
                     "p50": percentile(v, .5), "p99": percentile(v, .99), "max": round(v[-1]),
                     "lag_max": 2400})
    return rows


def load_json(drawn, subject: str, rate: int, seconds: int, started: int) -> Dict:
    values = [ns for _, ns in drawn]
    lag = {"count": len(values), "mean": 700, "p50": 600, "p90": 900, "p95": 1100, "p99": 2000,
           "p999": None, "p9999": None, "max": 5000}
    return {"tool": "saker-load", "version": "fixture", "name": subject,
            "url": "http://10.0.0.1:8080/compute", "mode": "constant", "rate": rate,
            "connections": 8, "new": False, "seconds": seconds, "warm_s": 1, "seed": 1, "cpu": 0,
            "spin": True, "started_unix_ns": started, "ended_unix_ns": started + seconds * 10**9,
            "valid": True, "invalid": [], "requests": len(values), "ok": len(values), "refused": 0,
            "errors": 0, "timeouts": 0, "resets": 0, "wrong": 0, "rate_sent": float(rate),
            "rate_ok": float(rate), "latency": summary(values), "service": summary(values),
            "outside": None, "lag": lag, "floor": lag, "refusal": None, "connect": None,
            "mix": [], "series": series(drawn), "heat": heat(drawn),
            "histogram": {"latency": histogram(values)}, "find_max": None}


def stages_json(subject: str, latency: Dict, rate: int, seconds: int) -> Dict:
    stages = {}
    for name, share in {**STAGES, "total": sum(STAGES.values())}.items():
        stages[name] = {"count": latency["count"], **{
            f"{p}_ns": None if latency[p] is None else round(latency[p] * share)
            for p in ("mean", "p50", "p90", "p95", "p99", "p999", "max")}}
    return {"abi": 5, "instance": "fixture", "mode": {"rung": subject.replace("saker", "xdp")},
            "since": {"span_ns": seconds * 10**9, "requests": latency["count"],
                      "requests_per_second": float(rate), "stages": stages,
                      "counters": {"http_requests": latency["count"]}}}


def write_probe(path: Path, rng: random.Random, seconds: int, started: int):
    with path.open("w", encoding="utf-8", newline="") as out:
        out.write("# source temp: ok\n# source freq: ok\n"
                  "# source power: absent: no /dev/vcio here\n")
        rows = csv.writer(out, lineterminator="\n")
        rows.writerow(["unix_ns", "s", "temp_c", "freq_mhz_cpu0", "freq_mhz_cpu1", "busy_cpu1"])
        temp = 48 + rng.random()
        for i in range(10 * (seconds + 2)):
            temp += 0.03 + rng.gauss(0, 0.05)
            freq = 2400 if temp < 51.5 else 2200
            rows.writerow([started + (i - 10) * 10**8, f"{(i - 10) / 10:.1f}", f"{temp:.1f}", freq,
                           freq, f"{0.3 + rng.random() / 10:.2f}"])


def write_json(path: Path, value):
    path.write_text(json.dumps(value) + "\n", encoding="utf-8")


def ordered_runs(repeat: int) -> List[Dict]:
    rng, runs = random.Random(7), []
    for repetition in range(1, repeat + 1):
        block = [{"subject": s, "rate": r} for s in SUBJECTS for r in RATES]
        rng.shuffle(block)
        runs += [{"run": len(runs) + 1 + i, "repetition": repetition, "block": repetition,
                  "factors": factors} for i, factors in enumerate(block)]
    return runs


def state_of(plan: Dict) -> Tuple[str, List[str]]:
    if plan["factors"] == {"subject": "saker-generic", "rate": "5000"}:
        return "skipped", [f"need link:fixture: this kernel has none {HOSTILE}"]
    if plan["run"] == 7:
        return "dirty", ["throttled: 1.3 s of 10 s at 1500 MHz"]
    if plan["run"] == 11:
        return "failed", ["saker-load: 10.0.0.1:8080: connection refused"]
    return "done", []


def write_run(folder: Path, plan: Dict, seconds: int, effect: float):
    rng = random.Random(1000 + plan["run"])
    shared = random.Random(plan["repetition"]).lognormvariate(0, 0.15)
    subject, rate = plan["factors"]["subject"], int(plan["factors"]["rate"])
    state, why = state_of(plan)
    run = folder / "runs" / f"{plan['run']:04d}"
    run.mkdir(parents=True)
    started = STARTED + plan["run"] * 15 * 10**9
    ours = subject.startswith("saker")
    write_json(run / "run.json", {
        **plan, "state": state, "why": why, "started_unix_ns": started,
        "ended_unix_ns": started + (seconds + 1) * 10**9,
        "mode": {"rung": subject.replace("saker", "xdp"), "copy": "copy"} if ours else None,
        "pss_kb": round((2900 if ours else 4500) * rng.lognormvariate(0, 0.01)),
        "commands": {"server": f"{'saker -i server0 -p 8080' if ours else 'nginx -c nginx.conf'}",
                     "load": f"saker-load --rate={rate} --seconds={seconds} -c 8 "
                             "http://10.0.0.1:8080/compute"}, "measure": "load"})
    if state in ("failed", "skipped"):
        return
    drawn = sample(rng, subject, rate, seconds, shared, effect)
    load = load_json(drawn, subject, rate, seconds, started)
    write_json(run / "load.json", load)
    write_probe(run / "probe.csv", rng, seconds, started)
    if ours:
        write_json(run / "stages.json", stages_json(subject, load["latency"], rate, seconds))


def facts(boot: str) -> Dict:
    return {"host": "fixture", "kernel": "6.12.0-fixture", "arch": "aarch64", "page_size": 16384,
            "cpu": f"Made-up CPU {HOSTILE}", "cpus": 4, "governor": "performance",
            "freq_mhz": 2400, "isolated": "3", "nohz_full": "", "clocksource": "arch_sys_counter",
            "thp": "madvise", "mitigations": {"spectre_v2": "CSV2, BHB"}, "virtual": False,
            "board": "fixture board", "boot_id": boot,
            "versions": {"saker": "fixture", "nginx": "1.22.1"},
            "nic": {"driver": "veth"}, "cmdline": "isolcpus=3", "doctor": None, "client": None,
            "place": "veth"}


COSTS = {"syscall": {"p50": 92, "p99": 130}, "clock": {"p50": 31, "p99": 40},
         "hop": {"p50": 210, "p99": 420}, "tx_kick": None,
         "why": {"tx_kick": "no interface was given"}}


def write(folder: Path, effect: float = 1.0, seconds: int = 10, repeat: int = 5,
          boot: str = "boot-a") -> Path:
    """effect: what all of the responder's latencies are multiplied by."""
    folder.mkdir(parents=True)
    (folder / "experiment.lab").write_text(EXPERIMENT, encoding="utf-8")
    runs = ordered_runs(repeat)
    write_json(folder / "plan.json", {"experiment": "fixture", "order": "random", "seed": 7,
                                      "repeat": repeat, "accept_dirty": False, "runs": runs})
    write_json(folder / "facts.json", facts(boot))
    write_json(folder / "costs.json", COSTS)
    for plan in runs:
        write_run(folder, plan, seconds, effect)
    return folder


MEASURED = """title Starts, made up
question Which one starts sooner?
factor subject nginx saker
subject nginx nginx
subject saker saker
measure true
start no
repeat {repeat}
figure first figures.first_ms ms lower from exec to the first answer
figures first
baseline subject=nginx
"""


def write_measured(folder: Path, pairs: List[Tuple[float, float]]) -> Path:
    """A session whose figures come from a measure: (saker, nginx) in ms, a pair a repetition."""
    folder.mkdir(parents=True)
    (folder / "experiment.lab").write_text(MEASURED.format(repeat=len(pairs)), encoding="utf-8")
    plans = [{"run": 2 * i + 1 + k, "repetition": i + 1, "block": i + 1,
              "factors": {"subject": subject}}
             for i in range(len(pairs)) for k, subject in enumerate(("saker", "nginx"))]
    write_json(folder / "plan.json", {"experiment": "starts", "order": "abba", "seed": 1,
                                      "repeat": len(pairs), "runs": plans})
    write_json(folder / "facts.json", facts("boot-a"))
    for plan, ms in zip(plans, (value for pair in pairs for value in pair)):
        run = folder / "runs" / f"{plan['run']:04d}"
        run.mkdir(parents=True)
        write_json(run / "measure.json", {"figures": {"first_ms": ms}})
        write_json(run / "run.json", {**plan, "state": "done", "why": [], "started_unix_ns": STARTED,
                                      "commands": {"measure": "true"}, "measure": "command"})
    return folder


_MADE: Dict[str, Path] = {}


def made(name: str, **options) -> Path:
    """The session of these options, written once a process and gone at its end."""
    if name not in _MADE:
        top = Path(tempfile.mkdtemp(prefix="saker-lab-"))
        atexit.register(shutil.rmtree, top, ignore_errors=True)
        _MADE[name] = write(top / name, **options)
    return _MADE[name]


if __name__ == "__main__":
    options = dict(word[2:].split("=", 1) for word in sys.argv[2:])
    write(Path(sys.argv[1]), **{k: float(v) if k == "effect" else v if k == "boot" else int(v)
                                for k, v in options.items()})
