# SPDX-License-Identifier: GPL-2.0-only
"""test_loads.py - measures of several loads, with servers made of a formula

Place   tests/lab/run.py runs it, without root.
Model   loadgen.run is replaced: a server answers in 100 us up to its capacity and in a second
        beyond, a client is late beyond its own. Then what a measure must find is known. And
        once for real, on the loopback: nginx with TLS before a server, asked by saker-load.
"""

import argparse
import contextlib
import io
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("BUILD", ROOT / "build"))
TOOLS = ROOT / "tools" / "lab"
sys.path.insert(0, str(TOOLS))
import loadgen  # noqa: E402
import measure_gateway  # noqa: E402
import measure_highest  # noqa: E402
import measure_overload  # noqa: E402

LATE = "own lag p99 9.63 ms is above a tenth of the latency's: give the generator a core"


class Server:
    """In place of loadgen.run."""

    def __init__(self, capacity: float, client: float = 1e9, short: float = 1.0) -> None:
        self.capacity, self.client, self.short = capacity, client, short
        self.asked: list[dict[str, str]] = []

    def options(self, words: tuple[str, ...]) -> dict[str, str]:
        parted = (word.lstrip("-").partition("=") for word in words)
        return {name: value for name, _, value in parted}

    def run(self, build: str, url: str, *words: str, keep: str = "") -> dict:
        asked = self.options(words)
        self.asked.append(asked)
        rate = self.capacity if "closed" in asked else float(asked.get("rate", "1"))
        # What a minute does not bear a few seconds may: `short` is by how much more.
        limit = self.capacity * (self.short if float(asked["seconds"]) < 10 else 1)
        late, full = rate > self.client, rate > limit
        requests = int(rate * float(asked["seconds"]))
        ok = int(requests * min(1, limit / rate))
        ns = 1_000_000_000 if full else 100_000
        times = {"count": ok, "p50": ns, "p99": ns, "max": ns, "p999": ns if ok >= 10000 else None}
        return {
            "valid": not late, "invalid": [LATE] if late else [], "requests": requests, "ok": ok,
            "refused": requests - ok, "errors": 0, "timeouts": 0, "resets": 0, "wrong": 0,
            "rate_ok": min(rate, limit), "latency": times,
            "refusal": {"p50": 50_000, "p99": 60_000} if full else None,
            "histogram": {"latency": [[1, 1]]},
        }


def measured(module, server: Server, *words: str) -> tuple[dict, int]:
    """What it prints, and its exit status."""
    argv = [module.__name__, "--build=b", "--run=r", *words, "192.0.2.1", "8080"]
    with mock.patch.object(loadgen, "run", server.run), mock.patch.object(sys, "argv", argv), \
            contextlib.redirect_stdout(io.StringIO()) as out:
        try:
            module.main()
            status = 0
        except SystemExit as end:
            status = end.code or 0
    return json.loads(out.getvalue()), status


class Highest(unittest.TestCase):
    def test_the_aim_holds(self) -> None:
        server = Server(capacity=150000)
        found, status = measured(measure_highest, server)
        self.assertEqual((found["figures"]["held_rate"], status, len(server.asked)), (100000, 0, 1))

    def test_the_highest_below_it_within_a_tenth(self) -> None:
        for capacity in (13000, 30000, 62000, 99000):
            found, status = measured(measure_highest, Server(capacity))
            rate = found["figures"]["held_rate"]
            self.assertTrue(capacity / 1.12 <= rate <= capacity, (capacity, rate))
            self.assertEqual((status, found["figures"]["client_limited"]), (0, 0))

    def test_a_minute_decides(self) -> None:
        found, _ = measured(measure_highest, Server(capacity=50000, short=1.3))
        rate = found["figures"]["held_rate"]
        self.assertTrue(40000 <= rate <= 50000, rate)

    def test_none(self) -> None:
        server = Server(capacity=5000)
        found, status = measured(measure_highest, server)
        figures = found["figures"]
        self.assertEqual((figures["held_rate"], figures["held_p999"], status), (0, None, 0))
        self.assertEqual(len(server.asked), 2)  # the aim, and an eighth of it: no long way down

    def test_a_late_client_is_told_from_a_slow_server(self) -> None:
        found, status = measured(measure_highest, Server(capacity=1e6, client=40000))
        self.assertTrue(35000 <= found["figures"]["held_rate"] <= 40000)
        self.assertEqual((found["figures"]["client_limited"], status), (1, 0))

    def test_with_a_late_client_none_is_no_finding(self) -> None:
        found, status = measured(measure_highest, Server(capacity=1e6, client=10))
        self.assertEqual((found["figures"]["held_rate"], found["valid"]), (0, False))
        self.assertEqual(status, loadgen.INVALID)

    def test_steps_carry_the_percentile(self) -> None:
        server = Server(capacity=3000)
        measured(measure_highest, server, "--aim=8000", "--step-s=1")
        for asked in server.asked[1:]:
            self.assertGreaterEqual(float(asked["rate"]) * float(asked["seconds"]), 10000)


