# SPDX-License-Identifier: GPL-2.0-only
"""test_experiments.py - the experiments that come with it, and their pages

Place   tests/lab/run.py runs it, without root.
Model   Every experiments/*.lab is read as saker-lab reads it, with and without --quick. Its page,
        docs/experiments/NAME.md, has the name of every level and of every figure in the tables
        as code (`so`), and the index has a row for it.
"""

import re
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs" / "experiments"
sys.path.insert(0, str(ROOT / "tools" / "lab"))
import experiment  # noqa: E402
import plan  # noqa: E402
import words  # noqa: E402

FILES = sorted((ROOT / "experiments").glob("*.lab"))
QUICK_RUNS = 8  # some two seconds each: --quick is to be over in 20
HEADINGS = (
    "## The question",
    "## What is run",
    "## How to read the answer",
    "## What would make it wrong",
    "## What it can say",
)


def code(text: str) -> set[str]:
    """What a page has between backticks."""
    return {part.strip() for found in re.findall(r"`([^`\n]+)`", text) for part in found.split(",")}


def page(path: Path) -> Path:
    return PAGES / (path.stem + ".md")


class Files(unittest.TestCase):
    def test_there_are_some(self) -> None:
        self.assertGreaterEqual(len(FILES), 9)

    def test_each_is_right(self) -> None:
        for path in FILES:
            for quick in (False, True):
                with self.subTest(path.name, quick=quick):
                    found = experiment.load(path, quick)
                    self.assertTrue(found.title and found.question and found.read and found.figures)

    def test_quick_is_quick(self) -> None:
        for path in FILES:
            with self.subTest(path.name):
                runs = len(plan.make(experiment.load(path, True)))
                self.assertLessEqual(runs, QUICK_RUNS)

    def test_each_alternates(self) -> None:
        """One repetition is no comparison."""
        for path in FILES:
            with self.subTest(path.name):
                found = experiment.load(path)
                self.assertGreaterEqual(found.repeat, 2)

    def test_what_they_call_is_here(self) -> None:
        """Scripts of tools/lab and files beside the experiments, by the names in the lines."""
        for path in FILES:
            for name in re.findall(r"\$(?:lab|here)/([\w./-]+)", path.read_text(encoding="utf-8")):
                with self.subTest(path.name, name=name):
                    places = (ROOT / "tools" / "lab" / name, ROOT / "experiments" / name)
                    self.assertTrue(any(place.exists() for place in places), name)

    def test_commands_are_words(self) -> None:
        """A measure's options come out as they are meant: none is cut by a quotation mark."""
        built_in = {name: "x" for name in experiment.BUILT_IN}
        for path in FILES:
            found = experiment.load(path)
            for levels in found.combinations():
                if found.measure:
                    command = words.fill(found.measure.text, found.values(levels, built_in))
                    self.assertNotIn("$", " ".join(words.split(command)), path.name)


class Pages(unittest.TestCase):
    def test_each_experiment_has_one(self) -> None:
        for path in FILES:
            with self.subTest(path.name):
                self.assertTrue(page(path).exists(), f"write {page(path)}")

    def test_each_page_has_its_headings(self) -> None:
        for path in filter(lambda p: page(p).exists(), FILES):
            text = page(path).read_text(encoding="utf-8")
            for heading in HEADINGS:
                with self.subTest(path.name, heading=heading):
                    self.assertIn(heading, text)

    def test_each_page_names_levels_and_figures(self) -> None:
        for path in filter(lambda p: page(p).exists(), FILES):
            found, named = experiment.load(path), code(page(path).read_text(encoding="utf-8"))
            wanted = {level for levels in found.factors.values() for level in levels}
            wanted |= set(found.factors) | {one.name for one in found.figures}
            with self.subTest(path.name):
                self.assertEqual(sorted(wanted - named), [])

    def test_the_index_has_each(self) -> None:
        index = (PAGES / "README.md").read_text(encoding="utf-8")
        for path in FILES:
            with self.subTest(path.name):
                self.assertIn(f"[{path.stem}]({path.stem}.md)", index)


if __name__ == "__main__":
    unittest.main()
