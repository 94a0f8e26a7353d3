# SPDX-License-Identifier: GPL-2.0-only
"""facts, need, place, subject, remote: what is asked of a host, and of one that is not there."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import facts
import need
import place
import process
import programs
import remote
import subject
from trouble import Trouble

SAID = """host\tpi
kernel\t6.6.51+rpt-rpi-2712
page_size\t16384
cpus\t4
governor\tperformance
khz_max\t2400000
isolated\t2-3
nohz_full\t (null)
thp\talways [madvise] never
mitigation spectre_v2\tMitigation: CSV2, BHB
mitigation meltdown\tNot affected
virtual\t
"""


class Facts(unittest.TestCase):
    def test_of_a_board(self):
        got = facts.parsed(SAID)
        wanted = {"host": "pi", "page_size": 16384, "cpus": 4, "governor": "performance",
                  "freq_mhz": 2400.0, "isolated": "2-3", "nohz_full": "", "thp": "madvise",
                  "virtual": None, "board": None, "clocksource": None,
                  "mitigations": {"spectre_v2": "Mitigation: CSV2, BHB",
                                  "meltdown": "Not affected"}}
        self.assertEqual({name: got[name] for name in wanted}, wanted)

    def test_of_this_host(self):
        got = facts.of_host()
        self.assertEqual(got["kernel"], os.uname().release)
        self.assertEqual(got["page_size"], os.sysconf("SC_PAGESIZE"))
        self.assertRegex(got["boot_id"], r"^[0-9a-f-]{36}$")


DOCTOR = """{"counts": {"ok": 1, "info": 0, "warn": 2, "fail": 0, "unknown": 1}, "findings": [
{"check": "eee", "verdict": "warn"}, {"check": "mtu", "verdict": "ok"},
{"check": "governor", "verdict": "warn"}, {"check": "throttle", "verdict": "unknown"}]}"""


class Doctor(unittest.TestCase):
    class Here:
        iface = "lo"

        @staticmethod
        def to_server(_, words):
            return words

    def test_verdict(self):
        self.assertEqual(facts.verdict(DOCTOR),
                         {"counts": {"ok": 1, "info": 0, "warn": 2, "fail": 0, "unknown": 1},
                          "warn": ["eee", "governor"], "fail": [], "unknown": ["throttle"]})

    def test_no_verdict(self):
        for text in ("", "saker-doctor: no", "[]", "{}", '{"findings": [], "count": {}}'):
            with self.subTest(text):
                self.assertIsNone(facts.verdict(text))

    def test_of_this_host(self):
        build = Path(os.environ.get("BUILD", "build/host"))
        if not (build / "saker-doctor").exists():
            self.skipTest(f"{build / 'saker-doctor'} is not built: run make")
        got = facts.doctor(programs.Programs(str(build), build), self.Here)
        self.assertEqual(got["counts"]["warn"], len(got["warn"]))
        self.assertGreater(sum(got["counts"].values()), 30)

    def test_none(self):
        with tempfile.TemporaryDirectory() as empty:
            here = programs.Programs(None, Path(empty))
            if not here.find("saker-doctor"):
                self.assertIsNone(facts.doctor(here, self.Here))


class Need(unittest.TestCase):
    def setUp(self):
        self.root = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.root)
        modules = f"lib/modules/{os.uname().release}/modules"
        for name, text in (("sys/devices/system/cpu/isolated", "2-3\n"),
                           ("sys/fs/cgroup/cgroup.controllers", "cpu cpuset io\n"),
                           ("sys/class/thermal/thermal_zone1/temp", "40000\n"),
                           (modules + ".builtin", "kernel/net/a-b.ko\n"),
                           (modules + ".dep", "kernel/x/macvlan.ko.xz: y\n")):
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_text(text)

    def lacks(self, thing: str, root=None):
        return need.missing(thing, programs.Programs(None, self.root), "veth",
                            f"{root or self.root}/")

    def test_what_is_there(self):
        for thing in ("isolated", "cgroup2", "file:/sys/class/thermal/thermal_zone*/temp", "cpus:1",
                      "module:a_b", "module:macvlan", "command:sh", "place:veth"):
            with self.subTest(thing):
                self.assertIsNone(self.lacks(thing))

    def test_what_is_not(self):
        empty = self.root / "empty"
        for thing, root in (("isolated", empty), ("cgroup2", empty), ("file:/sys/class/fan*", None),
                            ("cpus:100000", None), ("module:macvla", None),
                            ("command:no-such", None), ("place:iface", None)):
            with self.subTest(thing):
                self.assertEqual(self.lacks(thing, root), "no " + thing)

    @unittest.skipUnless(os.geteuid() == 0, "namespaces take root")
    def test_a_device_that_the_kernel_can_make(self):
        self.assertIsNone(self.lacks("link:veth"))
        self.assertEqual(self.lacks("link:no-such-kind"), "no link:no-such-kind")

    def test_a_veth_is_of_no_interface(self):
        self.assertIsNone(need.missing("place:iface", None, "eth0"))
        self.assertEqual(need.missing("place:veth", None, "eth0"), "no place:veth")


class Cpus(unittest.TestCase):
    def test_lists_and_masks(self):
        self.assertEqual(place.cpu_list("0,2-4"), [0, 2, 3, 4])
        self.assertEqual([place.masked(m) for m in (0, 5, 1 << 33)],
                         ["00000000", "00000005", "00000002,00000000"])


class Words:
    """A place that shows how it would start something."""
    iface, address = "eth7", "192.0.2.1"

    def to_server(self, cpus, words):
        return place.pinned(cpus, words)


class Subject(unittest.TestCase):
    def setUp(self):
        self.dir = Path(tempfile.mkdtemp()).resolve()
        self.addCleanup(shutil.rmtree, self.dir)
        for name in ("saker", "saker-stat"):
            (self.dir / name).write_text("#!/bin/sh\n")
            (self.dir / name).chmod(0o755)
        self.programs = programs.Programs(str(self.dir), self.dir)

    def everywhere(self, kind: str, words: list, cpus: str = "3") -> str:
        one = subject.make(kind, Words(), words, cpus, self.dir, self.programs)
        return " ".join(one.everywhere).replace(str(self.dir), "D")

    def test_the_responder_is_placed_unless_it_places_itself(self):
        port = subject.PORT
        for words, cpus, wanted in (
                (["--io=socket"], "3", "taskset -c 3 {} --io-cpu=3 --io=socket"),
                (["--io-cpu=2"], "3", "{} --io-cpu=2"),
                (["--compute-cpus=2"], "3", "{} --io-cpu=3 --compute-cpus=2"),
                ([], "all", "{}")):
            with self.subTest(" ".join(words) + " on " + cpus):
                self.assertEqual(self.everywhere("saker", words, cpus),
                                 wanted.format(f"D/saker -i eth7 -p {port}"))

    def test_others_are_pinned(self):
        self.assertEqual(self.everywhere("peer", ["node", "x.js"]), "taskset -c 3 node x.js")
        self.assertEqual(self.everywhere("nginx", []),
                         "taskset -c 3 nginx -p D/nginx -c D/nginx/conf -e D/nginx/error.log")

    def test_nginx_answers_as_many_bytes_as_we_do(self):
        """{"alg":"fnv1a32","n":0,...,"compute_ns":NNNN}: 82 with the end of the line."""
        self.assertEqual(len(subject.BODY), 82)

    def test_a_body_in_quotes_of_nginx(self):
        self.assertEqual(subject.escaped("it's \\"), "it\\'s \\\\")
        with self.assertRaisesRegex(Trouble, "a variable of nginx's"):
            subject.escaped("$x")


class Remote(unittest.TestCase):
    """ssh is a script that runs the command here."""

    def setUp(self):
        self.dir = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.dir)
        ssh = self.dir / "ssh"
        ssh.write_text("#!/bin/sh\nfor last; do :; done\nexec sh -c \"$last\"\n")
        ssh.chmod(0o755)
        self.path = os.environ["PATH"]
        os.environ["PATH"] = f"{self.dir}:{self.path}"
        self.addCleanup(os.environ.__setitem__, "PATH", self.path)

    def start(self, *words: str, **more) -> subprocess.Popen:
        one = subprocess.Popen(remote.Remote("desk").ssh(words), stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, **more)
        self.addCleanup(one.stdout.close)
        return one

    def test_output_and_status_come_back(self):
        one = self.start("sh", "-c", "echo \"$1\"; exit 7", "x", "it's $5 * 'a  b'")
        self.assertEqual(one.stdout.read(), b"it's $5 * 'a  b'\n")
        self.assertEqual(one.wait(10), 7)
        one.stdin.close()

    def test_the_command_ends_with_the_connection(self):
        one = self.start("sh", "-c", "echo $$; exec sleep 300")
        job = int(one.stdout.readline())
        one.stdin.close()
        self.assertNotEqual(one.wait(10), 0)
        self.assertFalse(Path(f"/proc/{job}").exists())

    def test_as_a_program(self):
        done = subprocess.run([sys.executable, remote.__file__, "desk", "", "echo", "a b;"],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              check=True)
        self.assertEqual(done.stdout, "a b;\n")

    def test_a_folder_of_programs_that_run_there(self):
        folder = self.load("\"$# $1\"").programs(self.dir / "client")
        done = subprocess.run([str(folder / "saker-load"), "p99<50ms", "it's"], capture_output=True,
                              stdin=subprocess.DEVNULL, text=True, check=True)
        self.assertEqual(done.stdout, "2 p99<50ms\n")

    def load(self, text: str) -> remote.Remote:
        path = self.dir / "load"
        path.write_text(f"#!/bin/sh\necho {text}\n")
        path.chmod(0o755)
        return remote.Remote("desk", None, str(path))

    def test_another_version_and_none(self):
        self.load("saker-load 2").same_version("saker-load 2")
        with self.assertRaisesRegex(Trouble, "it has saker-load 1, here is saker-load 2; install"):
            self.load("saker-load 1").same_version("saker-load 2")
        with self.assertRaisesRegex(Trouble, "no /no/load there; copy"):
            remote.Remote("desk", None, "/no/load").same_version("saker-load 2")

    def route(self, text: str) -> None:
        ip = self.dir / "ip"
        ip.write_text(f"#!/bin/sh\necho '{text}'\n")
        ip.chmod(0o755)

    def test_loopback_is_refused(self):
        self.route('[{"dst":"10.0.0.1","dev":"lo","prefsrc":"10.0.0.1"}]')
        with self.assertRaisesRegex(Trouble, "loopback does not measure an interface; name an"):
            self.load("v").check("v", "10.0.0.1")

    def test_the_link(self):
        self.route('[{"gateway":"10.9.9.9","dev":"nowhere0","prefsrc":"10.0.0.2"}]')
        self.assertEqual(self.load("v").check("v", "10.0.0.1"),
                         {"dev": "nowhere0", "source": "10.0.0.2", "gateway": "10.9.9.9",
                          "speed_mbit": None})
        self.route("")
        with self.assertRaisesRegex(Trouble, "no route to 10.0.0.1"):
            self.load("v").link("10.0.0.1")


class Process(unittest.TestCase):
    def test_the_hint_of_argp_is_not_the_reason(self):
        self.assertEqual(process.last_line("x: bad option\nTry `x --help'.\n"), "x: bad option")
        self.assertEqual(process.last_line(" \n"), "")

    def test_a_command_that_is_not_there(self):
        with self.assertRaisesRegex(Trouble, "/no/such: No such file or directory; is it inst"):
            process.run(["/no/such"])
