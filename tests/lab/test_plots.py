# SPDX-License-Identifier: GPL-2.0-only
"""plots and gnuplot: what a curve is made of, axes, and that text stays text."""
import re
import shutil
import unittest
import xml.etree.ElementTree as xml
from pathlib import Path

import gnuplot
import plots
from stats import compare

HOSTILE = "<b>`touch /tmp/saker-lab-hostile`</b> 'a' \"b\" %d {/=99 x} \\n @m & $d0\n plot"


def texts(svg: str):
    return ["".join(one.itertext()).strip() for one in xml.fromstring(
        svg.replace("xlink:href", "href")).iter("text")]


class Curve(unittest.TestCase):
    def test_by_hand(self):
        """100 samples carry up to 10 beyond: 1/(1-p) = 10, the 90th."""
        curve = plots.percentile_curve([[1000, 50], [2000, 40], [3000, 9], [9000, 1]])
        self.assertEqual(curve[0], (1.0, 1000))
        self.assertAlmostEqual(curve[-1][0], 10)
        self.assertEqual(curve[-1][1], 2000)
        by_x = {round(x, 6): y for x, y in curve}
        # p = 1 - 10^(-8/24) = 53.6 %: rank 54 is in the second bucket.
        self.assertEqual(by_x[round(10 ** (7 / 24), 6)], 1000)
        self.assertEqual(by_x[round(10 ** (8 / 24), 6)], 2000)

    def test_too_few(self):
        self.assertEqual(plots.percentile_curve([[1000, 9]]), [])
        self.assertEqual(plots.percentile_curve([]), [])

    def test_middle(self):
        self.assertEqual(plots.middle_curve([[(1, 1), (2, 5)], [(1, 2), (2, 6), (3, 9)],
                                             [(1, 9), (2, 7)]]), [(1, 2), (2, 6)])

    def test_thin(self):
        self.assertEqual(plots.thin([(1, 1), (2, 9), (3, 2), (6, 4)], 2), [(1.5, 5), (4.5, 3)])
        self.assertEqual(plots.thin([(1, 1)], 5), [(1, 1)])


class Axes(unittest.TestCase):
    def test_steps(self):
        self.assertEqual(gnuplot.steps(30, 400), [20, 50, 100, 200, 500])
        self.assertEqual(gnuplot.steps(100, 100), [100, 200])
        self.assertEqual(gnuplot.steps(0.3, 1), [0.2, 0.5, 1])

    def test_readable(self):
        self.assertEqual(gnuplot.readable([20, 50, 100]), [20, 50, 100])
        self.assertEqual(gnuplot.readable(gnuplot.steps(5, 5e4)), [10, 100, 1000, 1e4, 5e4])
        self.assertEqual(gnuplot.readable(gnuplot.steps(2, 2e4)), [2, 10, 100, 1000, 1e4])

    def test_even(self):
        self.assertEqual(gnuplot.even(48.2, 51.7, 4), [49, 50, 51])
        self.assertTrue(2 <= len(gnuplot.even(0.013, 0.048, 4)) <= 4)

    def test_times(self):
        self.assertEqual([gnuplot.time_label(v) for v in (500, 1e3, 2e4, 5e6, 1e9)],
                         ["500 ns", "1 µs", "20 µs", "5 ms", "1 s"])

    def test_ratio_tics(self):
        self.assertEqual(plots._spaced([1, 0.5, 0.9, 0.2], 0.15, 1.1), [1, 0.5, 0.2])


