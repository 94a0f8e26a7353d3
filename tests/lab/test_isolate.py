# SPDX-License-Identifier: GPL-2.0-only
"""test_isolate.py - what isolate.py and hog.py decide, on machines made of files

Place   tests/lab/run.py runs it, without root.
Model   A folder stands for /: its /proc has a responder of two processes, its /sys what the case
        is about. Threads are those of a child of this test, so that affinities are real ones.
"""

import argparse
import contextlib
import io
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "lab"))
import cpus  # noqa: E402
import hog  # noqa: E402
import isolate  # noqa: E402


class Machine:
    """The folder."""

    def __init__(self, ordinary: str = "0-3", isolated: str = "") -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.root = self.folder.name
        self.write("proc/1/status", f"Name:\tinit\nCpus_allowed_list:\t{ordinary}\n")
        self.write("sys/devices/system/cpu/isolated", isolated + "\n")

    def write(self, name: str, text: str) -> None:
        path = Path(self.root, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="ascii")

    def read(self, name: str) -> str:
        return Path(self.root, name).read_text(encoding="ascii")

    def responder(self, worker: int) -> None:
        """Starter 100 and its child; both have a thread that is not for frames."""
        self.write("proc/100/task/100/comm", "saker\n")
        self.write("proc/100/task/100/children", f"{worker} ")
        self.write(f"proc/{worker}/task/{worker}/comm", "saker-io 1\n")
        self.write(f"proc/{worker}/task/{worker}/children", "")
        self.write(f"proc/{worker}/cgroup", "0::/system.slice/saker.service\n")


class Case(unittest.TestCase):
    def machine(self, ordinary: str = "0-3", isolated: str = "") -> Machine:
        made = Machine(ordinary, isolated)
        self.addCleanup(made.folder.cleanup)
        return made


class Lists(Case):
    def test_as_the_kernel_writes_them(self) -> None:
        lists = {"": set(), "\n": set(), "3": {3}, "0,2-4\n": {0, 2, 3, 4}, "all": set()}
        for text, wanted in lists.items():
            self.assertEqual(cpus.parse(text), wanted)

    def test_isolated_ones_are_not_ordinary(self) -> None:
        machine = self.machine("0-3", "2-3")
        self.assertEqual(cpus.ordinary(machine.root), {0, 1})

    def test_this_machine_has_some(self) -> None:
        self.assertTrue(cpus.ordinary())


class Hogs(unittest.TestCase):
    def chosen(self, ordinary: str, where: str, server: str, client: str) -> tuple[set[int], bool]:
        args = argparse.Namespace(server=server, client=client, where=where)
        with mock.patch.object(cpus, "ordinary", lambda: cpus.parse(ordinary)):
            return hog.choose(args)

    def test_others_are_neither_side(self) -> None:
        self.assertEqual(self.chosen("0-3", "others", "3", "0"), ({1, 2}, False))

    def test_two_cores_leave_the_client_s(self) -> None:
        self.assertEqual(self.chosen("0-1", "others", "1", "0"), ({0}, True))

    def test_anywhere_is_the_server_s_too(self) -> None:
        self.assertEqual(self.chosen("0-1", "anywhere", "1", "0"), ({1}, False))

    def test_a_client_on_another_machine_has_none(self) -> None:
        self.assertEqual(self.chosen("0-3", "others", "3", ""), ({0, 1, 2}, False))

    def test_each_kind_is_some_stress(self) -> None:
        for kind, word in {"cpu": "--cpu", "memory": "--vm", "disk": "--hdd"}.items():
            self.assertIn(word, hog.stressors(kind, 2))
        self.assertLess(set(hog.stressors("disk", 1)), set(hog.stressors("mixed", 1)))


