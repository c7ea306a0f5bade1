"""One rule for whatever a run's folder holds: a document that is not as it could have been written
is damage, whether or not its checksum agrees, and the run is set aside by name.

A checksum tells what has changed by accident. Who alters a figure can alter the checksum, too; what
then is impossible (a negative count, no number, a time outside of history) must neither be shown
nor end a command.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dbdyno.errors import StoreError
from dbdyno.model import RunManifest, StepSummary, TurnResult

if TYPE_CHECKING:
    import pyarrow as pa

DAMAGED = "take the folder out of the store; `dbdyno resume` then runs it again"

_LATEST_S = 32_503_680_000.0
"""The year 3000: the calendar's functions end somewhere beyond."""
_LARGEST = 2**64
_FREE = frozenset(
    (
        *("clock_ahead_us", "clock_drift_ppm", "collected", "figures", "host"),
        *("load_warnings", "options"),
        *("proxy", "record", "search", "server", "topology", "warnings"),
    )
)
"""What others have said, or whose signs mean something."""


@contextmanager
def reading(file: Path) -> Iterator[None]:
    """Whatever a reader stumbles over is damage of the file. Raises `StoreError`."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise not_written(file, f"{type(error).__name__}: {error}") from error
    except RecursionError as error:
        raise not_written(file, "it is nested too deeply") from error


def not_written(file: Path, message: str) -> StoreError:
    """The error for a document that was not written so."""
    words = " ".join(message.split())[:200]
    return StoreError(f"{file}: is not as it was written: {words}", hint=DAMAGED)


def check_manifest(manifest: RunManifest, file: Path) -> None:
    """Raises `StoreError` for a value outside its range."""
    _check(manifest, file, "")
    least = {
        "block": manifest.block,
        "position": manifest.position,
        "attempt": manifest.attempt,
        **{f"steps.{step.index}.clients": step.clients for step in manifest.steps},
    }
    for name, value in least.items():
        if value < 1:
            raise not_written(file, f"`{name}` is {value}")
    for name in ("started_unix_s", "ended_unix_s"):
        if getattr(manifest, name) > _LATEST_S:
            raise not_written(file, f"`{name}` is {getattr(manifest, name)}")


def check_summaries(summaries: tuple[StepSummary, ...], file: Path) -> None:
    """Raises `StoreError` for a value outside its range, or a step told twice."""
    for place, summary in enumerate(summaries):
        _check(summary, file, f"{place}")
        records = summary.record.get("histograms", [])
        if not isinstance(records, list) or not all(map(_is_histogram, records)):
            raise not_written(file, f"`{place}.record.histograms` is no list of histograms")
    steps = [summary.step for summary in summaries]
    if len(set(steps)) < len(steps):
        raise not_written(file, "a step is there twice")


def check_turns(turns: Sequence[TurnResult], file: Path) -> None:
    """Raises `StoreError` for a value outside its range."""
    for place, turn in enumerate(turns):
        _check(turn, file, f"{place}")


def check_series(table: pa.Table, file: Path) -> None:
    """Raises `StoreError` for a negative number, or one that is not finite."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for name in table.column_names:
        column = table.column(name)
        if pa.types.is_integer(column.type):
            sound = (pc.min(column).as_py() or 0) >= 0
        elif pa.types.is_floating(column.type):
            is_sound = pc.and_(pc.greater_equal(column, 0), pc.is_finite(column))
            sound = pc.all(is_sound).as_py() is not False
        else:
            continue
        if not sound:
            raise not_written(file, f"`{name}` has a negative number, or no finite one")


def check_facts(document: object, file: Path) -> None:
    """Raises `StoreError` for what are no facts."""
    if not isinstance(document, dict):
        raise not_written(file, "expected a JSON object")
    for name in ("host", "server", "tools", "host_change"):
        if not isinstance(document.get(name, {}), dict):
            raise not_written(file, f"`{name}` is no object")
    flags = document.get("red_flags", [])
    if not isinstance(flags, list) or not all(map(_is_flag, flags)):
        raise not_written(file, "`red_flags` is no list of objects with code, message and hint")
    storage = document.get("host", {}).get("storage", {})
    devices = storage.get("devices", []) if isinstance(storage, dict) else storage
    if not isinstance(devices, list) or not all(isinstance(device, dict) for device in devices):
        raise not_written(file, "`host.storage.devices` is no list of objects")


def _is_flag(flag: object) -> bool:
    """Red flags are words: what they are of, what they say, and what to do."""
    words = ("code", "message", "hint")
    return isinstance(flag, dict) and all(isinstance(flag.get(word, ""), str) for word in words)


def _is_histogram(record: object) -> bool:
    if not isinstance(record, dict) or record.keys() != _OF_HISTOGRAM.keys():
        return False
    return all(type(record[name]) is kind for name, kind in _OF_HISTOGRAM.items())


_OF_HISTOGRAM = {
    **dict.fromkeys(("subject", "label", "time", "hdr"), str),
    **dict.fromkeys(("count", "out_of_range"), int),
}
"""Fields of a `HistogramRecord` in JSON."""


def check_settings(document: object, file: Path) -> None:
    """Raises `StoreError` for what are no settings."""
    if not isinstance(document, dict):
        raise not_written(file, "expected a JSON object")


def _check(value: object, file: Path, place: str) -> None:
    """Numbers are finite and not negative; free text and foreign documents are not looked at."""
    if isinstance(value, bool) or value is None:
        return
    if isinstance(value, int | float):
        if not math.isfinite(value) or not 0 <= value < _LARGEST:
            raise not_written(file, f"`{place}` is {value}")
    elif is_dataclass(value):
        for key in fields(value):
            if key.name not in _FREE:
                _check(getattr(value, key.name), file, f"{place}.{key.name}".lstrip("."))
    elif isinstance(value, Mapping):
        for name, part in value.items():
            _check(part, file, f"{place}.{name}")
    elif isinstance(value, tuple | list):
        for number, part in enumerate(value):
            _check(part, file, f"{place}.{number}")
