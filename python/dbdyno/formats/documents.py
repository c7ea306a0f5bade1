"""The JSON documents of a run's folder: manifest and summary, with their schema version.

Old versions stay readable: a change of structure gets a new number and a step that converts the
old one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from dbdyno.errors import StoreError
from dbdyno.formats.adapters import adapter
from dbdyno.formats.passwords import without_password, without_passwords
from dbdyno.model import RunManifest, StepSummary

SCHEMA = 1

DAMAGED = "the folder is damaged: take it out of the store, then `dbdyno resume` runs it again"

_T = TypeVar("_T")


def dump_manifest(manifest: RunManifest) -> bytes:
    """`manifest.json`."""
    return adapter(RunManifest).dump_json(manifest, indent=2) + b"\n"


def parse_manifest(text: bytes, *, file: Path) -> RunManifest:
    """Parses a manifest. Raises `StoreError` naming the file and the error."""
    manifest = validated(RunManifest, _checked(text, file), file)
    # An earlier version kept passwords: they are not shown at least.
    lines = tuple(map(without_passwords, manifest.command_lines))
    provision = without_password(manifest.provision)
    return replace(manifest, provision=provision, command_lines=lines)


def dump_summary(steps: Sequence[StepSummary]) -> bytes:
    """`summary.json`: a list, one entry per step."""
    return adapter(tuple[StepSummary, ...]).dump_json(tuple(steps), indent=2) + b"\n"


def parse_summary(text: bytes, *, file: Path) -> tuple[StepSummary, ...]:
    """Raises `StoreError` naming the file and what is wrong in it."""
    return validated(tuple[StepSummary, ...], parse_json(text, file=file), file)


def dump_json(document: object) -> bytes:
    """Any plain value as readable JSON, with a final line feed."""
    return json.dumps(document, indent=2, ensure_ascii=False).encode() + b"\n"


def parse_json(text: bytes, *, file: Path, hint: str = DAMAGED) -> object:
    """Raises `StoreError` naming file and line."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise StoreError(
            f"{file}:{error.lineno}: not valid JSON: {error.msg}", hint=hint
        ) from error
    except UnicodeDecodeError as error:
        raise StoreError(f"{file}: not text: {error}", hint=hint) from error


def _checked(text: bytes, file: Path) -> Mapping[str, object]:
    document = parse_json(text, file=file)
    if not isinstance(document, dict):
        raise StoreError(f"{file}: expected a JSON object", hint=DAMAGED)
    if document.get("schema") != SCHEMA:
        raise StoreError(
            f"{file}: has schema {document.get('schema')}; this version reads schema {SCHEMA}",
            hint="read it with the version of dbdyno that wrote it, or a newer one",
        )
    return document


def validated(of: type[_T], document: object, file: Path, *, hint: str = DAMAGED) -> _T:
    """The value of a document that holds such a type.

    Raises `StoreError` naming the first place that is wrong.
    """
    try:
        return adapter(of).validate_python(document)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "document"
        raise StoreError(f"{file}: `{place}`: {first['msg']}", hint=hint) from error
