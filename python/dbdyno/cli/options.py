"""Options that several verbs share, and what their values mean."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from dbdyno.formats.quantities import parse_duration

_F = TypeVar("_F", bound=Callable[..., Any])

STORE_VARIABLE = "DBDYNO_STORE"


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


def json_option(function: _F) -> _F:
    """`--json`: for programs."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(function)


class Duration(click.ParamType[float]):
    """A duration with its unit, in seconds."""

    name = "duration"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        if isinstance(value, float):
            return value
        try:
            return parse_duration(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def print_json(document: object) -> None:
    """One document on standard output."""
    click.echo(json.dumps(document, indent=2, ensure_ascii=False))
