"""Parses which files are imported as what: `FILE`, `CELL=FILE`, `CELL=FILE+FILE`."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dbdyno.bridges.bridge import Bridge, Result, Text
from dbdyno.bridges.registry import find_bridge, recognise
from dbdyno.errors import UsageError
from dbdyno.model import SourceFile
from dbdyno.store.disk import sha256

_CELL = re.compile(r"\w[\w.+-]*")
_LOG_OF_THREAD = re.compile(r"(.+)\.\d+")
_LARGEST = 1 << 30
_MOST = {"events": 1 << 62, "statements": 1 << 62, "errors": 1 << 62, "clients": 10_000_000}
_LONGEST_S = 100 * 365.25 * 86400


@dataclass(frozen=True, slots=True)
class Source:
    """The files of one result, read."""

    cell: str
    bridge: Bridge
    result: Result
    clients: int
    files: tuple[SourceFile, ...]
    path: Path
    """Of the first file."""
    modified_unix_s: float
    """When the last one of its files was written."""


def read_sources(named: Sequence[str], *, tool: str | None, clients: int | None) -> list[Source]:
    """Every result. `tool` and `clients` are told where the texts don't say them.

    Raises `UsageError` with file and line for what can't be read, is cut or not recognised.
    """
    groups = _with_threads([_named(one) for one in named])
    return [_read(cell, paths, tool, clients) for cell, paths in groups]


def _named(argument: str) -> tuple[str | None, list[Path]]:
    if Path(argument).is_file():
        return None, [Path(argument)]
    cell, equals, rest = argument.partition("=")
    if equals and not _CELL.fullmatch(cell):
        raise UsageError(
            f"`{cell}` can't be the name of a cell", hint="use letters, digits, `.`, `-`, `_`"
        )
    files = rest if equals else argument
    if not files.strip("+"):
        raise UsageError(f"`{argument}` names no file", hint="expected FILE or CELL=FILE")
    paths = [Path(files)] if Path(files).is_file() else [Path(each) for each in files.split("+")]
    for path in paths:
        if not path.is_file():
            what = "is a folder" if path.is_dir() else "is not there, or is no file"
            raise UsageError(f"{path} {what}", hint="expected FILE or CELL=FILE, one result each")
    return cell if equals else None, paths


def _with_threads(
    groups: list[tuple[str | None, list[Path]]],
) -> list[tuple[str | None, list[Path]]]:
    """pgbench's threads write a log each: `pgbench_log.7.1` belongs to `pgbench_log.7`."""
    owners = {path: files for _, files in groups for path in files}
    joined: list[tuple[str | None, list[Path]]] = []
    for cell, files in groups:
        match = _LOG_OF_THREAD.fullmatch(files[0].name) if len(files) == 1 else None
        owner = owners.get(files[0].with_name(match[1])) if match else None
        if owner is not None and owner is not files:
            owner.append(files[0])
        else:
            joined.append((cell, files))
    return joined


def _read(cell: str | None, paths: Sequence[Path], tool: str | None, clients: int | None) -> Source:
    texts, files = zip(*map(_text, paths), strict=True)
    bridge = recognise(texts[0]) if tool is None else find_bridge(tool)
    for text in texts:
        if not bridge.recognises(text.content):
            raise text.error(f"is no output of {bridge.tool}", line=1)
    result = _believable(bridge, texts)
    told = result.clients or clients
    if told is None:
        raise texts[0].error(
            f"{bridge.tool}'s text does not say how many clients there were",
            hint="name them with --clients",
        )
    if clients is not None and result.clients not in (None, clients):
        raise texts[0].error(f"says {result.clients} clients; --clients says {clients}")
    return Source(
        cell or bridge.tool,
        bridge,
        result,
        told,
        files,
        paths[0],
        max(path.stat().st_mtime for path in paths),
    )


def _believable(bridge: Bridge, texts: Sequence[Text]) -> Result:
    """What the bridge reads, unless figures are none that a run can have."""
    try:
        result = bridge.read(texts)
    except (OverflowError, ValueError) as error:
        raise texts[0].error(
            f"holds a number that {bridge.tool} can't have printed: {error}"
        ) from error
    outcome = result.outcome
    amounts = {
        "events": outcome.events,
        "statements": outcome.statements,
        "errors": outcome.errors,
        "clients": result.clients or 0,
    }
    strange = [
        f"{name}: {value}"[:60] for name, value in amounts.items() if not 0 <= value < _MOST[name]
    ]
    if not 0 < outcome.window_s < _LONGEST_S:
        strange.append(f"a window of {outcome.window_s:g} s")
    figures = {**outcome.latency_us, **outcome.figures}
    strange += [f"{name}: {value}" for name, value in figures.items() if not math.isfinite(value)]
    if strange:
        raise texts[0].error(
            f"{bridge.tool} can't have measured this: {strange[0]}",
            hint="import the text as the tool printed it",
        )
    return result


def _text(path: Path) -> tuple[Text, SourceFile]:
    try:
        if path.stat().st_size > _LARGEST:
            raise UsageError(f"{path}: is larger than 1 GiB", hint="import a part of the logs")
        content = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: can't be read: {error.strerror}") from error
    if not content.strip():
        raise UsageError(f"{path}: is empty", hint="import what the tool printed")
    try:
        decoded = content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UsageError(
            f"{path}:{line}: is not text (UTF-8)",
            hint="import what the tool printed, unpacked, as UTF-8",
        ) from error
    text = Text(path, decoded.replace("\r\n", "\n"))
    return text, SourceFile(path.name, sha256(content), len(content))
