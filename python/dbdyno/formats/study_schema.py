"""The shape of a study file. What each key means stands in docs/reference/study-file.md."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from dbdyno.formats.quantities import parse_duration, parse_fraction


def _setting(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, (str, int, float)):
        return str(value)
    raise ValueError(f"expected a string, number or boolean; found {value!r}")


def _option(value: object) -> object:
    if isinstance(value, (str, int, float, bool)):
        return value
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return value
    raise ValueError(f"expected a string, number, boolean or list of strings; found {value!r}")


def _as_list(value: object) -> object:
    return value if isinstance(value, list) else [value]


Duration = Annotated[float, BeforeValidator(parse_duration)]
Fraction = Annotated[float, BeforeValidator(parse_fraction)]
Setting = Annotated[str, BeforeValidator(_setting)]
OptionValue = Annotated[str | int | float | bool | list[str], BeforeValidator(_option)]
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]*$")]
Settings = dict[str, Setting]
Options = dict[str, OptionValue]
Clients = Annotated[int, Field(ge=1, le=1_000_000)]


class Table(BaseModel):
    """A table that takes no key it doesn't know."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ServerTable(Table):
    """A level of the factor `server`."""

    provision: str
    settings: Settings = {}


class LevelTable(Table):
    """A level of a factor of the study's own."""

    provision: str | None = None
    settings: Settings = {}
    script: str | None = None
    options: Options = {}


class WorkloadTable(Table):
    """What is run."""

    script: Annotated[list[str], BeforeValidator(_as_list)] = []
    options: Options = {}


class LoadTable(Table):
    """How hard, and for how long."""

    clients: Annotated[list[Clients], BeforeValidator(_as_list), Field(min_length=1)]
    warm_up: Duration = 0.0
    measure: Duration | None = None
    events: Annotated[int, Field(ge=1)] | None = None
    interval: Duration = 1.0
    think_time: Duration = 0.0


class DesignTable(Table):
    """How often, against what, in which order."""

    blocks: Annotated[int, Field(ge=1, le=1000)] = 3
    baseline: dict[str, str] = {}
    seed: Annotated[int, Field(ge=0, lt=2**48)] = 1


class PrimaryTable(Table):
    """The figure that answers the question."""

    metric: Literal[
        "throughput", "statements_per_s", "p50", "p95", "p99", "p99.9", "max", "client_cpu"
    ] = "throughput"
    better: Literal["higher", "lower"] | None = None
    smallest_effect: Fraction = 0.02


class ChartTable(Table):
    """A chart the report shows first."""

    kind: Literal[
        "throughput-by-clients",
        "latency-percentiles",
        "throughput-over-time",
        "latency-over-time",
    ]
    title: str | None = None


class StudyDocument(Table):
    """The whole file; `scale` is taken out and merged before this is read."""

    question: Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]
    source: str | None = None
    primary: PrimaryTable = PrimaryTable()
    server: dict[Name, ServerTable] = {}
    settings: dict[Name, Settings] = {}
    factor: dict[Name, dict[Name, LevelTable]] = {}
    workload: WorkloadTable = WorkloadTable()
    load: LoadTable
    design: DesignTable = DesignTable()
    chart: list[ChartTable] = []
