# SPDX-License-Identifier: GPL-2.0-only
"""stats: quantiles against published tables, verdicts on synthetic sets, coverage."""
import math
import random
import unittest

import stats

# Abramowitz and Stegun, table 26.10 (= Pearson and Hartley, table 12): t by degrees of freedom.
T_95 = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262,
        10: 2.228, 15: 2.131, 20: 2.086, 30: 2.042, 40: 2.021, 60: 2.000, 120: 1.980}
T_99 = {1: 63.657, 2: 9.925, 3: 5.841, 4: 4.604, 5: 4.032, 10: 3.169, 30: 2.750, 120: 2.617}


def t_within_by_sum(t: float, degrees: int) -> float:
    """The finite trigonometric series for whole degrees of freedom (A&S 26.7.3, 26.7.4)."""
    angle = math.atan(t / math.sqrt(degrees))
    cos, sin = math.cos(angle), math.sin(angle)
    if degrees == 1:
        return 2 * angle / math.pi
    if degrees % 2:
        term, total = cos, cos
        for k in range(3, degrees - 1, 2):
            term *= cos * cos * (k - 1) / k
            total += term
        return 2 / math.pi * (angle + sin * total)
    term = total = 1.0
    for k in range(2, degrees - 1, 2):
        term *= cos * cos * (k - 1) / k
        total += term
    return sin * total


def draws(seed: int, n: int, effect: float, spread: float = 0.05, drift: float = 0.2):
    """Pairs (level, baseline): both carry the same slow change, the level is `effect` times."""
    rng = random.Random(seed)
    pairs = []
    for _ in range(n):
        both = rng.gauss(math.log(200), drift)
        pairs.append((math.exp(both + math.log(effect) + rng.gauss(0, spread)),
                      math.exp(both + rng.gauss(0, spread))))
    return pairs


class Quantile(unittest.TestCase):
    def test_published(self):
        for confidence, table in ((0.95, T_95), (0.99, T_99)):
            for degrees, t in table.items():
                self.assertAlmostEqual(stats.t_quantile(degrees, confidence), t, delta=0.00051)

    def test_series(self):
        for degrees in range(1, 31):
            for t in (0.01, 0.5, 1, 2, 5, 40):
                self.assertAlmostEqual(stats.t_within(t, degrees), t_within_by_sum(t, degrees), 12)

    def test_between_whole_degrees(self):
        self.assertTrue(stats.t_quantile(5) < stats.t_quantile(4.5) < stats.t_quantile(4))

    def test_normal_in_the_end(self):
        self.assertAlmostEqual(stats.t_quantile(1e7), 1.959964, 5)


class SignFlip(unittest.TestCase):
    def test_all_one_way(self):
        for n in (3, 5, 10):
            self.assertAlmostEqual(stats.sign_flip_p([1.0 + i / 7 for i in range(n)]), 2 / 2 ** n)

    def test_by_hand(self):
        # Sums of +-1 +-2 +-3: 6 and 4 (once each way) are as far as 4: 4 of 8.
        self.assertEqual(stats.sign_flip_p([-1, 2, 3]), 0.5)

    def test_nothing_to_see(self):
        self.assertEqual(stats.sign_flip_p([0.0, 0.0, 0.0]), 1)
        self.assertIsNone(stats.sign_flip_p([0.1] * 17))


