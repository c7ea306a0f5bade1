"""The engine's stream: one JSON object per line, types as in `crates/record/src/stream.rs`."""

from __future__ import annotations

import json
from collections.abc import Mapping

from pydantic import ValidationError

from dbdyno.errors import EngineError
from dbdyno.formats.adapters import adapter
from dbdyno.formats.engine_plan import MISMATCH
from dbdyno.formats.record_schema import SCHEMA
from dbdyno.model import (
    EngineWarning,
    Fatal,
    Hello,
    Interval,
    Loaded,
    Output,
    Phase,
    Progress,
    Ready,
    Record,
    Summary,
    Turn,
)

_KINDS: Mapping[str, type[Record]] = {
    "hello": Hello,
    "phase": Phase,
    "progress": Progress,
    "ready": Ready,
    "output": Output,
    "loaded": Loaded,
    "interval": Interval,
    "turn": Turn,
    "warning": EngineWarning,
    "fatal": Fatal,
    "summary": Summary,
}
_NAMES: Mapping[type[Record], str] = {kind: name for name, kind in _KINDS.items()}


def dump_record(record: Record) -> bytes:
    """The line of a record, as the engine would write it."""
    name = _NAMES[type(record)]
    return (
        json.dumps({"record": name, **adapter(type(record)).dump_python(record)}).encode() + b"\n"
    )


def parse_record(line: bytes | str, *, number: int) -> Record:
    """One line of the stream; `number` (from 1) is for the message.

    Raises `EngineError` for anything the contract doesn't know, another schema included.
    """
    try:
        document = json.loads(line)
        kind = document.pop("record")
        record = adapter(_KINDS[kind]).validate_python(document)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise EngineError(
            f"record {number} of the engine's stream: `{kind}` has a wrong `{place}`: "
            f"{first['msg']}",
            hint=MISMATCH,
        ) from error
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        text = bytes(line, "utf-8") if isinstance(line, str) else line
        raise EngineError(
            f"record {number} of the engine's stream is not one: {text[:80]!r}", hint=MISMATCH
        ) from error
    if isinstance(record, Hello) and record.schema != SCHEMA:
        raise EngineError(
            f"the engine speaks record schema {record.schema}; this lab reads schema {SCHEMA}",
            hint=MISMATCH,
        )
    return record
