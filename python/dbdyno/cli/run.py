"""`dbdyno run`, `resume` and `quickstart`: from a study to its report."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dbdyno.cli.fetching import fetch_all
from dbdyno.cli.live import watched
from dbdyno.cli.options import (
    collector_option,
    json_option,
    pictures_option,
    plan_options,
    scale_option,
    store_option,
)
from dbdyno.cli.progress import shower
from dbdyno.cli.report import write_report
from dbdyno.cli.terminal import error_console, say, say_json
from dbdyno.cli.text import sees
from dbdyno.conduct import StudyOutcome, conduct_study, open_study
from dbdyno.conduct.ending import error_of
from dbdyno.conduct.foreseen import foreseen
from dbdyno.conduct.opening import scale_reason
from dbdyno.conduct.planning import longer, plan_study
from dbdyno.conduct.resume import open_unfinished
from dbdyno.conduct.tool import provisions_of
from dbdyno.conduct.volume import scripts_asked
from dbdyno.design import plan as make_plan
from dbdyno.engine import find_engine
from dbdyno.errors import InterruptedRunError, NotValidError, ScriptError, ServerError
from dbdyno.formats.quantities import format_fraction
from dbdyno.formats.study import StudyFile
from dbdyno.model import FIRST_LOOK, Failure, Plan, Study
from dbdyno.store import Store

if TYPE_CHECKING:
    from dbdyno.report import Written

QUICKSTART = "quickstart"


@dataclass(frozen=True, slots=True)
class Way:
    """The study asked for, where results go, and how progress is shown."""

    study: str
    store: Store
    out: Path | None = None
    pictures: bool = True
    again: bool = False
    as_json: bool = False
    asked: bool = True
    """The report asks what the study's file asks now; if not, what it asked when it was run."""


def _out_option(function: click.decorators.FC) -> click.decorators.FC:
    return click.option(
        "--out",
        type=click.Path(path_type=Path),
        help="The report's file.  [default: report.html in the study's folder of the store]",
    )(function)


def _again_option(function: click.decorators.FC) -> click.decorators.FC:
    return click.option(
        "--again", is_flag=True, help="Measure again, beside the existing results."
    )(function)


@click.command()
@click.argument("study")
@scale_option
@plan_options
@collector_option
@store_option
@_out_option
@pictures_option
@_again_option
@json_option
def run(
    study: str,
    scale: str | None,
    seed: int | None,
    blocks: int | None,
    collect: tuple[str, ...],
    store: Path,
    out: Path | None,
    pictures: bool,
    again: bool,
    as_json: bool,
) -> None:
    """Run STUDY and write its report.

    STUDY is a file or a bundled name. Runs that are in the store already are not repeated;
    more blocks than it holds go on where they ended. Baseline, primary figure, charts and wording
    are taken from the file as it is.
    """
    loaded = open_study(study, scale=scale, collect=collect, run_code=True)
    reason = scale_reason(loaded.study, scale)
    if reason:
        say(reason, err=True)
    held = Store(store)
    with scripts_asked(loaded, run_code=True):
        decided, plan = plan_study(loaded.study, held, seed=seed, blocks=blocks, again=again)
    _carry_out(
        replace(loaded, study=decided),
        plan,
        Way(study, held, out, pictures=pictures, again=again, as_json=as_json),
    )


@click.command()
@store_option
@_out_option
@pictures_option
@_again_option
@json_option
def quickstart(store: Path, out: Path | None, pictures: bool, again: bool, as_json: bool) -> None:
    """Measure what SQLite's settings cost, in two minutes."""
    loaded = open_study(QUICKSTART, run_code=True)
    held = Store(store)
    decided, plan = plan_study(loaded.study, held, again=again)
    _carry_out(
        replace(loaded, study=decided),
        plan,
        Way(QUICKSTART, held, out, pictures=pictures, again=again, as_json=as_json),
    )


@click.command()
@click.argument("study")
@store_option
@_out_option
@pictures_option
@json_option
def resume(study: str, store: Path, out: Path | None, pictures: bool, as_json: bool) -> None:
    """Resume STUDY where it stopped.

    STUDY is its name in the store, or its file. Only what is missing, failed or was interrupted
    is run.
    """
    loaded, plan = open_unfinished(study, Store(store))
    _carry_out(
        loaded,
        plan,
        Way(
            study,
            Store(store),
            out,
            pictures=pictures,
            as_json=as_json,
            asked=study.endswith(".toml"),
        ),
    )


def _carry_out(loaded: StudyFile, plan: Plan, way: Way) -> None:
    outcome, written = carry_out(loaded, plan, way)
    if way.as_json:
        say_json(_document(way.store, outcome, written))
    else:
        say(written.page)
    raise_failures(outcome, plan, way.store)


