"""Options that several verbs share, and what their values mean."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from dbdyno.formats.quantities import (
    SECONDS_MAX,
    format_duration,
    parse_duration,
    parse_fraction,
    parse_rate,
)

_F = TypeVar("_F", bound=Callable[..., Any])

STORE_VARIABLE = "DBDYNO_STORE"
PICTURES_VARIABLE = "DBDYNO_PICTURES"


def store_option(function: _F) -> _F:
    """`--store`: where results are kept."""
    return click.option(
        "--store",
        type=click.Path(file_okay=False, path_type=Path),
        default=lambda: Path(os.environ.get(STORE_VARIABLE, "results")),
        show_default=f"${STORE_VARIABLE}, else ./results",
        help="Folder of the results.",
    )(function)


def scale_option(function: _F) -> _F:
    """`--scale`: which of the study's scales."""
    return click.option(
        "--scale", help="`small`, `paper` (the file's own figures), or another one it names."
    )(function)


def plan_options(function: _F) -> _F:
    """`--seed` and `--blocks`: what replaces the study's own."""
    seed = click.option(
        "--seed", type=click.IntRange(0, 2**48 - 1), help="Instead of the study's own."
    )
    blocks = click.option("--blocks", type=click.IntRange(1, 1000), help="Repeats of every cell.")
    return seed(blocks(function))


def collector_option(function: _F) -> _F:
    """`--collector`: files that sample something, beside the study's `collect`."""

    def absolute(
        _context: click.Context, _option: click.Parameter, files: tuple[Path, ...]
    ) -> tuple[str, ...]:
        return tuple(str(file.absolute()) for file in files)

    return click.option(
        "--collector",
        "collect",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        multiple=True,
        callback=absolute,
        help="A file in Python with a `COLLECTOR`, or a program that prints `name value` lines: "
        "sampled every second and kept with the run; can be repeated.",
    )(function)


def pictures_option(function: _F) -> _F:
    """`--no-pictures`: the page alone."""
    return click.option(
        "--pictures/--no-pictures",
        default=True,
        envvar=PICTURES_VARIABLE,
        show_envvar=True,
        help="Write every chart as SVG and PNG beside the page, which takes some three seconds.",
    )(function)


def json_option(function: _F) -> _F:
    """`--json`: for programs."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(function)


def fraction(_ctx: click.Context, _param: click.Parameter, text: str) -> float:
    """The value of an option such as `2 %`."""
    try:
        return parse_fraction(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


class Duration(click.ParamType[float]):
    """A duration with its unit, in seconds, of at least `least_s` and at most `most_s`."""

    name = "duration"

    def __init__(self, least_s: float = 0.0, most_s: float = SECONDS_MAX) -> None:
        self._least_s = least_s
        self._most_s = most_s

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        if isinstance(value, float):
            return value
        try:
            seconds = parse_duration(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)
        if not self._least_s <= seconds <= self._most_s:
            least, most = format_duration(self._least_s), format_duration(self._most_s)
            limits = f"{least} or longer" if self._most_s == SECONDS_MAX else f"{least} to {most}"
            self.fail(f"expected {limits}; found {value!r}", param, ctx)
        return seconds


class Rate(click.ParamType[float]):
    """Events per second."""

    name = "rate"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        try:
            return parse_rate(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)
