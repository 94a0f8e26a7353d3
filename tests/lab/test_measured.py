# SPDX-License-Identifier: GPL-2.0-only
"""The measures in Python: their arithmetic, and what they make of files.

Model    Numbers that are known beforehand: a model by hand, a made series of a load and a made
         probe, the energy of a trace whose area is known.
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent.parent
LAB = TOP / "tools" / "lab"
BUILD = Path(os.environ.get("BUILD", TOP / "build")).resolve()
sys.path.insert(0, str(LAB))

import measure_container
import measure_media
import measure_phases
import world

START_NS = 1_764_600_000_000_000_000
WHY_NO_POWER = "# source pmic: absent: no /dev/vcio\n# source power: absent: no meter\n"


def run(name: str, *words, status: int = 0):
    done = subprocess.run([sys.executable, str(LAB / f"{name}.py"), *map(str, words)], text=True,
                          capture_output=True, stdin=subprocess.DEVNULL, timeout=60)
    if done.returncode != status:
        raise AssertionError(f"status {done.returncode}, wanted {status}: {done.stderr}{done.stdout}")
    return json.loads(done.stdout) if done.stdout else None, done.stderr


class Media(unittest.TestCase):
    MEDIUM = {"latency_us": 500.0, "seq_mb_sec": 80.0, "random_p50_us": 700.0}

    def test_model(self):
        """3 ms warm; 1 + 9 waits of 0.5 ms; 1 MiB at 80 MB/s is 13.1072 ms."""
        self.assertAlmostEqual(measure_media.model_ms(3, 9, 1024, 500, 80), 3 + 5 + 13.1072)

    def test_error_has_a_sign(self):
        self.assertAlmostEqual(measure_media.error_pct(9, 10), -10)
        self.assertAlmostEqual(measure_media.error_pct(12, 10), 20)

    def test_fitted(self):
        warm = [{"first_answer_ms": w} for w in (2.0, 3.0, 9.0)]
        cold = [{"first_answer_ms": c, "majflt": 9, "read_kib": 1024} for c in (20.0, 22.0, 21.0)]
        figures = measure_media.fitted(self.MEDIUM, warm, cold)
        self.assertEqual(figures["warm_ms"], 3)
        self.assertEqual(figures["evicted_ms"], 21)
        self.assertEqual(figures["cost_ms"], 18)
        self.assertAlmostEqual(figures["model_ms"], 21.1072)
        self.assertAlmostEqual(figures["error_signed_pct"], 0.1072 / 21 * 100)
        # 1.1072 above 20, 0.8928 below 22, 0.1072 above 21: the one in the middle
        self.assertAlmostEqual(figures["error_pct"], 0.8928 / 22 * 100)

    def test_error_without_its_sign_does_not_cancel(self):
        """Half of the starts 50 % too fast, half 50 % too slow, one right: not an error of 0."""
        took = (42.2144, 42.2144, 21.1072, 14.0715, 14.0715)
        cold = [{"first_answer_ms": c, "majflt": 9, "read_kib": 1024} for c in took]
        figures = measure_media.fitted(self.MEDIUM, [{"first_answer_ms": 3.0}], cold)
        self.assertGreater(figures["error_pct"], 40)

    def test_refusals(self):
        _, error = run("measure_media", "--rounds=0", "127.0.0.1", "1", "x", status=2)
        self.assertIn("--rounds", error)
        _, error = run("measure_media", "--dir=/no/such", "127.0.0.1", "1", "x", status=1)
        self.assertIn("can be written", error)
        self.assertEqual(error.count("\n"), 1)


class Phases(unittest.TestCase):
    SEEN = {"first_answer_ms": 3.0, "bypass_ms": 20.0, "minflt": 9, "majflt": 0}

    def test_parts_are_the_whole(self):
        mode = {"started_ns": 1_000_000, "listening_ns": 1_500_000, "ready_ns": 19_000_000}
        got = measure_phases.phases(self.SEEN, mode)
        self.assertAlmostEqual(got["listening_inside_ms"], 0.5)
        self.assertAlmostEqual(got["attach_ms"], 17.5)
        self.assertAlmostEqual(got["before_main_ms"], 2)
        self.assertAlmostEqual(got["before_main_ms"] + got["listening_inside_ms"] + got["attach_ms"],
                               got["bypass_ms"])

    def test_no_bypass(self):
        mode = {"started_ns": 1_000_000, "listening_ns": 1_500_000, "ready_ns": 0}
        got = measure_phases.phases(self.SEEN, mode)
        self.assertIsNone(got["bypass_inside_ms"])
        self.assertIsNone(got["attach_ms"])
        self.assertIsNone(got["before_main_ms"])


class Container(unittest.TestCase):
    def test_figures(self):
        said = {"figures": {"read_kib": 0},
                "servers": [{"first_answer_ms": ms} for ms in (30, 10, 40, 20)]}
        got = measure_container.figures_of(said, 7)
        self.assertEqual((got["first_answer_ms"], got["median_answer_ms"], got["last_answer_ms"],
                          got["network_ms"]), (10, 25, 40, 7))

    def test_bundle(self):
        config = world.bundle(["/bin/x", "y"], "net-1", "3", ["/srv"])
        self.assertEqual(config["process"]["args"], ["/bin/x", "y"])
        self.assertIn({"type": "network", "path": "/run/netns/net-1"}, config["linux"]["namespaces"])
        self.assertEqual(config["linux"]["resources"], {"cpu": {"cpus": "3"}})
        self.assertIn("/srv", [m["destination"] for m in config["mounts"]])
        kinds = {m["destination"]: m["type"] for m in config["mounts"]}
        self.assertEqual(kinds["/sys"], "sysfs")

    def test_host_network_has_the_hosts(self):
        config = world.bundle(["/bin/x"], "", None, [])
        self.assertNotIn("network", [n["type"] for n in config["linux"]["namespaces"]])
        self.assertEqual(config["linux"]["resources"], {})
        kinds = {m["destination"]: m["type"] for m in config["mounts"]}
        self.assertEqual(kinds["/sys"], "bind")

    def test_each_its_own_port_or_address(self):
        for net in measure_container.NETS:
            with self.subTest(net=net):
                seen = {(world.address(net).replace("%n", str(i)),
                         world.port_pattern(net).replace("%n", str(i))) for i in range(8)}
                self.assertEqual(len(seen), 8)
                self.assertEqual({int(p) for _, p in seen}, {world.port(net, i) for i in range(8)})

    def test_refusals(self):
        for words in (["--net=vlan", "x"], ["--instances=9", "x"], ["--load=some", "x"], []):
            with self.subTest(words=words):
                run("measure_container", *words, status=2)


class Files(unittest.TestCase):
    """A folder with what a load and a probe have written."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def load(self, start_s: float, seconds: int, ok: int, series=None) -> None:
        series = series or [{"s": s, "ok": ok // seconds, "p50": 20000, "p99": 100000,
                             "max": 300000} for s in range(seconds)]
        start = START_NS + int(start_s * 1e9)
        (self.folder / "load.json").write_text(json.dumps({
            "started_unix_ns": start, "ended_unix_ns": start + seconds * 10 ** 9, "warm_s": 1,
            "ok": ok, "rate_ok": ok / seconds, "invalid": [], "latency": {"p99": 100000},
            "series": series}))

    def probe(self, header: str, rows, comments: str = "") -> None:
        text = "".join(",".join(map(str, row)) + "\n" for row in rows)
        (self.folder / "probe.csv").write_text(f"{comments}{header}\n{text}")


