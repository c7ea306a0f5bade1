"""`left_out.json`, beside `study.json`: cells that were not run, because the machine lacks what
they ask of it. Each command that measures writes it anew, or removes it where none is left out.

Versions:
    1  `cells`: a list of `levels` and `missing` (`what`, `cure`)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from dbdyno.errors import StoreError
from dbdyno.formats.adapters import adapter
from dbdyno.formats.documents import dump_json, parse_json, validated
from dbdyno.model import LeftOut, Missing

NAME = "left_out.json"
SCHEMA = 1

_HINT = "remove the file; `dbdyno run` writes it anew"
_NAMED = 3
"""Cells named in a sentence."""


def dump_left_out(cells: Sequence[LeftOut]) -> bytes:
    """The file's content."""
    return dump_json(
        {
            "schema": SCHEMA,
            "cells": adapter(tuple[LeftOut, ...]).dump_python(tuple(cells), mode="json"),
        }
    )


def parse_left_out(content: bytes, *, file: Path) -> tuple[LeftOut, ...]:
    """Raises `StoreError` naming the file and what is wrong in it."""
    document = parse_json(content, file=file, hint=_HINT)
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise StoreError(f"{file}: expected schema {SCHEMA}", hint=_HINT)
    return validated(tuple[LeftOut, ...], document.get("cells"), file, hint=_HINT)


def left_out_sentences(found: Sequence[LeftOut]) -> Iterator[tuple[str, str]]:
    """For each thing that is missing: what is left out for it, in a line, and the remedy."""
    cells: dict[Missing, list[str]] = {}
    for cell in found:
        for missing in cell.missing:
            cells.setdefault(missing, []).append(", ".join(cell.levels.values()) or "all")
    for missing, labels in cells.items():
        more = len(labels) - _NAMED
        named = [f"`{label}`" for label in labels[:_NAMED]]
        names = ", ".join([*named, f"{more} more"] if more > 0 else named)
        yield f"left out: {names}, since {missing.what}", missing.cure
