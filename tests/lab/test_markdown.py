# SPDX-License-Identifier: GPL-2.0-only
"""markdown: the summary of a made-up session: whole, narrow, escaped; no file is written."""
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import figures
import fixtures
import markdown
import store

LAB = Path(__file__).resolve().parent.parent.parent / "tools" / "saker-lab"
CELL = re.compile(r"(?<!\\)\|")


def tables(text):
    """Each as rows of cells."""
    found = []
    for block in text.split("\n\n"):
        if block.startswith("|"):
            found.append([[cell.strip() for cell in CELL.split(line)[1:-1]]
                          for line in block.splitlines()])
    return found


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.session = store.Session(fixtures.made("whole", seconds=3))
        cls.study = figures.Study(cls.session)
        cls.text = markdown.render(cls.session)
        cls.lines = cls.text.splitlines()

    def test_head(self):
        self.assertTrue(self.lines[0].startswith("# Made-up rungs against nginx \\<script>"))
        self.assertIn("fixture board, Made-up CPU", self.text)
        self.assertIn("4 CPUs, kernel 6.12.0-fixture, on a veth pair: no NIC, no wire, 2026-05-28",
                      self.text)
        self.assertIn("saker fixture, 80 runs: 73 done, 1 failed, 1 dirty, 5 skipped.", self.lines)

    def test_nothing_is_markup(self):
        self.assertIsNone(re.search(r"(?<!\\)<[A-Za-z/!?]", self.text))

    def test_medians(self):
        [table] = tables(self.text)
        self.assertEqual(table[0], ["median", *fixtures.SUBJECTS, "published"])
        self.assertEqual({len(cells) for cells in table}, {6})
        groups = [cells[0] for cells in table if not any(cells[1:])]
        self.assertEqual(groups, [f"**rate={rate}**" for rate in fixtures.RATES])
        of_1000 = table[[cells[0] for cells in table].index("**rate=1000**"):]
        p99 = next(cells for cells in of_1000 if cells[0] == "p99, µs")
        cells = [row.cells["p99"] for row in figures.table(self.study)
                 if row.factors["rate"] == "1000"]
        self.assertEqual(p99[1], figures.show(cells[0].median) + " (4 of 5)")
        self.assertEqual(p99[2:], [*(figures.show(cell.median) for cell in cells[1:]), "412"])
        self.assertEqual(table[-1][3], "skipped")

    def test_verdicts_are_stats_own(self):
        said = [one.verdict.sentence for one in figures.verdicts(self.study)
                if one.figure.name == "p99"]
        self.assertEqual(len(said), 8)
        self.assertEqual([line[2:] for line in self.lines if "x nginx's (95 %" in line], said)

    def test_bars(self):
        for bar in figures.bars(self.study):
            self.assertIn(f"- {bar.text}: {bar.found}", self.lines)

    def test_dirty_failed_and_skipped(self):
        self.assertIn("- dirty: saker-socket, rate=200: throttled: 1.3 s of 10 s at 1500 MHz "
                      "(run 7)", self.lines)
        self.assertIn("(run 6, 24, 41, 64, 80)", self.text)

    def test_dirty_runs_that_count_are_told(self):
        with tempfile.TemporaryDirectory() as top:
            folder = fixtures.write_measured(Path(top) / "s", [(1, 2), (1.1, 2), (1, 2.1)])
            for name, old, new in (("runs/0001/run.json", '"done", "why": []',
                                    '"dirty", "why": ["lag"]'),
                                   ("plan.json", '"seed"', '"accept_dirty": true, "seed"')):
                text = (folder / name).read_text()
                self.assertIn(old, text)
                (folder / name).write_text(text.replace(old, new))
            text = markdown.render(store.Session(folder))
        self.assertIn("**1 of 6 runs are dirty and count all the same", text)
        self.assertIn("- dirty, counted: saker: lag (run 1)", text)

    def test_the_command_writes_nothing(self):
        with tempfile.TemporaryDirectory() as top:
            folder = fixtures.write_measured(Path(top) / "s", [(1, 2), (1.1, 2), (1, 2.1)])
            before = sorted(folder.rglob("*"))
            done = subprocess.run([sys.executable, LAB, "report", folder, "--markdown"],
                                  capture_output=True, encoding="utf-8", check=True)
            self.assertEqual(sorted(folder.rglob("*")), before)
            self.assertEqual(done.stdout, markdown.render(store.Session(folder)))
        self.assertEqual(done.stderr, "")
        self.assertIn("| first, ms | 2 | 1 |", done.stdout)


class Wide(unittest.TestCase):
    def test_eight_columns_at_most(self):
        levels = [f"l{i}" for i in range(15)]
        subjects = "\n".join(f"subject {one} saker" for one in levels)
        text = (fixtures.MEASURED.format(repeat=1).replace("nginx saker\n", " ".join(levels) + "\n")
                .replace("subject=nginx", "subject=l0").replace("subject nginx nginx\n", "")
                .replace("subject saker saker", subjects))
        with tempfile.TemporaryDirectory() as top:
            folder = Path(top)
            (folder / "experiment.lab").write_text(text)
            runs = [{"run": i + 1, "repetition": 1, "block": 1, "factors": {"subject": level}}
                    for i, level in enumerate(levels)]
            fixtures.write_json(folder / "plan.json", {"experiment": "wide", "runs": runs})
            for one in runs[:-1]:
                run = folder / "runs" / f"{one['run']:04d}"
                run.mkdir(parents=True)
                fixtures.write_json(run / "measure.json", {"figures": {"first_ms": one["run"]}})
                fixtures.write_json(run / "run.json", {**one, "state": "done", "why": []})
            found = tables(markdown.render(store.Session(folder)))
        self.assertEqual([table[0][1:] for table in found], [levels[:7], levels[7:14]])
        self.assertEqual([table[-1][1:] for table in found],
                         [[str(i) for i in range(1, 8)], [str(i) for i in range(8, 15)]])


class Text(unittest.TestCase):
    def test_plain(self):
        for text, escaped in (("a|b*c`d", "a\\|b\\*c\\`d"), ("first_answer_ms", "first_answer_ms"),
                              ("_x_", "\\_x\\_"), ("p99 <= 2", "p99 <= 2"), ("<b>", "\\<b>"),
                              ("&amp; R&D", "\\&amp; R&D"), ("$x$", "\\$x\\$"), ("a\nb", "a b"),
                              ("[x](y)", "\\[x\\](y)"), ("~~x~~", "\\~\\~x\\~\\~")):
            self.assertEqual(markdown.plain(text), escaped)

    def test_where_a_line_begins(self):
        self.assertEqual([markdown.line(text) for text in ("# x", "- x", "> x", "1. x", "1.5 x")],
                         ["\\# x", "\\- x", "\\> x", "1\\. x", "1.5 x"])

    def test_many_reasons(self):
        made = markdown.items([f"r{i}" for i in range(20)], 12).splitlines()
        self.assertEqual((len(made), made[0], made[-1]), (12, "- r0", "- 9 more in report.html"))
        self.assertEqual(len(markdown.items(["a"] * 12, 12).splitlines()), 12)
