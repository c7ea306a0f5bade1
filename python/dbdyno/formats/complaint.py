"""Formats errors of study files in TOML's terms."""

from __future__ import annotations

import types
import typing

from pydantic import BaseModel, ValidationError

from dbdyno.formats.key_path import KeyPath
from dbdyno.formats.nearest import nearest_hint
from dbdyno.formats.study_schema import StudyDocument


def complaint(
    error: ValidationError, document: type[BaseModel] = StudyDocument
) -> tuple[KeyPath, str, str | None]:
    """Path, message and hint of the first error in `document`. Unknown keys come first: they
    explain others."""
    details = sorted(error.errors(), key=lambda detail: detail["type"] != "extra_forbidden")
    detail = details[0]
    path = tuple(str(part) for part in detail["loc"] if part != "[key]")
    dotted = ".".join(path)
    match detail["type"]:
        case "extra_forbidden":
            known = _keys_at(path[:-1], document)
            table = f" in [{'.'.join(path[:-1])}]" if len(path) > 1 else ""
            other = _elsewhere(path) if document is StudyDocument else None
            hint = other or nearest_hint(path[-1], known)
            hint = hint or f"known here: {', '.join(known)}"
            return path, f"unknown key `{path[-1]}`{table}", hint
        case "missing":
            return path, f"`{dotted}` is missing", None
        case "value_error":
            return path, f"`{dotted}`: {detail['ctx']['error']}", None
        case "string_pattern_mismatch":
            stated = f"`{dotted}` is not a name a folder can have"
            return path, stated, "use letters, digits, `.`, `_`, `+` and `-`"
        case kind if kind in _EXPECTED:
            return path, f"`{dotted}`: expected {_EXPECTED[kind]}; found {detail['input']!r}", None
        case _:
            message = detail["msg"][0].lower() + detail["msg"][1:]
            return path, f"`{dotted}`: {message}; found {detail['input']!r}", None


_EXPECTED = {
    "model_type": "a table",
    "model_attributes_type": "a table",
    "dict_type": "a table",
    "list_type": "a list",
    "string_type": "a text",
    "bool_type": "true or false",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
}
"""TOML's name of a type."""


_TABLES = ("load", "design", "workload", "connection", "primary", "needs")
"""Tables that stand once, whose keys are looked for where they are not."""

_IN_A_LEVEL = {
    "workload": "write `script`, `options` or `generator` in the level itself",
}
"""What a level can't change → what to write."""


def _elsewhere(path: KeyPath) -> str | None:
    """Where an unknown key belongs; `None` where it is known nowhere."""
    key, of_level = path[-1], _is_level(path[:-1])
    homes = [table for table in _TABLES if key in _keys_at((table,)) and (table,) != path[:-1]]
    top = len(path) > 1 and key in _keys_at(())
    if not homes and not (top and of_level):
        return f"`{key}` is a key of the file itself, above all tables" if top else None
    message = f"`{key}` is a key of [{homes[0]}]" if homes else f"[{key}] is a table of the study"
    if not of_level:
        return message
    if homes and key in _keys_at((*path[:-1], homes[0])):
        return f"{message}: write {homes[0]} = {{ {key} = … }}"
    instead = f"{_IN_A_LEVEL[key]}, or " if key in _IN_A_LEVEL else ""
    return (
        f"{message}; a level can't change it: {instead}write two studies and `dbdyno compare` them"
    )


def _is_level(path: KeyPath) -> bool:
    return (len(path) == 2 and path[0] == "server") or (len(path) == 3 and path[0] == "factor")


def _keys_at(path: KeyPath, document: type[BaseModel] = StudyDocument) -> list[str]:
    """The keys the table at `path` of a document may hold."""
    annotation: object = document
    for part in path:
        annotation = _member(annotation, part)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        scale = ["scale"] if annotation is StudyDocument else []
        return [*(f.alias or name for name, f in annotation.model_fields.items()), *scale]
    return []


def _member(annotation: object, part: str) -> object:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        field = annotation.model_fields.get(part)
        return _without_none(field.annotation) if field else None
    if isinstance(annotation, types.GenericAlias):
        return typing.get_args(annotation)[-1]
    return None


def _without_none(annotation: object) -> object:
    """Of a table that may be missing, the table."""
    if isinstance(annotation, types.UnionType):
        return next(inner for inner in typing.get_args(annotation) if inner is not type(None))
    return annotation
