# SPDX-License-Identifier: GPL-2.0-only
"""The three loops again, written from their definition and not from ours."""

WIDTH = {"fnv1a32": 32, "fnv1a64": 64, "mix64": 64}
SEED = {"fnv1a32": 2166136261, "fnv1a64": 0xCBF29CE484222325, "mix64": 0}
PRIME = {"fnv1a32": 16777619, "fnv1a64": 1099511628211}


def fnv1a(n, h, prime, mask):
    for i in range(n):
        h = ((h ^ i) * prime) & mask
    return h


def mix64(n, h):
    mask = (1 << 64) - 1
    for i in range(n):
        h ^= i
        h ^= h >> 30
        h = (h * 0xBF58476D1CE4E5B9) & mask
        h ^= h >> 27
        h = (h * 0x94D049BB133111EB) & mask
        h ^= h >> 31
    return h


def compute(alg, n, seed):
    """The hash as an answer spells it."""
    if alg == "mix64":
        h = mix64(n, seed)
    else:
        h = fnv1a(n, seed, PRIME[alg], (1 << WIDTH[alg]) - 1)
    return spell(alg, h)


def spell(alg, value):
    return "0x%0*x" % (WIDTH[alg] // 4, value)
