"""Divides a file into the results it holds: loops, lists of tests and steps write several into one.

A result has one line that no other line of it repeats, its mark. Whatever a tool prints first
begins the next result, once the last one is over.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dbdyno.bridges.bridge import Text


@dataclass(frozen=True, slots=True)
class Shape:
    """How a tool's text is divided."""

    mark: re.Pattern[str]
    """The line that a result has once."""
    opening: re.Pattern[str]
    """Lines that a tool prints before its figures."""
    over: re.Pattern[str]
    """The line after which a result may be over; often its mark."""
    begun: re.Pattern[str]
    """Lines that only a run prints, and no preparation."""


def results_in(text: Text, shape: Shape) -> list[Text]:
    """The results of a file, in order. What is none (preparation, cleaning up) stays with the one
    before it; a result without its mark is there too, so that whoever reads it says that it was
    cut."""
    lines = text.content.splitlines(keepends=True)
    starts = list(_starts(lines, shape))
    matched: list[tuple[int, int]] = []
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        own = "".join(lines[start:end])
        ours = any(mark.search(own) for mark in (shape.mark, shape.begun))
        if matched and not ours:
            matched[-1] = (matched[-1][0], end)
        else:
            matched.append((start, end))
    if len(matched) < 2:
        return [text]
    return [
        replace(text, content="".join(lines[start:end]), before=text.before + start)
        for start, end in matched
    ]


def _starts(lines: Sequence[str], shape: Shape) -> Iterator[int]:
    yield 0
    marked = over = False
    for number, line in enumerate(lines):
        opens, marks = shape.opening.match(line), shape.mark.match(line)
        if number and marked and (marks or opens):
            yield number
            marked = over = False
        marked = marked or bool(marks)
        over = (over or bool(shape.over.match(line))) and marked


def documents(text: Text, ours: Callable[[Any], bool]) -> list[tuple[Text, Any]]:
    """The JSON documents in a file that are `ours`, each with its text; whatever stands between
    them is passed over. Where there is none, or the last one breaks off: an empty list, or those
    before it."""
    decoder = json.JSONDecoder()
    matched: list[tuple[Text, Any]] = []
    position = 0
    while (start := _next_document(text.content, position)) is not None:
        try:
            document, end = decoder.raw_decode(text.content, start)
        except json.JSONDecodeError:
            position = start + 1
            continue
        if ours(document):
            before = text.before + text.content.count("\n", 0, start)
            matched.append(
                (replace(text, content=text.content[start:end], before=before), document)
            )
            position = end
        else:
            position = end if isinstance(document, list) else start + 1
    return matched


def _next_document(content: str, position: int) -> int | None:
    """Where one may begin: right here, or with a line."""
    matched = _HERE.match(content, position) or _LINE.search(content, position)
    return matched.end() - 1 if matched else None


_HERE = re.compile(r"\s*[{\[]")
_LINE = re.compile(r"^[ \t]*[{\[]", re.MULTILINE)
