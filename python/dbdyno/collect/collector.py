"""What a collector is: something that is asked once a second and says what it reads.

Each module of `sources/` is one. It says its name, its metrics and how it is opened; `registry.py`
finds it. A collector keeps nothing but what it needs to read: the sampler asks, keeps the time, and
hands the readings to the store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

from dbdyno.collect.tree import Tree
from dbdyno.errors import ServerError
from dbdyno.model import Metric, Missing, Reading, SampledSession

Scope = Literal["host", "run"]
"""Whether it reads the machine, the same for all that run on it, or one run's own parts."""


class AsClient(Protocol):
    """A session as a client has it."""

    def rows(self, statement: str, /) -> Sequence[tuple[Any, ...]]:
        """The result of a statement; raises `ServerError`."""

    def close(self) -> None:
        """Ends it, whatever its state."""


@dataclass(frozen=True, slots=True)
class WatchedMember:
    """One server of several that make up a run's server."""

    name: str
    role: str
    pids: Callable[[], Sequence[int]]
    """Its processes now."""
    ask: Callable[[], SampledSession | None]
    """Opens a session with it."""


@dataclass(frozen=True, slots=True)
class Watched:
    """The parts of one run that its collectors look at."""

    kind: str = ""
    """Of the server: `postgresql`, `mysql`, `mariadb`, `sqlite`; empty for none."""
    data_folder: Path | None = None
    server_pids: Callable[[], Sequence[int]] = tuple
    """Processes of the server now."""
    client_pids: Callable[[], Sequence[int]] = tuple
    """Processes that put the load on now."""
    proxy_pids: Callable[[], Sequence[int]] = tuple
    """Processes between the two now."""
    ask: Callable[[], SampledSession | None] = lambda: None
    """Opens a session; `None` where the server can't be asked."""
    as_client: Callable[[], AsClient | None] = lambda: None
    """Opens a session like the load's, through its proxies; `None` where none is to be had."""
    inside: Callable[[], SampledSession | None] = lambda: None
    """Opens a session in the database under load; `None` where there is none to be had."""
    url: str = ""
    """Where the load connects, as `bench` takes it, with its password; empty: nowhere."""
    members: Sequence[WatchedMember] = ()
    """All servers of a topology of several, the one that `ask` asks first; empty for a single
    server."""
    exposed: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Program → addresses at which its processes serve their own metrics: `host:port` for HTTP, or
    the path of a socket."""
    spend: Callable[[float], None] = lambda _: None
    """Told the processor time, seconds, of each program that a collector has run."""


class Readings(Protocol):
    """An open collector."""

    def sample(self) -> Iterable[Reading]:
        """Reads once. May raise `OSError` or `ServerError`: that sample is then a gap."""

    def close(self) -> None:
        """Gives back what it holds."""


@runtime_checkable
class InPart(Readings, Protocol):
    """An open collector that may find only some of its metrics."""

    @property
    def lacks(self) -> Missing | None:
        """Why the others can't be read here; `None`: nothing is missing."""


@dataclass(frozen=True, slots=True)
class Collector:
    """A source of metrics."""

    source: str
    scope: Scope
    metrics: tuple[Metric, ...]
    open: Callable[[Watched], Readings | Missing | None]
    """Ready to be sampled; what is missing for it; or `None` where there is nothing to read."""
    optional: bool = False
    """Costs what it watches something: only for studies that ask for it."""
    by_member: bool = False
    """Whether it is opened for each of several servers, by the member's `ask`."""


@dataclass(frozen=True, slots=True)
class _KernelFiles:
    """Small files of the kernel, read anew for each sample."""

    read: Callable[[Tree], Iterable[Reading]]
    tree: Tree

    def sample(self) -> Iterable[Reading]:
        return self.read(self.tree)

    def close(self) -> None:
        """Nothing to free: no file stays open."""


def of_the_kernel(
    source: str,
    metrics: tuple[Metric, ...],
    read: Callable[[Tree], Iterable[Reading]],
    *,
    needs: str,
    missing: Missing,
) -> Collector:
    """A collector of the whole machine; it is `missing` where the file `needs` is not there."""

    def opened(_watched: Watched) -> Readings | Missing | None:
        tree = Tree()
        return _KernelFiles(read, tree) if tree.text(needs) else missing

    return Collector(source, "host", metrics, opened)


@dataclass(frozen=True, slots=True)
class _Exposed:
    """Metrics that programs serve, asked for anew for each sample."""

    read: Callable[[Sequence[str]], Iterable[Reading]]
    addresses: Sequence[str]

    def sample(self) -> Iterable[Reading]:
        return self.read(self.addresses)

    def close(self) -> None:
        """Nothing to free: no connection stays open."""


def of_a_program(
    source: str,
    metrics: tuple[Metric, ...],
    read: Callable[[Sequence[str]], Sequence[Reading]],
    *,
    program: str,
    what: str,
) -> Collector:
    """A collector of what a `program` of the run serves about itself (`Watched.exposed`). `read`
    gets the addresses of its processes, and may raise `OSError` or `ServerError`; `what` names the
    metrics in messages: `etcd's metrics`."""

    def opened(watched: Watched) -> Readings | Missing | None:
        addresses = watched.exposed.get(program)
        if addresses is None:
            return None
        try:
            read(addresses)
        except (OSError, ServerError) as error:
            return Missing(f"{what} can't be read: {error}", "its log may say why")
        return _Exposed(read, addresses)

    return Collector(source, "run", metrics, opened)
