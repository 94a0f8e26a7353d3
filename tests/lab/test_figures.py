# SPDX-License-Identifier: GPL-2.0-only
"""figures: medians, pairs, what is left out, bars, worked out by hand."""
import types
import unittest

import figures
import stats
from experiment import Bar
from figure import Figure

P99 = Figure("p99", "latency.p99", "us", "lower", "")
RATE = Figure("rate", "rate_ok", "1/s", "higher", "")
ERRORS = Figure("errors", "errors", "requests", "lower", "")


class Run:
    def __init__(self, number, repetition, factors, values, state="done", why=()):
        self.number, self.repetition, self.factors = number, repetition, factors
        self.values, self.state, self.why = values, state, list(why)

    @property
    def usable(self):
        return self.state == "done"

    def figure(self, figure):
        return self.values.get(figure.name)

    def json(self, name):
        return {"mode": self.values["mode"]} if "mode" in self.values else None


def study(runs, baseline=("subject", "nginx"), bars=(), shown=(P99,), **factors):
    factors = factors or {"subject": ["nginx", "saker"]}
    experiment = types.SimpleNamespace(factors=factors, figures=list(shown), baseline=baseline,
                                       bars=list(bars),
                                       known={f.name: f for f in (RATE, P99, ERRORS)})
    return figures.Study(types.SimpleNamespace(experiment=experiment, runs=runs))


def pairs(values, figure="p99"):
    """(nginx, saker) by repetition."""
    return [Run(2 * i + k, i + 1, {"subject": subject}, {figure: v})
            for i, both in enumerate(values) for k, (subject, v) in
            enumerate(zip(("nginx", "saker"), both))]


class Table(unittest.TestCase):
    def test_median_and_range(self):
        rows = figures.table(study(pairs([(10, 1), (40, 3), (20, 2)])))
        self.assertEqual([row.factors["subject"] for row in rows], ["nginx", "saker"])
        cell = rows[0].cells["p99"]
        self.assertEqual((cell.median, cell.low, cell.high, cell.n), (20, 10, 40, 3))

    def test_unusable_runs_do_not_count(self):
        runs = pairs([(10, 1), (40, 3), (20, 2)])
        runs[2].state = "dirty"
        cell = figures.table(study(runs))[0].cells["p99"]
        self.assertEqual((cell.median, cell.n), (15, 2))

    def test_a_missing_figure_is_no_zero(self):
        rows = figures.table(study(pairs([(None, 1), (None, 3)])))
        self.assertEqual(rows[0].cells["p99"], figures.Cell(None, None, None, 0))

    def test_levels_in_the_files_order(self):
        runs = [Run(i, 1, {"subject": s, "rate": r}, {}) for i, (s, r) in enumerate(
            [("b", "10"), ("a", "9"), ("a", "10"), ("b", "9")])]
        found = figures.combinations(study(runs, ("subject", "a"), subject=["b", "a"],
                                           rate=["9", "10"]))
        self.assertEqual([(f["subject"], f["rate"]) for f in found],
                         [("b", "9"), ("b", "10"), ("a", "9"), ("a", "10")])


