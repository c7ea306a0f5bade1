"""The engine's answer to `plan`, read without pydantic: importing that takes ten times as long as
the engine takes to answer, and `dbdyno doctor` needs nothing else of it."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from dbdyno.errors import EngineError
from dbdyno.formats.record_schema import SCHEMA
from dbdyno.model import EnginePlan

MISMATCH = "engine and lab must have the same version: `dbdyno-engine version` shows the engine's"


def parse_engine_plan(line: bytes | str) -> EnginePlan:
    """The engine's plan. Raises `EngineError` for anything else."""
    try:
        plan: EnginePlan = _value_of(EnginePlan, json.loads(line), "")
    except (ValueError, TypeError) as error:
        raise EngineError(f"the engine's plan is not one: {error}", hint=MISMATCH) from error
    if plan.schema != SCHEMA:
        raise EngineError(
            f"the engine plans by schema {plan.schema}; this lab reads schema {SCHEMA}",
            hint=MISMATCH,
        )
    return plan


def _value_of(kind: Any, value: Any, place: str) -> Any:
    """A value of JSON as `kind`: a dataclass, a tuple of one kind, a number, text, or one of these
    or `None`. Raises `TypeError` with the place of another value."""
    if get_origin(kind) in (Union, UnionType):
        (other,) = (choice for choice in get_args(kind) if choice is not type(None))
        return None if value is None else _value_of(other, value, place)
    if get_origin(kind) is tuple and isinstance(value, list):
        inner = get_args(kind)[0]
        return tuple(_value_of(inner, item, f"{place}.{i}") for i, item in enumerate(value))
    if is_dataclass(kind) and isinstance(value, dict):
        make: Any = kind
        hints = get_type_hints(kind)
        present = [field.name for field in fields(kind) if field.name in value]
        read = {name: _value_of(hints[name], value[name], f"{place}.{name}") for name in present}
        return make(**read)
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is not kind:
        raise TypeError(f"`{place.lstrip('.') or 'plan'}` is {value!r}")
    return value
