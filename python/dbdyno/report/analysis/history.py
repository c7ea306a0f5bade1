"""A metric over versions or dates: points, what they are relative to, and where they changed."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby, pairwise

import numpy as np

from dbdyno.errors import UsageError
from dbdyno.model import find_figure
from dbdyno.report.analysis.comparisons import effect_between, too_few_events
from dbdyno.report.analysis.differences import differences
from dbdyno.report.analysis.history_series import Asked, Histories, Place, Series
from dbdyno.report.analysis.points import Point, label, varying
from dbdyno.report.analysis.reasons import not_there
from dbdyno.report.analysis.study_points import (
    StudyPoint,
    named_levels,
    version_factors,
    version_key,
)
from dbdyno.stats import (
    NotComparable,
    PairedEffect,
    effect_of,
    history,
    least_points,
)

LEVEL = 0.05
"""Share of histories without any change in which one is found, over all series together."""

PERMUTATIONS = 999
SEED = 1
MEASURED_OTHERWISE = frozenset({"scale", "load", "order", "workload"})
"""Properties that make points incomparable: such points are not in one series."""

NO_ANCHOR = "none"


def histories(entries: Sequence[StudyPoint], asked: Asked) -> Histories:
    """Raises `UsageError` for what can't be asked of these entries."""
    figure = find_figure(asked.metric)
    if figure.share:
        raise UsageError(
            f"`{asked.metric}` is a share, which may be 0: a history is of ratios",
            hint="`dbdyno compare` compares shares by their difference",
        )
    several = len({entry.folder for entry in entries}) > 1
    by = asked.by or ("date" if several else "version")
    chosen = [entry for entry in entries if _is_asked_for(entry, asked)]
    if not chosen:
        raise UsageError(
            "no cell is left to tell the history of",
            hint=f"loads are {', '.join(sorted({str(s.point.clients) for s in entries}, key=int))}"
            if entries
            else "none of the runs is complete",
        )
    groups = list(_grouped(chosen, by).values())
    alone = len(groups) == 1
    made = [
        series
        for group in groups
        if (series := _series(group, entries, asked, by, alone)) is not None
    ]
    if not any(series.places for series in made):
        why = next((why for series in made for why in series.left_out), "no run is complete")
        raise UsageError(
            f"no point has a figure `{asked.metric}`: {why}",
            hint="the studies' reports say what was measured",
        )
    level = LEVEL / max(1, sum(len(series.places) > 1 for series in made))
    return Histories(
        asked, by, figure, tuple(_searched(series, asked, by, level) for series in made), level
    )


def _is_asked_for(entry: StudyPoint, asked: Asked) -> bool:
    if asked.clients is not None and entry.point.clients != asked.clients:
        return False
    if asked.cell is None:
        return True
    return named_levels(entry.study, asked.cell).items() <= entry.levels.items()


def _grouped(entries: Iterable[StudyPoint], by: str) -> dict[tuple[object, ...], list[StudyPoint]]:
    """Those of one series, in its order."""
    groups: dict[tuple[object, ...], list[StudyPoint]] = {}
    for entry in entries:
        dropped = version_factors(entry.study) if by == "version" else frozenset()
        left = tuple(sorted((f, level) for f, level in entry.levels.items() if f not in dropped))
        kind = entry.kind if by == "version" else ""
        groups.setdefault((kind, left, entry.point.clients), []).append(entry)
    for group in groups.values():
        group.sort(key=lambda entry: _order(entry, by))
    return groups


def _order(entry: StudyPoint, by: str) -> tuple[object, ...]:
    key = version_key(entry.version) if by == "version" else ()
    return (*key, entry.began_unix_s)


def _series(
    group: list[StudyPoint], everything: Sequence[StudyPoint], asked: Asked, by: str, alone: bool
) -> Series | None:
    """`None` for the anchor's own series: it is relative to nothing."""
    if by == "version":
        _check_versions(group)
    kept, left_out = _measured_alike(group)
    anchors, why_not = _anchors(kept, everything, asked)
    if anchors is not None and by == "date" and all(map(operator.is_, anchors, kept)):
        if not alone:
            return None
        anchors, why_not = None, "it is the baseline itself"
    held: Sequence[StudyPoint | None] = anchors or [None] * len(kept)
    places: list[Place] = []
    for entry, anchor in zip(kept, held, strict=True):
        made = _place(entry, anchor, asked.metric)
        if isinstance(made, NotComparable):
            left_out.append((made.reason, entry))
        elif anchor is not entry or not any(place.entry in held for place in places):
            places.append(made)
    places = places if asked.last is None else places[-asked.last :]
    anchor_name = None
    if anchors:
        anchored = anchors[-1]
        anchor_name = f"{anchored.point.label} ({f'{anchored.kind} {anchored.version}'.strip()})"
    return Series(
        _name(group[-1], by),
        group[-1].point.clients,
        _with_differences(places),
        anchor_name,
        why_not,
        {
            reason: tuple(entry.side.name for why, entry in left_out if why == reason)
            for reason in dict.fromkeys(why for why, _ in left_out)
        },
    )


def _name(entry: StudyPoint, by: str) -> str:
    """What all points of a series have in common; by version, not their server's level."""
    if by == "date":
        return entry.point.label
    dropped = version_factors(entry.study)
    others = {factor: level for factor, level in entry.levels.items() if factor not in dropped}
    name = label(others, tuple(f for f in varying(entry.study) if f not in dropped))
    return ", ".join((entry.kind, name)) if others else entry.kind


def where(entry: StudyPoint, by: str) -> str:
    """A point's place in a word: its version, or its date."""
    return entry.version if by == "version" else entry.day


