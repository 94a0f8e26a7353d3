# SPDX-License-Identifier: GPL-2.0-only
"""keeper - ends what a lab left that was killed outright

Place   a program: process.py starts it and writes lines to its standard input
Model   "+N": the process group N is ours; "-N": it has ended. When the input ends, what is still
        there gets SIGTERM, and SIGKILL after GRACE seconds. In peace that is nothing.
Owner   a group is ended only while its leader is the one that was named, or has gone and left
        members: by number and time of start, as the kernel gives numbers out again
"""
from __future__ import annotations

import os
import signal
import sys
import time
from typing import Dict, Optional

GRACE = 8.0     # a responder drains for 5 s


def started(pid: int) -> Optional[str]:
    """Field 22 of proc(5)'s stat: ticks since boot; None: gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as f:
            return f.read().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return None


def signal_group(group: int, since: Optional[str], number: int) -> bool:
    """False: nobody is there any more."""
    now = started(group)
    if now is not None and now != since:
        return False
    try:
        os.killpg(group, number)
    except OSError:
        return False
    return True


def end(groups: Dict[int, Optional[str]]) -> None:
    for group, since in groups.items():
        signal_group(group, since, signal.SIGTERM)
    until = time.monotonic() + GRACE
    while time.monotonic() < until:
        if not any(signal_group(group, since, 0) for group, since in groups.items()):
            return
        time.sleep(0.05)
    for group, since in groups.items():
        signal_group(group, since, signal.SIGKILL)


def main() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    groups: Dict[int, Optional[str]] = {}
    for line in sys.stdin:
        group = int(line[1:])
        if line[0] == "+":
            groups[group] = started(group)
        else:
            groups.pop(group, None)
    end(groups)


if __name__ == "__main__":
    main()
