# SPDX-License-Identifier: GPL-2.0-only
"""store: figures of a run by their paths, in their units; what a broken-off run leaves."""
import csv
import json
import shutil
import tempfile
import unittest
from pathlib import Path

import store
from figure import Figure
from trouble import Trouble

LAB = """title T
factor subject a b
subject a saker
subject b nginx
load
figures p50 p99
figure first_ms figures.first_ms ms lower first answer
figure warm probe:temp_c.rise C lower rise of the temperature
"""
PROBE = """# source temp: ok
# source fan: absent: no such file
unix_ns,s,temp_c,rss_kb,throttled_now
1,0.0,40,100,0
2,0.1,44,,0
3,0.2,43,160,0
"""


def figure(path: str, unit: str) -> Figure:
    return Figure("x", path, unit, "lower", "")


class Store(unittest.TestCase):
    def setUp(self):
        self.dir = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.dir)
        runs = [{"run": n, "repetition": 1, "block": 1, "factors": {"subject": s}}
                for n, s in ((1, "a"), (2, "b"), (3, "a"))]
        self.session = store.create(self.dir / "s", LAB, {"experiment": "x", "runs": runs})
        folder = self.session.begin(1)
        (folder / "load.json").write_text(json.dumps({
            "latency": {"p50": 2500, "p99": None, "count": 5000}, "rate_ok": 12.5, "valid": True,
            "mix": [{"latency": {"p50": 7000}}], "seconds": 3}))
        (folder / "measure.json").write_text(json.dumps(
            {"figures": {"first_ms": 1.5, "none": None, "a.b": 4}}))
        (folder / "stages.json").write_text(json.dumps({"since": {
            "stages": {"total": {"p99_ns": 9000}}, "counters": {"xdp_seen": 7}}}))
        (folder / "probe.csv").write_text(PROBE)
        store.write_json(folder / "run.json", {"state": "dirty", "why": ["w"], "pss_kb": 2048})
        self.run_ = self.session.runs[0]

    def figure(self, path: str, unit: str):
        return self.run_.figure(figure(path, unit))

    def test_times_come_in_the_figures_unit(self):
        for path, unit, wanted in (
                ("latency.p50", "us", 2.5), ("latency.p50", "ns", 2500),
                ("latency.p50", "ms", 0.0025), ("mix.0.latency.p50", "us", 7),
                ("stages:total.p99_ns", "us", 9),
                ("figures.first_ms", "ms", 1.5), ("figures.first_ms", "us", 1500),
                ("run:pss_kb", "KiB", 2048), ("run:pss_kb", "MiB", 2)):
            with self.subTest(path + " in " + unit):
                self.assertAlmostEqual(self.figure(path, unit), wanted)

    def test_what_is_no_time_stays(self):
        for path, wanted in (("latency.count", 5000), ("rate_ok", 12.5), ("counters:xdp_seen", 7),
                             ("figures.a.b", 4), ("seconds", 3)):
            with self.subTest(path):
                self.assertEqual(self.figure(path, "x"), wanted)

    def test_columns_of_the_probe(self):
        for how, wanted in (("max", 44), ("min", 40), ("first", 40), ("last", 43), ("rise", 4),
                            ("delta", 3)):
            with self.subTest(how):
                self.assertEqual(self.figure("probe:temp_c." + how, "C"), wanted)
        self.assertEqual(self.figure("probe:rss_kb.mean", "KiB"), 130)

    def test_what_is_not_there_is_none(self):
        for path in ("latency.p99", "latency.p98", "figures.none", "figures.no", "valid",
                     "latency", "probe:fan.max", "counters:no", "stages:no.p99_ns",
                     "mix.9.latency.p50", "run:no"):
            with self.subTest(path):
                self.assertIsNone(self.figure(path, "us"))

    def test_a_dirty_run_counts_only_when_accepted(self):
        self.assertFalse(self.run_.usable)
        self.session.plan["accept_dirty"] = True
        self.assertTrue(self.session.runs[0].usable)

    def test_a_run_without_a_state_is_to_do(self):
        folder = self.session.begin(2)
        for text in (None, "{", '{"state": "strange"}', "[]"):
            if text is not None:
                (folder / "run.json").write_text(text)
            with self.subTest(text):
                self.assertEqual([r.state for r in self.session.planned], ["dirty", "todo", "todo"])
                self.assertEqual(len(self.session.runs), 1)

    def test_begin_takes_away_what_was_left(self):
        (self.session.begin(2) / "load.json").write_text("{}")
        self.assertEqual(list(self.session.begin(2).iterdir()), [])

    def test_the_table_has_a_row_for_each_run_that_ended(self):
        with self.session.write_figures().open() as f:
            rows = list(csv.DictReader(f))
        self.assertEqual(len(rows), 1)
        wanted = {"run": "1", "state": "dirty", "subject": "a", "p50_us": "2.5", "p99_us": "",
                  "warm": "4", "first_ms": "1.5"}
        self.assertEqual({name: rows[0][name] for name in wanted}, wanted)

    def test_a_folder_that_is_there_is_not_overwritten(self):
        with self.assertRaisesRegex(Trouble, "File exists; name another"):
            store.create(self.dir / "s", LAB, {})

    def test_a_folder_of_somebody_else(self):
        with self.assertRaisesRegex(Trouble, "no session of saker-lab"):
            store.Session(self.dir)
