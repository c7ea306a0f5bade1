"""A SQLite file by its URL: somebody's, or one that the engine's first connection makes."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from dbdyno.errors import ServerError
from dbdyno.servers.databases.sqlite.server import SqliteServer, known_pragmas
from dbdyno.servers.protocol import ServerSpec
from dbdyno.servers.setting import unknown_setting

EXAMPLES = "`sqlite:///absolute/path`, `sqlite:relative/path`, `sqlite:///path?journal_mode=wal`"

_OF_THE_FILE = frozenset(
    ("application_id", "auto_vacuum", "encoding", "journal_mode", "page_size", "user_version")
)
"""Pragmas that stay in the file, whichever connection sets them."""


def names_file(url: SplitResult) -> bool:
    """Whether it has the path of a file, and no host."""
    return not url.netloc and bool(url.path.strip("/"))


class SqliteFile(SqliteServer):
    """The file and the pragmas of the URL. It is not removed, and its tables may be somebody
    else's."""

    def __init__(self, spec: ServerSpec, folder: Path) -> None:
        url = spec.provision.url
        assert url is not None, "its kind opens it by URL only"
        parts = urlsplit(url)
        if not names_file(parts):
            raise ServerError(f"`{url}` names no file", hint=f"such as {EXAMPLES}")
        for name in _OF_THE_FILE.intersection(spec.session):
            raise ServerError(
                f"`{name}` is the file's, not a connection's: the other side would have it too",
                hint="compare with a file of its own: `--against sqlite:///other.db?"
                f"{name}={spec.session[name]}`",
            )
        if unknown := sorted(set(spec.session).difference(known_pragmas())):
            raise unknown_setting("sqlite", unknown[0], known_pragmas(), "expected a pragma")
        settings = {**dict(parse_qsl(parts.query)), **spec.settings, **spec.session}
        super().__init__(replace(spec, settings=settings), folder)
        self._file = Path(unquote(parts.path)).absolute()

    def start(self) -> None:
        """Refuses values that SQLite would ignore."""
        self._check_words()
        self._path = self._file

    def alive(self) -> bool:
        """A file that is not there yet may still be made."""
        return True

    def check(self) -> None:
        """The engine says what is wrong with it."""

    def facts(self) -> Mapping[str, object]:
        """Without durability if there is no file."""
        return super().facts() if self._file.exists() else self._library()

    def settings(self) -> Mapping[str, str]:
        """None if there is no file."""
        return super().settings() if self._file.exists() else {}

    def counters(self) -> Mapping[str, int]:
        """None if there is no file."""
        return super().counters() if self._file.exists() else {}

    def tables(self) -> Mapping[str, str]:
        """None: they may be somebody else's."""
        return {}
