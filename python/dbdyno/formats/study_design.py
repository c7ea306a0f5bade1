"""The design of a study: baseline, levels that are run, the cell that stands twice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from dbdyno.formats.nearest import nearest_hint
from dbdyno.formats.study_checks import (
    Fail,
    listing,
)
from dbdyno.formats.study_schema import DesignTable
from dbdyno.formats.twice_rules import twice_if_long, why_not_twice
from dbdyno.model import (
    Design,
    Factor,
    Level,
)


def design_of(design: DesignTable, factors: tuple[Factor, ...], fail: Fail) -> Design:
    return Design(
        blocks=design.blocks,
        baseline=design.baseline,
        seed=design.seed,
        order=design.order,
        together=design.together,
        turn_s=design.turn,
        lead_in_s=design.lead_in,
        reconnect=design.reconnect,
        freeze=design.freeze,
        stop_half_width=design.stop_half_width(),
        twice=_twice(design, factors, fail),
        twice_if_long=twice_if_long(design, factors),
    )


def chosen_levels(
    wanted: Mapping[str, list[str]], factors: tuple[Factor, ...], fail: Fail
) -> tuple[Factor, ...]:
    """The factors with the levels that `design.levels` names, in the file's order."""
    for name in wanted:
        known = [factor.name for factor in factors]
        if name not in known:
            message = f"`levels` names a factor `{name}`; there are {listing(known)}"
            raise fail(("design", "levels", name), message, nearest_hint(name, known))
    return tuple(
        replace(factor, levels=_those(factor, wanted[factor.name], fail))
        if factor.name in wanted
        else factor
        for factor in factors
    )


def _those(factor: Factor, names: list[str], fail: Fail) -> tuple[Level, ...]:
    known = [level.name for level in factor.levels]
    for name in names:
        if name not in known:
            message = f"factor `{factor.name}` has no level `{name}`; it has {listing(known)}"
            raise fail(("design", "levels", factor.name), message, nearest_hint(name, known))
    return tuple(level for level in factor.levels if level.name in names)


def check_baseline(baseline: Mapping[str, str], factors: tuple[Factor, ...], fail: Fail) -> None:
    known = {factor.name: [level.name for level in factor.levels] for factor in factors}
    for factor, level in baseline.items():
        path = ("design", "baseline", factor)
        if factor not in known:
            message = f"`baseline` names a factor `{factor}`; there are {listing(known)}"
            raise fail(path, message, nearest_hint(factor, known))
        if level not in known[factor]:
            message = f"factor `{factor}` has no level `{level}`; it has {listing(known[factor])}"
            raise fail(path, message, nearest_hint(level, known[factor]))


def _twice(design: DesignTable, factors: tuple[Factor, ...], fail: Fail) -> Mapping[str, str]:
    """The baseline, if `aa` asks for it a second time under another name."""
    if not design.aa:
        return {}
    why_not = why_not_twice(design, factors)
    if why_not is not None:
        raise fail(("design", "aa"), why_not)
    return design.baseline
