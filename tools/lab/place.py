# SPDX-License-Identifier: GPL-2.0-only
"""place - where responder and client run, and what is between them

Place   run asks one of them to start things at either side
Model   Veth     two network namespaces with a veth pair, as the tests have them:

                 client0  10.88.0.2  fd88::2            server0  10.88.0.1  fd88::1

        Iface    the responder on an interface of this host, the load on another host by ssh;
                 or on this one: that goes through loopback, and never sees the interface
Owner   The namespaces have no names. Two sleeping processes hold them, and when these end,
        however that comes about, the kernel takes the namespaces, the veth and the pins away.
client0 Its tx offloads are off: a veth leaves checksums to a card that is not there, and the
        responder verifies every one.
server  Sees a /sys of its own namespace, with a BPF file system, and this host's cgroups.
"""
from __future__ import annotations

import os
import subprocess
from typing import List, Optional, Sequence

from process import Process, Processes, last_line, run
from remote import Remote
from trouble import USAGE, Trouble

ALL = "all"     # a list of CPUs: wherever it likes

SERVER_SIDE = """
set -e
ip link set lo up
new=$(mktemp -d)
mount -t sysfs sysfs "$new"
mount --rbind /sys/fs/cgroup "$new/fs/cgroup" || :
mount --move "$new" /sys
rmdir "$new"
mount -t bpf bpf /sys/fs/bpf
echo ready
exec sleep infinity
"""
CLIENT_SIDE = "set -e; ip link set lo up; echo ready; exec sleep infinity"

# A connection for each request uses up ports, of which each then waits for a minute.
TUNED = "net.ipv4.ip_local_port_range=1024 65535", "net.ipv4.tcp_tw_reuse=1"


# In a mount namespace of its own, which ends with the command.
STEERED = """mount -t sysfs sysfs /sys && echo "$1" > /sys/class/net/client0/queues/rx-0/rps_cpus"""


