# SPDX-License-Identifier: GPL-2.0-only
"""world - a host, a client and containers, made of namespaces

Place   measure_container, which has a network and a mount namespace of its own: that network
        is the host. measure_container.py has the picture.
Model   enter()      go into those namespaces; /sys, the maps and cgroups as a host has them
        make()       the link and the networks of the containers
        contained()  the words that start a command in a container
        end()        takes it all away
Owner   names begin with saker-lab-PID; the process number is the same from enter() on
Errors  a command that fails ends the program with its last line
"""
from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List, Optional

from measured import die

INSIDE = "SAKER_LAB_WORLD"              # in the environment: enter() is done
NAME = f"saker-lab-{os.getpid()}"
CLIENT = f"{NAME}-client"
CONTROLLERS = ("cpuset", "cpu", "cpuacct", "memory", "pids", "devices", "freezer", "blkio")
RUNTIMES = ("crun", "runc")
HOST_FOLDERS = ("/usr", "/lib", "/lib64", "/bin", "/sbin", "/etc")
CAPABILITIES = """chown dac_override dac_read_search fowner fsetid kill setgid setuid setpcap
linux_immutable net_bind_service net_broadcast net_admin net_raw ipc_lock ipc_owner sys_module
sys_rawio sys_chroot sys_ptrace sys_pacct sys_admin sys_boot sys_nice sys_resource sys_time
sys_tty_config mknod lease audit_write audit_control setfcap mac_override mac_admin syslog
wake_alarm block_suspend audit_read perfmon bpf""".split()


def do(*words: str, may_fail: bool = False) -> bool:
    done = subprocess.run(words, text=True, capture_output=True, stdin=subprocess.DEVNULL)
    if done.returncode and not may_fail:
        lines = (done.stderr or done.stdout).strip().splitlines()
        die(f"{' '.join(words)}: {lines[-1] if lines else done.returncode}: this host must be "
            "able to do it for the experiment")
    return done.returncode == 0


# --- the host ----------------------------------------------------------------------------------

def enter() -> None:
    """Comes back in namespaces of its own. It is the program once more."""
    if not os.environ.get(INSIDE):
        os.environ[INSIDE] = "1"
        os.execvp("unshare", ["unshare", "-m", "-n", "--", sys.executable, *sys.argv])
    do("ip", "link", "set", "lo", "up")
    do("mount", "-t", "sysfs", "sysfs", "/sys")
    do("mount", "-t", "bpf", "bpf", "/sys/fs/bpf")
    if Path("/proc/self/cgroup").read_text().strip().startswith("0::"):
        do("mount", "-t", "cgroup2", "cgroup2", "/sys/fs/cgroup")
        return
    # Both versions at once are not for every runtime: the older one alone.
    do("mount", "-t", "tmpfs", "tmpfs", "/sys/fs/cgroup")
    for name in (*CONTROLLERS, "systemd"):
        folder = f"/sys/fs/cgroup/{name}"
        os.mkdir(folder)
        option = name if name != "systemd" else "none,name=systemd"
        do("mount", "-t", "cgroup", "-o", option, "cgroup", folder, may_fail=True)


def has_kind(kind: str) -> bool:
    """Can this kernel make such a device? On a pair that is only for trying."""
    do("ip", "link", "add", "try0", "type", "veth", "peer", "name", "try1")
    upon = ["link", "try0"] if kind == "macvlan" else []
    good = do("ip", "link", "add", *upon, "name", "try2", "type", kind, may_fail=True)
    if good:
        do("ip", "link", "del", "try2")
    do("ip", "link", "del", "try0")
    return good


# --- addresses -----------------------------------------------------------------------------------

def own_network(net: str) -> bool:
    return net in ("bridge", "macvlan")


def netns(net: str, number: int) -> str:
    return f"{NAME}-{number}" if own_network(net) else ""


def path(name: str) -> str:
    return f"/run/netns/{name}"


def interface(net: str) -> str:
    return "eth0" if own_network(net) else "host0"


def port(net: str, number: int) -> int:
    return 8080 if own_network(net) else 8080 + number


def port_pattern(net: str) -> str:
    return "8080" if own_network(net) else "808%n"


def address(net: str) -> str:
    return "10.89.0.1%n" if own_network(net) else "10.89.0.1"


# --- networks ------------------------------------------------------------------------------------

def make_link() -> None:
    do("ip", "netns", "add", CLIENT)
    do("ip", "link", "add", "host0", "type", "veth", "peer", "name", "client0", "netns", CLIENT)
    do("ip", "-n", CLIENT, "address", "add", "10.89.0.2/24", "dev", "client0")
    do("ip", "-n", CLIENT, "link", "set", "client0", "up")
    # A veth leaves checksums to a card that is not there; the responder verifies them.
    do("nsenter", f"--net={path(CLIENT)}", "ethtool", "-K", "client0", "tx", "off")
    do("ip", "link", "set", "host0", "up")