def _check_versions(group: Sequence[StudyPoint]) -> None:
    for entry in group:
        if not entry.version:
            raise UsageError(
                f"`{entry.side.name}`: the version of its server is not known",
                hint="--by date orders them by when they were run",
            )
    for (_, version), same in groupby(group, key=lambda entry: (str(entry.folder), entry.version)):
        names = [entry.point.label for entry in same]
        if len(names) > 1:
            raise UsageError(
                f"the cells `{'` and `'.join(names)}` of one study are both of {version}",
                hint="name one of them with --cell",
            )


def _measured_alike(
    group: Sequence[StudyPoint],
) -> tuple[list[StudyPoint], list[tuple[str, StudyPoint]]]:
    """Those measured as the one that was measured last, and why the others are not."""
    newest = max(group, key=lambda entry: entry.began_unix_s)
    kept: list[StudyPoint] = []
    left_out: list[tuple[str, StudyPoint]] = []
    for entry in group:
        found = [d for d in differences(entry.side, newest.side) if d.group in MEASURED_OTHERWISE]
        if found:
            text = "; ".join(f"{d.what}: {d.a} → {d.b}" for d in found)
            left_out.append((f"measured otherwise than later ({text})", entry))
        else:
            kept.append(entry)
    return kept, left_out


def _anchors(
    group: Sequence[StudyPoint], everything: Sequence[StudyPoint], asked: Asked
) -> tuple[list[StudyPoint] | None, str | None]:
    """For each entry the one of the same study that it is held against; or why there is none.

    An anchor is fixed: the same server with the same settings throughout.
    """
    if asked.anchor == NO_ANCHOR:
        return None, "no anchor was asked for"
    held: list[StudyPoint] = []
    for entry in group:
        named = (
            entry.study.design.baseline
            if asked.anchor is None
            else named_levels(entry.study, asked.anchor)
        )
        levels = {**entry.levels, **named}
        found = [
            other
            for other in everything
            if other.folder == entry.folder
            and other.levels == levels
            and other.point.clients == entry.point.clients
        ]
        if not named or not found:
            text = f"`{label(levels, varying(entry.study))}`" if named else "baseline"
            return _without(asked, f"{entry.side.name} holds no {text} beside {entry.point.label}")
        held.append(found[0])
    fixed = {_identity(anchor): anchor for anchor in held}
    if len(fixed) > 1:
        text = " and ".join(
            f"{a.kind} {a.version} in {a.side.name}" for a in list(fixed.values())[:2]
        )
        return _without(asked, f"the anchor is not the same throughout: {text}")
    return held, None


def _identity(anchor: StudyPoint) -> tuple[object, ...]:
    manifest = anchor.side.runs[0].manifest
    return anchor.kind, anchor.version, tuple(sorted(manifest.settings.items()))


def _without(asked: Asked, why: str) -> tuple[None, str]:
    if asked.anchor is not None:
        raise UsageError(
            f"`{asked.anchor}` can't be the anchor: {why}",
            hint="--anchor none tells the figures as they were measured",
        )
    return None, why


def _place(entry: StudyPoint, anchor: StudyPoint | None, metric: str) -> Place | NotComparable:
    """A point's value over its blocks, relative to the anchor's in the same blocks.

    The anchor is 1 by definition, without an interval.
    """
    point = entry.point
    if not point.values(metric):
        return NotComparable(not_there(point, metric))
    if anchor is entry:
        return Place(entry, 1.0, None, None, len(point.counted))
    if anchor is not None:
        effect = effect_between(point, anchor.point, metric).effect
        logs = _log_ratios(point, anchor.point, metric)
    else:
        values = point.judged(metric)
        few = too_few_events((point,), values, metric)
        if few is not None:
            return few
        logs = [math.log(value) for value in values.values() if value > 0]
        if len(logs) < len(values):
            return NotComparable("a block has a value that isn't above zero")
        effect = effect_of(logs)
    if isinstance(effect, PairedEffect):
        low, high = effect.ratio_interval
        return Place(entry, effect.ratio, low, high, effect.blocks)
    if not logs:
        return effect
    # One block, or blocks that agree to the last digit: a value without an interval.
    return Place(entry, math.exp(float(np.mean(logs))), None, None, len(logs))


def _log_ratios(point: Point, anchor: Point, metric: str) -> list[float]:
    ours, theirs = point.judged(metric), anchor.judged(metric)
    pairs = [(theirs[block], ours[block]) for block in ours.keys() & theirs.keys()]
    if too_few_events((point, anchor), ours, metric) or any(min(pair) <= 0 for pair in pairs):
        return []
    return [math.log(b / a) for a, b in pairs]


def _with_differences(places: Sequence[Place]) -> tuple[Place, ...]:
    """Each point with what else than its server changed since the one before."""
    extended = list(places[:1])
    for before, place in pairwise(places):
        found = differences(before.entry.side, place.entry.side)
        besides = tuple(difference for difference in found if difference.group != "server")
        extended.append(replace(place, besides=besides))
    return tuple(extended)


def _searched(series: Series, asked: Asked, by: str, level: float) -> Series:
    """With its changes, where there are points enough."""
    points, least = len(series.places), least_points(level)
    if points < least:
        text = (
            f"{points} point{'' if points == 1 else 's'}: changes are looked for in {least} or more"
        )
        return replace(series, not_searched=text)
    studies = {place.entry.folder for place in series.places}
    found = history(
        [place.value for place in series.places],
        level=level,
        least_change=asked.smallest_effect,
        seed=SEED,
        permutations=PERMUTATIONS
        if level * (PERMUTATIONS + 1) >= 10
        else math.ceil(20 / level) - 1,
        ratios=True,
        # What one study measured, it measured in balanced order; days follow one another.
        drifting=series.anchor is None and len(studies) > 1,
    )
    return replace(series, found=found)
