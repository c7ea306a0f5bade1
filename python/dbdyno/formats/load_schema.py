"""The schema of a study's `[load]`. docs/reference/study-file.md documents the keys."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from dbdyno.formats.quantities import RATE_MAX, parse_duration, parse_fraction
from dbdyno.model import (
    DUCKDB_TYPES,
    GROUPS,
    SQLITE_NAMES,
    Arrival,
    Bind,
    Closed,
    Constant,
    ErrorAction,
    ErrorPolicy,
    ErrorRule,
    FindMax,
    Group,
    Load,
    Poisson,
    Ramp,
    Reactor,
    Replay,
    Scheduling,
    Sine,
    Steps,
    Verify,
    arrival_values,
    engine_code,
    find_figure,
    group_values,
)

_MOST_HOSTS = 1000
_CODE = re.compile(r"all|connection|[0-9A-Z]{2}|[0-9A-Z]{5}|[0-9]{1,5}")


def as_list(value: object) -> object:
    """One value where several are allowed."""
    return value if isinstance(value, list) else [value]


def _option(value: object) -> object:
    if isinstance(value, (str, int, float, bool)):
        return value
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return value
    raise ValueError(f"expected a string, number, boolean or list of strings; found {value!r}")


def check_code(value: object) -> str:
    """Raises `ValueError` for an invalid error code."""
    if value in (*SQLITE_NAMES, *DUCKDB_TYPES) or (
        isinstance(value, (str, int)) and _CODE.fullmatch(str(value))
    ):
        return str(value)
    raise ValueError(
        "expected a SQLSTATE (`40P01`), its class (`40`), a vendor number (`1213`), a name of "
        f"SQLite ({', '.join(SQLITE_NAMES)}) or DuckDB ({', '.join(DUCKDB_TYPES)}), `connection` "
        f"or `all`; found {value!r}"
    )


def share_of_errors(value: object) -> float:
    """`"5 %"` as 0.05; raises `ValueError` outside (0, 1]."""
    share = parse_fraction(value)
    if share > 1:
        raise ValueError(f'expected a share of at most 100 %, such as "5 %"; found {value!r}')
    return share


def _hosts(value: object) -> object:
    """A number, or names, as the model has them."""
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= _MOST_HOSTS:
        return value
    if isinstance(value, list) and value and all(isinstance(n, str) and n for n in value):
        if len(set(value)) < len(value):
            raise ValueError("a host is named twice; each carries one part of the load")
        return tuple(value)
    raise ValueError(
        f"expected a number of load hosts from 1 to {_MOST_HOSTS:,}, or a list of their names; "
        f"found {value!r}"
    )


Duration = Annotated[float, BeforeValidator(parse_duration)]
OptionValue = Annotated[str | int | float | bool | list[str], BeforeValidator(_option)]
NAME = r"^[A-Za-z0-9][A-Za-z0-9._+-]*$"
"""A valid folder name that can't lead out of its parent."""

Name = Annotated[str, StringConstraints(pattern=NAME)]
Options = dict[str, OptionValue]
Clients = Annotated[int, Field(ge=1, le=1_000_000, strict=True)]
Rate = Annotated[float, Field(gt=0, le=RATE_MAX)]
RateOrNone = Annotated[float, Field(ge=0, le=RATE_MAX)]
Hosts = int | tuple[str, ...]
Code = Annotated[str, BeforeValidator(check_code)]
ErrorShare = Annotated[float, BeforeValidator(share_of_errors)]


