"""The schema of a study file. docs/reference/study-file.md documents the keys."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    ModelWrapValidatorHandler,
    PrivateAttr,
    StringConstraints,
    model_validator,
)

from dbdyno.formats.answer_schema import (
    ChartTable,
    Fraction,
    LeadTable,
    PrimaryTable,
    PublishedTable,
    answer_text,
)
from dbdyno.formats.fault_schema import FaultTable, FaultyLoadTable
from dbdyno.formats.key_path import KeyPath, level_path
from dbdyno.formats.load_schema import (
    Duration,
    LoadTable,
    Name,
    Options,
    Table,
    as_list,
)
from dbdyno.formats.quantities import parse_size
from dbdyno.model import (
    ENGINE,
    FIRST_LOOK,
    Needs,
    Order,
    Places,
    Tables,
    Together,
    Workload,
)


def _setting(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, (str, int, float)):
        return str(value)
    raise ValueError(f"expected a string, number or boolean; found {value!r}")


def _compression(value: object) -> object:
    """`true` is the algorithm that most servers with compression support."""
    if value is True:
        return "zlib"
    if value not in (None, False, "lz4", "snappy", "zlib", "zstd"):
        raise ValueError(
            f'expected true, false, "lz4", "snappy", "zlib" or "zstd"; found {value!r}'
        )
    return value


def _address(value: str) -> str:
    """Where a Ray cluster is; raises `ValueError`."""
    if value == "auto" or _RAY.fullmatch(value):
        return value
    raise ValueError(
        f'expected "auto", "ray://HOST:PORT" or "HOST:PORT", the address of a cluster\'s head; '
        f"found {value!r}"
    )


_RAY = re.compile(r"(ray://)?[\w.-]+:\d{1,5}|(ray://)?\[[0-9a-fA-F:.]+\]:\d{1,5}")

MOST_LEADS = 4
"""More make no headline."""

Size = Annotated[int, BeforeValidator(parse_size), Field(gt=0)]
Setting = Annotated[str, BeforeValidator(_setting)]
Settings = dict[str, Setting]
Files = Annotated[list[str], BeforeValidator(as_list)]
Host = dict[str, object]
"""Setter → its value; the setters check it."""


class ConnectionTable(Table):
    """How clients connect; keys left out are inherited from another level or the server."""

    transport: Literal["unix", "tcp"] | None = None
    tls: bool | None = None
    compression: Annotated[str | Literal[False] | None, BeforeValidator(_compression)] = None

    def stated(self) -> dict[str, bool | str]:
        """What the study says."""
        return {name: value for name, value in self.model_dump().items() if value is not None}


class ProxyTable(Table):
    """The proxy between clients and server."""

    kind: Name
    processes: Annotated[int, Field(ge=1, le=1000)] = 1
    version: str | None = None
    settings: Settings = Field(default={})
    host: Host = Field(default={})

    def stated(self) -> dict[str, object]:
        """With defaults, but for `host`, which came later and is no part of older cells."""
        return self.model_dump(exclude_none=True, exclude=None if self.host else {"host"})


class ServerTable(Table):
    """A level of the factor `server`."""

    provision: str
    settings: Settings = Field(default={})
    host: Host = Field(default={})
    connection: ConnectionTable = ConnectionTable()
    c_functions: Files = Field(default=[])
    proxy: ProxyTable | None = None
    topology: Name | None = None
    load: FaultyLoadTable = FaultyLoadTable()
    most_clients: Annotated[int, Field(ge=1)] | None = None

    _of_topology: dict[str, object] = PrivateAttr(default_factory=dict)

    @property
    def of_topology(self) -> Mapping[str, object]:
        """The keys that its topology reads: all that aren't a server's."""
        return self._of_topology

    @model_validator(mode="wrap")
    @classmethod
    def _part(cls, table: object, read: ModelWrapValidatorHandler[Self]) -> Self:
        """Keeps the topology's keys apart; without a topology an unknown key is an error."""
        if not isinstance(table, dict) or "topology" not in table:
            return read(table)
        own = {key: value for key, value in table.items() if key in SERVER_KEYS}
        server = read(own)
        server._of_topology = {key: value for key, value in table.items() if key not in own}
        return server


SERVER_KEYS = tuple(ServerTable.model_fields)
"""Keys of [server.NAME] that are the same in every topology."""


class LevelTable(Table):
    """A level of a factor of the study's own."""

    provision: str | None = None
    settings: Settings = Field(default={})
    script: str | None = None
    options: Options = Field(default={})
    host: Host = Field(default={})
    generator: Name | None = None
    connection: ConnectionTable = ConnectionTable()
    c_functions: Files = Field(default=[])
    proxy: ProxyTable | None = None
    load: FaultyLoadTable = FaultyLoadTable()
    most_clients: Annotated[int, Field(ge=1)] | None = None


