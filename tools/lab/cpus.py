# SPDX-License-Identifier: GPL-2.0-only
"""cpus.py - which CPUs there are, and for whom

Place   hog.py and isolate.py choose by it.
Model   Lists as the kernel writes them, `0,2-3`. Ordinary CPUs are those on which the scheduler
        puts programs that nobody has placed: what process 1 may use. Isolated ones are those of
        the kernel's command line.
Limits  All paths are below root, which is / but in tests.
"""

import os


def parse(text: str) -> set[int]:
    """`0,2-3` as numbers. Nothing, or `all`: none."""
    cpus: set[int] = set()
    for part in text.replace("all", "").split(","):
        if part.strip():
            first, _, last = part.partition("-")
            cpus |= set(range(int(first), int(last or first) + 1))
    return cpus


def read(path: str) -> str:
    """A file's text; empty when there is none."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def ordinary(root: str = "/") -> set[int]:
    for line in read(os.path.join(root, "proc/1/status")).splitlines():
        if line.startswith("Cpus_allowed_list:"):
            return parse(line.split(":")[1]) - isolated(root)
    return set(range(os.cpu_count() or 1))


def isolated(root: str = "/") -> set[int]:
    return parse(read(os.path.join(root, "sys/devices/system/cpu/isolated")))