@unittest.skipUnless(shutil.which("gnuplot"), "no gnuplot")
class Drawn(unittest.TestCase):
    def test_text_stays_text(self):
        svg = plots.strips(HOSTILE, [plots.Row(HOSTILE, "s1", [1, 2, 3]),
                                     plots.Row("100 %", "s0", [2.0])], HOSTILE)
        self.assertFalse(Path("/tmp/saker-lab-hostile").exists())
        self.assertIn("100 %", texts(svg))
        self.assertTrue(any(t.startswith("<b>´touch /tmp/saker") for t in texts(svg)))

    def test_labels_keep_their_digits(self):
        """Coordinates are shortened, figures are not."""
        svg = plots.strips("t", [plots.Row("12.3456, 0.0", "s1", [1, 2])], "ms")
        self.assertIn("12.3456, 0.0", texts(svg))

    def test_colors_are_the_pages(self):
        svg = plots.by_percentile("t", [plots.Line("s2", [[(1, 1e3), (10, 2e3)],
                                                          [(1, 2e3), (10, 3e3)]])])
        self.assertEqual(svg.count("stroke:var(--s2)"), 3)
        for left in ("rgb(", "xmlns", "<defs", " id=", "black"):
            self.assertNotIn(left, svg)

    def test_a_gap_is_a_gap(self):
        rows = [{"s": s, "p99": None if s == 1 else 1e5} for s in range(4)]
        svg = plots.together_over_time("t", [("s1", rows)])
        drawn = xml.fromstring(svg.replace("xlink:href", "href")).iter("path")
        line = next(p.get("d") for p in drawn if "s1" in p.get("style", ""))
        self.assertEqual(line.count("M"), 2)

    def test_a_point_between_gaps_is_seen(self):
        self.assertEqual(plots.alone([(0, 1), (1, 2), (2, None), (3, 4), (4, None)]), [(3, 4)])
        self.assertEqual(plots.alone([(0, 1)]), [(0, 1)])
        rows = [{"s": s, "p99": 1e5 if s == 1 else None} for s in range(3)]
        self.assertEqual(plots.together_over_time("t", [("s1", rows)]).count("<use"), 1)

    def test_heat_map_without_requests_in_a_second(self):
        svg = plots.heat("t", {"bucket_ns": [1000, 2000, 4000], "rows": [[0, [1, 2, 3]],
                                                                        [3, [0, 5, 0]]]})
        self.assertIn("data:image/png;base64", svg)
        self.assertIn("2 µs", texts(svg))

    def test_heat_map_of_a_long_run(self):
        rows = [[0, [1, 2, 3]], [256, [2, 0, 0]], [768, [0, 5, 0]]]
        found = {"bucket_ns": [1000, 2000, 4000], "rows": rows}
        svg = plots.heat("t", {**found, "row_s": 256})
        self.assertIn("1000", texts(svg), "the last row ends at 1,024 s")
        self.assertNotIn("1200", texts(svg))
        cells = plots.heat("t", {**found, "rows": [[s // 256, n] for s, n in rows]})
        image = [re.search(r"base64,([^\"']+)", one).group(1) for one in (svg, cells)]
        self.assertEqual(image[0], image[1], "a row is as long as it says, without gaps")

    def test_every_kind_draws(self):
        rows = [{"s": s, "p50": 1e4, "p99": 9e4, "max": 2e5 + s} for s in range(3)]
        flat = plots.Probe([(0, 50), (1, 50)], [(0, 2400), (1, 2400)], "CPU 3")
        for svg in (plots.over_time("t", rows, flat, "s1"), plots.over_time("t", rows, None, "s1"),
                    plots.over_time("t", rows[:1], flat._replace(temperature=[]), "s1"),
                    plots.stages("t", [("a", [1, 2, 3, 4, 5]), ("b", [0, 0, 0, 0, 0])]),
                    plots.sweep("t", [("s1", [(1, 2e3, 1e3, 3e3), (9, 2e3, 1e3, 3e3)])], "1/s", "p"),
                    plots.ratios("t", [("a", "s1", compare([(1, 2), (1, 3), (1, 4)], "lower")),
                                       ("b", "s2", compare([], "lower"))]),
                    plots.strips("t", [plots.Row("a", "s1", [0.0, 0.0])], "x"),
                    plots.strips("t", [plots.Row("a", "s1", [5.0]), plots.Row("b", "s1", [])], "x")):
            self.assertTrue(xml.fromstring(svg.replace("xlink:href", "href")).get("viewBox"))
