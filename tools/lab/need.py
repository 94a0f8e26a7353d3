# SPDX-License-Identifier: GPL-2.0-only
"""need - what an experiment wants of the host

Place   run asks before each run; what is missing skips it by name
Model   missing(THING) says what is not there, or nothing; saker-lab.1 lists the THINGs.
        With the roots as arguments it is tested against folders made up.
"""
from __future__ import annotations

import glob
import os
import platform
import shutil
from pathlib import Path
from typing import Optional

import process


def text_of(path: str) -> str:
    try:
        return Path(path).read_text(errors="replace").strip()
    except OSError:
        return ""


def missing(thing: str, programs, place: str, root: str = "/") -> Optional[str]:
    """What is missing; None: it is there."""
    kind, _, name = thing.partition(":")
    there = {
        "command": lambda: bool(programs.find(name)) or bool(shutil.which(name)),
        "file": lambda: bool(glob.glob(root.rstrip("/") + name)),
        "cpus": lambda: len(os.sched_getaffinity(0)) >= int(name or "0"),
        "isolated": lambda: bool(text_of(root + "sys/devices/system/cpu/isolated")),
        "cgroup2": lambda: "cpuset" in text_of(root + "sys/fs/cgroup/cgroup.controllers").split(),
        "root": lambda: os.geteuid() == 0,
        "module": lambda: has_module(name, root),
        "link": lambda: can_link(name),
        "place": lambda: (place == "veth") == (name == "veth"),
    }[kind]()
    return None if there else f"no {thing}"


def has_module(name: str, root: str) -> bool:
    """Loaded, built in, or there to be loaded."""
    under = name.replace("-", "_")
    if os.path.isdir(root + "sys/module/" + under):
        return True
    folder = root + "lib/modules/" + platform.release()
    names = text_of(folder + "/modules.builtin") + "\n" + text_of(folder + "/modules.dep")
    return any(Path(line.split(":")[0]).name.split(".")[0].replace("-", "_") == under
               for line in names.splitlines() if line)


def can_link(kind: str) -> bool:
    """By making one, on a veth where it wants another device, in a namespace that ends with
    the command."""
    lower = ["link", "low0"] if kind in ("macvlan", "ipvlan", "macvtap", "vlan") else []
    more = ["id", "1"] if kind == "vlan" else []
    script = "ip link add low0 type veth peer name low1; exec ip link add need0 \"$@\""
    return process.run(["unshare", "--net", "sh", "-c", script, "sh", *lower, "type", kind, *more]
                       ).returncode == 0
