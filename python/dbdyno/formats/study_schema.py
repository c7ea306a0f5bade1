"""The schema of a study file. docs/reference/study-file.md documents the keys."""

from __future__ import annotations

from collections.abc import Mapping
from string import Formatter
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

from dbdyno.formats.load_schema import (
    Clients,
    Duration,
    LoadTable,
    Name,
    Options,
    Table,
    as_list,
)
from dbdyno.formats.quantities import parse_fraction, parse_size
from dbdyno.model import (
    ANSWER_FIELDS,
    ENGINE,
    FIGURES,
    FIRST_LOOK,
    GROUPED,
    USUAL,
    Chart,
    Lead,
    Needs,
    Order,
    Published,
    Sampled,
    chart_kinds,
    draws_what,
    find_figure,
)


def _setting(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, (str, int, float)):
        return str(value)
    raise ValueError(f"expected a string, number or boolean; found {value!r}")


def _compression(value: object) -> object:
    """`true` is the algorithm that all servers with compression support."""
    if value is True:
        return "zlib"
    if value not in (None, False, "zlib", "zstd"):
        raise ValueError(f'expected true, false, "zlib" or "zstd"; found {value!r}')
    return value


MOST_LEADS = 4
"""More make no headline."""

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Fraction = Annotated[float, BeforeValidator(parse_fraction)]
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


class ServerTable(Table):
    """A level of the factor `server`."""

    provision: str
    settings: Settings = Field(default={})
    connection: ConnectionTable = ConnectionTable()
    c_functions: Files = Field(default=[])
    proxy: ProxyTable | None = None
    topology: Name | None = None
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


def _figure(name: str) -> str:
    try:
        find_figure(name)
    except KeyError:
        known = ", ".join(FIGURES)
        raise ValueError(
            f"there is no figure `{name}`; there are {known}, and those a tool tells"
        ) from None
    return name


def _answer(text: str | None) -> str | None:
    """Its placeholders are those that a report can fill."""
    for _, field, form, conversion in Formatter().parse(text or ""):
        if field is None:
            continue
        if field not in ANSWER_FIELDS or form or conversion:
            known = ", ".join(f"{{{name}}}" for name in ANSWER_FIELDS)
            raise ValueError(f"there is no placeholder `{{{field}}}`; there are {known}")
    return text


class PrimaryTable(Table):
    """The figure that answers the question."""

    metric: Annotated[str, AfterValidator(_figure)] = "throughput"
    better: Literal["higher", "lower"] | None = None
    smallest_effect: Fraction = 0.02


def _chart_kind(kind: str) -> str:
    """One that there is."""
    own = (*chart_kinds("of_figure"), *chart_kinds("of_metrics"), *chart_kinds("of_load"))
    if kind not in (*USUAL, *own):
        known = ", ".join(f"`{name}`" for name in sorted((*USUAL, *own)))
        raise ValueError(f"there is no kind of chart `{kind}`; there are {known}")
    return kind


class ChartTable(Table):
    """A chart the report shows first."""

    kind: Annotated[str, AfterValidator(_chart_kind)]
    title: str | None = None
    metric: Annotated[str, AfterValidator(_figure)] | None = None
    metrics: list[str] = Field(default=[])
    groups: dict[Name, Annotated[list[str], Field(min_length=1)]] = Field(default={})

    @model_validator(mode="after")
    def _metrics_fit(self) -> Self:
        draws = draws_what(self.kind)
        over_time, single = draws == "of_metrics", draws == "of_figure"
        wrong = [name for name in self.metrics if not Sampled.parse(name)]
        if over_time and (wrong or not self.metrics):
            given = f"; found `{wrong[0]}`" if wrong else ""
            raise ValueError(f'expected `metrics = ["mysql.history_list", …]`, sampled ones{given}')
        if single and self.metric is None:
            raise ValueError("expected `metric`, the figure it draws")
        if (self.metric and not single) or (self.metrics and not over_time):
            key = "metric" if self.metric else "metrics"
            raise ValueError(f"a chart of the kind `{self.kind}` takes no `{key}`")
        if self.groups and self.kind not in GROUPED:
            raise ValueError(f"a chart of the kind `{self.kind}` takes no `groups`")
        return self

    def chart(self) -> Chart:
        """As the study has it."""
        named = (self.metric,) if self.metric else tuple(self.metrics)
        groups = {name: tuple(levels) for name, levels in self.groups.items()}
        return Chart(kind=self.kind, title=self.title, metrics=named, groups=groups)