class Paired(unittest.TestCase):
    names = stats.Names("saker-native", "p99", "nginx")

    def test_sentence(self):
        """By hand: ratios 1/4, 1/2, 1/4 have the geometric mean 2^(-5/3)."""
        v = stats.compare([(1, 4), (2, 4), (3, 12)], "lower", self.names)
        self.assertAlmostEqual(v.ratio, 2 ** (-5 / 3))
        reach = 4.302653 * math.log(2) / 3
        self.assertAlmostEqual(v.low, v.ratio * math.exp(-reach), 6)
        self.assertAlmostEqual(v.high, v.ratio * math.exp(reach), 6)
        self.assertEqual(v.sentence, "saker-native: p99 0.31x nginx's (95 % interval 0.12 to 0.85, "
                                     "3 pairs, t on log ratios): faster")

    def test_really_faster(self):
        v = stats.compare(draws(1, 5, 0.3), "lower", self.names)
        self.assertEqual(v.word, "faster")
        self.assertTrue(v.low < 0.3 < v.high < 0.4)
        self.assertEqual(v.p, 2 / 32)

    def test_no_difference(self):
        v = stats.compare(draws(2, 5, 1), "lower", self.names)
        self.assertEqual(v.word, "no difference shown")
        self.assertTrue(v.low < 1 < v.high)
        self.assertTrue(v.sentence.endswith(": no difference shown"))

    def test_invalid(self):
        for pairs, why in ((draws(3, 2, 0.3), "2 pairs; 3 are needed"),
                           (draws(3, 4, 0.3) + [(None, 200.0)], 
                            "1 of 10 runs do not have it: too few samples, or not measured"),
                           (draws(3, 4, 0.3) + [(0, 200.0)],
                            "a value is not above zero, so there is no ratio")):
            v = stats.compare(pairs, "lower", self.names)
            self.assertEqual((v.word, v.why, v.ratio), ("invalid", why, None))
            self.assertEqual(v.sentence, f"saker-native: p99 against nginx: invalid: {why}")

    def test_left_out_is_said(self):
        v = stats.compare(draws(1, 2, 0.3), "lower", self.names, 3, "dirty")
        self.assertEqual(v.why, "2 pairs, 3 left out: dirty; 3 are needed")
        v = stats.compare(draws(1, 4, 0.3), "lower", self.names, 1, "dirty")
        self.assertIn("4 pairs, 1 left out: dirty, t on log ratios", v.sentence)

    def test_direction(self):
        pairs = draws(1, 5, 0.3)
        self.assertEqual(stats.compare(pairs, "higher").word, "slower")
        self.assertEqual(stats.compare([(b, a) for a, b in pairs], "higher").word, "faster")

    def test_pairs_see_what_means_do_not(self):
        """A change of 8 % under a drift of 20 %: shown by pairs, not by two sets."""
        pairs = draws(4, 8, 0.92, spread=0.02)
        self.assertEqual(stats.compare(pairs, "lower").word, "faster")
        two = stats.compare_unpaired([a for a, _ in pairs], [b for _, b in pairs], "lower")
        self.assertEqual(two.word, "no difference shown")

    def test_end_of_interval_never_looks_like_one(self):
        v = stats.compare([(0.9953, 1), (0.9955, 1), (0.9957, 1)], "lower", self.names)
        self.assertEqual(v.word, "faster")
        self.assertIn("interval 0.995 to 0.996,", v.sentence)

    def test_equal_runs_are_known_to_the_recording_step(self):
        v = stats.compare([(50, 100)] * 6, "lower", self.names)
        self.assertEqual(v.sentence, "saker-native: p99 0.50x nginx's (95 % interval 0.50 to 0.50, "
                                     "6 pairs, t on log ratios, no narrower than the recording "
                                     "step of 0.1 %): faster")
        self.assertAlmostEqual(v.high / v.ratio, 1.001)
        self.assertAlmostEqual(v.ratio / v.low, 1.001)
        self.assertEqual(stats.compare([(1000.9, 1000)] * 6, "lower").word, stats.SAME)
        self.assertEqual(stats.compare([(1001.1, 1000)] * 6, "lower").word, "slower")
        self.assertEqual(stats.compare_unpaired([100] * 3, [100.05] * 3, "lower").word, stats.SAME)
        self.assertNotIn("step", stats.compare(draws(1, 5, 0.3), "lower", self.names).sentence)

    def test_coverage(self):
        """Of 2,000 intervals 94 to 96 % hold the true ratio (+-1 % is two standard errors)."""
        held = 0
        for seed in range(2000):
            v = stats.compare(draws(seed, 5, 0.7, spread=0.1), "lower")
            held += v.low <= 0.7 <= v.high
        self.assertTrue(0.94 <= held / 2000 <= 0.96, held)

    def test_false_alarms(self):
        """Where nothing differs, 4 to 6 % of 2,000 say that something does."""
        alarms = sum(stats.compare(draws(10000 + seed, 5, 1), "lower").word != stats.SAME
                     for seed in range(2000))
        self.assertTrue(0.04 <= alarms / 2000 <= 0.06, alarms)


class Unpaired(unittest.TestCase):
    def test_by_hand(self):
        """Logs 0, 1, 2 and 3, 5, 7: means 1 and 5, variances 1 and 4, Welch's degrees
        (5/3)^2 / ((1/3)^2/2 + (4/3)^2/2) = 50/17."""
        v = stats.compare_unpaired([math.exp(x) for x in (0, 1, 2)],
                                   [math.exp(x) for x in (3, 5, 7)], "lower",
                                   stats.Names("new", "mean", "old"))
        reach = stats.t_quantile(50 / 17) * math.sqrt(5 / 3)
        self.assertAlmostEqual(v.ratio, math.exp(-4))
        self.assertAlmostEqual(math.log(v.high), -4 + reach)
        self.assertIn("3 and 3 runs, unpaired, Welch's t on logs", v.sentence)

    def test_few(self):
        v = stats.compare_unpaired([1, 2], [1, 2, 3], "lower")
        self.assertEqual((v.word, v.why), ("invalid", "2 and 3 runs; 3 of each are needed"))

    def test_coverage(self):
        held, rng = 0, random.Random(5)
        for _ in range(2000):
            a = [math.exp(rng.gauss(1.0, 0.3)) for _ in range(5)]
            b = [math.exp(rng.gauss(1.5, 0.1)) for _ in range(7)]
            v = stats.compare_unpaired(a, b, "lower")
            held += v.low <= math.exp(-0.5) <= v.high
        self.assertTrue(0.94 <= held / 2000 <= 0.96, held)


class Small(unittest.TestCase):
    def test_median(self):
        self.assertEqual(stats.median([3, 1, 2]), 2)
        self.assertEqual(stats.median([4, 1, 2, 3]), 2.5)

    def test_ratio_shown(self):
        self.assertEqual([stats.show_ratio(r) for r in (0.0312, 0.305, 1, 12.345, 250.4)],
                         ["0.031", "0.30", "1.00", "12.35", "250"])
