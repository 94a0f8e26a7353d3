# SPDX-License-Identifier: GPL-2.0-only
"""stats - is one level faster than another, and how sure is that

Place   pure: numbers in, a verdict out; no file, no clock, no random number
Model   latencies multiply, so everything is done on logarithms: the estimate is the geometric mean
        of the ratios, the interval is Student's t on their logarithms. Paired runs (same
        repetition, same levels of all other factors) share whatever the machine did at that
        time, so their ratios vary less than the runs do. Runs that share nothing are compared
        by Welch's t on the logarithms. Beside the paired interval stands the exact sign-flip
        (permutation) p value, which assumes no normal distribution.
        A value is known to its recording step only, so no interval is narrower than one step
        to each side, however equal the runs are.
Owner   the caller decides what is a pair, and says how many it left out, and why
Limits  3 pairs at least; sign flips up to FLIP_PAIRS pairs (2^n sums)
Units   any, the same on both sides; a ratio is level over baseline
"""
from __future__ import annotations

import functools
import itertools
import math
from dataclasses import dataclass
from typing import Optional, Sequence, Tuple

LEAST = 3           # below, an interval by t says next to nothing: t(0.975, 1) = 12.7
FLIP_PAIRS = 16     # 65,536 sums, a few tens of milliseconds
CONFIDENCE = 0.95
STEP = 0.001        # saker-load's histograms: a bucket is as wide as 0.1 % of its value

PAIRED = "t on log ratios"
WELCH = "Welch's t on logs"

FASTER, SLOWER, SAME, INVALID = "faster", "slower", "no difference shown", "invalid"


@dataclass(frozen=True)
class Verdict:
    """ratio, low and high are None and word is `invalid` where nothing can be said; p is the
    sign-flip p value, None where there is none."""
    ratio: Optional[float]
    low: Optional[float]
    high: Optional[float]
    n: int
    method: str
    word: str
    sentence: str
    p: Optional[float] = None
    why: str = ""


@dataclass(frozen=True)
class Names:
    """How a sentence calls what is compared. better and worse: for a figure that is no speed,
    `smaller` and `larger`, say; Verdict.word stays `faster` or `slower` for programs to read."""
    level: str = "level"
    figure: str = "figure"
    baseline: str = "baseline"
    better: str = FASTER
    worse: str = SLOWER


# --- Student's t ----------------------------------------------------------------


def _beta_fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of the incomplete beta function (Abramowitz and Stegun 26.5.8),
    by the modified method of Lentz."""
    tiny, c, d = 1e-300, 1.0, 1.0 - (a + b) * x / (a + 1)
    d = 1 / (d if abs(d) > tiny else tiny)
    result = d
    for m in range(1, 500):
        for step in (m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
                     -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))):
            d, c = 1 + step * d, 1 + step / c
            d = 1 / (d if abs(d) > tiny else tiny)
            c = c if abs(c) > tiny else tiny
            result *= d * c
        if abs(d * c - 1) < 1e-15:
            break
    return result


def beta_share(a: float, b: float, x: float) -> float:
    """The regularized incomplete beta function I_x(a, b)."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
                     + a * math.log(x) + b * math.log1p(-x))
    # The fraction converges fast on this side of the mean only.
    if x < (a + 1) / (a + b + 2):
        return front * _beta_fraction(a, b, x) / a
    return 1 - front * _beta_fraction(b, a, 1 - x) / b


def t_within(t: float, degrees: float) -> float:
    """The probability that Student's t lies between -t and t (Abramowitz and Stegun 26.7.1)."""
    return 1 - beta_share(degrees / 2, 0.5, degrees / (degrees + t * t))


@functools.lru_cache(maxsize=None)
def t_quantile(degrees: float, confidence: float = CONFIDENCE) -> float:
    """The t whose interval -t to t holds with this confidence; by bisection."""
    low, high = 0.0, 1.0
    while t_within(high, degrees) < confidence:
        high *= 2
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        if t_within(middle, degrees) < confidence:
            low = middle
        else:
            high = middle
    return (low + high) / 2


# --- a sample of logarithms -------------------------------------------------------


def mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def variance(values: Sequence[float]) -> float:
    """Of the population that the sample is from: divided by n - 1."""
    middle = mean(values)
    return math.fsum((v - middle) ** 2 for v in values) / (len(values) - 1)


def median(values: Sequence[float]) -> float:
    ordered, half = sorted(values), len(values) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def sign_flip_p(values: Sequence[float]) -> Optional[float]:
    """Of all ways to turn the signs, the share whose sum is at least as far from zero: the
    two-sided exact p value of `no difference`. None beyond FLIP_PAIRS values."""
    if not values or len(values) > FLIP_PAIRS:
        return None
    # The sums are the same but for rounding: what is as far as the observed one counts.
    reach = abs(math.fsum(values)) - 1e-12 * math.fsum(abs(v) for v in values)
    first, rest = values[0], values[1:]
    # By symmetry the first sign need not be turned.
    hits = sum(abs(first + sum(s * v for s, v in zip(signs, rest))) >= reach
               for signs in itertools.product((1, -1), repeat=len(rest)))
    return hits / 2 ** len(rest)


