"""`--fail-if 'p99 > 10ms'`: when a successful measurement still fails a threshold."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import click

from dbdyno.cli.text import count, latency
from dbdyno.formats.quantities import parse_duration
from dbdyno.model import StepSummary

_FORM = re.compile(r"\s*(?P<figure>[\w.]+)\s*(?P<sign><=|>=|<|>)\s*(?P<limit>\S.*?)\s*")
_SIGNS: Mapping[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_TIMES = ("p50", "p95", "p99", "p99.9", "max", "mean")
_COUNTS = (
    "errors",
    "error_share",
    "events",
    "events_per_s",
    "statements_per_s",
    "backlog",
    "censored",
    "restarts",
    "reconnects",
    "redirects",
)
FIGURES = (*_TIMES, *_COUNTS)
"""What a condition can be about."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """A condition under which a bench fails; times in seconds."""

    text: str
    figure: str
    sign: str
    limit: float

    def broken_by(self, summary: StepSummary) -> str | None:
        """The finding, if the condition holds. A time without any event fails every condition on
        it, because it is unknown."""
        found = _value(self.figure, summary)
        if found is None:
            return f"`{self.text}`: no event ended, so there is no {self.figure}"
        if not _SIGNS[self.sign](found, self.limit):
            return None
        text = latency(found * 1e6) if self.figure in _TIMES else _plain(found)
        return f"`{self.text}`: {self.figure} is {text}"


def thresholds(
    _context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]
) -> tuple[Threshold, ...]:
    """The option's values; what is no condition is a `BadParameter`."""
    return tuple(map(_threshold, values))


def _threshold(text: str) -> Threshold:
    form = _FORM.fullmatch(text)
    if form is None:
        raise click.BadParameter(
            f"expected FIGURE < or > LIMIT, such as 'p99 > 10ms' or 'errors > 0'; found `{text}`"
        )
    figure = form["figure"]
    if figure not in FIGURES:
        raise click.BadParameter(f"there is no figure `{figure}`; there are {', '.join(FIGURES)}")
    if form["limit"].endswith("%") and figure != "error_share":
        raise click.BadParameter(
            f"`{text}`: {figure} is no share; the failed share of all statements is `error_share`"
        )
    try:
        limit = parse_duration(form["limit"]) if figure in _TIMES else _number(form["limit"])
    except ValueError as error:
        raise click.BadParameter(f"`{text}`: {error}") from error
    return Threshold(text, figure, form["sign"], limit)


def _number(text: str) -> float:
    plain = text.replace("_", "").replace(",", "")
    share = plain.endswith("%")
    if not re.fullmatch(r"\d+(\.\d+)?", plain.rstrip("% ")):
        raise ValueError(f"expected a number; found `{text}`")
    return float(plain.rstrip("% ")) / (100 if share else 1)


def _value(figure: str, summary: StepSummary) -> float | None:
    if figure in _TIMES:
        microseconds = summary.latency_us.get(figure)
        return None if microseconds is None else microseconds / 1e6
    if figure == "backlog":
        return summary.backlog.at_end
    if figure == "error_share":
        tried = summary.errors + summary.statements
        return summary.errors / tried if tried else None
    found: float = getattr(summary, figure)
    return found


def _plain(value: float) -> str:
    return count(value) if value >= 10 or value == int(value) else f"{value:.3g}"
