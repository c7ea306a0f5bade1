"""Versions of servers and tools in the distribution's suites, known without asking.

Suites whose lists were downloaded are described by them (`versions.json` beside them); others by
the table here, which becomes outdated: `sid` and `experimental` change. A version that has gone is
reported with the present ones when asked for. Unpacked versions stay available.
"""

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from dbdyno.cache import CACHE_VARIABLE, cache_folder
from dbdyno.errors import ServerError
from dbdyno.servers.protocol import Package, Source
from dbdyno.servers.sources.apt import MOVING, Suite
from dbdyno.servers.sources.cache import PARTIAL
from dbdyno.servers.sources.client import Progress
from dbdyno.servers.sources.debian import upstream

SUITES = ("bullseye", "bookworm", "trixie", "sid", "experimental")
"""From the oldest to the newest; a version that several have is taken from the first."""
VERSION = re.compile(r"(?P<numbers>\d+(\.\d+)*)(~(?P<stage>alpha|beta|rc)(?P<count>\d+))?")
"""What counts as a version; packages of snapshots are left alone."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """What to unpack for a program, and where it is then."""

    main: str
    """The package that gives the version; `{major}` stands for digits in its name."""
    binaries: str
    """The folder of its programs; `{major}` as above."""
    more: Sequence[str] = ()
    """Packages besides."""

    @property
    def pattern(self) -> re.Pattern[str]:
        """Matches the main package's name in any version."""
        return _pattern(self.main)


@cache
def _pattern(main: str) -> re.Pattern[str]:
    return re.compile(re.escape(main).replace(r"\{major\}", r"(?P<major>\d+)"))


_POSTGRESQL = Recipe("postgresql-{major}", "usr/lib/postgresql/{major}/bin")
RECIPES: Mapping[str, Recipe] = {
    "postgresql": _POSTGRESQL,
    "mariadb": Recipe(
        "mariadb-server", "usr/sbin", ("mariadb-plugin-rocksdb", "mariadb-plugin-spider")
    ),
    "mysql": Recipe("mysql-server-core", "usr/sbin"),
    "pgbench": _POSTGRESQL,
    "redis": Recipe("redis-server", "usr/bin"),
    "valkey": Recipe("valkey-server", "usr/bin"),
    "documentdb": Recipe(
        "postgresql-{major}-documentdb", "usr/lib/postgresql/{major}/bin", ("postgresql-{major}",)
    ),
    "fio": Recipe("fio", "usr/bin"),
    "sysbench": Recipe("sysbench", "usr/bin"),
    "rocksdb-tools": Recipe("rocksdb-tools", "usr/bin"),
    "pgbouncer": Recipe("pgbouncer", "usr/sbin"),
    "haproxy": Recipe("haproxy", "usr/sbin"),
    "pgpool": Recipe("pgpool2", "usr/sbin"),
}
"""Kinds of server and tools, by the names that provision texts have for them, and what the former
are made of."""

_KNOWN: Mapping[str, Mapping[str, str]] = {
    "bullseye": {
        "postgresql-13": "13.16",
        "mariadb-server": "10.5.23",
        "redis-server": "6.0.16",
        "fio": "3.25",
        "haproxy": "2.2.9",
        "pgpool2": "4.1.4",
        "pgbouncer": "1.15.0",
        "sysbench": "1.0.20",
        "rocksdb-tools": "6.11.4",
    },
    "bookworm": {
        "postgresql-15": "15.18",
        "mariadb-server": "10.11.18",
        "redis-server": "7.0.15",
        "fio": "3.33",
        "haproxy": "2.6.12",
        "pgpool2": "4.3.5",
        "pgbouncer": "1.18.0",
        "sysbench": "1.0.20",
        "rocksdb-tools": "7.8.3",
    },
    "trixie": {
        "postgresql-17": "17.11",
        "mariadb-server": "11.8.6",
        "redis-server": "8.0.2",
        "valkey-server": "8.1.4",
        "fio": "3.39",
        "haproxy": "3.0.11",
        "pgpool2": "4.6.1",
        "pgbouncer": "1.24.1",
        "sysbench": "1.0.20",
        "rocksdb-tools": "9.10.0",
    },
    "sid": {
        "postgresql-18": "18.6",
        "postgresql-18-documentdb": "1.0.0",
        "mariadb-server": "11.8.9",
        "mysql-server-core": "9.7.4",
        "redis-server": "8.0.5",
        "valkey-server": "9.1.2",
        "fio": "3.41",
        "haproxy": "3.2.26",
        "pgpool2": "4.7.3",
        "pgbouncer": "1.26.1",
        "sysbench": "1.0.20",
        "rocksdb-tools": "9.11.2",
    },
    "experimental": {"postgresql-19": "19~rc1"},
}
"""As found in November 2026."""

