"""The tables of a study file that say what its report answers with."""

from __future__ import annotations

from string import Formatter
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints, model_validator

from dbdyno.formats.load_schema import Clients, Name, Table, as_list
from dbdyno.formats.quantities import parse_fraction
from dbdyno.model import (
    ANSWER_FIELDS,
    FIGURES,
    GROUPED,
    OVER,
    USUAL,
    Chart,
    Lead,
    Published,
    Sampled,
    chart_kinds,
    draws_what,
    find_figure,
)

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Fraction = Annotated[float, BeforeValidator(parse_fraction)]


def _figure(name: str) -> str:
    try:
        find_figure(name)
    except KeyError:
        if OVER in name and all(map(_is_figure, name.split(OVER))):
            raise ValueError(
                f"`{name}` is no ratio that can be had; expected two figures in one unit, such as "
                "`mean.first over mean.later`, and neither a share nor a cost per event"
            ) from None
        known = ", ".join(FIGURES)
        raise ValueError(
            f"there is no figure `{name}`; there are {known}, and those a tool tells"
        ) from None
    return name


def _is_figure(name: str) -> bool:
    try:
        find_figure(name)
    except KeyError:
        return False
    return True


def answer_text(text: str | None) -> str | None:
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
    lead: bool = False

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
        if self.lead and over_time:
            raise ValueError(f"`{self.kind}` stacks many panels, and can't be the first picture")
        return self

    def chart(self) -> Chart:
        """As the study has it."""
        named = (self.metric,) if self.metric else tuple(self.metrics)
        groups = {name: tuple(levels) for name, levels in self.groups.items()}
        return Chart(kind=self.kind, title=self.title, metrics=named, groups=groups, lead=self.lead)


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
