# SPDX-License-Identifier: GPL-2.0-only
"""report: the page of a made-up session: whole, self-contained, escaped, and true to stats."""
import html
import random
import re
import shutil
import tempfile
import unittest
from html.parser import HTMLParser
from pathlib import Path

import figures
import fixtures
import page
import report
import stats
import store
from trouble import Trouble

VOID = {"meta", "link", "br", "hr", "img", "input"}
FETCHING = ("src", "href", "srcset", "data", "action", "poster", "xlink:href", "background")


class Reader(HTMLParser):
    """Every element closed in order, every id once; text and what would be fetched are kept."""

    def __init__(self, text: str):
        super().__init__(convert_charrefs=True)
        self.open, self.wrong, self.ids, self.links, self.tags = [], [], [], [], []
        self.items, self.text = [], []
        self.feed(text)
        self.close()
        self.wrong += [f"never closed: {one}" for one in self.open]

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.ids += [value for name, value in attrs if name == "id"]
        self.links += [value for name, value in attrs if name in FETCHING]
        self.wrong += [f"{tag} {name}" for name, _ in attrs if name.startswith("on")]
        if tag == "li":
            self.items.append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"</{tag}> closes something else")

    def handle_data(self, data):
        self.text.append(data)
        if "li" in self.open:
            self.items[-1] += data


@unittest.skipUnless(shutil.which("gnuplot"), "no gnuplot")
class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = fixtures.made("whole", seconds=3)
        cls.path = report.build(cls.folder)
        cls.source = cls.path.read_text(encoding="utf-8")
        cls.reader = Reader(cls.source)
        cls.text = "".join(cls.reader.text)

    def has(self, *parts):
        """In the page's text; a failure shows the part, not the page."""
        for part in parts:
            self.assertTrue(part in self.text, part)

    def test_well_formed(self):
        self.assertEqual(self.reader.wrong, [])
        self.assertEqual(len(self.reader.ids), len(set(self.reader.ids)))

    def test_nothing_is_fetched(self):
        self.assertEqual([link for link in self.reader.links
                          if not link.startswith(("#", "data:"))], [])
        for name in ("script", "iframe", "object", "embed", "img"):
            self.assertFalse(name in self.reader.tags, name)
        self.assertFalse("@import" in self.source)
        self.assertEqual(re.findall(r"url\((?!#)[^)]*\)", self.source), [])

    def test_symbols_are_there(self):
        """What a <use> refers to is on the page."""
        used = {link[1:] for link in self.reader.links if link.startswith("#")}
        self.assertTrue(used and used <= set(self.reader.ids), used)

    def test_hostile_text_is_text(self):
        self.assertGreaterEqual(self.text.count(fixtures.HOSTILE), 4)   # title, facts, why, source
        self.assertFalse("<script" in self.source)

    def test_every_run_is_mentioned(self):
        for run in store.Session(self.folder).runs:
            self.has(f"runs/{run.number:04d}/")
        self.has("throttled: 1.3 s of 10 s at 1500 MHz", "connection refused", "need link:fixture")

    def test_sentences_are_stats_own(self):
        judged = figures.verdicts(figures.Study(store.Session(self.folder)))
        self.assertEqual(len(judged), 43)     # p999 at two rates has too few requests
        for one in judged:
            sentence = one.verdict.sentence
            self.assertTrue(any(item.startswith(sentence) for item in self.reader.items), sentence)

    def test_what_no_run_has_is_no_invalid_verdict(self):
        self.has("Without a verdict, since no run of these has the figure",
                 "p999: saker-socket, rate=200; nginx, rate=200;")
        self.assertFalse("runs do not have it" in self.text)

    def test_from_when_latency_counts(self):
        self.has("Latency counts from when the send was due")
        self.assertFalse("coordinated omission" in self.text)

    def test_closed_loops_are_named(self):
        with tempfile.TemporaryDirectory() as top:
            folder = shutil.copytree(self.folder, Path(top) / "s")
            for run in store.Session(folder).runs:
                load = run.folder / "load.json"
                if run.factors["rate"] == "1000" and load.exists():
                    load.write_text(load.read_text().replace('"mode": "constant"',
                                                             '"mode": "closed"'))
            text = "".join(Reader(report.render(store.Session(folder))).text)
        self.assertTrue("In a closed loop (rate=1000) latency counts from the send itself" in text)
        self.assertTrue("rate=1000, closed loop" in text)
        self.assertFalse("rate=200, closed loop" in text)

    def test_order(self):
        titles = re.findall(r"<h2>(.*?)</h2>", self.source)
        self.assertEqual(titles, ["Verdicts", "Figures", "Plots", "Over time, run by run",
                                  "How to read it", "Bars", "Skipped", "Dirty and failed runs",
                                  "The machine", "To do it again", "Raw data"])

    def test_plots(self):
        for label, n in (("Latency by percentile", 4), ("Heat map of run", 73),
                         ("By second, p99", 3), ("By second, p50", 1),
                         ("Stages of the responder", 1), ("p99 by throughput", 1),
                         ("Ratios of p99 to nginx", 1)):
            found = len(re.findall(f'aria-label="{label}', self.source))
            self.assertTrue(found == n, (label, found))

    def test_bars(self):
        self.has("saker-native, rate=1000: p99 <= 0.7x nginx'smet",
                 "saker-native, rate=200: p99 <= 0.7x nginx'sopennot measured in this session",
                 "saker-socket, rate=200: p50 <= 20 µsmissed")

    def test_published_has_no_ratio(self):
        cells = re.findall(r'<td class="published">(.*?)</td>', self.source)
        self.assertEqual(sum("412" in cell for cell in cells), 4)
        self.assertFalse(any("x (" in cell for cell in cells))

    def test_size(self):
        self.assertLess(len(self.source.encode()), 2_000_000)

    def test_facts(self):
        self.has("page_size16384", "versions.nginx1.22.1", "virtualno", "nohz_fullnone",
                 "doctornot known", "syscall92 ns130 ns", "tx_kick--no interface was given",
                 "saker-native, rate=200xdp-native, copy5 runs")