class Table(BaseModel):
    """A table that rejects unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class ArrivalTable(Table):
    """When events start; `kind` decides which keys belong together."""

    kind: Literal["closed", "constant", "poisson", "ramp", "steps", "sine", "replay"]
    rate: Rate | None = None
    from_: Annotated[RateOrNone | None, Field(alias="from")] = None
    to: RateOrNone | None = None
    over: Duration | None = None
    steps: list[tuple[Duration, RateOrNone]] | None = None
    mean: Rate | None = None
    amplitude: RateOrNone | None = None
    period: Duration | None = None
    file: Path | None = None

    def arrival(self) -> Arrival:
        """Converts to the model's type; raises `ValueError` naming a missing or superfluous key."""
        wanted = _KEYS[self.kind]
        for name in type(self).model_fields:
            key = name.rstrip("_")
            given = getattr(self, name) is not None
            if key != "kind" and given != (key in wanted):
                raise ValueError(
                    f"kind `{self.kind}` {'has no' if given else 'needs'} `{key}`; "
                    f"its keys: {', '.join(wanted) or 'none'}"
                )
        match self:
            case ArrivalTable(kind="constant", rate=float(rate)):
                return Constant(rate)
            case ArrivalTable(kind="poisson", rate=float(rate)):
                return Poisson(rate)
            case ArrivalTable(kind="ramp", from_=float(start), to=float(end), over=float(over)):
                return Ramp(start, end, over)
            case ArrivalTable(kind="steps", steps=list(steps)):
                return Steps(tuple(steps))
            case ArrivalTable(kind="sine", mean=float(mean), amplitude=float(most)):
                assert self.period is not None
                if most > mean:
                    raise ValueError(f"`amplitude` is {most:g}; expected at most the mean")
                return Sine(mean, most, self.period)
            case ArrivalTable(kind="replay", file=Path() as file):
                return Replay(file)
            case _:
                return Closed()


_KEYS: dict[str, tuple[str, ...]] = {
    "closed": (),
    "constant": ("rate",),
    "poisson": ("rate",),
    "ramp": ("from", "to", "over"),
    "steps": ("steps",),
    "sine": ("mean", "amplitude", "period"),
    "replay": ("file",),
}


class Pace(Table):
    """Keys shared by the step's clients and groups."""

    arrival: ArrivalTable = ArrivalTable(kind="closed")
    think_time: Duration = 0.0
    reconnect_every: Annotated[int, Field(ge=0)] = 0


class GroupTable(Pace):
    """Clients besides those of the step."""

    clients: Clients
    script: str | None = None
    options: Options = {}
    prepare: bool = False
    idle: bool = False
    entry: Name | Literal[""] = ""


class LevelLoadTable(Table):
    """What a level changes of the load; keys left out are the load's."""

    arrival: ArrivalTable | None = None
    think_time: Duration | None = None
    reconnect_every: Annotated[int, Field(ge=0)] | None = None
    statements: Literal["prepared", "text"] | None = None
    group: dict[Name, GroupTable] = {}

    def changes(self, folder: Path) -> dict[str, object]:
        """As a level has them, by names of the model; raises `ValueError` for an arrival that
        lacks a key."""
        changes: dict[str, object] = {}
        if self.arrival is not None:
            changes["arrival"] = arrival_values(_beside(self.arrival.arrival(), folder))
        if self.think_time is not None:
            changes["think_time_s"] = self.think_time
        if self.reconnect_every is not None:
            changes["reconnect_every"] = self.reconnect_every
        if self.statements is not None:
            changes["prepared_statements"] = self.statements == "prepared"
        if self.group:
            named = {name: _group(name, table, folder) for name, table in self.group.items()}
            changes[GROUPS] = {name: group_values(group) for name, group in named.items()}
        return changes


class RuleTable(Table):
    """The action for some errors."""

    codes: Annotated[list[Code], BeforeValidator(as_list), Field(min_length=1)]
    action: ErrorAction
    limit: Annotated[int, Field(ge=1, le=1_000_000)] = 10


class ErrorsTable(Table):
    """The error policy."""

    rule: list[RuleTable] = []
    reconnect: Duration = 60.0
    back_off: Duration = 0.01
    expected: dict[Code, ErrorShare] = {}


