#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""hog.py KIND --server=LIST --client=CPU - work for the other cores, until it is ended

Place   A `beside` line of experiments/neighbour.lab and isolation.lab.
Model   Chooses CPUs, runs stress-ng on them, and at SIGTERM ends it.
          --where=others     (the default) all but the server's and the client's
          --where=anywhere   all but the client's, as a program that nobody has placed
        Where no CPU is left it is the client's, under SCHED_IDLE: the stress then has what the
        client leaves, and takes nothing from it but caches, memory bandwidth and disk. Which of
        these it was is written to --note, as JSON.
Limits  Isolated CPUs are never chosen: CPUs are those that process 1 may use. Memory: a quarter
        of what is free at most. Disk: 64 MiB in --disk, written again and again; on a microSD
        card that is wear: the experiments do it for some minutes.
Errors  One line on stderr with cause and cure; exit status 1.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from typing import NoReturn

import cpus

KINDS = ("quiet", "cpu", "memory", "disk", "mixed")
PATIENCE_S = 2  # for stress-ng to end by itself; the lab waits 5 s for all of us
MEMORY_SHARE = 4
MEMORY_MOST = 256 << 20  # per hog: more than any cache, little enough for 1 GB boards


def die(text: str) -> NoReturn:
    print(f"hog.py: {text}", file=sys.stderr)
    sys.exit(1)


def free_bytes() -> int:
    with open("/proc/meminfo", encoding="ascii") as file:
        for line in file:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return 1 << 30


def stressors(kind: str, count: int) -> list[str]:
    """stress-ng's words for KIND, COUNT of each."""
    size = min(MEMORY_MOST, free_bytes() // MEMORY_SHARE // count)
    each = str(count)
    words = {
        "cpu": ["--cpu", each],
        "memory": ["--stream", each, "--vm", each, "--vm-bytes", str(size), "--vm-keep"],
        "disk": ["--hdd", each, "--hdd-bytes", "64m"],
    }
    if kind == "mixed":
        return [word for some in words.values() for word in some]
    return words[kind]


def processes(group: int) -> list[int]:
    """All of a process group."""
    found = []
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and os.getpgid(int(name)) == group:
                found.append(int(name))
        except ProcessLookupError:
            pass
    return found


def end(hogs: subprocess.Popen) -> None:
    """What is SCHED_IDLE may not run for long, also to end: make it ordinary first."""
    for one in processes(hogs.pid):
        try:
            os.sched_setscheduler(one, os.SCHED_OTHER, os.sched_param(0))
        except ProcessLookupError:
            pass
    for each in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(hogs.pid, each)
            hogs.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            continue
        except ProcessLookupError:
            break


def stress(kind: str, chosen: set[int], idle: bool, disk: str) -> int:
    """Runs it until SIGTERM, which is status 0; its own end before that is its status."""
    def place() -> None:
        os.sched_setaffinity(0, chosen)
        if idle:
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))

    folder = tempfile.mkdtemp(prefix="saker-hog-", dir=disk)
    command = ["stress-ng", "--quiet", "--temp-path", folder, *stressors(kind, len(chosen))]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    hogs = None
    try:
        hogs = subprocess.Popen(command, start_new_session=True, preexec_fn=place)
        return hogs.wait()
    except OSError as error:
        die(f"stress-ng: {error.strerror}: apt install stress-ng")
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if hogs:
            end(hogs)
        shutil.rmtree(folder, ignore_errors=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="hog.py")
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--server", required=True, help="CPUs of the subject: a list, or all")
    parser.add_argument("--client", required=True, help="CPU of the client; empty: another machine")
    parser.add_argument("--where", choices=("others", "anywhere"), default="others")
    parser.add_argument("--disk", default="/var/tmp", help="folder on the disk to write to")
    parser.add_argument("--note", default="/dev/null", help="file for what was chosen")
    return parser.parse_args()


def choose(args: argparse.Namespace) -> tuple[set[int], bool]:
    """CPUs, and whether they are the client's, to be used when it does not."""
    client, ordinary = cpus.parse(args.client), cpus.ordinary()
    avoid = client | (cpus.parse(args.server) if args.where == "others" else set())
    left = ordinary - avoid
    return (left, False) if left else (client & ordinary or ordinary, True)


def main() -> None:
    args = arguments()
    chosen, idle = choose(args)
    with open(args.note, "w", encoding="utf-8") as file:
        json.dump({"kind": args.kind, "cpus": sorted(chosen), "sched_idle": idle}, file)
    if args.kind == "quiet":
        signal.pause()
    sys.exit(stress(args.kind, chosen, idle, args.disk))


if __name__ == "__main__":
    main()
