"""`dbdyno compare`: any two cells of what is stored, and what differs between them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from dbdyno.cli.options import fraction, json_option, print_json, store_option
from dbdyno.errors import NotValidError
from dbdyno.model import FIGURES, Primary, find_figure

if TYPE_CHECKING:
    from dbdyno.report.sides import Outcome

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
    """Compare B with A, each a cell of a study in the store.

    A cell is STUDY/CELL (such as `quickstart/wal, full`), STUDY/RUN, or a STUDY of one cell.
    Says what differs in server, settings, workload, load, scale, host and dbdyno, and gives no
    verdict where more than one factor does. Blocks of one study are paired, runs of two are not.
    STUDY may be the folder of a study in another store. Of imported results much is not known: a
    verdict needs your word that it is alike.
    """
    # Statistics and Arrow take a second to import: only who compares pays for it.
    from dbdyno.report.sides import confront, open_side

    better = "higher" if find_figure(metric).higher_is_better else "lower"
    primary = Primary(metric, better, smallest_effect)  # type: ignore[arg-type]
    outcome = confront(open_side(store, a), open_side(store, b), primary, assume_alike=assume_alike)
    if as_json:
        print_json(_document(a, b, metric, outcome))
    else:
        _tell(a, b, metric, outcome)
    if fail_on is not None:
        _fail(outcome, fail_on)


def _tell(a: str, b: str, metric: str, outcome: Outcome) -> None:
    from dbdyno.report.wording import judged_text

    click.echo(f"A  {a}\nB  {b}\n")
    if not outcome.differences:
        known = " of what is known" if outcome.not_known else ""
        click.echo(f"nothing{known} differs but the date")
    for one in outcome.differences:
        click.echo(f"{one.group}: {one.what}: {one.a} → {one.b}")
    if outcome.not_known and not outcome.refused:
        click.echo(f"taken to be alike on your word: {', '.join(outcome.not_known)}")
    if outcome.refused:
        click.echo(f"\nno verdict: {outcome.refused}")
    for clients, judgement in outcome.judged:
        told = judged_text(judgement, find_figure(metric))
        click.echo(f"\n{clients} client{'' if clients == 1 else 's'}: B against A: {told}")


def _document(a: str, b: str, metric: str, outcome: Outcome) -> dict[str, object]:
    from dbdyno.stats import PairedEffect

    judged = []
    for clients, judgement in outcome.judged:
        effect = judgement.effect
        known = isinstance(effect, PairedEffect)
        judged.append(
            {
                "clients": clients,
                "verdict": judgement.verdict.value,
                "ratio": effect.ratio if isinstance(effect, PairedEffect) else None,
                "ratio_95": effect.ratio_interval if isinstance(effect, PairedEffect) else None,
                "blocks": effect.blocks if isinstance(effect, PairedEffect) else None,
                "p_adjusted": judgement.p_adjusted,
                "reason": None if known else getattr(effect, "reason", None),
            }
        )
    differences = [
        {"group": one.group, "what": one.what, "a": one.a, "b": one.b}
        for one in outcome.differences
    ]
    return {
        "schema": 1,
        "a": a,
        "b": b,
        "metric": metric,
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
