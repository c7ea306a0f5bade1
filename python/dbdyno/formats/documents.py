"""The JSON documents of a store: plan, manifest and summary, with their schema version.

Old versions stay readable: a change of shape gets a new number and a step that lifts the old one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from dbdyno.errors import StoreError
from dbdyno.model import Plan, RunManifest, StepSummary

SCHEMA = 1

_T = TypeVar("_T")

_MANIFEST = TypeAdapter(RunManifest)
_PLAN = TypeAdapter(Plan)
_SUMMARY = TypeAdapter(tuple[StepSummary, ...])


def dump_manifest(manifest: RunManifest) -> bytes:
    """`manifest.json`."""
    return _MANIFEST.dump_json(manifest, indent=2) + b"\n"


def load_manifest(text: bytes, *, file: Path) -> RunManifest:
    """Raises `StoreError` naming the file and what is wrong in it."""
    return _validated(_MANIFEST, _checked(text, file), file)


def dump_plan(plan: Plan) -> bytes:
    """`study.json`."""
    document = {"schema": SCHEMA, **_PLAN.dump_python(plan, mode="json")}
    return dump_json(document)


def load_plan(text: bytes, *, file: Path) -> Plan:
    """Raises `StoreError` naming the file and what is wrong in it."""
    document = _checked(text, file)
    return _validated(_PLAN, {k: v for k, v in document.items() if k != "schema"}, file)


def dump_summary(steps: Sequence[StepSummary]) -> bytes:
    """`summary.json`: a list, one entry a step."""
    return _SUMMARY.dump_json(tuple(steps), indent=2) + b"\n"


def load_summary(text: bytes, *, file: Path) -> tuple[StepSummary, ...]:
    """Raises `StoreError` naming the file and what is wrong in it."""
    return _validated(_SUMMARY, load_json(text, file=file), file)


def dump_json(document: object) -> bytes:
    """Any plain value, readable, with a final line feed."""
    return json.dumps(document, indent=2, ensure_ascii=False).encode() + b"\n"


def load_json(text: bytes, *, file: Path) -> object:
    """Raises `StoreError` naming file and line."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise StoreError(
            f"{file}:{error.lineno}: not valid JSON: {error.msg}", hint=_DAMAGED
        ) from error
    except UnicodeDecodeError as error:
        raise StoreError(f"{file}: not text: {error}", hint=_DAMAGED) from error


def _checked(text: bytes, file: Path) -> Mapping[str, object]:
    document = load_json(text, file=file)
    if not isinstance(document, dict):
        raise StoreError(f"{file}: expected a JSON object", hint=_DAMAGED)
    if document.get("schema") != SCHEMA:
        raise StoreError(
            f"{file}: has schema {document.get('schema')}; this version reads schema {SCHEMA}",
            hint="read it with the version of dbdyno that wrote it, or a newer one",
        )
    return document


def _validated(adapter: TypeAdapter[_T], document: object, file: Path) -> _T:
    try:
        return adapter.validate_python(document)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "document"
        raise StoreError(f"{file}: `{place}`: {first['msg']}", hint=_DAMAGED) from error


_DAMAGED = "the folder is damaged: take it out of the store, then `dbdyno resume` runs it again"