_MEGABYTES = {
    "postgresql": 80,
    "pgbench": 80,
    "mariadb": 45,
    "mysql": 50,
    "redis": 17,
    "valkey": 17,
    "documentdb": 140,
    "fio": 30,
    "sysbench": 9,
    "rocksdb-tools": 10,
    "pgbouncer": 3,
    "haproxy": 6,
    "pgpool": 3,
}
"""About what is downloaded."""


def packages_of(name: str) -> Sequence[Package]:
    """All versions of a server or tool in the suites, including unpacked ones."""
    recipe = RECIPES[name]
    found: dict[str, Package] = {}
    for suite in SUITES:
        listed = [
            (package, version)
            for package, version in _versions(suite).items()
            if recipe.pattern.fullmatch(package) and VERSION.fullmatch(version)
        ]
        for package, version in (*listed, *_unpacked(suite, recipe)):
            made = _package(name, suite, package, version)
            found.setdefault(made.name, made)
    return tuple(found.values())


def suite_of(package: Package) -> str:
    """The suite that a package is from."""
    return package.name.partition("/")[0]


def is_moving(package: Package) -> bool:
    """Whether newer versions replace it in its suite."""
    return package.source is Source.DEBIAN and suite_of(package) in MOVING


def refresh(name: str, progress: Progress | None = None) -> None:
    """Asks a suite for its current versions, unless it was asked within a day.

    # Errors
    `ServerError` if it can't be asked.
    """
    suite = Suite(name)
    suite.update(progress)
    names = "|".join(recipe.pattern.pattern for recipe in _recipes())
    versions = suite.versions(re.compile(names.replace("(?P<major>", "(")))
    text = json.dumps({name: upstream(version) for name, version in versions.items()}, indent=2)
    path = suite.catalogue
    aside = path.with_suffix(f".{os.getpid()}.new")  # Two may ask a suite at the same time.
    try:
        aside.write_text(text)
        aside.replace(path)
    except OSError as error:
        raise ServerError(
            f"{path} can't be written: {error.strerror}",
            hint=f"make room there, or name another folder in {CACHE_VARIABLE}",
        ) from error


def _recipes() -> Iterable[Recipe]:
    return {recipe.main: recipe for recipe in RECIPES.values()}.values()


def _versions(suite: str) -> Mapping[str, str]:
    path = Suite(suite).catalogue
    try:
        return _listed(suite, path, path.stat().st_mtime_ns)
    except (OSError, ValueError):
        return _KNOWN[suite]


@lru_cache(maxsize=2 * len(SUITES))
def _listed(suite: str, path: Path, _written_ns: int) -> Mapping[str, str]:
    """What the catalogue at `path` lists. Raises `OSError` or `ValueError` if it can't be read."""
    versions: Mapping[str, str] = json.loads(path.read_text())
    # A catalogue that an earlier version of ours made says nothing of programs it did not know.
    silent = [
        recipe.pattern
        for recipe in _recipes()
        if not any(recipe.pattern.fullmatch(name) for name in versions)
    ]
    known = _KNOWN[suite].items()
    added = {name: v for name, v in known if any(pattern.fullmatch(name) for pattern in silent)}
    return {**versions, **added}


def _unpacked(suite: str, recipe: Recipe) -> Iterable[tuple[str, str]]:
    for manifest in sorted((cache_folder() / "debian").glob(f"{suite}_*/manifest.json")):
        if PARTIAL in manifest.parent.name:
            continue  # Another process is unpacking it, or died doing so.
        _, package, version = manifest.parent.name.split("_", 2)
        if recipe.pattern.fullmatch(package):
            yield package, version


def _package(name: str, suite: str, main: str, version: str) -> Package:
    recipe = RECIPES[name]
    matched = recipe.pattern.fullmatch(main)
    major = matched.groupdict().get("major", "") if matched else ""
    return Package(
        version=version,
        source=Source.DEBIAN,
        name=" ".join((f"{suite}/{main}={version}", *(n.format(major=major) for n in recipe.more))),
        binaries=recipe.binaries.format(major=major),
        size_bytes=_MEGABYTES[name] * 1_000_000,
    )
