"""Why there is no effect: from what was left out of a comparison, not from what is left of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from dbdyno.model import OVER, find_figure, label_of
from dbdyno.model.limits import MOST_ERRORS
from dbdyno.report.analysis.points import BlockFigures, Point
from dbdyno.report.material.faults import tried_word, undeclared_fault
from dbdyno.stats import NotComparable

_MOST_NAMED = 2
"""Reasons told one by one."""


def too_few_blocks(point: Point, baseline: Point, metric: str) -> NotComparable | None:
    """Why fewer than two blocks have both sides; `None`: at least two have, or nothing was left
    out."""
    sides = (point, baseline)
    sound = [side.judged(metric) for side in sides]
    common = sound[0].keys() & sound[1].keys()
    every = sorted({figures.block for side in sides for figures in side.blocks})
    lost = [block for block in every if block not in common]
    if len(common) > 1 or not lost:
        return None
    why = _grouped(_reason_of_block(sides, block, metric) for block in lost)
    if common:
        left = f"{len(every)} blocks, of which {_count(len(lost), 'is', 'are')} left out ({why})"
        return NotComparable(f"one block holds no spread, so no interval can be given: {left}")
    gated = [side.why_left_out() for side in sides]
    if (every_fault := {**gated[1], **gated[0]}) and all(block in every_fault for block in lost):
        return NotComparable(f"no block passed its gates ({why})")
    absent = [side for side in sides if not side.values(metric)]
    if absent:
        return NotComparable("; ".join(not_there(side, metric) for side in absent))
    return NotComparable(f"no block has both sides: {why}")


def too_few_runs(point: Point, other: Point, metric: str) -> NotComparable | None:
    """The same where runs share no block: why a side has fewer than two."""
    sides = (point, other)
    sound = [side.judged(metric) for side in sides]
    lost = [
        (side, figures)
        for side, values in zip(sides, sound, strict=True)
        for figures in side.blocks
        if figures.block not in values
    ]
    if min(map(len, sound)) > 1 or not lost:
        return None
    every = sum(len(side.blocks) for side in sides)
    which = f"all {every}" if len(lost) == every else f"{len(lost)} of {every}"
    without = [side for side, figures in lost if figures.counted and not figures.faults]
    why = _why(
        [figures for _, figures in lost],
        lambda: "; ".join(dict.fromkeys(not_there(side, metric) for side in without)),
    )
    text = f"{which} runs are left out: {why}"
    if any(sound):
        text += "; a side with one run or none holds no spread, so no interval can be given"
    return NotComparable(text)


def not_there(point: Point, metric: str) -> str:
    """Why a point has no value of a figure, in words."""
    if not point.counted:
        begun = f" ({len(point.blocks)} were begun)" if point.blocks else ""
        return f"no run of {point.label} is complete{begun}"
    of_labels = [part for part in metric.split(OVER) if not point.values(part)]
    label = next(filter(None, map(label_of, of_labels)), None)
    if label is not None:
        return f"no event was labelled `{label}` in {point.label}"
    words = find_figure(metric).words
    named = metric if words == metric else f"{words} ({metric})"
    return f"{named} was not measured in {point.label}"


def without_common_block(
    named: Mapping[str, Sequence[int]], reasons: Mapping[str, str]
) -> NotComparable:
    """Why no block has all the pairs of a mean: `named` pair → its blocks, of those that have an
    effect; `reasons`: pair → why it has none."""
    if reasons:
        texts = [f"{name}: {why}" for name, why in reasons.items()]
        of = f"{len(reasons)} of {len(reasons) + len(named)} matched pairs have no effect: "
        return NotComparable(of + _some(texts))
    texts = [f"{name} has {_blocks(blocks)}" for name, blocks in named.items()]
    return NotComparable(f"no block has all {len(named)} pairs: {_some(texts)}")


def _reason_of_block(sides: Iterable[Point], block: int, metric: str) -> tuple[int, str]:
    """Why a block lacks a side."""
    found = []
    for side in sides:
        figures = next((figured for figured in side.blocks if figured.block == block), None)
        if figures is None:
            found.append(f"no run of {side.label}")
        elif not figures.counted:
            found.append(f"the run of {side.label} is not complete")
        elif figures.faults:
            found.append(", ".join(figures.faults))
        elif block not in side.values(metric):
            found.append(not_there(side, metric))
    return block, "; ".join(dict.fromkeys(found))


def _grouped(reasons: Iterable[tuple[int, str]]) -> str:
    """Each reason once, with its blocks."""
    blocks: dict[str, list[int]] = {}
    for block, why in reasons:
        blocks.setdefault(why, []).append(block)
    return _some([f"{_blocks(numbers)}: {why}" for why, numbers in blocks.items()])


def _why(lost: Sequence[BlockFigures], absent: Callable[[], str]) -> str:
    """Reasons of runs, those that only differ in a share together."""
    texts: dict[str, None] = {}
    failing = [block for block in lost if block.counted and block.errors.too_many_undeclared]
    if failing:
        errors = [block.errors for block in failing]
        shares = [f"{100 * error.share(error.unexpected):.2g}" for error in errors]
        most = f"{max(map(float, shares)):g} %"
        up_to = "up to " if len(set(shares)) > 1 else ""
        word = tried_word(failing[0].summary.generator)
        tolerated = f"{100 * MOST_ERRORS:g} % is tolerated"
        beside = ", beside those expected" if any(of_run.declared for of_run in errors) else ""
        texts[f"{up_to}{most} of their {word} failed{beside}; {tolerated}"] = None
    for block in lost:
        if not block.counted:
            texts["not complete"] = None
        for fault in block.faults:
            if fault != undeclared_fault(block.summary, block.errors):
                texts[fault] = None
        if block.counted and not block.faults:
            texts[absent()] = None
    return _some(list(texts))


def _blocks(numbers: Sequence[int]) -> str:
    listed = ", ".join(map(str, numbers))
    return f"block{'' if len(numbers) == 1 else 's'} {listed}" if numbers else "no block"


def _count(number: int, single: str, more: str) -> str:
    return f"{number} {single if number == 1 else more}"


def _some(texts: Sequence[str]) -> str:
    more = len(texts) - _MOST_NAMED
    return "; ".join([*texts[:_MOST_NAMED], *([f"{more} more"] if more > 0 else [])])
