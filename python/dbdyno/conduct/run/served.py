"""The server of a run while it is up, what this machine was set to for it, and what samples it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import cast

from dbdyno.collect import Sampler, Watched, WatchedMember
from dbdyno.conduct.host import Host
from dbdyno.conduct.run.identity import Identity
from dbdyno.conduct.run.measured import Measured
from dbdyno.conduct.sampled import Stopwatch
from dbdyno.errors import ServerError
from dbdyno.generators.command import url
from dbdyno.model import LabCost, SampledSession, Step
from dbdyno.servers import Server, Source, parse_provision
from dbdyno.servers.client_session import client_session
from dbdyno.servers.protocol import Database

_CLIENT_LIMIT_S = 60.0
"""How long a collector's statement may take that waits like a client's."""


@dataclass(slots=True)
class Served:
    """Samples are taken between `start_sampling` and `stop_sampling`."""

    identity: Identity
    server: Server
    host: Host
    """What the batch and the run have changed on this machine."""
    measured: Measured
    _sampler: Sampler | None = None
    _sampling: ExitStack = field(default_factory=ExitStack)
    _stopwatch: Stopwatch = field(default_factory=Stopwatch)
    _before: Mapping[str, int] = field(default_factory=dict)
    _counted: Database | None = None
    _size_before: int = 0

    @property
    def sampler(self) -> Sampler:
        """Metrics of this run alone."""
        assert self._sampler is not None, "sampled from the end of set_up"
        return self._sampler

    @property
    def is_sampled(self) -> bool:
        """Whether sampling has begun."""
        return self._sampler is not None

    def start_sampling(self, client_pids: Callable[[], Sequence[int]]) -> None:
        """Begins to sample the server, and the clients' processes."""
        server = self.server
        watched = Watched(
            kind=parse_provision(self.identity.cell.provision).kind,
            data_folder=server.node.data_folder(),
            server_pids=server.node.processes,
            client_pids=client_pids,
            proxy_pids=server.entry.proxies,
            ask=server.database.ask,
            as_client=lambda: client_session(server.entry.target(), _CLIENT_LIMIT_S),
            inside=lambda: session_inside(server, self.identity.cell.provision),
            url=url(server.entry.target()),
            members=watched_members(server),
            exposed=server.members.exposed,
        )
        journal = self.identity.writer.journal
        collectors = self.identity.setting.collectors("run")
        sampler = Sampler(collectors, watched, keep=journal.samples)
        journal.metrics(sampler.metrics())
        self._sampler = self._sampling.enter_context(sampler)

    def stop_sampling(self) -> None:
        """Ends it; calling it again does nothing."""
        self._sampling.close()

    @contextmanager
    def sampled_edges(self, shared: Sampler) -> Iterator[None]:
        """Samples this run and the host before and after a step or turn: counters are differences
        between two samples. Until its next one this run is sampled rarely."""
        self.sampler.edge()
        shared.edge()
        yield
        self.sampler.edge(idle=True)
        shared.edge()

    def lab_counted(
        self, helper_cpu_s: Callable[[], float] = float
    ) -> AbstractContextManager[None]:
        """Counts what the lab takes in the block, in which the load is on; see `Stopwatch`."""
        return self._stopwatch.counted((self.sampler,), helper_cpu_s)

    def lab_cost(self) -> LabCost:
        """All that was counted."""
        return self._stopwatch.cost()

    def begin_counting(self) -> None:
        """Reads the server's counters and the size of its data before a step; of several, the
        first's, whatever its place is at the end."""
        self._counted = self.server.database
        self._before = dict(self._counted.counters())
        self._size_before = self.server.database.size_bytes()

    def end_counting(self, step: Step) -> None:
        """Notes them together with those after the step, if it completed."""
        assert self._counted is not None, "begun"
        self.measured.add_counters(step, self._before, dict(self._counted.counters()))

    def sizes(self) -> tuple[int, int] | None:
        """Sizes of the data around a step; `None` if the server is no longer there to ask."""
        with suppress(ServerError):
            self.server.check()  # makes a session anew that was lost under load
            return self._size_before, self.server.database.size_bytes()
        return None


def session_inside(server: Server, provision: str) -> SampledSession | None:
    """A session in the database under load, for collectors that read its tables."""
    wanted = parse_provision(provision)
    if wanted.source is Source.URL:
        return server.database.ask()  # it is in the URL's database
    if wanted.kind not in ("postgresql", "mysql", "mariadb"):
        return None
    return cast("SampledSession", server.database.inside())


def watched_members(server: Server) -> Sequence[WatchedMember]:
    """The members of a topology, as collectors look at them; none of a single server."""
    return [
        WatchedMember(
            member.name, member.role, member.server.node.processes, member.server.database.ask
        )
        for member in server.members
    ]