def carry_out(loaded: StudyFile, plan: Plan, way: Way) -> tuple[StudyOutcome, Written]:
    """Measures what is missing and writes the report; progress and answer go to standard error.

    Raises `LabError` where nothing could be measured, `InterruptedRunError` where it was stopped;
    runs that failed beside others that did not are in the outcome (`raise_failures`).
    """
    with scripts_asked(loaded, run_code=True):
        outcome = _conduct(loaded, plan, way)
    _raise_if_nothing_measured(outcome)
    if outcome.already and not outcome.complete and not outcome.failures:
        say("nothing is missing; `dbdyno run --again` measures anew", err=True)
    say("writing the report", err=True)
    asked = loaded.study if way.asked else None
    return outcome, write_report(
        way.store, outcome.folder, way.out, asked=asked, pictures=way.pictures
    )


def raise_failures(outcome: StudyOutcome, plan: Plan, store: Store) -> None:
    """Raises `NotValidError` with the errors of failed runs, if there are any; `ScriptError` where
    a script or an outside program was at fault."""
    if not outcome.failures:
        return
    failures = [run.error for run in outcome.failures if run.error]
    hints = dict.fromkeys(failure.hint for failure in failures if failure.hint)
    again = f"`{_resume(outcome.folder, store)}` tries them again"
    message = f"{len(outcome.failures)} of {len(plan.runs)} runs failed: {_reasons(outcome)}"
    hint = "\n".join((*hints, again))
    of_script = [failure for failure in failures if failure.exit_code == ScriptError.exit_code]
    if of_script:
        raise ScriptError(message, hint=hint, traceback=of_script[0].traceback)
    raise NotValidError(message, hint=hint)


def _reasons(outcome: StudyOutcome) -> str:
    """Each reason once, with the runs that had it."""
    runs: dict[str, list[str]] = {}
    for run in outcome.failures:
        runs.setdefault(run.error.message if run.error else "it was ended", []).append(run.id)
    return "; ".join(f"{', '.join(named)}: {text}" for text, named in runs.items())


def _conduct(loaded: StudyFile, plan: Plan, way: Way) -> StudyOutcome:
    """Runs the whole plan, or as many blocks as its stopping rule needs."""
    engine = find_engine()
    seen = foreseen(loaded.study, plan, way.store)
    if seen is not None:
        say(sees(seen), err=True)
    for provision in dict.fromkeys(provisions_of(plan)):
        with suppress(ServerError):  # Runs that need it will say so; the others are measured.
            fetch_all([provision])
    with (
        shower(loaded.study.load, error_console(), plan) as shown,
        watched(way.store, shown, blocks=plan.blocks) as live,
    ):
        first, *further = _extents(loaded.study, plan)
        try:
            found = conduct_study(
                loaded, first, way.store, engine, observe=live.show, again=way.again
            )
            for more in further:
                if found.failures or _is_enough(loaded.study, way.store, found.folder):
                    break
                went_on = conduct_study(loaded, more, way.store, engine, observe=live.show)
                found = found.followed_by(went_on)
        except InterruptedRunError as error:
            hint = f"`{_resume(way.study, way.store)}` carries on"
            raise InterruptedRunError(error.message, hint=hint) from error
    return found


def _extents(study: Study, plan: Plan) -> Sequence[Plan]:
    """The plan; where the study may stop early, its first blocks, then a block more each time."""
    if study.design.stop_half_width is None or plan.blocks <= FIRST_LOOK:
        return (plan,)
    numbers = range(FIRST_LOOK, plan.blocks + 1)
    return [longer(make_plan(study, seed=plan.seed, blocks=number), plan) for number in numbers]


def _is_enough(study: Study, store: Store, folder: str) -> bool:
    """Of a study that may stop early."""
    # Statistics take a second to import: only who may stop pays for it.
    from dbdyno.report.analysis.precision import is_precise

    if not is_precise(store, folder):
        return False
    assert study.design.stop_half_width is not None, "a study without the rule is never precise"
    within = format_fraction(study.design.stop_half_width)
    say(f"enough blocks: every interval is within ±{within}", err=True)
    return True


def _resume(study: str, store: Store) -> str:
    return shlex.join(["dbdyno", "resume", study, "--store", str(store.root)])


def _raise_if_nothing_measured(outcome: StudyOutcome) -> None:
    if outcome.already or outcome.complete or not outcome.failures:
        return
    first = outcome.failures[0].error or Failure("ServerError", "it was ended", 4)
    if len(outcome.failures) == 1:
        raise error_of(first)
    message = f"every run failed; the first one: {first.message}"
    raise error_of(first, message=message, hint=first.hint)


def _document(store: Store, outcome: StudyOutcome, written: Written) -> dict[str, object]:
    return {
        "schema": 1,
        "store": str(store.root),
        "study": outcome.folder,
        "report": str(written.page),
        "not_measured": [asdict(cell) for cell in written.not_measured],
        "already": outcome.already,
        "complete": outcome.complete,
        "left_out": [asdict(cell) for cell in outcome.left_out],
        "failed": [
            {"run": run.id, "reason": run.error.message if run.error else None}
            for run in outcome.failures
        ],
    }
