"""The shape of a study file. What each key means stands in docs/reference/study-file.md."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, StringConstraints

from dbdyno.formats.load_schema import LoadTable, Name, Options, Table, as_list
from dbdyno.formats.quantities import parse_fraction


def _setting(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, (str, int, float)):
        return str(value)
    raise ValueError(f"expected a string, number or boolean; found {value!r}")


Fraction = Annotated[float, BeforeValidator(parse_fraction)]
Setting = Annotated[str, BeforeValidator(_setting)]
Settings = dict[str, Setting]


class ServerTable(Table):
    """A level of the factor `server`."""

    provision: str
    settings: Settings = Field(default={})


class LevelTable(Table):
    """A level of a factor of the study's own."""

    provision: str | None = None
    settings: Settings = Field(default={})
    script: str | None = None
    options: Options = Field(default={})


class WorkloadTable(Table):
    """What is run."""

    script: Annotated[list[str], BeforeValidator(as_list)] = Field(default=[])
    options: Options = Field(default={})


class DesignTable(Table):
    """How often, against what, in which order."""

    blocks: Annotated[int, Field(ge=1, le=1000)] = 3
    baseline: dict[str, str] = Field(default={})
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
    server: dict[Name, ServerTable] = Field(default={})
    settings: dict[Name, Settings] = Field(default={})
    factor: dict[Name, dict[Name, LevelTable]] = Field(default={})
    workload: WorkloadTable = WorkloadTable()
    load: LoadTable
    design: DesignTable = DesignTable()
    chart: list[ChartTable] = Field(default=[])
