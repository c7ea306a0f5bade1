"""Whether the baseline's cell can stand twice in a study, to check the machine by."""

from __future__ import annotations

from collections.abc import Mapping

from dbdyno.formats.study_schema import DesignTable
from dbdyno.model import AGAIN, Factor


def twice_if_long(design: DesignTable, factors: tuple[Factor, ...]) -> Mapping[str, str]:
    """The baseline, where `aa` is left open and it can have a second name."""
    is_open = design.aa is None and why_not_twice(design, factors) is None
    return design.baseline if is_open else {}


def why_not_twice(design: DesignTable, factors: tuple[Factor, ...]) -> str | None:
    """Why the baseline's cell can't stand under another name as well."""
    levels = {factor.name: [level.name for level in factor.levels] for factor in factors}
    varying = [name for name in design.baseline if len(levels[name]) > 1]
    if not varying:
        return "`aa` repeats the baseline's cell: name a `baseline` with several levels"
    for name in varying:
        if design.baseline[name] + AGAIN in levels[name]:
            return f"`aa` needs the name `{design.baseline[name]}{AGAIN}` for itself"
    return None