class Thermal(Files):
    def warmed(self, rise: float) -> None:
        """50 degrees for 5 s; then 12 s in which it rises, and the tail by 10 us a degree."""
        def temp(s):
            return 50 + max(0, s - 5) / 11 * rise

        rows = [(START_NS + int((s + part) * 1e9), s + part, temp(s), 2400 if temp(s) < 60 else 1800,
                 1000 * (s + part) * (1 + (temp(s) > 60)), 0 if temp(s) < 60 else 4)
                for s in range(17) for part in (0.1, 0.3, 0.5, 0.7, 0.9)]
        self.probe("unix_ns,s,temp_c,freq_mhz_cpu3,l1i_refills,throttled_now", rows)
        self.load(5, 12, 24000, [{"s": s, "ok": 2000, "p50": 20000,
                                  "p99": int(100000 + 10000 * (temp(s + 5) - 50)), "max": 500000}
                                 for s in range(12)])

    def told(self):
        return run("measure_thermal", f"--replay={self.folder}", "--server-cpu=3")[0]

    def test_it_gets_warm(self):
        self.warmed(22)
        said = self.told()
        figures = said["figures"]
        self.assertTrue(said["replayed"])
        self.assertEqual(figures["temp_idle_c"], 50)
        self.assertAlmostEqual(figures["rise_c"], 22)
        self.assertEqual((figures["freq_min_mhz"], figures["freq_max_mhz"]), (1800, 2400))
        self.assertAlmostEqual(figures["tail_us_per_c"], 10, 3)
        # The thirds of 12 seconds: 0 to 3, and 8 to 11, at 2 degrees a second.
        self.assertAlmostEqual(figures["tail_cool_us"], 130)
        self.assertAlmostEqual(figures["tail_hot_us"], 290)
        self.assertAlmostEqual(figures["tail_hot_over_cool"], 290 / 130, 4)
        self.assertEqual(figures["throttled_s"], 7)
        self.assertEqual(said["tail"], "p99 of a second")
        self.assertAlmostEqual(figures["l1i_hot"], 1, 3)
        self.assertEqual(sum(b["seconds"] for b in said["table"]), 12)
        self.assertEqual({b["freq_mhz"] for b in said["table"]}, {1800, 2400})

    def test_it_stays_cool(self):
        self.warmed(1)
        figures = self.told()["figures"]
        self.assertIsNone(figures["tail_hot_over_cool"])
        self.assertIsNone(figures["tail_us_per_c"])

    def test_no_temperature(self):
        self.load(5, 12, 24000)
        self.probe("unix_ns,s,load1", [(START_NS + i * 10 ** 9, i, 0.5) for i in range(17)],
                   "# source temperature: absent: no thermal zone\n")
        said, _ = run("measure_thermal", f"--replay={self.folder}", status=4)
        self.assertIn("no thermal zone", said["skipped"])

    def test_too_short(self):
        self.warmed(22)
        self.load(5, 3, 6000)
        _, error = run("measure_thermal", f"--replay={self.folder}", status=1)
        self.assertIn("--seconds", error)
        self.assertEqual(error.count("\n"), 1)

    def test_no_files(self):
        _, error = run("measure_thermal", f"--replay={self.folder}", status=1)
        self.assertIn("load.json", error)


