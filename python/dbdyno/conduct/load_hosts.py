"""Load hosts of a study: a Ray cluster's, as `[load] hosts` and `[places]` name them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from dbdyno.conduct.room import most_clients
from dbdyno.design.cells import cells
from dbdyno.engine import Engine, LoadHosts, plan_engine, spec_of_clients
from dbdyno.errors import LabError, MachineError, UsageError
from dbdyno.guard.launch import Launch
from dbdyno.model import Arrival, Replay, Study, load_of
from dbdyno.places import open_cluster, require_ray

_OF_CLIENTS = ("network", "precedence")
"""Parts of `[host]` that change how clients are started, whatever they say."""
_WITH_CLIENTS = ("cpus", "limits")
"""Those that do so by their key `client`."""


@dataclass(frozen=True, slots=True)
class HostShare:
    """What each load host must have for the largest step of a study."""

    hosts: int
    names: tuple[str, ...]
    """Empty: any that the cluster has, the lab's own last."""
    address: str
    """The cluster's, as the study has it."""
    processes: int
    """Of the engine, on each."""
    clients: int
    """Of all processes of a host, those of groups included; as many local ports at most."""
    open_files: int
    """Of the process that needs most."""


def host_share(study: Study, engine: Engine) -> HostShare | None:
    """`None`: the load comes from this machine."""
    asked = study.load.hosts
    if not asked:
        return None
    names = () if isinstance(asked, int) else tuple(asked)
    hosts = asked if isinstance(asked, int) else len(asked)
    loads = [(most_clients(cell, study.load), load_of(study.load, cell)) for cell in cells(study)]
    most = max(clients + sum(g.clients for g in load.groups) for clients, load in loads)
    spec = spec_of_clients(-(-most // hosts), ({"unix": ""},), study.load.shards)
    plan = plan_engine(engine, spec, processes=study.load.processes or 1)
    return HostShare(
        hosts=hosts,
        names=names,
        address=study.places.ray,
        processes=plan.processes,
        clients=plan.clients,
        open_files=plan.open_files,
    )


def refused_hosts(study: Study) -> Iterator[LabError]:
    """Why a run could not have its load hosts, as far as this machine knows."""
    if not study.load.hosts:
        return
    try:
        require_ray()
    except MachineError as error:
        yield error
    for cell in cells(study):
        divided = [cell.host.get(part) for part in _WITH_CLIENTS]
        if any(isinstance(part, Mapping) and "client" in part for part in divided) or any(
            part in cell.host for part in _OF_CLIENTS
        ):
            yield _own_start()
            return


@contextmanager
def open_load_hosts(
    study: Study, engine: Engine, scripts: Mapping[str, Path], folders: Sequence[Path]
) -> Iterator[LoadHosts | None]:
    """The study's load hosts, with the engine, the scripts and those in `folders`; `None` if its
    load comes from this machine. Raises `MachineError` if they can't be had."""
    if not study.load.hosts:
        yield None
        return
    arrivals: list[Arrival] = [study.load.arrival]
    arrivals += [group.arrival for group in study.load.groups]
    files = [arrival.file for arrival in arrivals if isinstance(arrival, Replay)]
    beside = [script.parent for script in scripts.values()]
    with open_cluster(
        study.places.ray,
        study.load.hosts,
        engine.path,
        (*scripts.values(), *files),
        (*beside, *folders),
    ) as cluster:
        yield LoadHosts(cluster, engine.version)


def require_no_start_of_its_own(clients: Launch) -> None:
    """Raises `UsageError` if this machine's `[host]` parts are meant for clients that load hosts
    have."""
    if clients.prefix():
        raise _own_start()


def _own_start() -> UsageError:
    return UsageError(
        "[host] gives the clients processors, limits, a precedence or a network of this machine, "
        "and they are on load hosts",
        hint="leave those parts of [host] out, or `hosts` in [load]",
    )


def boot_id() -> str:
    """Of this machine since it was started: the same in all its containers and namespaces."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
