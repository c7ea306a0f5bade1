"""`study.json`: a study as it was resolved when it was run, and its plan.

What a report reads instead of the study's file: a later version may read files otherwise, and what
was measured has been measured by the words of its time.

Versions:
    1  the plan alone; the study is read from `study.toml` beside it
    2  `plan` and `study`; the file's text stays in `study.toml`; `folder` is where its file was
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

from pydantic import ValidationError

from dbdyno.errors import StoreError, StudyError
from dbdyno.formats.adapters import adapter
from dbdyno.formats.documents import dump_json, parse_json, validated
from dbdyno.formats.passwords import without_passwords
from dbdyno.formats.study_secrets import parted
from dbdyno.model import Arrival, Plan, Study

SCHEMA = 2

ONE_CALL = "# dbdyno bench "
"""A `study.toml` that begins so is no study's file but the call of a bench."""

IMPORTED = "# dbdyno import "
"""One that begins so is the call that brought another tool's results here."""

LOST = "put it back from a copy, or take the study's folder out of the store and run it again"
"""What to do about a `study.json` that is missing or not as it was."""

_ARRIVALS = {kind.kind: kind for kind in get_args(Arrival)}
"""By name: constant and Poisson arrivals have the same keys."""


@dataclass(frozen=True, slots=True)
class Declared:
    """What a study folder says of itself."""

    study: Study
    plan: Plan
    folder: str = ""
    """Of the study's file, where what it names is looked for; empty: not known."""


def dump_declared(declared: Declared) -> bytes:
    """The file's content; the study's text is not in it."""
    study = adapter(Study).dump_python(replace(declared.study, text=""), mode="json")
    load = declared.study.load
    arrivals = (load.arrival, *(group.arrival for group in load.groups))
    for arrival, owner in zip(arrivals, _paces(study), strict=True):
        owner["arrival"] = {"kind": arrival.kind, **owner["arrival"]}
    plan = adapter(Plan).dump_python(declared.plan, mode="json")
    document = {"schema": SCHEMA, "plan": plan, "study": study}
    return dump_json(document | ({"folder": declared.folder} if declared.folder else {}))


def parse_declared(content: bytes, *, file: Path) -> Declared:
    """Study and plan; `file` is where the content stands, with `study.toml` beside it.

    Raises `StoreError` naming the file and what is wrong in it.
    """
    document = parse_json(content, file=file, hint=LOST)
    if not isinstance(document, dict):
        raise StoreError(f"{file}: expected a JSON object", hint=LOST)
    match document.get("schema"):
        case 1:
            shape = {name: value for name, value in document.items() if name != "schema"}
            plan = validated(Plan, shape, file, hint=LOST)
            # Only studies of the first versions are read from their files: the schema of these
            # takes as long to make as all the rest.
            from dbdyno.formats.study import read_study

            try:
                read = read_study(file.with_name("study.toml"), scale=plan.scale)
            except StudyError as error:
                raise StoreError(error.message, hint=LOST) from error
            return Declared(read.study, plan)
        case 2:
            plan = validated(Plan, document.get("plan"), file, hint=LOST)
            folder = str(document.get("folder", ""))
            return Declared(_study(document.get("study"), file), plan, folder)
        case other:
            raise StoreError(
                f"{file}: has schema {other}; this version reads schemas 1 to {SCHEMA}",
                hint="read it with the version of dbdyno that wrote it, or a newer one",
            )


def _study(document: object, file: Path) -> Study:
    try:
        for owner in _paces(document):
            values = dict(owner["arrival"])
            owner["arrival"] = adapter(_ARRIVALS[values.pop("kind")]).validate_python(values)
    except (ValidationError, KeyError, TypeError, ValueError) as error:
        raise StoreError(f"{file}: `study.load`: not a load: {error}", hint=LOST) from error
    study = validated(Study, document, file, hint=LOST)
    try:
        text = file.with_name("study.toml").read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        text = ""  # it is only shown; nothing is computed from it
    try:
        # An earlier version kept passwords: they are not shown at least.
        return parted(replace(study, text=text))[0]
    except ValueError:
        return replace(study, text=without_passwords(text))


def _paces(study: Any) -> Iterator[dict[str, Any]]:
    """The tables of a dumped study that have an arrival: the load's own and its groups'."""
    load = study["load"]
    yield load
    yield from load["groups"]