# --- verdicts ---------------------------------------------------------------------


def _word(low: float, high: float, better: str) -> str:
    if low <= 1 <= high:
        return SAME
    return FASTER if (high < 1) == (better == "lower") else SLOWER


def show_ratio(ratio: float) -> str:
    """Two decimals, and more where two would hide the digits that count."""
    if ratio >= 100:
        return f"{ratio:.0f}"
    return f"{ratio:.2f}" if ratio >= 0.1 else f"{ratio:.3f}" if ratio >= 0.01 else f"{ratio:.2g}"


def apart(low: float, high: float) -> Tuple[str, str]:
    """Both ends of an interval, with as many digits as keep an end that is not 1 from
    looking like 1."""
    ends, shown, digits = (low, high), [show_ratio(low), show_ratio(high)], 3
    while digits < 6 and any(float(t) == 1 and end != 1 for t, end in zip(shown, ends)):
        shown, digits = [f"{end:.{digits}f}" for end in ends], digits + 1
    return shown[0], shown[1]


def _said(names: Names, word: str, ratio: float, low: float, high: float, sample: str) -> str:
    spoken = {FASTER: names.better, SLOWER: names.worse}.get(word, word)
    ends = "{} to {}".format(*apart(low, high))
    return (f"{names.level}: {names.figure} {show_ratio(ratio)}x {names.baseline}'s "
            f"(95 % interval {ends}, {sample}): {spoken}")


def invalid(why: str, n: int = 0, method: str = PAIRED, names: Names = Names()) -> Verdict:
    return Verdict(None, None, None, n, method, INVALID,
                   f"{names.level}: {names.figure} against {names.baseline}: {INVALID}: {why}",
                   None, why)


def _unusable(values: Sequence[Optional[float]]) -> str:
    missing = sum(v is None or not math.isfinite(v) for v in values)
    if missing:
        return f"{missing} of {len(values)} runs do not have it: too few samples, or not measured"
    if any(v <= 0 for v in values):
        return "a value is not above zero, so there is no ratio"
    return ""


def _left_out(left_out: int, why: str) -> str:
    return f", {left_out} left out: {why}" if left_out else ""


def _floor(reach: float, step: float) -> Tuple[float, str]:
    """The interval's reach on logarithms, and what the sample is to say of it."""
    least = math.log1p(step)
    if reach >= least:
        return reach, ""
    return least, f", no narrower than the recording step of {step * 100:.2g} %"


def compare(pairs: Sequence[Tuple[Optional[float], Optional[float]]], better: str,
            names: Names = Names(), left_out: int = 0, why: str = "dirty",
            step: float = STEP) -> Verdict:
    """Each pair is (level, baseline) of one repetition; None: the figure is missing, which is
    not the same as leaving the pair out. left_out: how many pairs were, for the reason why."""
    n = len(pairs)
    if n < LEAST:
        return invalid(f"{n} pair{'' if n == 1 else 's'}{_left_out(left_out, why)}; "
                       f"{LEAST} are needed", n, PAIRED, names)
    bad = _unusable([v for pair in pairs for v in pair])
    if bad:
        return invalid(bad, n, PAIRED, names)
    logs = [math.log(a / b) for a, b in pairs]
    middle = mean(logs)
    reach, floored = _floor(t_quantile(n - 1) * math.sqrt(variance(logs) / n), step)
    ratio, low, high = (math.exp(v) for v in (middle, middle - reach, middle + reach))
    word = _word(low, high, better)
    sample = f"{n} pairs{_left_out(left_out, why)}, {PAIRED}{floored}"
    return Verdict(ratio, low, high, n, PAIRED, word, _said(names, word, ratio, low, high, sample),
                   sign_flip_p(logs))


def compare_unpaired(level: Sequence[Optional[float]], baseline: Sequence[Optional[float]],
                     better: str, names: Names = Names(), step: float = STEP) -> Verdict:
    """Two sets of runs that share nothing but their factors. n is that of the smaller set."""
    n = min(len(level), len(baseline))
    sample = f"{len(level)} and {len(baseline)} runs"
    if n < LEAST:
        return invalid(f"{sample}; {LEAST} of each are needed", n, WELCH, names)
    bad = _unusable([*level, *baseline])
    if bad:
        return invalid(bad, n, WELCH, names)
    sides = [[math.log(v) for v in side] for side in (level, baseline)]
    middle = mean(sides[0]) - mean(sides[1])
    shares = [variance(side) / len(side) for side in sides]
    degrees = sum(len(side) for side in sides) - 2.0
    if sum(shares) > 0:  # Welch and Satterthwaite
        degrees = sum(shares) ** 2 / sum(s * s / (len(side) - 1) for s, side in zip(shares, sides))
    reach, floored = _floor(t_quantile(degrees) * math.sqrt(sum(shares)), step)
    ratio, low, high = (math.exp(v) for v in (middle, middle - reach, middle + reach))
    word = _word(low, high, better)
    sample += f", unpaired, {WELCH}{floored}"
    return Verdict(ratio, low, high, n, WELCH, word, _said(names, word, ratio, low, high, sample))
