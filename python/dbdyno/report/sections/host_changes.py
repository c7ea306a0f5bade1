"""Changes to the host by the study, and what the server actually got."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.analysis.points import label
from dbdyno.report.terms.table import Column, Table
from dbdyno.report.terms.wording import MISSING, number

MEGABYTE = 2**20


def host_change_tables(analysis: Analysis) -> Iterator[Table]:
    """A row a cell and part of the host; only where something was changed."""
    found: dict[tuple[str, str], list[Mapping[str, object]]] = {}
    for run in analysis.material.runs:
        changed = run.facts.get("host_change")
        cell = label(run.manifest.cell, analysis.varying)
        for part, facts in changed.items() if isinstance(changed, Mapping) else ():
            if isinstance(facts, Mapping):
                found.setdefault((cell, str(part)), []).append(facts)
    order = [label(cell.levels, analysis.varying) for cell in analysis.cells]
    rows = tuple(
        (cell, part.replace("_", " "), *(_told(facts, when) for when in ("before", "after", "got")))
        for (cell, part), facts in sorted(
            found.items(), key=lambda change: order.index(change[0][0])
        )
    )
    columns = (
        Column("Cell", "cell"),
        Column("Part of the host", "part"),
        Column("Before", "before"),
        Column("While it ran", "after"),
        Column("What the server had of it at its end", "got"),
    )
    if rows:
        title = "What was changed on the host, and what the server got"
        yield Table("host-changes", title, columns, rows)


def _told(runs: Sequence[Mapping[str, object]], when: str) -> str:
    """`name: value` of every fact, over all blocks."""
    values: dict[str, list[object]] = {}
    for run in runs:
        facts = run.get(when)
        for name, value in facts.items() if isinstance(facts, Mapping) else ():
            values.setdefault(str(name), []).append(value)
    return "; ".join(f"{_name(name)}: {_spread(name, all_)}" for name, all_ in values.items()) or (
        MISSING
    )


def _name(name: str) -> str:
    return name.removesuffix("_bytes").replace("_", " ")


def _spread(name: str, values: Sequence[object]) -> str:
    """One value where all are alike, a range of numbers, or every text there was."""
    numbers = [v for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
    if numbers and len(numbers) == len(values):
        shown = [_amount(name, extreme) for extreme in (min(numbers), max(numbers))]
        unit = " MB" if name.endswith("_bytes") else ""
        return " to ".join(dict.fromkeys(shown)) + unit
    return " or ".join(dict.fromkeys(str(value) for value in values))


def _amount(name: str, value: float) -> str:
    return number(value / MEGABYTE if name.endswith("_bytes") else value)