class Energy(Files):
    def told(self, status: int = 0):
        if not (BUILD / "saker-probe").exists():
            self.skipTest(f"{BUILD / 'saker-probe'} is not built: run make")
        return run("measure_energy", f"--build={BUILD}", f"--replay={self.folder}", status=status)[0]

    def test_trace_with_a_known_area(self):
        """tests/probe/pmic.csv: 3 W at rest, 8 W from 4 s to 9 s, which is 40 J."""
        trace = TOP / "tests" / "probe" / "pmic.csv"
        if not trace.exists():
            self.skipTest(f"no {trace}")
        (self.folder / "probe.csv").write_bytes(trace.read_bytes())
        self.load(4, 5, 20000)
        said = self.told()
        figures = said["figures"]
        self.assertTrue(said["replayed"])
        self.assertEqual(said["source"], "watts")
        self.assertAlmostEqual(figures["joules"], 40, 3)
        self.assertAlmostEqual(figures["watts"], 8, 3)
        self.assertAlmostEqual(figures["watts_idle"], 3, 3)
        self.assertAlmostEqual(figures["joules_per_request"], 0.002, 6)
        self.assertAlmostEqual(figures["requests_per_s_per_watt"], 500, 1)
        self.assertAlmostEqual(figures["millijoules_over_idle"], 25 / 20000 * 1e3, 4)

    def test_no_power(self):
        self.load(5, 5, 100)
        self.probe("unix_ns,s,load1", [(START_NS + i * 10 ** 9, i, 0.5) for i in range(12)],
                   WHY_NO_POWER)
        self.assertIn("no /dev/vcio", self.told(status=4)["skipped"])

    def test_nothing_answered(self):
        self.load(4, 5, 0)
        self.probe("unix_ns,s,watts", [(START_NS + i * 10 ** 9, i, 3) for i in range(12)])
        _, error = run("measure_energy", f"--build={BUILD}", f"--replay={self.folder}", status=1)
        self.assertIn("no request was answered", error)


if __name__ == "__main__":
    unittest.main()