class FindMaxTable(Table):
    """A search for the highest rate that meets an objective."""

    p50: Duration | None = None
    p95: Duration | None = None
    p99: Duration | None = None
    p999: Annotated[Duration | None, Field(alias="p99.9")] = None
    max: Duration | None = None
    from_: Annotated[Rate | None, Field(alias="from")] = None
    to: Rate = 1e6
    precision: Annotated[float, BeforeValidator(parse_fraction)] = 0.05

    def objectives(self) -> dict[str, float]:
        """Percentile → limit in seconds, of those that are named: one, if the study is right."""
        limits = {"p50": self.p50, "p95": self.p95, "p99": self.p99, "p99.9": self.p999}
        limits["max"] = self.max
        return {name: limit for name, limit in limits.items() if limit is not None}

    def least_rate(self, percentile: str, measure_s: float) -> float:
        """The lowest rate at which a window has the events that the percentile needs, and 100.

        A limit on the greatest is one on every event, however few there are.
        """
        needed = 0 if percentile == "max" else find_figure(percentile).least_events
        return max(100, needed) / measure_s

    def find_max(self, measure_s: float) -> FindMax:
        """Converts a valid table to the model's type."""
        ((percentile, limit_s),) = self.objectives().items()
        first = self.from_ or self.least_rate(percentile, measure_s)
        return FindMax(percentile, limit_s, first, self.to, self.precision)


class LoadTable(Pace):
    """The load's clients, rate and length."""

    clients: Annotated[list[Clients], BeforeValidator(as_list), Field(min_length=1)]
    warm_up: Duration = 0.0
    measure: Duration | None = None
    events: Annotated[int, Field(ge=1)] | None = None
    find_max: FindMaxTable | None = None
    interval: Duration = 1.0
    group: dict[Name, GroupTable] = {}
    errors: ErrorsTable = ErrorsTable()
    statements: Literal["prepared", "text"] = "prepared"
    reactor: Reactor = "auto"
    scheduling: Scheduling = "batch"
    bind: Bind = "auto"
    shards: Annotated[int, Field(ge=1, le=1024)] | None = None
    loaders: Annotated[int, Field(ge=0, le=1024)] | None = None
    verify: Verify = "checksums"
    processes: Annotated[int, Field(ge=1, le=1024)] | None = None
    hosts: Annotated[Hosts, BeforeValidator(_hosts)] = 0
    ledger: Annotated[int, Field(ge=0, le=64)] = 0

    def load(self, folder: Path) -> Load:
        """The model's; a file of times is sought beside the study, in `folder`."""
        return Load(
            clients=tuple(self.clients),
            warm_up_s=self.warm_up,
            measure_s=self.measure,
            events=self.events,
            interval_s=self.interval,
            think_time_s=self.think_time,
            arrival=_beside(self.arrival.arrival(), folder),
            find_max=self.find_max.find_max(self.measure or 0.0) if self.find_max else None,
            reconnect_every=self.reconnect_every,
            groups=tuple(_group(name, table, folder) for name, table in self.group.items()),
            errors=ErrorPolicy(
                rules=tuple(
                    ErrorRule(tuple(map(engine_code, rule.codes)), rule.action, rule.limit)
                    for rule in self.errors.rule
                ),
                reconnect_s=self.errors.reconnect,
                back_off_s=self.errors.back_off,
                expected=self.errors.expected,
            ),
            prepared_statements=self.statements == "prepared",
            reactor=self.reactor,
            scheduling=self.scheduling,
            bind=self.bind,
            shards=self.shards,
            loaders=self.loaders,
            verify=self.verify,
            processes=self.processes,
            ledger=self.ledger,
            hosts=self.hosts,
        )


def _group(name: str, table: GroupTable, folder: Path) -> Group:
    return Group(
        name=name,
        clients=table.clients,
        script=table.script,
        options=table.options,
        prepare=table.prepare,
        arrival=_beside(table.arrival.arrival(), folder),
        idle=table.idle,
        entry=table.entry,
        think_time_s=table.think_time,
        reconnect_every=table.reconnect_every,
    )


def _beside(arrival: Arrival, folder: Path) -> Arrival:
    return Replay((folder / arrival.file).absolute()) if isinstance(arrival, Replay) else arrival
