# SPDX-License-Identifier: GPL-2.0-only
"""The measures in C (build/measure-*): what they print, what they refuse, and how.

Model    No root and no namespaces: a stand-in server on the loopback, files beside the
         programs, and a fake root for what this kernel does not lack.
Limits   Nothing is asserted about how fast anything is.
"""
import ctypes
import json
import mmap
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent.parent
BUILD = Path(os.environ.get("BUILD", TOP / "build")).resolve()

# Answers each request with 200 (or STATUS), from DELAY on; says WORDS after SAY_DELAY.
STANDIN = """
import os, socket, sys, threading, time
port, status, delay, words, say_delay = sys.argv[1:6]
time.sleep(float(delay))
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("127.0.0.1", int(port)))
s.listen(64)
def say():
    time.sleep(float(say_delay))
    if words:
        print(words, file=sys.stderr, flush=True)
threading.Thread(target=say, daemon=True).start()
while True:
    c = s.accept()[0]
    c.settimeout(1)
    try:
        if c.recv(1000):
            c.sendall(("HTTP/1.1 %s X\\r\\nContent-Length: 0\\r\\n\\r\\n" % status).encode())
    except OSError:
        pass
    c.close()
"""


def built(program: str) -> str:
    if not (BUILD / program).exists():
        raise unittest.SkipTest(f"{BUILD / program} is not built: run make")
    return str(BUILD / program)


