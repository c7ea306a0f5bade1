"""Seeds by purpose: digests of (seed, purpose). No draw affects another."""

from __future__ import annotations

import hashlib
import json

_SEED_BYTES = 6
"""48 bits: exact in every language's numbers, Lua's and JSON's included."""


def derive_seed(seed: int, *purpose: str | int) -> int:
    """A seed for one purpose, independent of those for any other."""
    text = json.dumps([seed, *purpose]).encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=_SEED_BYTES).digest(), "big")


def derive_share(seed: int, *purpose: str | int) -> float:
    """A number for one purpose, uniform in [0, 1)."""
    return derive_seed(seed, *purpose) / float(256**_SEED_BYTES)


def shuffled(items: int, seed: int, *purpose: str | int) -> list[int]:
    """0…items−1 in a uniformly random order, which no version of a library can change."""
    return sorted(range(items), key=lambda item: (derive_seed(seed, *purpose, item), item))