class Verdicts(unittest.TestCase):
    def test_as_stats_says(self):
        values = [(100, 31), (101, 30), (99, 33)]
        judged = figures.verdicts(study(pairs(values)))
        expected = stats.compare([(b, a) for a, b in values], "lower",
                                 stats.Names("saker", "p99", "nginx"))
        self.assertEqual([one.verdict for one in judged], [expected])

    def test_pairs_by_repetition_not_by_order(self):
        runs = pairs([(100, 50), (200, 100), (400, 200)])
        runs.reverse()
        v = figures.verdicts(study(runs))[0].verdict
        self.assertAlmostEqual(v.ratio, 0.5)
        self.assertTrue(0.499 < v.low and v.high < 0.501)

    def test_left_out_is_said(self):
        runs = pairs([(100, 31), (101, 30), (99, 33), (98, 32), (97, 30)])
        runs[0].state, runs[3].state = "dirty", "failed"
        v = figures.verdicts(study(runs))[0].verdict
        self.assertIn("3 pairs, 2 left out: dirty or failed", v.sentence)
        runs[4].state = "dirty"
        v = figures.verdicts(study(runs))[0].verdict
        self.assertEqual((v.word, v.n), ("invalid", 2))

    def test_a_run_that_was_not_made(self):
        runs = pairs([(100, 31), (101, 30), (99, 33), (98, 32)])[:-1]
        v = figures.verdicts(study(runs))[0].verdict
        self.assertIn("1 left out: not run", v.sentence)

    def test_within_a_facet(self):
        runs = []
        for rate, ratio in (("9", 0.5), ("10", 2.0)):
            for i in range(3):
                runs += [Run(len(runs), i + 1, {"subject": "nginx", "rate": rate}, {"p99": 100 + i}),
                         Run(len(runs) + 1, i + 1, {"subject": "saker", "rate": rate},
                             {"p99": (100 + i) * ratio * (1 + i / 50)})]
        judged = figures.verdicts(study(runs, subject=["nginx", "saker"], rate=["9", "10"]))
        self.assertEqual([one.verdict.word for one in judged], ["faster", "slower"])
        self.assertTrue(judged[0].verdict.sentence.startswith("saker, rate=9: p99 0.51x nginx's"))

    def test_more_is_better(self):
        judged = figures.verdicts(study(pairs([(100, 210), (101, 200), (99, 190)], "rate"),
                                        shown=[RATE]))
        self.assertEqual(judged[0].verdict.word, "faster")
        self.assertTrue(judged[0].verdict.sentence.endswith(": more"))

    def test_no_verdict_on_nothing_but_zero(self):
        self.assertEqual(figures.verdicts(study(pairs([(0, 0)] * 3, "errors"), shown=[ERRORS])), [])
        one = figures.verdicts(study(pairs([(0, 1)] * 3, "errors"), shown=[ERRORS]))[0].verdict
        self.assertEqual(one.word, "invalid")

    def test_no_verdict_on_what_one_side_never_has(self):
        """nginx has no bypass; that is no fault of the runs."""
        lacking = study(pairs([(None, 1), (None, 2), (None, 1)]))
        self.assertEqual(figures.verdicts(lacking), [])
        self.assertEqual(figures.never_had(lacking), ["p99: nginx"])
        some = study(pairs([(3, 1), (None, 2), (None, 1)]))
        self.assertEqual(figures.verdicts(some)[0].verdict.word, "invalid")
        self.assertEqual(figures.never_had(some), [])

    def test_runs_that_failed_are_no_lack(self):
        runs = pairs([(1, 1)] * 3)
        for run in runs[::2]:
            run.state = "failed"
        self.assertIn("0 pairs, 3 left out: failed",
                      figures.verdicts(study(runs))[0].verdict.sentence)
        self.assertEqual(figures.never_had(study(runs)), [])

    def test_the_responders_clocks_are_coarser(self):
        stage = Figure("p99", "stages:total.p99_ns", "us", "lower", "")
        v = figures.verdicts(study(pairs([(100, 99)] * 3), shown=[stage]))[0].verdict
        self.assertEqual(v.word, "no difference shown")
        v = figures.verdicts(study(pairs([(100, 99)] * 3)))[0].verdict
        self.assertEqual(v.word, "faster")

    def test_skipped_is_not_judged(self):
        runs = pairs([(1, 1)] * 3)
        for run in runs[1::2]:
            run.state = "skipped"
        self.assertEqual(figures.verdicts(study(runs)), [])

    def test_no_baseline(self):
        self.assertEqual(figures.verdicts(study(pairs([(1, 1)] * 3), None)), [])


