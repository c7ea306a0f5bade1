"""The page's store of lines: what is read is what was put in, or says how it was thinned."""

from __future__ import annotations

import json
from collections.abc import Mapping

import numpy as np
import pytest

from dbdyno.report.material.compact import COARSE, RunLines, pack, thinned, thinning_for
from dbdyno.report.material.lines import Lines

SECOND_NS = 1_000_000_000


def lines(*rows: list[float], names: tuple[str, ...] = ()) -> Lines:
    values = np.array(rows, dtype=np.float64)
    times = 1_700_000_000 * SECOND_NS + np.arange(values.shape[1]) * SECOND_NS
    return Lines(names or tuple(f"line{place}" for place in range(len(rows))), times, values)


def unpacked(text: bytes) -> tuple[Mapping[str, list[float | None]], Mapping[str, object]]:
    """Name → values, as the page reads them (`templates/panels.js`), and the head."""
    length = int.from_bytes(text[:4], "little")
    head = json.loads(text[4 : 4 + length])
    values = np.frombuffer(text[4 + length :], dtype=np.uint8)
    sizes = [
        0 if high is None else len(head["grids"][grid]["ms"])
        for grid, high in zip(head["grid"], head["high"], strict=True)
    ]
    fine = sum(sizes[: head["fine"]])
    wide = values[:fine].astype(int) << 8 | values[fine : 2 * fine]
    codes = np.concatenate((wide, values[2 * fine :].astype(int)))
    assert len(codes) == sum(sizes)
    parts = np.split(codes, np.cumsum(sizes)[:-1])
    found: dict[str, list[float | None]] = {}
    for place, part in enumerate(parts):
        name, low, high = (head[key][place] for key in ("name", "low", "high"))
        steps = 65_534 if place < head["fine"] else 254
        read = [None if c > steps else low + c / steps * (high - low) for c in part.tolist()]
        found[head["names"][name]] = read if read else [low]
    return found, head


def test_lines_come_back_as_fine_as_can_be_seen() -> None:
    rng = np.random.default_rng(1)
    noisy = list(rng.normal(5e6, 1e6, 600))

    found, head = unpacked(pack([RunLines((), (lines(noisy, [7.0] * 600),))], {"views": {}}))

    assert found["line0"] == pytest.approx(noisy, abs=(max(noisy) - min(noisy)) / 65_534)
    assert found["line1"] == [7.0]
    assert head["high"][1] is None  # type: ignore[index]
    assert head["grids"] == [{"ms": [0, *[1000] * 599], "thinned_s": 0.0}]


def test_what_is_unknown_stays_unknown() -> None:
    found, _ = unpacked(pack([RunLines((lines([1.0, np.nan, 3.0]),), ())], {}))

    assert found["line0"] == [1.0, None, pytest.approx(3.0)]


def test_thinning_keeps_the_lowest_and_the_highest_in_their_order() -> None:
    spiky = [1.0] * 600
    spiky[123], spiky[126] = 900.0, -5.0

    kept, seconds = thinned(lines(spiky), 120)

    assert seconds == pytest.approx(10)
    assert kept.unix_ns.size == 120
    assert list(kept.values[0][24:26]) == [900.0, -5.0]
    assert (kept.values.max(), kept.values.min()) == (900.0, -5.0)


def test_what_fits_is_not_thinned() -> None:
    kept, seconds = thinned(lines([1.0, 2.0, 3.0]), 4)

    assert list(kept.values[0]) == [1.0, 2.0, 3.0]
    assert seconds == 0
    assert thinning_for([lines([1.0, 2.0, 3.0])], largest=6) is None


@pytest.mark.parametrize(("largest", "most"), [(6_000, 600), (3_000, 300), (500, 50), (1, 8)])
def test_all_lines_together_stay_within_the_limit(largest: int, most: int) -> None:
    rng = np.random.default_rng(2)
    every = [lines(*(list(rng.normal(size=600)) for _ in range(10)))]

    thinning = thinning_for(every, largest=largest)

    assert thinning is not None
    assert thinning.bytes_each == COARSE
    assert 0.9 * most <= thinning.values <= most


def test_lines_that_never_change_take_no_room() -> None:
    still = lines(*([float(place)] * 600 for place in range(1000)))

    assert thinning_for([still, lines(list(range(600)))], largest=1200) is None


def test_lines_that_the_study_asks_for_are_never_thinned() -> None:
    rng = np.random.default_rng(3)
    noisy = [list(rng.normal(size=600)) for _ in range(8000)]
    asked = lines(noisy[0], names=("throughput",))

    _, head = unpacked(pack([RunLines((asked,), (lines(*noisy),))], {}))

    assert head["fine"] == 1
    grids = head["grids"]
    assert isinstance(grids, list)
    assert len(grids[0]["ms"]) == 600
    assert grids[1]["thinned_s"] > 0
    assert len(grids[1]["ms"]) < 600
