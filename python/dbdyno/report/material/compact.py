"""Encodes lines in few bytes: thinned if there are too many values, rounded to steps of their
range.

The result is one binary text: the length of its header as 4 bytes, little-endian; the header as
JSON; then the values of all varying lines, one after another. A value is a number of steps above
the line's minimum; the largest number stands for no value. Two-byte lines come first, all their
high bytes before all their low ones, which compresses better.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dbdyno.report.material.lines import Lines

LARGEST_BYTES = 4_500_000
"""Of all values together, before they are compressed: a page of 10 MB holds that in base64."""

FEWEST = 8
"""Values kept per line, however many lines there are."""

FINE, COARSE = 2, 1
"""Bytes a value: 65,534 steps of a line's range, or 254."""


@dataclass(frozen=True, slots=True)
class RunLines:
    """All lines of one run."""

    exact: tuple[Lines, ...]
    """Never thinned: throughput, and what the study's own charts draw."""
    others: tuple[Lines, ...]


@dataclass(frozen=True, slots=True)
class Packed:
    """One line's place in the text."""

    run: int
    name: str
    grid: int
    low: float
    high: float | None
    """`None` where it never changes, and then there are no values."""
    values: NDArray[np.unsignedinteger]


@dataclass(frozen=True, slots=True)
class Thinning:
    """How much of each line is kept."""

    values: int
    """At most this many points per line."""
    bytes_each: int


def pack(runs: Sequence[RunLines], further: Mapping[str, object]) -> bytes:
    """The text of all runs; `said` is what else its head says.

    The head says for each line (`run`, `name`, `grid`, `low`, `high`, in the order of the values),
    for each grid its instants in milliseconds since the run's `base_ms` and the seconds that two
    values stand for (`thinned_s`: 0 where nothing was left out), and how many lines have two bytes
    a value (`fine`).
    """
    thinning = thinning_for([lines for run in runs for lines in run.others])
    bases = [_base_ms(run) for run in runs]
    grids: list[dict[str, object]] = []
    fine: list[Packed] = []
    coarse: list[Packed] = []
    for place, run in enumerate(runs):
        for lines in run.exact:
            fine += _packed(place, bases[place], lines, None, grids)
        for lines in run.others:
            kept = coarse if thinning and thinning.bytes_each == COARSE else fine
            kept += _packed(place, bases[place], lines, thinning, grids)
    every = [*fine, *coarse]
    names = {name: place for place, name in enumerate(dict.fromkeys(line.name for line in every))}
    head = {
        **further,
        "base_ms": bases,
        "grids": grids,
        "names": list(names),
        "fine": len(fine),
        "run": [line.run for line in every],
        "name": [names[line.name] for line in every],
        "grid": [line.grid for line in every],
        "low": [line.low for line in every],
        "high": [line.high for line in every],
    }
    text = json.dumps(head, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    wide, narrow = _joined(fine, np.uint16), _joined(coarse, np.uint8)
    planes = ((wide >> 8).astype(np.uint8), (wide & 255).astype(np.uint8), narrow)
    return b"".join([len(text).to_bytes(4, "little"), text, *(plane.tobytes() for plane in planes)])


def thinning_for(others: Sequence[Lines], largest: int = LARGEST_BYTES) -> Thinning | None:
    """What has to be left out for all values to fit into `largest` bytes; `None`: nothing."""
    nothing = np.empty(0, dtype=np.int64)
    varying = (np.repeat(lines.unix_ns.size, _varying(lines)) for lines in others)
    lengths = np.concatenate([nothing, *varying])
    if FINE * lengths.sum() <= largest:
        return None
    if lengths.sum() <= largest:
        return Thinning(int(lengths.max()), COARSE)
    kept = int(lengths.max())
    while kept > FEWEST and np.minimum(lengths, kept).sum() > largest:
        kept = max(FEWEST, min(kept - 1, int(kept * 0.97)))
    return Thinning(kept // 2 * 2, COARSE)


def thinned(lines: Lines, most: int) -> tuple[Lines, float]:
    """At most `most` instants: of each stretch of samples the lowest and the highest value, in the
    order in which they came. Also how many seconds such a stretch has; 0: all were kept."""
    size = lines.unix_ns.size
    if size <= most:
        return lines, 0.0
    stretches = max(1, most // 2)
    length = -(-size // stretches)
    stretches = -(-size // length)
    padded = np.pad(lines.values, ((0, 0), (0, stretches * length - size)), mode="edge")
    parts = padded.reshape(len(lines.names), stretches, length)
    known = np.isfinite(parts)
    low = np.where(known, parts, np.inf)
    high = np.where(known, parts, -np.inf)
    rising = low.argmin(axis=2) <= high.argmax(axis=2)
    least, most_ = low.min(axis=2), high.max(axis=2)
    kept = np.stack([np.where(rising, least, most_), np.where(rising, most_, least)], axis=2)
    first = np.arange(stretches) * length
    middle = np.minimum(first + length // 2, size - 1)
    places = np.stack([first, middle], axis=1).ravel()
    seconds = (lines.unix_ns[-1] - lines.unix_ns[0]) / 1e9 / (size - 1) * length
    values = np.where(np.isfinite(kept), kept, np.nan).reshape(len(lines.names), -1)
    return Lines(lines.names, lines.unix_ns[places], values), float(seconds)


def _packed(
    run: int,
    base_ms: int,
    lines: Lines,
    thinning: Thinning | None,
    grids: list[dict[str, object]],
) -> Iterator[Packed]:
    kept, seconds = thinned(lines, thinning.values) if thinning else (lines, 0.0)
    fine = thinning is None or thinning.bytes_each == FINE
    kind, steps = (np.uint16, 65_534) if fine else (np.uint8, 254)
    known = np.isfinite(kept.values)
    low = np.where(known, kept.values, np.inf).min(axis=1)
    high = np.where(known, kept.values, -np.inf).max(axis=1)
    range_ = np.where(high > low, high - low, 1.0)[:, np.newaxis]
    with np.errstate(invalid="ignore"):
        scaled = np.rint((kept.values - low[:, np.newaxis]) / range_ * steps)
    codes = np.where(known, scaled, steps + 1).astype(kind)
    grid = len(grids)
    instants = kept.unix_ns // 1_000_000 - base_ms
    grids.append({"ms": np.diff(instants, prepend=0).tolist(), "thinned_s": round(seconds, 1)})
    for place, name in enumerate(kept.names):
        if not known[place].any():
            continue
        least, most = (float(f"{end[place]:.7g}") for end in (low, high))
        if most > least or not known[place].all():
            yield Packed(run, name, grid, least, most, codes[place])
        else:
            yield Packed(run, name, grid, least, None, np.empty(0, dtype=kind))


def _varying(lines: Lines) -> int:
    return int((lines.values != lines.values[:, :1]).any(axis=1).sum())


def _base_ms(run: RunLines) -> int:
    firsts = [int(lines.unix_ns[0]) for lines in (*run.exact, *run.others) if lines.unix_ns.size]
    return min(firsts, default=0) // 1_000_000


def _joined(every: Sequence[Packed], kind: type) -> NDArray[np.unsignedinteger]:
    return np.concatenate([np.empty(0, dtype=kind), *(line.values for line in every)])