class Isolations(Case):
    def setUp(self) -> None:
        self.child = subprocess.Popen(["sleep", "60"])
        self.addCleanup(self.child.wait)
        self.addCleanup(self.child.kill)

    def isolation(self, machine: Machine, iface: str = "eth0") -> isolate.Isolation:
        machine.responder(self.child.pid)
        return isolate.Isolation(machine.root, 100, {0}, iface)

    def here(self) -> str:
        """CPUs that are really here, so that affinities can be set."""
        return ",".join(str(cpu) for cpu in sorted(os.sched_getaffinity(0)))

    def test_finds_who_serves(self) -> None:
        self.assertEqual(self.isolation(self.machine()).serving, {self.child.pid: [self.child.pid]})

    def test_who_does_not_serve_is_refused(self) -> None:
        machine = self.machine()
        machine.write("proc/100/task/100/comm", "sleep\n")
        with self.assertRaisesRegex(isolate.Refusal, "process 100 has no thread saker-io"):
            isolate.Isolation(machine.root, 100, set(), "")

    def test_the_last_cpu_is_taken_but_not_the_client_s(self) -> None:
        self.assertEqual(self.isolation(self.machine("0-3")).own_cpu(), 3)
        self.assertEqual(self.isolation(self.machine("0-3", "3")).own_cpu(), 2)
        self.assertEqual(self.isolation(self.machine("0")).own_cpu(), 0)

    def test_pinned_and_unpinned_and_back(self) -> None:
        was = os.sched_getaffinity(self.child.pid)
        isolation = self.isolation(self.machine(self.here()))
        isolation.pinned()
        self.assertEqual(os.sched_getaffinity(self.child.pid), {isolation.own_cpu()})
        isolation.unpinned()
        self.assertEqual(os.sched_getaffinity(self.child.pid), os.sched_getaffinity(0))
        isolation.undo()
        self.assertEqual(os.sched_getaffinity(self.child.pid), was)

    def test_boot_wants_an_isolated_cpu(self) -> None:
        with self.assertRaisesRegex(isolate.Refusal, "isolcpus"):
            self.isolation(self.machine("0-3")).boot()
        last = max(os.sched_getaffinity(0))
        isolation = self.isolation(self.machine("0-3", str(last)))
        isolation.boot()
        self.assertEqual(os.sched_getaffinity(self.child.pid), {last})

    def test_partition_wants_cgroup_v2(self) -> None:
        with self.assertRaisesRegex(isolate.Refusal, "no cpuset controller"):
            self.isolation(self.machine()).partition()

    def test_partition(self) -> None:
        """A file system without the kernel behind it keeps what is written: that is asked here."""
        machine = self.machine(self.here())
        machine.write("sys/fs/cgroup/cgroup.controllers", "cpuset cpu\n")
        machine.write("sys/fs/cgroup/cgroup.subtree_control", "cpu\n")
        machine.write("sys/fs/cgroup/system.slice/saker.service/cgroup.procs", "")
        machine.write(f"proc/{self.child.pid}/stat", "")
        isolation = self.isolation(machine)
        isolation.partition()
        group = f"sys/fs/cgroup/saker-lab-{os.getpid()}"
        self.assertEqual(machine.read(f"{group}/cpuset.cpus"), str(isolation.own_cpu()))
        self.assertEqual(machine.read(f"{group}/cpuset.cpus.partition"), "isolated")
        self.assertEqual(machine.read(f"{group}/cgroup.procs"), str(self.child.pid))
        self.assertEqual(machine.read("sys/fs/cgroup/cgroup.subtree_control"), "+cpuset")
        with contextlib.redirect_stderr(io.StringIO()) as said:
            isolation.undo()
        self.assertIn("Directory not empty", said.getvalue())  # files, where the kernel has none
        self.assertEqual(len(said.getvalue().splitlines()), 1)
        home = "sys/fs/cgroup/system.slice/saker.service/cgroup.procs"
        self.assertEqual(machine.read(home), str(self.child.pid))
        self.assertEqual(machine.read(f"{group}/cpuset.cpus.partition"), "member")
        self.assertEqual(machine.read("sys/fs/cgroup/cgroup.subtree_control"), "-cpuset")

    def test_a_partition_that_the_kernel_does_not_make_is_refused(self) -> None:
        machine = self.machine(self.here())
        machine.write("sys/fs/cgroup/cgroup.controllers", "cpuset\n")
        machine.write("sys/fs/cgroup/cgroup.subtree_control", "cpuset\n")
        isolation = self.isolation(machine)
        read = cpus.read

        def invalid(path: str) -> str:
            return "isolated invalid (not exclusive)" if "partition" in path else read(path)

        refused = self.assertRaisesRegex(isolate.Refusal, "not exclusive")
        with mock.patch.object(cpus, "read", invalid), refused:
            isolation.partition()

    def test_interrupts_of_the_card_and_of_nobody_else(self) -> None:
        machine = self.machine(self.here())
        lines = (" CPU0 CPU1", " 40: 1 2 GICv2 eth0", " 41: 0 0 GICv2 eth01", " 42: 0 0 mmc0")
        machine.write("proc/interrupts", "\n".join(lines) + "\n")
        for number in (40, 41, 42):
            machine.write(f"proc/irq/{number}/smp_affinity_list", "0-3\n")
        isolation = self.isolation(machine)
        isolation.irq_same()
        self.assertEqual(machine.read("proc/irq/40/smp_affinity_list"), str(isolation.own_cpu()))
        self.assertEqual(machine.read("proc/irq/41/smp_affinity_list"), "0-3\n")
        isolation.undo()
        self.assertEqual(machine.read("proc/irq/40/smp_affinity_list"), "0-3")

    def test_who_moves_them_meanwhile_is_found_out(self) -> None:
        machine = self.machine(self.here())
        machine.write("proc/interrupts", " 40: 1 2 GICv2 eth0\n")
        machine.write("proc/irq/40/smp_affinity_list", "0-3\n")
        isolation = self.isolation(machine)
        isolation.irq_same()
        machine.write("proc/irq/40/smp_affinity_list", "2\n")
        with contextlib.redirect_stderr(io.StringIO()) as said:
            isolation.undo()
        self.assertIn("irqbalance", said.getvalue())
        self.assertEqual(machine.read("proc/irq/40/smp_affinity_list"), "0-3")

    def test_a_veth_has_none(self) -> None:
        machine = self.machine(self.here())
        machine.write("proc/interrupts", " CPU0 CPU1\n 40: 1 2 GICv2 eth0\n")
        with self.assertRaisesRegex(isolate.Refusal, "server0 has no interrupts"):
            self.isolation(machine, "server0").irq_other()

    def test_interrupts_go_to_another_cpu(self) -> None:
        machine = self.machine("0-3")
        machine.write("proc/interrupts", " 40: 1 2 GICv2 eth0\n")
        machine.write("proc/irq/40/smp_affinity_list", "3\n")
        isolation = self.isolation(machine)
        with mock.patch.object(isolation, "pinned", lambda: None):
            isolation.irq_other()
        self.assertEqual(machine.read("proc/irq/40/smp_affinity_list"), "1")


if __name__ == "__main__":
    unittest.main()