class TablesTable(Table):
    """The script whose `prepare` creates the tables."""

    script: str
    options: Options = Field(default={})


class WorkloadTable(Table):
    """`[workload]`: the script or tool, and its options."""

    generator: Name = ENGINE

    script: Files = Field(default=[])
    options: Options = Field(default={})
    tables: TablesTable | None = None

    def workload(self) -> Workload:
        """Converts to the model's type; several scripts are levels, and none of them its own."""
        tables = Tables(self.tables.script, self.tables.options) if self.tables else None
        script = self.script[0] if len(self.script) == 1 else None
        return Workload(script, self.options, self.generator, tables)


class StopTable(Table):
    """When no further block is needed."""

    half_width: Annotated[Fraction, Field(gt=0, le=1)]


class DesignTable(Table):
    """Repeats, baseline and order."""

    blocks: Annotated[int, Field(ge=1, le=1000)] = 3
    baseline: dict[str, str] = Field(default={})
    levels: dict[str, Annotated[list[str], Field(min_length=1)]] = Field(default={})
    seed: Annotated[int, Field(ge=0, lt=2**48)] | None = None
    order: Order | None = None
    together: Together = "alike"
    turn: Annotated[Duration, Field(ge=0.05, le=600)] = 2.0
    lead_in: Annotated[Duration, Field(ge=0, le=600)] = 0.3
    reconnect: Annotated[int, Field(ge=0, le=10_000, strict=True)] = 0
    freeze: bool = False
    aa: bool | None = None
    stop: StopTable | None = None

    @model_validator(mode="after")
    def _may_stop(self) -> Self:
        if self.stop is None:
            return self
        if self.blocks <= FIRST_LOOK:
            raise ValueError(
                f"`stop`: a study may stop after {FIRST_LOOK} blocks at the earliest, and `blocks` "
                f"is the most there may be: expected more, such as {4 * FIRST_LOOK}; found "
                f"{self.blocks}"
            )
        if not self.baseline:
            raise ValueError("`stop`: nothing is compared; expected a `baseline`")
        return self

    def stop_half_width(self) -> float | None:
        """As the study has it."""
        return None if self.stop is None else self.stop.half_width


class NeedsTable(Table):
    """The machine that a scale is meant for; `check` holds it against this one."""

    cores: Annotated[int, Field(ge=1, le=100_000, strict=True)] | None = None
    memory: Size | None = None
    disk: Size | None = None
    also: str = ""

    def needs(self) -> Needs:
        """As the study has it."""
        return Needs(self.cores, self.memory, self.disk, self.also)


class PlacesTable(Table):
    """Where load hosts are found."""

    ray: Annotated[str, AfterValidator(_address)] = "auto"

    def places(self) -> Places:
        """Converts to the model's type."""
        return Places(self.ray)


class StudyDocument(Table):
    """The whole file; `scale` is taken out and merged before this is read."""

    question: Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]
    source: str | None = None
    author: str = ""
    licence: str = ""
    answer: Annotated[str | None, AfterValidator(answer_text)] = None
    leads: Annotated[list[LeadTable], BeforeValidator(as_list), Field(max_length=MOST_LEADS)] = (
        Field(default=[])
    )
    host: Host = Field(default={})
    connection: ConnectionTable = ConnectionTable()
    published: list[PublishedTable] = Field(default=[])
    published_note: str = ""
    needs: NeedsTable = NeedsTable()
    collect: list[str] = Field(default=[])
    primary: PrimaryTable = PrimaryTable()
    server: dict[Name, ServerTable] = Field(default={})
    settings: dict[Name, Settings] = Field(default={})
    factor: dict[Name, dict[Name, LevelTable]] = Field(default={})
    workload: WorkloadTable = WorkloadTable()
    load: LoadTable
    places: PlacesTable = PlacesTable()
    prices: dict[Name, dict[Name, Annotated[float, Field(gt=0, allow_inf_nan=False)]]] = Field(
        default={}
    )
    fault: list[FaultTable] = Field(default=[])
    design: DesignTable = DesignTable()
    chart: list[ChartTable] = Field(default=[])

    def all_faults(self) -> Mapping[KeyPath, Sequence[FaultTable]]:
        """Path in the file → the faults there: the study's, and a level's own."""
        loads: dict[KeyPath, FaultyLoadTable] = {
            ("server", name): table.load for name, table in self.server.items()
        }
        for factor, tables in self.factor.items():
            loads |= {level_path(factor, name): table.load for name, table in tables.items()}
        named = {(*path, "load", "fault"): load.fault or [] for path, load in loads.items()}
        return {("fault",): self.fault, **named}
