# SPDX-License-Identifier: GPL-2.0-only
"""plan - which runs, in which order

Place   pure; run walks it, report groups by it
Model   Each repetition has every combination once. Runs of a block differ in the baseline's
        factor alone; they are what is compared.
        given   as the file has them
        random  each repetition shuffled by itself: Fisher and Yates, by the seed
        abba    block by block A B, and in the next repetition B A: two repetitions of a
                block are one A B B A, in which a drift that is straight cancels out
Units   numbers begin at 1
"""
from __future__ import annotations

import random
from dataclasses import asdict, dataclass
from typing import Dict, List, Mapping, Optional, Sequence

from experiment import Experiment


@dataclass
class Planned:
    run: int
    repetition: int
    block: int
    factors: Dict[str, str]


def shuffled(things: Sequence, rng: random.Random) -> List:
    """Of random() alone, whose numbers Python keeps from version to version."""
    mixed = list(things)
    for i in range(len(mixed) - 1, 0, -1):
        j = int(rng.random() * (i + 1))
        mixed[i], mixed[j] = mixed[j], mixed[i]
    return mixed


def blocks(combinations: Sequence[Dict[str, str]], baseline: Optional[str]) -> List[List]:
    """Combinations that differ in the baseline's factor alone, together."""
    found: Dict[tuple, List] = {}
    for one in combinations:
        others = tuple((f, level) for f, level in one.items() if f != baseline)
        found.setdefault(others, []).append(one)
    return list(found.values())


def abba(grouped: Sequence[Sequence], repeat: int) -> List[tuple]:
    """(repetition, block, levels), both repetitions of a pair next to each other."""
    order = []
    for first in range(1, repeat + 1, 2):
        for block, members in enumerate(grouped, 1):
            order += [(first, block, one) for one in members]
            if first < repeat:
                order += [(first + 1, block, one) for one in reversed(members)]
    return order


def make(exp: Experiment, repeat: Optional[int] = None,
         only: Optional[Mapping[str, Sequence[str]]] = None) -> List[Planned]:
    """`only`: of these factors these levels."""
    repeat = repeat or exp.repeat
    wanted = [one for one in exp.combinations()
              if all(one[f] in levels for f, levels in (only or {}).items())]
    grouped = blocks(wanted, exp.baseline[0] if exp.baseline else None)
    rng = random.Random(exp.seed)
    if exp.order == "abba":
        order = abba(grouped, repeat)
    else:
        of = {id(one): block for block, members in enumerate(grouped, 1) for one in members}
        order = []
        for repetition in range(1, repeat + 1):
            turn = shuffled(wanted, rng) if exp.order == "random" else wanted
            order += [(repetition, of[id(one)], one) for one in turn]
    return [Planned(number, repetition, block + (repetition - 1) * len(grouped), dict(levels))
            for number, (repetition, block, levels) in enumerate(order, 1)]


def as_json(exp: Experiment, runs: Sequence[Planned], repeat: int) -> Dict:
    return {"experiment": exp.name, "order": exp.order, "seed": exp.seed, "repeat": repeat,
            "quick": exp.quick, "runs": [asdict(one) for one in runs]}