def cpu_list(text: str) -> List[int]:
    """0,2-3"""
    found: List[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def masked(mask: int) -> str:
    """As the kernel reads masks: words of 32 bits, the highest first."""
    words = []
    while mask or not words:
        words.insert(0, f"{mask & 0xffffffff:08x}")
        mask >>= 32
    return ",".join(words)


def pinned(cpus: str, words: Sequence[str]) -> List[str]:
    return list(words) if cpus == ALL else ["taskset", "-c", cpus, *words]


class Veth:
    name = "veth"
    iface = "server0"
    address = "10.88.0.1"
    remote: Optional[Remote] = None

    def __init__(self, processes: Processes):
        self.processes = processes
        if os.geteuid() != 0:
            raise Trouble("place veth makes network namespaces, which takes root; "
                          "sudo saker-lab ...", USAGE)
        self.server_holder = self.hold(["unshare", "--net", "--mount", "sh", "-c", SERVER_SIDE])
        self.client_holder = self.hold(["unshare", "--net", "sh", "-c", CLIENT_SIDE])
        self.client_netns = f"/proc/{self.client_holder.pid}/ns/net"
        self.connect()

    def hold(self, words: Sequence[str]) -> Process:
        one = self.processes.start(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if one.child.stdout.readline() != b"ready\n":
            raise Trouble("no namespaces: " + last_line(one.child.stderr.read().decode())
                          + "; a container needs to be privileged for them")
        return one

    def connect(self) -> None:
        server, client = self.server_holder.pid, self.client_holder.pid
        commands = [["ip", "link", "add", "server0", "netns", str(server), "type", "veth",
                     "peer", "name", "client0", "netns", str(client)]]
        for holder, iface, last in ((server, "server0", "1"), (client, "client0", "2")):
            ip = ["nsenter", "-t", str(holder), "-n", "ip"]
            commands += [[*ip, "link", "set", iface, "address", f"02:00:00:00:88:0{last}"],
                         [*ip, "address", "add", f"10.88.0.{last}/24", "dev", iface],
                         [*ip, "address", "add", f"fd88::{last}/64", "dev", iface, "nodad"],
                         [*ip, "link", "set", iface, "up"]]
        inside = ["nsenter", "-t", str(client), "-n"]
        commands += [[*inside, "ethtool", "-K", "client0", "tx", "off"],
                     [*inside, "sysctl", "-qw", *TUNED]]
        for words in commands:
            done = run(words)
            if done.returncode:
                raise Trouble(f"no veth pair: {' '.join(words)}: {last_line(done.stderr)}; "
                              "is the kernel's veth module there?")

    def receive_at_client(self, cpus: str) -> Optional[bool]:
        """A veth delivers within the sender's call: without this the client's kernel receives on
        the responder's CPU. "" or ALL: so be it. None: the kernel has no such steering."""
        mask = 0 if cpus in ("", ALL) else sum(1 << cpu for cpu in cpu_list(cpus))
        done = run(["nsenter", "-t", str(self.client_holder.pid), "-n", "unshare", "--mount", "sh",
                    "-c", STEERED, "sh", masked(mask)])
        return bool(mask) if done.returncode == 0 else None

    def to_server(self, cpus: str, words: Sequence[str]) -> List[str]:
        return ["nsenter", "-t", str(self.server_holder.pid), "-m", "-n", "--",
                *pinned(cpus, words)]

    def to_client(self, cpus: str, words: Sequence[str]) -> List[str]:
        return ["nsenter", "--net=" + self.client_netns, "--", *pinned(cpus, words)]

    def client_run(self, cpus: str) -> List[str]:
        """What makes a command in front of which it stands one of the client's side."""
        return self.to_client(cpus, [])

    def server(self, words: Sequence[str], cpus: str = ALL, **more) -> Process:
        return self.processes.start(self.to_server(cpus, words), **more)

    def client(self, words: Sequence[str], cpus: str = ALL, **more) -> Process:
        return self.processes.start(self.to_client(cpus, words), **more)


class Iface:
    client_netns = ""

    def receive_at_client(self, _cpus: str) -> Optional[bool]:
        """A wire delivers to where it leads."""
        return None

    def __init__(self, processes: Processes, iface: str, remote: Optional[Remote]):
        self.processes = processes
        self.name = self.iface = iface
        self.remote = remote
        self.address = address_of(iface)

    def to_server(self, cpus: str, words: Sequence[str]) -> List[str]:
        return pinned(cpus, words)

    def to_client(self, cpus: str, words: Sequence[str]) -> List[str]:
        words = pinned(cpus, words)
        return self.remote.ssh(words) if self.remote else words

    def client_run(self, cpus: str) -> List[str]:
        return [*(self.remote.run_words() if self.remote else []), *pinned(cpus, [])]

    def server(self, words: Sequence[str], cpus: str = ALL, **more) -> Process:
        return self.processes.start(self.to_server(cpus, words), **more)

    def client(self, words: Sequence[str], cpus: str = ALL, **more) -> Process:
        if self.remote:     # it ends when this pipe does
            more["stdin"] = subprocess.PIPE
        return self.processes.start(self.to_client(cpus, words), **more)


def address_of(iface: str) -> str:
    """Its first IPv4 address."""
    done = run(["ip", "-4", "-o", "address", "show", "dev", iface, "scope", "global"])
    if done.returncode:
        raise Trouble(f"--place={iface}: {last_line(done.stderr) or 'no such interface'}; "
                      "`ip link` shows them", USAGE)
    words = done.stdout.split()
    if "inet" not in words:
        raise Trouble(f"--place={iface}: it has no IPv4 address; give it one: "
                      f"ip address add ADDRESS/24 dev {iface}", USAGE)
    return words[words.index("inet") + 1].split("/")[0]


def open_place(processes: Processes, name: str, remote: Optional[Remote]):
    if name == "veth":
        if remote:
            raise Trouble("--client=HOST wants a real interface: a veth does not lead there; "
                          "--place=eth0", USAGE)
        return Veth(processes)
    return Iface(processes, name, remote)
