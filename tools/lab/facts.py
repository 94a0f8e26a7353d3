# SPDX-License-Identifier: GPL-2.0-only
"""facts - what the figures were measured on

Place   run writes them into facts.json before the first run
Model   One shell script prints NAME, a tab, and what the host says of it, a line each. It runs
        here, and by ssh on the client's host: the same facts of both. What a host does not
        say is null; it is never guessed.
Units   MHz, bytes where the name says nothing else
"""
from __future__ import annotations

import json
from typing import Any, Dict, Optional

import process
from place import ALL
from trouble import Trouble

SCRIPT = r"""
say() { printf '%s\t%s\n' "$1" "$2"; }
file() { [ -r "$2" ] && say "$1" "$(tr -d '\000' < "$2" | head -n 1)"; }
cpu=/sys/devices/system/cpu
say host "$(uname -n)"
say kernel "$(uname -r)"
say build "$(uname -v)"
say arch "$(uname -m)"
say page_size "$(getconf PAGESIZE)"
say cpus "$(getconf _NPROCESSORS_ONLN)"
say cpu "$(sed -n 's/^\(model name\|Model\)[^:]*: //p' /proc/cpuinfo | head -n 1)"
grep -qw hypervisor /proc/cpuinfo && say virtual hypervisor
say virtual "$(systemd-detect-virt 2>/dev/null | grep -v none)"
file governor $cpu/cpu0/cpufreq/scaling_governor
file khz_max $cpu/cpu0/cpufreq/scaling_max_freq
say cpuinfo_mhz "$(sed -n 's/^cpu MHz[^:]*: //p' /proc/cpuinfo | head -n 1)"
file isolated $cpu/isolated
file nohz_full $cpu/nohz_full
file smt $cpu/smt/active
file clocksource /sys/devices/system/clocksource/clocksource0/current_clocksource
file thp /sys/kernel/mm/transparent_hugepage/enabled
file boot_id /proc/sys/kernel/random/boot_id
file cmdline /proc/cmdline
file board /sys/class/dmi/id/product_name
file board /proc/device-tree/model
say memory_kb "$(sed -n 's/^MemTotal: *\([0-9]*\).*/\1/p' /proc/meminfo)"
for one in $cpu/vulnerabilities/*; do
	[ -r "$one" ] && say "mitigation ${one##*/}" "$(cat "$one")"
done
"""

TEXTS = ("host", "kernel", "build", "arch", "cpu", "governor", "clocksource", "board", "boot_id",
         "cmdline", "virtual")
NUMBERS = ("page_size", "cpus", "memory_kb")


def parsed(text: str) -> Dict[str, Any]:
    said: Dict[str, str] = {}
    for line in text.splitlines():
        name, _, value = line.partition("\t")
        if value.strip():
            said[name] = value.strip()
    facts: Dict[str, Any] = {name: said.get(name) for name in TEXTS}
    facts.update({name: int(said[name]) if name in said else None for name in NUMBERS})
    khz, mhz = said.get("khz_max"), said.get("cpuinfo_mhz")
    facts["freq_mhz"] = int(khz) / 1000 if khz else float(mhz) if mhz else None
    facts["isolated"] = said.get("isolated", "")
    facts["nohz_full"] = said.get("nohz_full", "").replace("(null)", "")
    facts["smt"] = {"0": False, "1": True}.get(said.get("smt", ""))
    thp = said.get("thp", "")
    facts["thp"] = thp[thp.find("[") + 1:thp.find("]")] if "[" in thp else None
    facts["mitigations"] = {name.split()[1]: value for name, value in said.items()
                            if name.startswith("mitigation ")}
    return facts


def of_host() -> Dict[str, Any]:
    return parsed(process.run(["sh", "-c", SCRIPT]).stdout)


def of_client(remote, address: str, version: str) -> Dict[str, Any]:
    link = remote.check(version, address)
    return {**parsed(remote.ask(SCRIPT)), "link": link}


def nic(place) -> Dict[str, Any]:
    """Of the responder's interface, as ethtool -i says."""
    done = process.run(place.to_server(ALL, ["ethtool", "-i", place.iface]))
    lines = dict(line.split(": ", 1) for line in done.stdout.splitlines() if ": " in line)
    speed = process.run(place.to_server(ALL, ["cat", f"/sys/class/net/{place.iface}/speed"])).stdout
    return {"interface": place.iface, "driver": lines.get("driver"),
            "version": lines.get("version"), "firmware": lines.get("firmware-version"),
            "speed_mbit": int(speed) if speed.strip().isdigit() else None}


def versions(programs) -> Dict[str, Optional[str]]:
    found = {name: (programs.version(name) or "").removeprefix(name).strip() or None
             for name in ("saker", "saker-load", "saker-probe")}
    nginx = process.run(["nginx", "-v"]) if programs.find("nginx") else None
    found["nginx"] = process.last_line(nginx.stderr).rpartition(": ")[2] if nginx else None
    return found


def verdict(text: str) -> Optional[Dict[str, Any]]:
    """Of what saker-doctor prints with --json: how many of each, and which of them are not fine."""
    try:
        said = json.loads(text)
        named = {word: [one["check"] for one in said["findings"] if one["verdict"] == word]
                 for word in ("warn", "fail", "unknown")}
        return {"counts": said["counts"], **named}
    except (ValueError, KeyError, TypeError):
        return None


def doctor(programs, place) -> Optional[Dict[str, Any]]:
    """saker-doctor's verdict on the host and the interface; None: there is none."""
    path = programs.find("saker-doctor")
    if not path:
        return None
    return verdict(process.run(place.to_server(ALL, [path, "-i", place.iface, "--json"]),
                               60).stdout)


def gather(programs, place) -> Dict[str, Any]:
    facts = {**of_host(), "place": place.name, "versions": versions(programs),
             "nic": nic(place), "doctor": doctor(programs, place), "client": None}
    if place.remote:
        facts["client"] = of_client(place.remote, place.address,
                                    programs.version("saker-load") or "none")
    return facts


def costs(programs, place, server_cpu: str, client_cpu: str) -> Optional[Any]:
    """What saker-probe measures of calls, clocks and hops; None: it cannot."""
    path = programs.find("saker-probe")
    if not path:
        return None
    try:
        done = process.run(place.to_server(ALL, [path, "--costs", f"--iface={place.iface}",
                                                 f"--cpus={client_cpu},{server_cpu}"]), 60)
        return json.loads(done.stdout)
    except (Trouble, ValueError):
        return None
