"""The engine on several load hosts: which part of a spec each gets, and what it has measured."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dbdyno.engine.binary import Engine
from dbdyno.engine.parts import Spec, parts_of
from dbdyno.errors import EngineError, EngineLostError, MachineError
from dbdyno.formats.engine_plan import parse_engine_plan
from dbdyno.model import EnginePlan, Metric

HOST_SOURCE = "load_host"
"""Name of the samples' source; an instance is a host."""

HOST_METRICS: Mapping[str, Sequence[Metric]] = {
    HOST_SOURCE: (
        Metric("events_per_s", "/s", "gauge", "events that clients on the host ended"),
        Metric("response_us_p99", "µs", "gauge", "99th percentile of their response times"),
    )
}

_LIMIT_S = 20.0
_LOCAL = ("127.", "localhost", "::1")


if TYPE_CHECKING:
    from dbdyno.places import ClockLine, Cluster, Place


@dataclass(frozen=True, slots=True)
class Start:
    """An engine process that is to be started."""

    place: Place
    engine: Engine
    spec: Spec


class LoadHosts:
    """Load hosts that have this lab's engine; raises `MachineError` for one that can't run it."""

    def __init__(self, cluster: Cluster, version: str) -> None:
        self.cluster = cluster
        self._engines = [Engine(host.engine, version) for host in cluster.hosts]
        for host, engine in zip(cluster.hosts, self._engines, strict=True):
            found = _asked(host, [engine.path, "version"], "")
            if f'"{version}"' not in found:
                raise MachineError(
                    f"load host {host.name} can't run this machine's engine: {found.strip()}",
                    hint="load hosts need this machine's kind of processor, and a C library as "
                    "new as this one's",
                )

    @property
    def names(self) -> tuple[str, ...]:
        """The hosts, in the order of their parts."""
        return tuple(host.name for host in self.cluster.hosts)

    def clock(self, name: str) -> ClockLine:
        """A host's clock against ours, with what is known by now."""
        return next(host for host in self.cluster.hosts if host.name == name).clock()

    def time(self) -> None:
        """Measures all clocks now, but of hosts that are lost."""
        for host in self.cluster.hosts:
            with suppress(MachineError, TimeoutError):
                host.time()

    def starts(self, spec: Spec, processes: int | None) -> list[Start]:
        """A part for each of `processes` engines on each host: clients are dealt out in turn, so
        that the hosts' shares differ by one at most. Where a command other than `run` has fewer
        clients than there are hosts, the first carry it out.

        All get the same number of shards, the fewest that an engine would have on any host, since
        arrivals are dealt out over all shards. Raises `LabError` where a host can't carry its part
        out.
        """
        among = len(self.cluster.hosts)
        if spec.get("command", "run") != "run":
            among = min(among, sum(group["clients"] for group in spec["groups"]))
        count = among * (processes or 1)
        parts = parts_of(spec, count)
        hosts = [index % among for index in range(count)]
        shards = min(self._plan(host, among, spec, processes or 1).shards for host in set(hosts))
        return [
            Start(
                self.cluster.hosts[host],
                self._engines[host],
                {**_on(self.cluster.hosts[host], part), "shards": shards},
            )
            for host, part in zip(hosts, parts, strict=True)
        ]

    def _plan(self, host: int, among: int, spec: Spec, processes: int) -> EnginePlan:
        """What the share of a host, one among so many, takes there. Raises `MachineError` if it
        does not fit."""
        place = self.cluster.hosts[host]
        groups = [{**group, "clients": -(-group["clients"] // among)} for group in spec["groups"]]
        words = [str(self._engines[host].path), "plan", "--processes", str(processes), "-"]
        share = _on(place, {**spec, "groups": groups, "wait_for_begin": False})
        plan = parse_engine_plan(_asked(place, words, json.dumps(share) + "\n"))
        if plan.open_files_limit is not None and plan.open_files > plan.open_files_limit:
            raise MachineError(
                f"load host {place.name}: open files of an engine process: {plan.open_files:,} "
                f"needed, {plan.open_files_limit:,} available",
                hint="more `processes` in [load], more hosts, or a higher hard limit there: "
                "`ulimit -Hn` before `ray start`, LimitNOFILE, limits.conf",
            )
        return plan

    def require_reachable(self, target: Mapping[str, Any], boot_id: str) -> None:
        """Raises `MachineError` if hosts on other machines would look for the server on
        themselves."""
        elsewhere = [h.name for h in self.cluster.hosts if h.facts["boot_id"] != boot_id]
        if elsewhere and "path" in target:
            raise MachineError(
                f"load host {elsewhere[0]} is another machine, and the database is a file of this",
                hint="a database in files takes load from its own machine only: leave `hosts` out",
            )
        for endpoint in target.get("endpoints", ()):
            at = endpoint.get("tcp", {}).get("host", "")
            if elsewhere and (not at or at.startswith(_LOCAL)):
                raise MachineError(
                    f"load host {elsewhere[0]} is another machine, and the server listens "
                    f"{f'on {at}' if at else 'on a Unix socket'} of this one only",
                    hint="name a server by an address that all hosts reach: "
                    'provision = "url:postgresql://USER@ADDRESS:PORT/DATABASE"',
                )


def lost_hosts(losses: Mapping[str, str]) -> EngineLostError:
    """The failure of a run that has lost load hosts; the engines of the others were stopped."""
    many = "; ".join(f"load host {name} was lost: {why}" for name, why in losses.items())
    return EngineLostError(
        f"{many}. What was measured until then is kept, and is not whole",
        hint="`ray status` says which hosts are alive; `dbdyno resume` repeats the run",
    )


def _on(place: Place, spec: Mapping[str, Any]) -> dict[str, Any]:
    """The spec with the paths of scripts as they are on the host."""
    return {**spec, "groups": [_group_on(place, group) for group in spec["groups"]]}


def _group_on(place: Place, group: Mapping[str, Any]) -> dict[str, Any]:
    placed = {
        **group,
        "script": place.path(group["script"]),
        "script_path": [place.path(folder) for folder in group.get("script_path", ())],
    }
    arrival = group.get("arrival", {})
    if "file" in arrival:
        placed["arrival"] = {**arrival, "file": place.path(arrival["file"])}
    return placed


def _asked(place: Place, words: Sequence[str | Path], text: str) -> str:
    try:
        answer = place.ask(words, text, _LIMIT_S)
    except TimeoutError as error:
        message = f"load host {place.name} did not answer within {_LIMIT_S:g} s"
        raise MachineError(message) from error
    except OSError as error:
        return str(error.strerror)
    if answer.code != 0:
        raise EngineError(f"the engine on load host {place.name}: {answer.error.strip()}")
    return answer.text
