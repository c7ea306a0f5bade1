"""Outside programs by version: `tool:fio`, `tool:pgbench:17`, `tool:rocksdb-tools@bullseye`.

Without version and source the installed one is used, otherwise that of the newest stable suite.
`@system` allows only the installed one; `@debian` or a suite's name, one of the distribution's;
`tool:NAME@path:/folder`, the programs in a folder.
"""

import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dbdyno.errors import ServerError
from dbdyno.servers.kind import Kind
from dbdyno.servers.protocol import Installation, Provision, Server, ServerSpec, Source
from dbdyno.servers.sources.cache import sha256_of
from dbdyno.servers.sources.debian import real_program
from dbdyno.servers.sources.packaged import install, printed_by
from dbdyno.servers.sources.suite import packages_of

PREFIX = "tool:"


@dataclass(frozen=True, slots=True)
class Tool:
    """A program that can be run, and the proof of what it is."""

    path: Path
    """What to execute: the program, or a wrapper that runs it with its own loader."""
    version: str
    facts: Mapping[str, object]
    """Where it came from, checksums; nothing that names a path of this machine."""


@dataclass(frozen=True, slots=True)
class _Known:
    """How one tool is found and asked for its version."""

    program: str
    debian_package: str
    arguments: Sequence[str] = ("--version",)
    places: Sequence[str] = ()
    """Patterns of folders beside those on the path."""


_KNOWN: Mapping[str, _Known] = {
    "haproxy": _Known("haproxy", "haproxy", ("-v",)),
    "pgbouncer": _Known("pgbouncer", "pgbouncer"),
    "pgpool": _Known("pgpool", "pgpool2"),
    "fio": _Known("fio", "fio"),
    "pgbench": _Known("pgbench", "postgresql-contrib", places=("usr/lib/postgresql/*/bin",)),
    "sysbench": _Known("sysbench", "sysbench"),
    "rocksdb-tools": _Known("db_bench", "rocksdb-tools"),
}


def _no_server(_: ServerSpec, __: Path) -> Server:
    raise ServerError("a tool is no server", hint="a generator names it: `tool:NAME`")


def _version_of(known: _Known, folder: Path) -> str | None:
    """The release of the program in a folder; `None` when there is none."""
    program = folder / known.program
    output = printed_by(program, *known.arguments)
    if output is None:
        return None
    numbers = re.search(r"\d+(\.\d+)+", output)
    return numbers[0] if numbers else None


def _installed(known: _Known) -> Sequence[Installation]:
    folders = [folder for pattern in known.places for folder in Path("/").glob(pattern)]
    if found := shutil.which(known.program):
        folders.append(Path(found).resolve().parent)
    return [
        Installation(version, Source.SYSTEM, folder)
        for folder in dict.fromkeys(folders)
        if (version := _version_of(known, folder))
    ]


def _installed_at(name: str, known: _Known) -> Callable[[Path], Installation]:
    def find(folder: Path) -> Installation:
        for candidate in (folder, folder / "bin"):
            if version := _version_of(known, candidate):
                return Installation(version, Source.PATH, candidate)
        raise ServerError(
            f"{folder} holds no {name}: no `{known.program}` there answers to "
            f"{' '.join(known.arguments)}",
            hint=f"name the folder that holds `{known.program}`",
        )

    return find


def _kind(name: str) -> Kind:
    known = _KNOWN[name]
    return Kind(
        name=name,
        open=_no_server,
        suite_packages=lambda: packages_of(name),
        installed=lambda: _installed(known),
        installed_at=_installed_at(name, known),
        debian_package=known.debian_package,
        prefix=PREFIX,
    )


TOOLS: Mapping[str, Kind] = {name: _kind(name) for name in _KNOWN}
"""The tools there are, as what `provision.py` chooses from."""


def tool_text(name: str, version: str | None) -> str:
    """The provision text of a tool, in one version or in any."""
    return f"{PREFIX}{name}:{version}" if version else f"{PREFIX}{name}"


def open_found(provision: Provision) -> Tool:
    """The tool that a provision, understood, means; downloads it if need be.

    # Errors
    `ServerError` when it can't be had.
    """
    programs = install(provision, None)
    path = programs.folder / _KNOWN[provision.kind].program
    return Tool(
        path=path,
        version=str(provision.version),
        facts={
            "kind": provision.kind,
            "version": provision.version,
            **programs.facts,
            "program_sha256": sha256_of(real_program(path)),
        },
    )
