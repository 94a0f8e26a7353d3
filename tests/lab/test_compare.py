# SPDX-License-Identifier: GPL-2.0-only
"""compare: two sessions joined by their levels, unpaired, and what differs between them."""
import shutil
import tempfile
import unittest
from pathlib import Path

import compare
import fixtures
import stats
from test_report import Reader
from trouble import Trouble

BEFORE = [(1.0, 2.0), (1.1, 2.2), (1.05, 2.1), (1.02, 2.0)]
AFTER = [(0.5, 2.1), (0.55, 2.0), (0.52, 2.2)]


@unittest.skipUnless(shutil.which("gnuplot"), "no gnuplot")
class Compare(unittest.TestCase):
    def setUp(self):
        top = tempfile.TemporaryDirectory()
        self.addCleanup(top.cleanup)
        self.top = Path(top.name)
        self.a = fixtures.write_measured(self.top / "before", BEFORE)
        self.b = fixtures.write_measured(self.top / "after", AFTER)

    def page(self):
        path = compare.build(self.a, self.b, self.top / "c.html")
        return Reader(path.read_text(encoding="utf-8"))

    def test_sentences(self):
        expected = [stats.compare_unpaired([b[k] for b in AFTER], [a[k] for a in BEFORE], "lower",
                                           stats.Names(f"{name}, after", "first", "before"))
                    for k, name in ((1, "nginx"), (0, "saker"))]
        reader = self.page()
        self.assertEqual(reader.wrong, [])
        self.assertEqual([v.word for v in expected], ["no difference shown", "faster"])
        for verdict in expected:
            self.assertIn(verdict.sentence, [item.strip() for item in reader.items])
            self.assertIn("unpaired", verdict.sentence)
        self.assertIn("UNPAIRED", "".join(reader.text))

    def test_what_differs(self):
        text = "".join(self.page().text)
        self.assertIn("Both sessions ran since the same start", text)
        self.assertIn("All recorded facts are equal.", text)
        fixtures.write_json(self.b / "facts.json", {**fixtures.facts("boot-b"), "kernel": "6.99"})
        text = "".join(self.page().text)
        self.assertIn("started anew", text)
        self.assertIn("kernel6.12.0-fixture6.99", text)
        self.assertNotIn("governorperformance", text)

    def change(self, *pairs):
        """Of B's experiment."""
        path = self.b / "experiment.lab"
        text = path.read_text()
        for old, new in pairs:
            self.assertIn(old, text)
            text = text.replace(old, new)
        path.write_text(text)

    def test_another_experiment_is_said_on_top(self):
        self.change(("measure true", "measure  true --rounds=1000000"),
                    ("Starts, made up", "Another title"), ("repeat", "seed 5\nrepeat"))
        text = "".join(self.page().text)
        self.assertIn("What was measured is not the same: 2 lines of experiment.lab differ.", text)
        self.assertIn("beforemeasure true", text)
        self.assertIn("aftermeasure true --rounds=1000000", text)
        self.assertTrue(text.index("not the same") < text.index("Verdicts"))
        self.assertNotIn("seed 5", text)

    def test_same_experiment(self):
        self.change(("measure true", "measure    true"), ("Which one", "Which of them"))
        self.assertNotIn("not the same", "".join(self.page().text))

    def test_quick_is_said(self):
        plan = self.b / "plan.json"
        plan.write_text(plan.read_text().replace('"seed"', '"quick": true, "seed"'))
        self.assertIn("after--quick", "".join(self.page().text))

    def test_no_figure_in_common(self):
        self.change(("figure first figures.first_ms ms", "figure first figures.second_ms ms"))
        with self.assertRaisesRegex(Trouble, "no figure in common; compare sessions of the same"):
            self.page()

    def test_receive_steering(self):
        for run in self.b.glob("runs/*/run.json"):
            run.write_text(run.read_text().replace('"state"', '"rps": true, "state"'))
        self.assertIn("receives at the client's CPU (rps)not knownyes", "".join(self.page().text))

    def test_unusable_runs_do_not_count(self):
        run = self.b / "runs" / "0001" / "run.json"
        run.write_text(run.read_text().replace('"done"', '"dirty"'))
        self.assertIn("2 and 4 runs; 3 of each are needed", "".join(self.page().text))

    def test_nothing_in_common(self):
        for run in self.b.glob("runs/*/run.json"):
            run.unlink()
        with self.assertRaisesRegex(Trouble, "no combination of levels has usable runs in both"):
            self.page()

    def test_same_name(self):
        self.b = fixtures.write_measured(self.top / "other" / "before", AFTER)
        self.assertIn("B (", "".join(self.page().text))