@unittest.skipUnless(shutil.which("gnuplot"), "no gnuplot")
class Synthetic(unittest.TestCase):
    """Three sets from fixed seeds: the page says what stats says of the pairs."""

    def said(self, pairs):
        with tempfile.TemporaryDirectory() as top:
            folder = fixtures.write_measured(Path(top) / "s", pairs)
            text = report.build(folder).read_text(encoding="utf-8")
        return re.findall(r'<li class="(\w+)"><span>(.*?)</span>', text), Reader(text)

    def check(self, pairs, word):
        verdict = stats.compare(pairs, "lower", stats.Names("saker", "first", "nginx"))
        self.assertEqual(verdict.word, word)
        found, reader = self.said(pairs)
        self.assertEqual([html.unescape(sentence) for _, sentence in found], [verdict.sentence])
        self.assertEqual(reader.wrong, [])

    @staticmethod
    def draws(seed, n, effect):
        rng = random.Random(seed)
        return [(3.3 * effect * rng.lognormvariate(0, 0.05), 3.3 * rng.lognormvariate(0, 0.05))
                for _ in range(n)]

    def test_faster(self):
        self.check(self.draws(1, 6, 0.6), "faster")

    def test_no_difference(self):
        self.check(self.draws(2, 6, 1.0), "no difference shown")

    def test_invalid(self):
        self.check(self.draws(3, 2, 0.6), "invalid")


class Parts(unittest.TestCase):
    def test_escaping(self):
        self.assertEqual(page.tag("td", "<b>&\"\x00"), "<td>&lt;b&gt;&amp;&quot;\ufffd</td>")
        self.assertEqual(page.tag("td", page.Safe("<b>")), "<td><b></td>")
        self.assertEqual(page.tag("i", class_='a"b', title=None), '<i class="a&quot;b"></i>')

    def test_numbers(self):
        self.assertEqual(report.numbers([7, 1, 2, 3, 9]), "1-3, 7, 9")

    def test_flat(self):
        facts = {"a": {"b": 0, "c": [1, 2]}, "d": None, "e": False, "f": ""}
        self.assertEqual(list(report.flat(facts)),
                         [("a.b", "0"), ("a.c", "1 2"), ("d", "not known"), ("e", "no"),
                          ("f", "none")])

    def test_no_session(self):
        with self.assertRaisesRegex(Trouble, "no session of saker-lab"):
            report.build("/nonexistent")

    def test_dirty_runs_that_count_are_told_first(self):
        with tempfile.TemporaryDirectory() as top:
            folder = fixtures.write_measured(Path(top) / "s", [(1, 2), (1.1, 2), (1, 2.1)])
            for name in ("runs/0001/run.json", "plan.json"):
                text = (folder / name).read_text().replace('"done", "why": []',
                                                           '"dirty", "why": ["lag"]')
                (folder / name).write_text(text.replace('"seed"', '"accept_dirty": true, "seed"'))
            text = report.build(folder).read_text(encoding="utf-8")
        self.assertTrue('class="warning">1 of 6 runs are dirty and count' in text)
        self.assertTrue("3 pairs, t on log ratios" in text)

    def test_no_run_yet(self):
        """A session that was broken off before its first run still has a page."""
        with tempfile.TemporaryDirectory() as top:
            folder = fixtures.write_measured(Path(top) / "s", [(1, 2)] * 3)
            shutil.rmtree(folder / "runs")
            reader = Reader(report.build(folder).read_text(encoding="utf-8"))
        self.assertEqual(reader.wrong, [])
        self.assertIn("6 of 6 planned runs were not made yet", "".join(reader.text))