class PublishedTable(Table):
    """A published figure, shown beside the measured one."""

    cell: dict[str, str] = Field(default={})
    metric: Annotated[str, AfterValidator(_figure)] = "throughput"
    value: Annotated[list[Positive], BeforeValidator(as_list), Field(max_length=2)] = Field(
        default=[]
    )
    direction: Literal["", "higher", "lower"] = ""
    unit: str = ""
    clients: Clients | None = None
    text: str = ""
    against: dict[str, str] = Field(default={})
    source: str = ""
    why: str = ""

    @model_validator(mode="after")
    def _unit_fits(self) -> Self:
        figure = find_figure(self.metric)
        if bool(self.value) == bool(self.direction):
            raise ValueError("expected either `value`, or the `direction` of a comparison")
        if self.direction and not self.against:
            raise ValueError("`direction` is that of a comparison, and takes `against`")
        if self.against and self.unit:
            raise ValueError("`value` is a ratio where `against` is there, and has no unit")
        if figure.factor(self.unit) is None:
            raise ValueError(f"`{self.metric}` is in {figure.unit}; can't tell it in `{self.unit}`")
        return self

    def published(self) -> Published:
        """As the study has it."""
        keys = self.model_dump(exclude={"value"})
        low, high = (*self.value, None, None)[:2]
        return Published(value=low, high=high, **keys)


class LeadTable(Table):
    """What the headline speaks of; `lead_rules.py` checks its names."""

    cell: dict[str, str] = Field(default={})
    clients: Annotated[int, Field(ge=1)] | None = None
    factor: str | None = None
    level: str | None = None
    levels: tuple[str, ...] = ()
    curve: bool = False
    name: Annotated[str, StringConstraints(strip_whitespace=True)] = ""

    @model_validator(mode="after")
    def _is_one_thing(self) -> Self:
        if not self.model_fields_set:
            raise ValueError("expected `cell`, `clients`, `factor` and `level`, or `curve = true`")
        if self.levels and (self.factor is None or self.level is not None):
            raise ValueError("`levels` is a list over a `factor`, and takes no `level`")
        if (self.factor is None) != (self.level is None and not self.levels):
            raise ValueError("a factor by itself takes both, `factor` and `level`")
        if self.factor is not None and (self.cell or self.curve):
            key = "cell" if self.cell else "curve"
            raise ValueError(f"`factor` is a factor by itself, and takes no `{key}`")
        if self.curve and (self.clients is not None or self.name):
            key = "name" if self.name else "clients"
            raise ValueError(f"`curve` is over all loads of a cell, and takes no `{key}`")
        return self

    def lead(self) -> Lead:
        """As the study has it."""
        return Lead(**self.model_dump())


class NeedsTable(Table):
    """The machine that a scale is meant for; `check` holds it against this one."""

    cores: Annotated[int, Field(ge=1, le=100_000, strict=True)] | None = None
    memory: Size | None = None
    disk: Size | None = None
    also: str = ""

    def needs(self) -> Needs:
        """As the study has it."""
        return Needs(self.cores, self.memory, self.disk, self.also)


class StudyDocument(Table):
    """The whole file; `scale` is taken out and merged before this is read."""

    question: Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]
    source: str | None = None
    answer: Annotated[str | None, AfterValidator(_answer)] = None
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
    design: DesignTable = DesignTable()
    chart: list[ChartTable] = Field(default=[])
