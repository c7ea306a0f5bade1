"""What a PostgreSQL can be built with or without, which packages have it, and which settings need
it.

For packages that is a table here (also in docs/servers.md; it was made by asking each server). For
an installation, it is the libraries that its program needs; a running server reports how it was
configured.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from dbdyno.servers.protocol import Connection, Provision, Source

TITLES = {
    "openssl": "OpenSSL",
    "icu": "ICU",
    "lz4": "lz4",
    "zstd": "zstd",
    "io_uring": "io_uring",
}
"""Feature → its name for people."""

_LIBRARIES = {
    "openssl": b"libssl.so",
    "icu": b"libicuuc.so",
    "lz4": b"liblz4.so",
    "zstd": b"libzstd.so",
    "io_uring": b"liburing.so",
}
_SINCE = {"openssl": 0, "icu": 10, "lz4": 14, "zstd": 15, "io_uring": 18}
"""Feature → the first version that knows it."""

_CONFIGURED = {
    "openssl": r"--with-openssl|--with-ssl",
    "icu": r"--with-icu",
    "lz4": r"--with-lz4",
    "zstd": r"--with-zstd",
    "io_uring": r"--with-liburing",
}

_NEEDED = {
    ("wal_compression", "lz4"): "lz4",
    ("wal_compression", "zstd"): "zstd",
    ("default_toast_compression", "lz4"): "lz4",
    ("io_method", "io_uring"): "io_uring",
    ("ssl", "on"): "openssl",
}
"""Setting and its value → the feature that it needs."""

_OTHERS = "`postgresql:18@sid`, `postgresql:17@trixie` and, on Debian, `postgresql@system`"


def features_of(provision: Provision) -> frozenset[str] | None:
    """What the server of a provision was built with; `None`: unknown until it runs."""
    if provision.installation is not None:
        return _linked(provision.installation.binaries / "postgres")
    version = int((provision.version or "0").partition(".")[0].partition("~")[0])
    known = frozenset(feature for feature, first in _SINCE.items() if version >= first)
    match provision.source:
        case Source.WHEEL:
            return frozenset()
        case Source.MAVEN:
            return known & {"openssl", "icu"}
        case Source.DEBIAN:
            return known
        case _:
            return None


def lacks(
    provision: Provision, settings: Mapping[str, str], connection: Connection
) -> Iterator[tuple[str, str, str]]:
    """Each setting (or `tls`) that needs what the server was built without: its name, what is
    wrong, and which servers have it."""
    wanted = {
        name: feature
        for name, value in settings.items()
        if (feature := _NEEDED.get((name, value.lower())))
    }
    if connection.get("tls"):
        wanted["tls"] = "openssl"
    known = features_of(provision) if wanted else None
    if known is None:
        return
    for name, feature in wanted.items():
        if feature not in known:
            value = f' = "{settings[name]}"' if name in settings else " = true"
            message = (
                f"`{name}{value}` needs {TITLES[feature]}, which `{provision.text}` "
                f"({provision.version}) was built without"
            )
            yield name, message, f"servers with it: {_OTHERS} (docs/servers.md has a table)"


def configured(options: str) -> list[str]:
    """The features in the options of `configure`, as a running server has them (`pg_config`)."""
    return [feature for feature, option in _CONFIGURED.items() if re.search(option, options)]


def _linked(program: Path) -> frozenset[str] | None:
    try:
        return _libraries(program, program.stat().st_mtime_ns)
    except OSError:
        return None


@lru_cache
def _libraries(program: Path, _written_ns: int) -> frozenset[str] | None:
    """By the libraries that a program names; `None` for a script. Raises `OSError`."""
    content = program.read_bytes()
    if not content.startswith(b"\x7fELF"):
        return None
    return frozenset(feature for feature, name in _LIBRARIES.items() if name in content)
