"""TOML from plain values: for study files that dbdyno writes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def dump_toml(document: Mapping[str, object]) -> str:
    """Values first, then a table each for what holds values, deeper ones inline.

    `tomllib` reads the same from it. Strings, whole and broken numbers, booleans, lists and
    mappings; anything else is a `TypeError`.
    """
    plain = {key: value for key, value in document.items() if not isinstance(value, Mapping)}
    lines = [f"{_key(key)} = {_inline(value)}" for key, value in plain.items()]
    for key, value in document.items():
        if isinstance(value, Mapping):
            lines += ["", *_table(key, value)]
    return "\n".join(lines).lstrip("\n") + "\n"


def _table(name: str, values: Mapping[str, object]) -> Iterator[str]:
    yield f"[{_key(name)}]"
    yield from (f"{_key(key)} = {_inline(value)}" for key, value in values.items())


def _inline(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case str():
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
        case Mapping():
            inner = ", ".join(
                f"{_key(key)} = {_inline(inner_value)}" for key, inner_value in value.items()
            )
            return f"{{ {inner} }}" if inner else "{}"
        case list() | tuple():
            return f"[{', '.join(map(_inline, value))}]"
    raise TypeError(f"no TOML for {type(value).__name__}")


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _inline(key)