class Bars(unittest.TestCase):
    def bar(self, op, value, against=None, figure="p99", values=((100, 40), (50, 30), (200, 50)),
            where=None):
        one = Bar(figure, "saker", op, value, "us", against, "subject", where or {})
        return figures.bars(study(pairs(values), bars=[one]))

    def test_value(self):
        self.assertEqual(self.bar("<=", 50), [figures.Bar(
            "saker: p99 <= 50 µs", True, "40 µs, median of 3 of 3 runs; met by 20 %")])
        self.assertEqual(self.bar("<=", 20)[0].found,
                         "40 µs, median of 3 of 3 runs; missed by 100 %")
        self.assertTrue(self.bar(">=", 40)[0].met)

    def test_ratio_is_the_median_of_the_pairs(self):
        # 0.4, 0.6, 0.25; the ratio of the medians happens to be the same, of the means not.
        self.assertEqual(self.bar("<=", 0.5, "nginx"), [figures.Bar(
            "saker: p99 <= 0.5x nginx's", True, "0.40x, median of 3 of 3 pairs; met by 20 %")])
        self.assertFalse(self.bar(">=", 0.5, "nginx")[0].met)

    def test_missing(self):
        self.assertIsNone(self.bar("<=", 50, values=((1, None), (1, None)))[0].met)

    def test_what_is_counted_is_of_the_worst_run(self):
        """The median of 0 0 0 0 500 errors is 0."""
        runs = pairs([(0, 0)] * 4 + [(0, 500)], "errors")
        one = Bar("errors", "saker", "<=", 0, "requests", None, "subject", {})
        found = figures.bars(study(runs, bars=[one]))[0]
        self.assertIs(found.met, False)
        self.assertEqual(found.found, "500 requests, worst of 5 of 5 runs; missed")
        one = Bar("errors", "saker", ">=", 1, "requests", None, "subject", {})
        self.assertIs(figures.bars(study(runs, bars=[one]))[0].met, False)

    def test_an_error_fails_its_run_and_the_bar(self):
        runs = pairs([(0, 0)] * 4 + [(0, 500)], "errors")
        runs[-1].state = "failed"
        one = Bar("errors", "saker", "<=", 0, "requests", None, "subject", {})
        self.assertIs(figures.bars(study(runs, bars=[one]))[0].met, False)

    def test_one_pair_of_six_meets_no_ratio(self):
        runs = pairs([(100, 10)] * 6)
        for run in runs[2:]:
            run.state = "failed"
        one = Bar("p99", "saker", "<=", 0.5, "us", "nginx", "subject", {})
        found = figures.bars(study(runs, bars=[one]))[0]
        self.assertIsNone(found.met)
        self.assertEqual(found.found, "not judged: 1 of 6 pairs; 3 are needed")

    def test_pairs_without_the_figure(self):
        found = self.bar("<=", 1, "nginx", values=[(100, 10)] * 4 + [(100, None)])[0]
        self.assertEqual((found.met, found.found),
                         (None, "not judged: 4 of 5 pairs; the others lack the figure"))

    def test_one_run_of_five(self):
        found = self.bar("<=", 50, values=[(100, 40)] + [(100, None)] * 4)[0]
        self.assertEqual((found.met, found.found),
                         (None, "not judged: 1 of 5 runs; fewer than half"))
        found = self.bar("<=", 50, values=[(100, 40)] * 3 + [(100, None)] * 2)[0]
        self.assertEqual((found.met, found.found),
                         (True, "40 µs, median of 3 of 5 runs; met by 20 %"))

    def test_elsewhere(self):
        self.assertEqual(self.bar("<=", 50, where={"rate": "9"}), [])


class Clock(unittest.TestCase):
    def said(self, *modes):
        runs = [Run(i, 1, {"subject": "a", "shape": f"s{i}"}, {"mode": mode} if mode else {})
                for i, mode in enumerate(modes)]
        return figures.clock_said(study(runs, ("subject", "a"), subject=["a"],
                                        shape=[f"s{i}" for i in range(len(modes))]))

    def test_open(self):
        self.assertIn("from when the send was due", self.said("constant", "poisson"))
        self.assertNotIn("closed", self.said("constant", "burst"))

    def test_closed(self):
        self.assertTrue(self.said("closed").startswith("In a closed loop latency counts from the "
                                                       "send itself"))

    def test_both(self):
        said = self.said("constant", "closed", "closed")
        self.assertIn("from when the send was due", said)
        self.assertIn("In a closed loop (shape=s1; shape=s2) latency counts", said)

    def test_no_load(self):
        self.assertEqual(self.said(None), "")


class Words(unittest.TestCase):
    def test_show(self):
        self.assertEqual([figures.show(v) for v in (None, 0.0123, 1.234, 12.34, 1234.5, 7.0, 250)],
                         ["-", "0.0123", "1.23", "12.3", "1,234", "7", "250"])

    def test_name(self):
        self.assertEqual(figures.name_of({"subject": "saker", "rate": "9"}), "saker, rate=9")