def run(program: str, *words, status: int = 0):
    """What it says as JSON (None when it says nothing) and its stderr."""
    done = subprocess.run([built(program), *map(str, words)], text=True,
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    if done.returncode != status:
        raise AssertionError(f"status {done.returncode}, wanted {status}: {done.stderr}{done.stdout}")
    return json.loads(done.stdout) if done.stdout else None, done.stderr


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def standin(port, status="200", delay=0, words="", say_delay=0):
    return [sys.executable, "-c", STANDIN, port, status, delay, words, say_delay]


def resident(path: Path) -> int:
    """Pages of it in the page cache, looked up here and not by the program under test."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
    size = path.stat().st_size
    pages = -(-size // mmap.PAGESIZE)
    held = (ctypes.c_ubyte * pages)()
    with open(path, "rb") as file:
        at = libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, file.fileno(), 0)
        assert libc.mincore(ctypes.c_void_p(at), ctypes.c_size_t(size), held) == 0
        libc.munmap(ctypes.c_void_p(at), ctypes.c_size_t(size))
    return sum(b & 1 for b in held)


class First(unittest.TestCase):
    def test_figures(self):
        port = free_port()
        said, _ = run("measure-first", "127.0.0.1", port, *standin(port, delay=0.3))
        figures = said["figures"]
        self.assertGreaterEqual(figures["first_answer_ms"], 300)
        self.assertEqual(figures["first_answer_ms"], figures["last_answer_ms"])
        self.assertIsNone(figures["bypass_ms"])
        self.assertIsNone(figures["bypass_answer_ms"])
        self.assertGreater(figures["minflt"], 0)
        self.assertEqual(said["invalid"], [])

    def test_server_is_ended(self):
        port = free_port()
        run("measure-first", "127.0.0.1", port, *standin(port))
        with socket.socket() as s:
            self.assertNotEqual(s.connect_ex(("127.0.0.1", port)), 0)

    def test_ends_with_the_measure(self):
        port = free_port()
        process = subprocess.Popen([built("measure-first"), "127.0.0.1", str(port),
                                    *map(str, standin(port, status="500"))],
                                   stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 20
        with socket.socket() as s:
            while s.connect_ex(("127.0.0.1", port)) and time.monotonic() < deadline:
                time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        process.wait()
        gone = False
        while not gone and time.monotonic() < deadline:
            with socket.socket() as s:
                gone = s.connect_ex(("127.0.0.1", port)) != 0
        self.assertTrue(gone, "the server outlives the measure")

    def test_two_figures(self):
        port = free_port()
        ready = "saker: ready: x 1.2.3.4 port 1, rung xdp-native, copy"
        said, _ = run("measure-first", "--bypass", "127.0.0.1", port,
                      *standin(port, words=ready, say_delay=0.4))
        figures = said["figures"]
        self.assertGreaterEqual(figures["bypass_ms"], 400)
        self.assertLess(figures["first_answer_ms"], figures["bypass_ms"])
        self.assertEqual(said["ready"], ready)

    def test_bypass_only_when_asked(self):
        """The line is there all the same, while the server ends."""
        port = free_port()
        ready = "saker: ready: x 1.2.3.4 port 1, rung xdp-native, copy"
        said, _ = run("measure-first", "127.0.0.1", port, *standin(port, words=ready))
        self.assertIsNone(said["figures"]["bypass_ms"])
        self.assertIsNone(said["ready"])

    def test_no_bypass_is_invalid(self):
        port = free_port()
        said, _ = run("measure-first", "--bypass", "127.0.0.1", port,
                      *standin(port, words="saker: ready: x, rung socket, none"), status=3)
        self.assertIn("no XDP rung", said["invalid"][0])

    def test_several(self):
        base = free_port() // 10  # ports that differ in the last digit only, which %n is
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "standin.py"
            source.write_text(STANDIN)
            said, _ = run("measure-first", "--count=2", "--pause=200", "127.0.0.1", f"{base}%n",
                          sys.executable, source, f"{base}%n", 200, "0.%n", "", 0)
        self.assertEqual(len(said["servers"]), 2)
        first, second = (s["first_answer_ms"] for s in said["servers"])
        self.assertGreaterEqual(second, 100)
        self.assertEqual(said["figures"]["first_answer_ms"], min(first, second))
        self.assertEqual(said["figures"]["last_answer_ms"], max(first, second))

    def test_after(self):
        port = free_port()
        said, _ = run("measure-first", "--after=echo '{\"seen\": 7}'", "127.0.0.1", port,
                      *standin(port))
        self.assertEqual(said["after"], {"seen": 7})

    def test_somebody_is_there(self):
        port = free_port()
        server = subprocess.Popen([str(w) for w in standin(port)])
        try:
            deadline = time.monotonic() + 20
            with socket.socket() as s:
                while s.connect_ex(("127.0.0.1", port)) and time.monotonic() < deadline:
                    time.sleep(0.02)
            _, error = run("measure-first", "127.0.0.1", port, "true", status=1)
        finally:
            server.kill()
            server.wait()
        self.assertIn("answers at 127.0.0.1 port", error)
        self.assertIn("stop it", error)

    def test_refusals(self):
        port = free_port()
        for words, status, cure in [
            (["127.0.0.1", port], 2, "COMMAND"),
            (["127.0.0.1", port, "false"], 1, "foreground"),
            (["127.0.0.1", port, "/no/such/program"], 1, "No such file"),
            (["nowhere", port, "true"], 2, "numeric"),
            (["--cpu=4000000", "127.0.0.1", port, "true"], 2, "--cpu"),
            (["--count=0", "127.0.0.1", port, "true"], 2, "from 1"),
            (["--count=2", "--bypass", "127.0.0.1", port, "true"], 2, "--count"),
            (["--timeout=1", "127.0.0.1", port, "sleep", "30"], 1, "--timeout"),
            (["--timeout=3", "127.0.0.1", port, *standin(port, status="404")], 1, "HTTP/1.1 404"),
        ]:
            with self.subTest(words=words[:3]):
                said, error = run("measure-first", *words, status=status)
                self.assertIsNone(said)
                self.assertEqual(error.count("\n"), 1, error)
                self.assertIn(cure, error)


class Media(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(dir=BUILD)
        self.file = Path(self.folder.name) / "file"
        self.file.write_bytes(os.urandom(300000))

    def tearDown(self):
        self.folder.cleanup()

    def evict(self):
        try:
            return run("measure-media", "evict", self.file)[0]
        except AssertionError as error:
            if "file system is memory" in str(error):
                raise unittest.SkipTest(f"{BUILD} is in memory: nothing can be evicted there")
            raise

    def test_evicted_means_evicted(self):
        self.file.read_bytes()
        self.assertGreater(resident(self.file), 0)
        said = self.evict()
        self.assertEqual(resident(self.file), 0)
        self.assertGreater(said["evicted"][0]["resident_before"], 0)
        self.assertEqual(said["evicted"][0]["resident_after"], 0)
        self.assertEqual(said["evicted"][0]["bytes"], 300000)

    def test_mapped_is_refused(self):
        self.evict()
        with open(self.file, "rb") as file, \
             mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as held:
            self.assertEqual(len(held[:]), 300000)
            said, error = run("measure-media", "evict", self.file, status=1)
        self.assertIsNone(said)
        self.assertIn("mapped", error)
        self.assertIn("take a copy", error)

    def test_read(self):
        try:
            said, _ = run("measure-media", "read", "--mib=2", "--reads=20", self.folder.name)
        except AssertionError as error:
            if "O_DIRECT" in str(error):
                raise unittest.SkipTest(f"no O_DIRECT in {BUILD}")
            raise
        figures = said["figures"]
        for name in ("seq_mb_sec", "random_p50_us", "random_mean_us", "random_max_us"):
            self.assertGreater(figures[name], 0, name)
        self.assertLessEqual(figures["latency_us"], figures["random_p50_us"])
        self.assertEqual(os.listdir(self.folder.name), ["file"])

    def test_refusals(self):
        for words, status, cure in [
            (["evict"], 2, "which files"),
            (["read"], 2, "which folder"),
            (["write", "x"], 2, "evict FILE"),
            (["evict", "/no/such/file"], 1, "can be read"),
            (["evict", self.folder.name], 1, "no file"),
            (["read", "/no/such/folder"], 1, "can be written"),
            (["read", "--block=5000", self.folder.name], 2, "multiple"),
        ]:
            with self.subTest(words=words):
                said, error = run("measure-media", *words, status=status)
                self.assertIsNone(said)
                self.assertIn(cure, error)


class Pages(unittest.TestCase):
    NAMES = ("mmap_us", "madvise_us", "prefault_us", "munmap_us", "walk_ns", "minflt", "total_us")

    def test_base(self):
        said, _ = run("measure-pages", "--kib=4096", "--rounds=3")
        for name in self.NAMES:
            self.assertGreater(said["figures"][name], 0, name)
        self.assertEqual(said["figures"]["huge_kib"], 0)
        self.assertGreaterEqual(said["figures"]["minflt"], 4096 * 1024 // mmap.PAGESIZE)
        self.assertEqual(said["page_size"], mmap.PAGESIZE)

    def fake(self, files: dict) -> str:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        for name, text in files.items():
            path = Path(folder.name) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return f"--root={folder.name}"

    def skipped(self, *words) -> str:
        said, _ = run("measure-pages", *words, status=4)
        self.assertEqual(said["figures"], {})
        return said["skipped"]

    def test_a_pi_has_no_hugetlbfs(self):
        root = self.fake({"proc/meminfo": "MemTotal: 8000000 kB\n"})
        self.assertIn("no hugetlbfs", self.skipped("--kind=huge", root))

    def test_thp_never(self):
        base = "sys/kernel/mm/transparent_hugepage/"
        root = self.fake({base + "enabled": "always madvise [never]\n",
                          base + "hpage_pmd_size": "2097152\n"})
        self.assertIn("off", self.skipped("--kind=thp", root))

    def test_none_to_be_had(self):
        """A kernel that finds none: the count that is written stays without effect. Put back."""
        meminfo = "HugePages_Total: 0\nHugePages_Free: 0\nHugePages_Rsvd: 0\nHugepagesize: 2048 kB\n"
        root = self.fake({"proc/meminfo": meminfo, "proc/sys/vm/nr_hugepages": "0\n"})
        self.assertIn("at boot", self.skipped("--kind=huge", root))
        self.assertEqual((Path(root[7:]) / "proc/sys/vm/nr_hugepages").read_text(), "0\n")

    def test_refusals(self):
        for words, cure in [(["--kind=big"], "base, thp, huge"), (["--kib=1"], "from 64"),
                            (["--rounds=0"], "from 1"), (["what"], "options only")]:
            with self.subTest(words=words):
                _, error = run("measure-pages", *words, status=2)
                self.assertIn(cure, error)


if __name__ == "__main__":
    unittest.main()
