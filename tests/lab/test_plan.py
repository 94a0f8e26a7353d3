# SPDX-License-Identifier: GPL-2.0-only
"""plan: what runs, in which order."""
import unittest
from collections import Counter

import plan
from experiment import Experiment


def exp(order: str, repeat: int = 2, seed: int = 1) -> Experiment:
    return Experiment("x", None, factors={"subject": ["a", "b", "c"], "rate": ["1", "2"]},
                      order=order, repeat=repeat, seed=seed, baseline=("subject", "a"))


def spelled(runs) -> str:
    return " ".join(one.factors["subject"] + one.factors["rate"] for one in runs)


class Plan(unittest.TestCase):
    def test_given_is_the_matrix_again_and_again(self):
        self.assertEqual(spelled(plan.make(exp("given"))), "a1 a2 b1 b2 c1 c2 a1 a2 b1 b2 c1 c2")

    def test_abba_turns_round_within_a_block(self):
        runs = plan.make(exp("abba", 3))
        self.assertEqual(spelled(runs), "a1 b1 c1 c1 b1 a1 a2 b2 c2 c2 b2 a2 a1 b1 c1 a2 b2 c2")
        self.assertEqual([one.repetition for one in runs],
                         [1] * 3 + [2] * 3 + [1] * 3 + [2] * 3 + [3] * 6)

    def test_abba_cancels_a_straight_drift(self):
        runs = plan.make(exp("abba", 4))
        sums = {level: sum(one.run for one in runs if one.factors["subject"] == level)
                for level in "abc"}
        self.assertEqual(len(set(sums.values())), 1)

    def test_random_has_each_combination_once_a_repetition(self):
        runs = plan.make(exp("random", 5))
        seen = Counter((one.repetition, *one.factors.values()) for one in runs)
        self.assertEqual(set(seen.values()), {1})
        self.assertEqual(len(runs), 30)
        self.assertEqual([one.run for one in runs], list(range(1, 31)))

    def test_random_is_of_the_seed_on_every_host(self):
        self.assertEqual(spelled(plan.make(exp("random"))), FIRST_SEED)
        self.assertNotEqual(spelled(plan.make(exp("random", seed=2))), FIRST_SEED)

    def test_repetitions_are_shuffled_by_themselves(self):
        turns = spelled(plan.make(exp("random", 4))).split()
        self.assertEqual(len({tuple(turns[i:i + 6]) for i in range(0, 24, 6)}), 4)

    def test_a_shuffle_prefers_no_place(self):
        seen = Counter(plan.shuffled("abc", plan.random.Random(seed))[0] for seed in range(3000))
        for letter in "abc":
            self.assertAlmostEqual(seen[letter] / 3000, 1 / 3, delta=0.04)

    def test_a_block_is_one_repetition_of_equal_other_factors(self):
        for order in ("given", "random", "abba"):
            groups = {}
            for one in plan.make(exp(order)):
                groups.setdefault(one.block, []).append(one)
            self.assertEqual(sorted(groups), [1, 2, 3, 4])
            for members in groups.values():
                self.assertEqual(len({(m.repetition, m.factors["rate"]) for m in members}), 1)
                self.assertEqual({m.factors["subject"] for m in members}, set("abc"))

    def test_only_and_repeat(self):
        runs = plan.make(exp("given"), 1, {"subject": ["a", "b"], "rate": ["2"]})
        self.assertEqual(spelled(runs), "a2 b2")


FIRST_SEED = "a2 b1 c2 b2 c1 a1 a2 c2 a1 c1 b2 b1"
