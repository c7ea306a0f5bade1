"""Load hosts of a study: a Ray cluster's, as `[load] hosts` and `[places]` name them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from dbdyno.engine import Engine, LoadHosts
from dbdyno.errors import UsageError
from dbdyno.guard.launch import Launch
from dbdyno.model import Arrival, Replay, Study
from dbdyno.places import open_cluster


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
        raise UsageError(
            "[host] gives the clients processors, a precedence or a network of this machine, and "
            "they are on load hosts",
            hint="leave those parts of [host] out, or `hosts` in [load]",
        )


def boot_id() -> str:
    """Of this machine since it was started: the same in all its containers and namespaces."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
