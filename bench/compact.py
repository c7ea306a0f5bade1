"""Results as a page prints them: nothing but that, in few lines that can be read and compared."""

import json
from collections.abc import Collection, Mapping
from typing import Any

Wanted = bool | Mapping[str, Any]
"""`True`: all of it; otherwise key → what is wanted of its value. The key `*` stands for any, and a
list has what is wanted of each element."""


def part_of(value: Any, wanted: Wanted) -> Any:
    """What is wanted of a document; keys that it lacks are left out."""
    if not isinstance(wanted, Mapping):
        return value
    if isinstance(value, list | tuple):
        return [part_of(element, wanted) for element in value]
    if "*" in wanted:
        return {key: part_of(inner, wanted["*"]) for key, inner in value.items()}
    return {key: part_of(value[key], inner) for key, inner in wanted.items() if key in value}


def document_text(document: Mapping[str, Any], by_line: Collection[str]) -> str:
    """The document as JSON; each element of a list whose key is in `by_line` begins a line."""
    return _object(document, by_line) + "\n"


def _object(value: Mapping[str, Any], by_line: Collection[str]) -> str:
    parts = [f"{json.dumps(key)}: {_value(key, inner, by_line)}" for key, inner in value.items()]
    return "{" + ", ".join(parts) + "}"


def _value(key: str, value: Any, by_line: Collection[str]) -> str:
    if key not in by_line:
        return json.dumps(value, allow_nan=False, ensure_ascii=False)
    return "[\n" + ",\n".join(_object(element, by_line) for element in value) + "]"


def rounded(value: float) -> float:
    """To nine digits, more than any page prints."""
    return float(f"{value:.9g}")
