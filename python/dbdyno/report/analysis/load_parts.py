"""The parts of a load in words, so that a difference between two loads is named by its part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict

from dbdyno.design.cells import cells
from dbdyno.formats.quantities import format_duration
from dbdyno.model import Load, Study, load_of

CLIENTS = "what clients do"
"""Parts of a load that levels change: a factor, where two cells of a study differ in them."""


def load_parts(load: Load, *, in_turns: bool) -> Mapping[str, str]:
    """Name of a part → its value. The length of a load `in_turns` is left out: more turns are more
    of the same load."""
    shape = {**asdict(load), "kind": load.arrival.kind}
    del shape["clients"]
    # Expected errors decide which runs enter verdicts, and don't change the load.
    del shape["errors"]["expected"]
    if in_turns:
        del shape["measure_s"]
    return dict(_parts(shape))


def load_of_levels(study: Study, levels: Mapping[str, str]) -> Load:
    """The load of the cell with these levels."""
    cell = next((cell for cell in cells(study) if cell.levels == levels), None)
    return study.load if cell is None else load_of(study.load, cell)


def differing_parts(ours: Load, theirs: Load, *, in_turns: bool) -> Iterator[tuple[str, str, str]]:
    """Each part that is not the same in two loads: its name and both values."""
    a, b = (load_parts(load, in_turns=in_turns) for load in (ours, theirs))
    for name in dict.fromkeys((*a, *b)):
        if a.get(name) != b.get(name):
            yield name, a.get(name, "none"), b.get(name, "none")


def _parts(values: Mapping[str, object], before: str = "") -> Iterator[tuple[str, str]]:
    """Name and value of each; a part of a part has the name of the whole before its own."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _parts(value, f"{before}{name} ")
        elif value not in (None, (), {}):
            yield f"{before}{_NAMES.get(name, name)}".replace("_", " "), _shown(name, value)


_NAMES = {"measure_s": "time", "warm_up_s": "warm-up", "kind": "arrival", "rate_per_s": "rate"}
"""Field of a load → what people call it."""


def _shown(name: str, value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name.endswith("_s") and not name.endswith("_per_s") and isinstance(value, (int, float)):
        return format_duration(value)
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_in_words, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _in_words(value: object) -> str:
    if isinstance(value, Mapping):
        return " ".join(f"{name} {part}" for name, part in _parts(value))
    return str(value)
