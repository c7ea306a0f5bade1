"""`dbdyno compare`: any two cells or studies of what is stored, and what differs between them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dbdyno.cli.options import fraction, json_option, store_option
from dbdyno.cli.terminal import say, say_json
from dbdyno.errors import NotValidError
from dbdyno.formats.stored_study import ONE_CALL
from dbdyno.model import FIGURES, Primary, find_figure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dbdyno.report.analysis.side import Side
    from dbdyno.report.analysis.sides import Outcome
    from dbdyno.report.analysis.whole_studies import Whole

_LEAST_RUNS = 2
_REPEAT = (
    "\nhint: a verdict needs repeats of both: `dbdyno bench … --repeat 5`; two servers in turns: "
    "`dbdyno bench URL --against URL`, a setting of sessions: `--with NAME=VALUE`"
)

_REPEAT_FILES = (
    "\nhint: a verdict needs repeats of both: name several files of a cell, `dbdyno import "
    "before=FILE before=FILE after=FILE after=FILE --as NAME`"
)

FAIL_ON = ("slower", "not-equivalent")


def _metric(_ctx: click.Context, _param: click.Parameter, text: str) -> str:
    try:
        find_figure(text)
    except KeyError:
        raise click.BadParameter(f"{text!r} is none of {', '.join(FIGURES)}") from None
    return text


@click.command()
@click.argument("a")
@click.argument("b")
@store_option
@click.option(
    "--metric",
    callback=_metric,
    default="throughput",
    show_default=True,
    help=f"{', '.join(FIGURES)}, or a tool's own, such as read_iops.",
)
@click.option(
    "--smallest-effect",
    callback=fraction,
    default="2 %",
    show_default=True,
    help="The smallest difference that matters.",
)
@click.option(
    "--fail-on",
    type=click.Choice(FAIL_ON),
    help="Exit with 1 if B is slower (worse), or if it isn't shown to be equivalent or better.",
)
@click.option(
    "--assume-alike",
    is_flag=True,
    help="Take what is not known of imported results (host, server, settings, …) to be alike.",
)
@json_option
def compare(
    a: str,
    b: str,
    store: Path,
    metric: str,
    smallest_effect: float,
    fail_on: str | None,
    assume_alike: bool,
    as_json: bool,
) -> None:
    """Compare B with A, each a cell of a study in the store, or each a whole study.

    A cell is STUDY/CELL (such as `quickstart/wal, full`), STUDY/RUN, or a STUDY of one cell; with
    `@10s-60s` behind it, that part of its windows. Of two studies the cells with the same levels
    are compared, and judged together. Says what differs in server, settings, workload, load, scale,
    window, host and dbdyno, and gives no verdict where more than one factor does. Blocks of one
    study are paired, runs of two are not. STUDY may be the folder of a study in another store. Of
    imported results much is not known: a verdict needs your word that it is alike.
    """
    # Statistics and Arrow take a second to import: only who compares pays for it.
    from dbdyno.report.analysis.sides import confront, open_sides, several
    from dbdyno.report.analysis.whole_studies import confront_studies
    from dbdyno.report.material.gather import gather

    better = "higher" if find_figure(metric).higher_is_better else "lower"
    primary = Primary(metric, better, smallest_effect)  # type: ignore[arg-type]
    read = cache(gather)
    ours, theirs = (open_sides(store, name, metric, read=read) for name in (a, b))
    document: dict[str, object] = {"schema": 1, "a": a, "b": b, "metric": metric}
    if len(ours) > 1 and len(theirs) > 1:
        whole = confront_studies(ours, theirs, primary, assume_alike=assume_alike)
        outcomes = list(whole.outcomes.values())
        if as_json:
            say_json({**document, **_whole_document(whole)})
        else:
            _tell_whole(a, b, metric, whole)
    else:
        for sides in (ours, theirs):
            if len(sides) > 1:
                raise several(sides)
        outcome = confront(ours[0], theirs[0], primary, assume_alike=assume_alike)
        outcomes = [outcome]
        if as_json:
            say_json({**document, **_document(outcome)})
        else:
            say(f"A  {a}\nB  {b}\n")
            _tell(metric, outcome)
            sides = (ours[0], theirs[0])
            if not outcome.refused and (hint := _hint(sides)):
                say(hint, err=True)
    if fail_on is not None:
        for result in outcomes:
            _fail(result, fail_on)


def _hint(sides: Sequence[Side]) -> str:
    """How benches and imports of a single run, which have no spread to judge by, get repeats; empty
    where nothing is to be said."""
    from dbdyno.report.material.imported import imports

    single = [side for side in sides if len(side.runs) < _LEAST_RUNS]
    if any(imports(side.runs) for side in single):
        return _REPEAT_FILES
    return _REPEAT if any(side.study.text.startswith(ONE_CALL) for side in single) else ""


def _tell_whole(a: str, b: str, metric: str, whole: Whole) -> None:
    """What differs in all cells once, and then each cell."""
    say(f"A  {a}\nB  {b}\n")
    differing = [set(outcome.differences) for outcome in whole.outcomes.values()]
    common = set.intersection(*differing)
    first = next(iter(whole.outcomes.values()))
    if common:
        say("in all cells:")
        for difference in (difference for difference in first.differences if difference in common):
            say(f"  {difference.group}: {difference.what}: {difference.a} → {difference.b}")
    for name, outcome in whole.outcomes.items():
        say(f"\n{name}")
        own = tuple(difference for difference in outcome.differences if difference not in common)
        _tell(metric, replace(outcome, differences=own), quiet=bool(common))
    for side, cells in (("A", whole.only_a), ("B", whole.only_b)):
        if cells:
            say(f"\nonly {side} has {'; '.join(cells)}")


def _tell(metric: str, outcome: Outcome, *, quiet: bool = False) -> None:
    """`quiet`: that nothing differs besides need not be said."""
    from dbdyno.report.terms.everyday import amounts, figure_name
    from dbdyno.report.terms.wording import judged_text

    if not outcome.differences and not quiet:
        known = " of what is known" if outcome.not_known else ""
        say(f"nothing{known} differs but the date")
    for difference in outcome.differences:
        say(f"{difference.group}: {difference.what}: {difference.a} → {difference.b}")
    if outcome.not_known and not outcome.refused:
        say(f"taken to be alike on your word: {', '.join(outcome.not_known)}")
    if outcome.refused:
        say(f"\nno verdict: {outcome.refused}")
    figure = find_figure(metric)
    for (clients, judgement), (a, b) in zip(outcome.judged, outcome.figures, strict=True):
        verdict = judged_text(judgement, figure)
        say(f"\n{clients} client{'' if clients == 1 else 's'}: B against A: {verdict}")
        if a is not None and b is not None:
            first, second = (
                amounts(100 * a, 100 * b, "%") if figure.share else amounts(a, b, figure.unit)
            )
            say(f"{figure_name(figure)}: {first} in A, {second} in B")


def _whole_document(whole: Whole) -> dict[str, object]:
    return {
        "cells": {name: _document(outcome) for name, outcome in whole.outcomes.items()},
        "only_a": list(whole.only_a),
        "only_b": list(whole.only_b),
    }


def _document(outcome: Outcome) -> dict[str, object]:
    from dbdyno.stats import PairedEffect

    judged = []
    for (clients, judgement), (a, b) in zip(outcome.judged, outcome.figures, strict=True):
        effect = judgement.effect
        known = isinstance(effect, PairedEffect)
        judged.append(
            {
                "clients": clients,
                "a": a,
                "b": b,
                "verdict": judgement.verdict.value,
                "ratio": effect.ratio if isinstance(effect, PairedEffect) else None,
                "ratio_95": effect.ratio_interval if isinstance(effect, PairedEffect) else None,
                "blocks": effect.blocks if isinstance(effect, PairedEffect) else None,
                "p_adjusted": judgement.p_adjusted,
                "reason": None if known else getattr(effect, "reason", None),
            }
        )
    differences = [
        {"group": difference.group, "what": difference.what, "a": difference.a, "b": difference.b}
        for difference in outcome.differences
    ]
    return {
        "differences": differences,
        "not_known": list(outcome.not_known),
        "refused": outcome.refused,
        "judged": judged,
    }


def _fail(outcome: Outcome, fail_on: str) -> None:
    from dbdyno.stats import Verdict

    if outcome.refused:
        raise NotValidError(
            f"no verdict: {outcome.refused}",
            hint="compare runs that differ in one factor only (and of imported ones say with "
            "--assume-alike that the rest is alike), or leave out --fail-on",
        )
    passing = (Verdict.BETTER, Verdict.EQUIVALENT, Verdict.SMALL)
    for clients, judgement in outcome.judged:
        verdict = judgement.verdict
        bad = verdict is Verdict.WORSE if fail_on == "slower" else verdict not in passing
        if bad:
            raise NotValidError(
                f"at {clients} clients B is {verdict.value} (--fail-on {fail_on})",
                hint="the figures stand above; `dbdyno report` shows what lies behind them",
            )
