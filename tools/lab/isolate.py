#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""isolate.py LEVEL --pid=N --client=CPU --iface=IFACE - who may disturb the thread that serves

Place   A `beside` line of experiments/isolation.lab: it finds the responder that is up, does one
        thing to it, waits for SIGTERM, and undoes it.
Model   unpinned   its threads may run on all ordinary CPUs, as without --io-cpu
        pinned     the thread has one CPU, on which others may run too
        partition  that CPU is a cpuset partition of cgroup v2 of kind `isolated`: the scheduler
                   puts nobody else there; the serving process moves in, its starter does not
        boot       the thread has a CPU of the kernel's isolcpus=
        irq-same   pinned, and the card's interrupts come to the same CPU
        irq-other  pinned, and they come to another one, not the client's where there are more
Limits  Processes of the responder that hold a thread named saker-io. Who balances interrupts
        (irqbalance) may undo irq-*: it is read again at the end and said. --root is for tests.
Errors  One line on stderr with cause and cure, exit status 1; what was done is undone.
"""

import argparse
import os
import re
import signal
import sys
from typing import Callable, NoReturn

import cpus

LEVELS = ("unpinned", "pinned", "partition", "boot", "irq-same", "irq-other")


class Refusal(Exception):
    """What the host cannot do, in words for the user."""


def write(path: str, text: str) -> None:
    try:
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
    except OSError as error:
        raise Refusal(f"{path}: {error.strerror}: needs root and a kernel that has it") from error


# --- the responder --------------------------------------------------------------------


def threads(root: str, pid: int) -> dict[int, str]:
    """Numbers and names."""
    base = os.path.join(root, f"proc/{pid}/task")
    try:
        return {int(tid): cpus.read(f"{base}/{tid}/comm").strip() for tid in os.listdir(base)}
    except OSError:
        return {}


def family(root: str, pid: int) -> list[int]:
    """A process and all below it."""
    found = [pid]
    for parent in found:
        for tid in threads(root, parent):
            children = cpus.read(os.path.join(root, f"proc/{parent}/task/{tid}/children"))
            found += [int(child) for child in children.split()]
    return found


def serving(root: str, pid: int) -> dict[int, list[int]]:
    """Of the family those that hold I/O threads, with these."""
    found = {}
    for one in family(root, pid):
        io = [tid for tid, name in threads(root, one).items() if name.startswith("saker-io")]
        if io:
            found[one] = io
    if not found:
        raise Refusal(f"process {pid} has no thread saker-io: is it a responder that is up?")
    return found


# --- what is done, each with what undoes it -----------------------------------------------


class Isolation:
    def __init__(self, root: str, pid: int, client: set[int], iface: str) -> None:
        self.root, self.iface, self.client = root, iface, client
        self.serving = serving(root, pid)
        self.undoes: list[Callable[[], None]] = []

    def path(self, name: str) -> str:
        return os.path.join(self.root, name)

    def change(self, name: str, text: str) -> None:
        """Write a setting, and remember what it was. Somebody else's hand shows at the end."""
        path = self.path(name)
        was = cpus.read(path).strip()
        write(path, text)

        def back() -> None:
            now = cpus.read(path).strip()
            if now != text:
                what = f"{path} was {now} at the end: somebody else changed it (irqbalance?)"
                print(f"isolate.py: {what}, stop that and run again", file=sys.stderr)
            write(path, was)

        self.undoes.append(back)

    def undo(self) -> None:
        for each in reversed(self.undoes):
            try:
                each()
            except (Refusal, OSError) as error:
                print(f"isolate.py: not undone: {error}", file=sys.stderr)
        self.undoes = []

    def place(self, allowed: set[int]) -> None:
        for tids in self.serving.values():
            for tid in tids:
                was = os.sched_getaffinity(tid)
                os.sched_setaffinity(tid, allowed)
                self.undoes.append(lambda tid=tid, was=was: self.back(tid, was))

    @staticmethod
    def back(tid: int, was: set[int]) -> None:
        try:
            os.sched_setaffinity(tid, was)
        except ProcessLookupError:
            pass  # it has ended: nothing is left to undo

    def own_cpu(self) -> int:
        """The last ordinary CPU that is not the client's; on one CPU, that one."""
        ordinary = cpus.ordinary(self.root)
        return max(ordinary - self.client or ordinary)

    # Every level, by its name.

    def unpinned(self) -> None:
        self.place(cpus.ordinary(self.root))

    def pinned(self) -> None:
        self.place({self.own_cpu()})

    def boot(self) -> None:
        isolated = cpus.isolated(self.root)
        if not isolated:
            raise Refusal("no CPU is isolated: boot with isolcpus=N, or leave this level out")
        self.place({min(isolated)})

    def partition(self) -> None:
        cpu = self.own_cpu()
        base, folder = "sys/fs/cgroup", f"sys/fs/cgroup/saker-lab-{os.getpid()}"
        below = self.path(f"{base}/cgroup.subtree_control")
        if "cpuset" not in cpus.read(self.path(f"{base}/cgroup.controllers")).split():
            raise Refusal("cgroup v2 has no cpuset controller: systemd.unified_cgroup_hierarchy=1")
        if "cpuset" not in cpus.read(below).split():
            write(below, "+cpuset")
            self.undoes.append(lambda: write(below, "-cpuset"))
        os.mkdir(self.path(folder))
        self.undoes.append(lambda: os.rmdir(self.path(folder)))
        self.change(f"{folder}/cpuset.cpus", str(cpu))
        write(self.path(f"{folder}/cpuset.cpus.partition"), "isolated")
        self.undoes.append(lambda: write(self.path(f"{folder}/cpuset.cpus.partition"), "member"))
        state = cpus.read(self.path(f"{folder}/cpuset.cpus.partition")).strip()
        if state != "isolated":
            raise Refusal(f"the kernel makes no partition of CPU {cpu}: {state or 'no answer'}")
        for pid in self.serving:
            self.move(pid, folder)
        self.place({cpu})

    def move(self, pid: int, folder: str) -> None:
        """Into a cgroup, and back to where it is now."""
        was = re.search(r"^0::/?(.*)$", cpus.read(self.path(f"proc/{pid}/cgroup")), re.M)
        home = f"sys/fs/cgroup/{was.group(1) if was else ''}"
        write(self.path(f"{folder}/cgroup.procs"), str(pid))
        self.undoes.append(lambda: os.path.exists(self.path(f"proc/{pid}"))
                           and write(self.path(f"{home}/cgroup.procs"), str(pid)))

    def interrupts(self) -> list[str]:
        """Numbers of the card's, by the kernel's list and by the names of its lines."""
        own = self.path(f"sys/class/net/{self.iface}/device/msi_irqs")
        found = set(os.listdir(own)) if os.path.isdir(own) else set()
        for line in cpus.read(self.path("proc/interrupts")).splitlines():
            number, _, rest = line.partition(":")
            if re.search(rf"\b{re.escape(self.iface)}\b", rest):
                found.add(number.strip())
        if not found:
            raise Refusal(f"{self.iface} has no interrupts: a veth has none, take a network card")
        return sorted(found, key=int)

    def steer_interrupts(self, cpu: int) -> None:
        for number in self.interrupts():
            self.change(f"proc/irq/{number}/smp_affinity_list", str(cpu))

    def irq_same(self) -> None:
        self.pinned()
        self.steer_interrupts(self.own_cpu())

    def irq_other(self) -> None:
        self.pinned()
        own = self.own_cpu()
        others = cpus.ordinary(self.root) - {own}
        if not others:
            raise Refusal("there is one CPU only: no other one for the interrupts")
        self.steer_interrupts(min(others - self.client or others))


def wait_for_end() -> None:
    """Blocked since the start: one that came meanwhile is waiting."""
    signal.sigwait({signal.SIGTERM, signal.SIGINT})


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="isolate.py")
    parser.add_argument("level", choices=LEVELS)
    parser.add_argument("--pid", type=int, required=True, help="the responder")
    parser.add_argument("--client", default="", help="the client's CPU; empty: another machine")
    parser.add_argument("--iface", default="")
    parser.add_argument("--root", default="/")
    return parser.parse_args()


def die(text: str) -> NoReturn:
    print(f"isolate.py: {text}", file=sys.stderr)
    sys.exit(1)


def main() -> None:
    args = arguments()
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    try:
        isolation = Isolation(args.root, args.pid, cpus.parse(args.client), args.iface)
    except Refusal as refusal:
        die(str(refusal))
    try:
        getattr(isolation, args.level.replace("-", "_"))()
        wait_for_end()
    except (Refusal, OSError) as refusal:
        isolation.undo()
        die(f"{args.level}: {refusal}")
    isolation.undo()


if __name__ == "__main__":
    main()
