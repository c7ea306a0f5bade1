"""Parses which files are imported as what: `FILE`, `CELL=FILE`, `CELL=FILE+FILE`.

A file may hold several results. Those of one load are repeats or, with other numbers of clients,
steps of one cell; others are cells of their own, named by what differs.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dbdyno.bridges.bridge import Bridge, CutError, Result, Text
from dbdyno.bridges.registry import find_bridge, recognise
from dbdyno.bridges.stamps import bare
from dbdyno.errors import UsageError
from dbdyno.formats.passwords import without_passwords
from dbdyno.model import Option, SourceFile
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
    line: int = 0
    """Where it begins in its file, from 1, if that holds others too; 0: it is alone."""
    notes: tuple[str, ...] = ()
    """What to tell of how it was read."""

    @property
    def place(self) -> str:
        """File, and line where there are several results in it."""
        return f"{self.path}:{self.line}" if self.line else str(self.path)


@dataclass(frozen=True, slots=True)
class Given:
    """What whoever imports says where the texts don't."""

    tool: str | None = None
    clients: int | None = None
    events: int | None = None
    """How many events each result has."""


def read_sources(
    named: Sequence[str], *, tool: str | None, clients: int | None, events: int | None = None
) -> list[Source]:
    """Every result. `tool`, `clients` and `events` are told where the texts don't say them.

    Raises `UsageError` with file and line for what can't be read, is cut or not recognised.
    """
    groups = _with_threads([_named(entry) for entry in named])
    given = Given(tool, clients, events)
    return [entry for cell, paths in groups for entry in _read(cell, paths, given)]


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
    paths = (
        [Path(files)] if Path(files).is_file() else [Path(member) for member in files.split("+")]
    )
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


def _read(cell: str | None, paths: Sequence[Path], given: Given) -> list[Source]:
    texts, files, stamped = zip(*map(_text, paths), strict=True)
    bridge = recognise(texts[0]) if given.tool is None else find_bridge(given.tool)
    for text in texts:
        if not bridge.recognises(text.content):
            raise text.error(f"is no output of {bridge.tool}", line=1)
    groups = [[part] for part in bridge.parts(texts[0])] if len(texts) == 1 else [list(texts)]
    whole = _Whole(bridge, files, max(path.stat().st_mtime for path in paths), any(stamped))
    matched: list[Source] = []
    cuts: list[CutError] = []
    for group in groups:
        try:
            matched.append(_source(cell, group, whole, given, alone=len(groups) == 1))
        except CutError as error:
            cuts.append(error)
    if not matched:
        raise cuts[0]
    measured = tuple(f"not imported: {error.message}" for error in cuts)
    matched[0] = replace(matched[0], notes=(*matched[0].notes, *measured))
    return _told_apart(matched, cell) if len(matched) > 1 else matched


@dataclass(frozen=True, slots=True)
class _Whole:
    """What all results of a file share."""

    bridge: Bridge
    files: tuple[SourceFile, ...]
    modified_unix_s: float
    stamped: bool


def _source(
    cell: str | None, texts: Sequence[Text], whole: _Whole, given: Given, *, alone: bool
) -> Source:
    bridge, first, clients = whole.bridge, texts[0], given.clients
    result = _believable(bridge, texts, given.events)
    measured = result.clients or clients
    if measured is None:
        raise first.error(
            f"{bridge.tool}'s text does not say how many clients there were",
            hint="name them with --clients",
        )
    if clients is not None and result.clients not in (None, clients):
        raise first.error(f"says {result.clients} clients; --clients says {clients}")
    return Source(
        f"{cell or bridge.tool}{first.name and '-'}{first.name}",
        bridge,
        result,
        measured,
        whole.files,
        first.path,
        whole.modified_unix_s,
        line=0 if alone else first.before + 1,
        notes=tuple(map(without_passwords, _notes(result, whole))),
    )


def _notes(result: Result, whole: _Whole) -> Iterator[str]:
    if whole.stamped:
        yield "what stands before each of its lines, such as time stamps, was taken off"
    yield from result.outcome.warnings
    yield from (f"left out of verdicts: {measured}" for measured in result.outcome.against)
    outcome, stated = result.outcome, result.stated_per_s
    if stated is not None and outcome.events:
        imported = outcome.events / outcome.window_s
        if abs(imported - stated) > _SAME * max(imported, stated):
            yield (
                f"the text states {stated:,.10g}/s, and {imported:,.5g}/s is imported: "
                f"{outcome.events:,} events in {outcome.window_s:g} s"
            )
    if result.absent:
        yield f"usual lines that are not there: {', '.join(result.absent)}"
    if result.unread:
        yield f"not read: {'; '.join(f'`{line}`' for line in result.unread)}"


_SAME = 0.005
"""Share by which two rates may differ that were rounded."""


def _told_apart(matched: list[Source], cell: str | None) -> list[Source]:
    """Results of one file: of one load they are of one cell, otherwise each load is a cell, named
    by what differs between them; options by what differs between those of its script."""
    kinds = [_kind(entry) for entry in matched]
    varying = _varying(kinds)
    if not varying:
        return matched
    measured = []
    for entry, kind in zip(matched, kinds, strict=True):
        alike = _varying([other for other in kinds if other["script"] == kind["script"]])
        words = [
            str(kind[name]) if name in _NAMES_ITSELF else f"{name}-{kind[name]}"
            for name in varying
            if kind.get(name) not in (None, "") and (name in alike or name in _NAMES_ITSELF)
        ]
        by_script = "script" in varying and entry.result.script and entry.cell == entry.bridge.tool
        base = [] if by_script and not cell else [entry.cell]
        name = _NOT_IN_NAMES.sub("-", "-".join([*base, *words])).strip("-.+")
        measured.append(replace(entry, cell=name or entry.cell))
    return measured


_NAMES_ITSELF = ("version", "script")
_NOT_IN_NAMES = re.compile(r"[^\w.+-]+")


def _varying(kinds: Sequence[Mapping[str, Option]]) -> list[str]:
    """What differs between them."""
    names = dict.fromkeys(name for kind in kinds for name in kind)
    return [name for name in names if len({kind.get(name) for kind in kinds}) > 1]


def _kind(entry: Source) -> dict[str, Option]:
    """What makes a load; with the number of clients the number of threads may change too."""
    result = entry.result
    measured = {name: value for name, value in result.options.items() if name != "threads"}
    return {"script": result.script, "version": result.version, **measured}


def _believable(bridge: Bridge, texts: Sequence[Text], events: int | None) -> Result:
    """What the bridge reads, unless figures are none that a run can have."""
    try:
        result = _counted(bridge.read(texts), texts[0], bridge, events)
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


def _counted(result: Result, text: Text, bridge: Bridge, events: int | None) -> Result:
    """The result with `events`, where it tells a rate and not of how many."""
    if result.outcome.events or result.stated_per_s is None:
        return result
    if events is None:
        raise text.uncounted(bridge.tool, result.script)
    outcome = replace(result.outcome, events=events, window_s=events / result.stated_per_s)
    return replace(result, outcome=outcome)


def _text(path: Path) -> tuple[Text, SourceFile, bool]:
    """The text, the file, and whether something stood before each line."""
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
    plain, stamped = bare(decoded)
    return Text(path, plain), SourceFile(path.name, sha256(content), len(content)), stamped