class Overload(unittest.TestCase):
    def test_rates_come_from_the_capacity(self) -> None:
        server = Server(capacity=2000)
        found, status = measured(measure_overload, server)
        closed, unloaded, over = server.asked
        self.assertIn("closed", closed)
        self.assertEqual((float(unloaded["rate"]), float(over["rate"])), (200, 3000))
        self.assertGreaterEqual(float(unloaded["seconds"]) * 200, 1000)
        figures = found["figures"]
        self.assertEqual((figures["capacity"], figures["accepted_ratio"], status), (2000, 10000, 0))
        self.assertAlmostEqual(figures["refused_share"], 1 / 3, 3)
        self.assertEqual((figures["refused_p50"], figures["wrong"], figures["errors"]), (50, 0, 0))

    def test_bulk_is_left_out(self) -> None:
        found, _ = measured(measure_overload, Server(capacity=2000))
        self.assertNotIn("histogram", found["steps"]["overload"])

    def test_slow_servers_take_no_hours(self) -> None:
        server = Server(capacity=10)
        measured(measure_overload, server)
        self.assertLessEqual(float(server.asked[1]["seconds"]), 40)

    def test_a_late_client_shows(self) -> None:
        found, status = measured(measure_overload, Server(capacity=2000, client=1000))
        self.assertEqual(status, loadgen.INVALID)
        self.assertTrue(any(why.startswith("overload: own lag") for why in found["invalid"]))


class Gateway(unittest.TestCase):
    def life(self, server: Server) -> measure_gateway.Life:
        args = argparse.Namespace(
            address="192.0.2.1", port="8080", build="b", run="r", post='{"n":1}',
            rate=1000.0, seconds=10.0, connections=8, limit_ms=10.0, max_rate=100000.0,
            step_s=1.0, burst="100@500",
        )
        life = measure_gateway.Life(args)
        with mock.patch.object(loadgen, "run", server.run):
            life.lead()
        return life

    def test_the_first_thousand(self) -> None:
        server = Server(capacity=1e6)
        self.life(server)
        first = server.asked[0]
        self.assertEqual(float(first["rate"]) * float(first["seconds"]), 1000)
        self.assertEqual((first["warm"], first["post"]), ("0", '{"n":1}'))

    def test_no_search_below_what_failed(self) -> None:
        server = Server(capacity=100)
        life = self.life(server)
        self.assertFalse(any("find-max" in asked for asked in server.asked))
        self.assertIsNone(life.figures(1.0)["highest_rate"])

    def test_else_there_is_one(self) -> None:
        server = Server(capacity=1e6)
        self.life(server)
        searches = [asked["find-max"] for asked in server.asked if "find-max" in asked]
        self.assertEqual(searches, ["p99<10ms"])


class Loads(unittest.TestCase):
    def test_without_saker_load_one_line_says_so(self) -> None:
        command = [sys.executable, str(TOOLS / "measure_overload.py"), "--build=/nowhere"]
        command += ["--run=/tmp", "127.0.0.1", "9"]
        said = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual(said.returncode, 1)
        wanted = r"\Ameasure_overload.py: /nowhere/saker-load: .*run make.*\n\Z"
        self.assertRegex(said.stderr, wanted)

    def test_absent_percentiles_stay_absent(self) -> None:
        self.assertIsNone(loadgen.us({"latency": {"p99": None}}, "latency", "p99"))
        self.assertIsNone(loadgen.us({"refusal": None}, "refusal", "p50"))
        self.assertIsNone(loadgen.ratio(None, 1.0))
        self.assertIsNone(loadgen.ratio(1.0, None))


def lacking() -> str:
    """What the chain needs and is not here."""
    for name in ("node", "nginx", "openssl"):
        if not shutil.which(name):
            return f"no {name}: tools/deps install"
    load = BUILD / "saker-load"
    return "" if load.exists() else f"{load} is not built: run make first"


@unittest.skipIf(lacking(), lacking())
class Chain(unittest.TestCase):
    """Node behind it, on the loopback. The responder needs no part in this."""

    def setUp(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = str(free.getsockname()[1])
        command = ["node", str(ROOT / "examples/peers/compute.js"), "127.0.0.1", self.port]
        self.peer = subprocess.Popen(command)
        self.addCleanup(self.peer.wait)
        self.addCleanup(self.peer.terminate)
        end = time.monotonic() + 30
        while time.monotonic() < end:
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", int(self.port)), 1).close()
                return
            time.sleep(0.05)
        self.fail("the peer does not listen")

    def measure(self, folder: str, level: str, seconds: str, port: str, **env: str):
        command = [sys.executable, str(TOOLS / "measure_chain.py"), f"--build={BUILD}"]
        command += [f"--run={folder}", f"--chain={level}", "--rate=50", f"--seconds={seconds}"]
        command += ["--warm-s=0", "--limit-ms=0", "127.0.0.1", port]
        how = {"capture_output": True, "text": True, "timeout": 60, "env": {**os.environ, **env}}
        return subprocess.run(command, check=False, **how)

    def test_answers_are_right_behind_it(self) -> None:
        for level in ("proxied", "tls", "tls-anew"):
            with self.subTest(level), tempfile.TemporaryDirectory() as folder:
                done = self.measure(folder, level, "0.6", self.port)
                self.assertIn(done.returncode, (0, loadgen.INVALID), done.stderr)
                figures = json.loads(done.stdout)["figures"]
                self.assertEqual((figures["wrong"], figures["errors"]), (0, 0))
                self.assertGreater(figures["chain_p50"], 0)
                self.assertGreaterEqual(json.loads(Path(folder, "load.json").read_text())["ok"], 20)

    def test_no_nginx_stays(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            self.measure(folder, "tls", "0.5", "9", TMPDIR=folder)
            mine = [p for p in Path("/proc").glob("[0-9]*/cmdline") if self.has(p, folder)]
        self.assertEqual(mine, [])

    @staticmethod
    def has(path: Path, folder: str) -> bool:
        with contextlib.suppress(OSError):
            return folder.encode() in path.read_bytes()
        return False


if __name__ == "__main__":
    unittest.main()