def attach(net: str, number: int) -> None:
    """A container's network: its namespace, with eth0."""
    name = netns(net, number)
    do("ip", "netns", "add", name)
    if net == "bridge":
        do("ip", "link", "add", f"b{number}", "type", "veth", "peer", "name", "eth0", "netns", name)
        do("ip", "link", "set", f"b{number}", "master", "br0", "up")
    else:
        do("ip", "link", "add", "link", "host0", "name", f"m{number}", "type", "macvlan",
           "mode", "bridge")
        do("ip", "link", "set", f"m{number}", "netns", name, "name", "eth0")
    do("ip", "-n", name, "address", "add", f"10.89.0.1{number}/24", "dev", "eth0")
    do("ip", "-n", name, "link", "set", "lo", "up")
    do("ip", "-n", name, "link", "set", "eth0", "up")


def make(net: str, instances: int) -> None:
    if net == "bridge":
        do("ip", "link", "add", "br0", "type", "bridge")
        do("ip", "link", "set", "host0", "master", "br0")
        do("ip", "link", "set", "br0", "up")
    if not own_network(net):
        do("ip", "address", "add", "10.89.0.1/24", "dev", "host0")
        return
    for number in range(instances):
        attach(net, number)


def end(runtime_name: str, instances: int) -> None:
    for number in range(instances):
        if runtime_name in RUNTIMES:
            do(runtime_name, "delete", "-f", f"{NAME}-{number}", may_fail=True)
        do("ip", "netns", "del", f"{NAME}-{number}", may_fail=True)
    do("ip", "netns", "del", CLIENT, may_fail=True)


# --- containers ------------------------------------------------------------------------------------

def capabilities() -> List[str]:
    """All that there are here: a runtime refuses more than that."""
    status = Path("/proc/self/status").read_text()
    held = int(status.split("CapBnd:")[1].split()[0], 16)
    return [f"CAP_{name.upper()}" for bit, name in enumerate(CAPABILITIES) if held >> bit & 1]


def mounts(net_of_its_own: bool, binds: List[str]) -> List[Dict[str, Any]]:
    def bind(folder: str, how: str) -> Dict[str, Any]:
        return {"destination": folder, "type": "bind", "source": os.path.realpath(folder),
                "options": ["rbind", how]}

    sys_mounts = [{"destination": "/sys", "type": "sysfs", "source": "sysfs"},
                  {"destination": "/sys/fs/bpf", "type": "bpf", "source": "bpf"}]
    return [{"destination": "/proc", "type": "proc", "source": "proc"},
            {"destination": "/dev", "type": "tmpfs", "source": "tmpfs",
             "options": ["nosuid", "mode=755"]},
            {"destination": "/tmp", "type": "tmpfs", "source": "tmpfs"},
            *(sys_mounts if net_of_its_own else [bind("/sys", "rw")]),
            *(bind(folder, "ro") for folder in HOST_FOLDERS if os.path.exists(folder)),
            *(bind(folder, "rw") for folder in binds)]


def bundle(words: List[str], netns_name: str, cpus: Optional[str],
           binds: List[str]) -> Dict[str, Any]:
    """config.json of the OCI runtime specification."""
    caps = capabilities()
    namespaces = [{"type": kind} for kind in ("pid", "mount", "ipc", "uts")]
    if netns_name:
        namespaces.append({"type": "network", "path": path(netns_name)})
    return {
        "ociVersion": "1.0.0", "hostname": "saker", "root": {"path": "rootfs", "readonly": False},
        "process": {
            "terminal": False, "user": {"uid": 0, "gid": 0}, "args": words, "cwd": "/",
            "env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
            "capabilities": {kind: caps for kind in ("bounding", "effective", "permitted")}},
        "mounts": mounts(bool(netns_name), binds),
        "linux": {"namespaces": namespaces,
                  "resources": {"cpu": {"cpus": cpus}} if cpus else {}}}


def runtime(folder: str, wanted: str) -> str:
    """The first that can run a container of ours here; `unshare` is none, and always can."""
    for name in [wanted] if wanted else RUNTIMES:
        if name == "unshare":
            return name
        words = contained(name, folder, "try", ["/bin/true"], "", None, [])
        try:
            if do(*words, may_fail=True):
                return name
        except FileNotFoundError:
            pass
        if wanted:
            die(f"--runtime={wanted}: {' '.join(words)} fails: run it by hand to see why, or leave "
                "the option out")
    return "unshare"


def contained(runtime_name: str, folder: str, number: object, words: List[str], netns_name: str,
              cpus: Optional[str], binds: List[str]) -> List[str]:
    if runtime_name == "unshare":
        enter_net = ["nsenter", f"--net={path(netns_name)}", "--"] if netns_name else []
        return [*enter_net, "unshare", "--mount", "--pid", "--ipc", "--uts", "--fork",
                "--kill-child", "--mount-proc", "--", *words]
    where = Path(folder) / f"bundle-{number}"
    (where / "rootfs").mkdir(parents=True)
    (where / "config.json").write_text(json.dumps(bundle(words, netns_name, cpus, binds)))
    return [runtime_name, "run", "--bundle", str(where), f"{NAME}-{number}"]
