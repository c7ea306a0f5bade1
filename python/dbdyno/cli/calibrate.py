"""`dbdyno calibrate`: this machine's noise for a workload, and the effects a study can detect."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dbdyno.cli.fetching import fetch_all
from dbdyno.cli.options import Duration, json_option, scale_option, store_option
from dbdyno.cli.progress import shower
from dbdyno.cli.terminal import error_console, say, say_json
from dbdyno.collect import environment_id, host_facts
from dbdyno.conduct import conduct_study, open_study
from dbdyno.conduct.calibrate import BLOCKS, calibration
from dbdyno.conduct.ending import error_of
from dbdyno.conduct.foreseen import workplace
from dbdyno.conduct.planning import plan_study
from dbdyno.conduct.volume import scripts_asked
from dbdyno.engine import find_engine
from dbdyno.errors import NotValidError, ScriptError
from dbdyno.formats.study import StudyFile
from dbdyno.guard.scratch import scratch_folder
from dbdyno.model import KeptNoise, Study
from dbdyno.store import Store, keep_noise

if TYPE_CHECKING:
    from dbdyno.report.analysis.noise import Noise

MINUTES = (2, 5, 10, 30, 60)
"""Lengths of studies for which the detectable effect is printed."""


@click.command()
@click.argument("study")
@scale_option
@click.option(
    "--time",
    "time_s",
    type=Duration(),
    default="2min",
    show_default=True,
    help="Measured load, of both arms and all blocks together.",
)
@store_option
@json_option
def calibrate(study: str, scale: str | None, time_s: float, store: Path, as_json: bool) -> None:
    """Measure this machine's noise for the workload of STUDY.

    The baseline's cell is set up twice, in three blocks, and driven against itself in turns at the
    study's largest load. Tells what came of no difference at all, and the smallest effect between
    two cells that studies of some length would find. Of all this, only the noise is kept, in the
    store: `check` and `run` tell by it what change a study of this workload would see.
    """
    asked = open_study(study, scale=scale, run_code=True)
    loaded = calibration(asked, measured_s=time_s)
    with scratch_folder("calibrate") as folder:
        noise = _measure(loaded, Store(folder / "store"))
    keep_noise(Store(store), _kept(asked.study, loaded.study.load.clients[0], noise))
    load, design = asked.study.load, asked.study.design
    measure_s = load.measure_s or loaded.study.load.measure_s or design.turn_s
    seen = {
        minutes: noise.smallest_effect(minutes, measure_s=measure_s, turn_s=design.turn_s)
        for minutes in MINUTES
    }
    if as_json:
        say_json(_document(loaded, noise, seen))
    else:
        _tell(loaded, noise, seen)


def _measure(loaded: StudyFile, store: Store) -> Noise:
    # Statistics take a second to import: only who measures pays for it.
    from dbdyno.report.analysis.noise import noise_of

    _, plan = plan_study(loaded.study, store)
    fetch_all(run.cell.provision for run in plan.runs)
    asked = scripts_asked(loaded, run_code=True)
    with asked, shower(loaded.study.load, error_console()) as shown:
        outcome = conduct_study(loaded, plan, store, find_engine(), observe=shown.show)
    if outcome.failures:
        error = outcome.failures[0].error
        if error is not None and error.exit_code == ScriptError.exit_code:
            raise error_of(error)
        raise NotValidError(
            f"a run failed: {error.message if error else 'it was ended'}",
            hint=error.hint if error else None,
        )
    return noise_of(store.root, outcome.folder, loaded.study.design)


def _kept(study: Study, clients: int, noise: Noise) -> KeptNoise:
    return KeptNoise(
        place=workplace(study, environment_id(host_facts()), clients),
        within_sd=noise.within_sd,
        between_sd=noise.between_sd,
        study=study.name,
        measured_unix_s=time.time(),
    )


def _tell(loaded: StudyFile, noise: Noise, seen: Mapping[int, float | None]) -> None:
    effect, (low, high) = noise.effect, noise.effect.ratio_interval
    clients = loaded.study.load.clients[0]
    metric = loaded.study.primary.metric
    say(
        f"{metric} at {clients} client{'s' if clients > 1 else ''}, the same against itself: "
        f"{effect.ratio - 1:+.1%} ({low - 1:+.1%} to {high - 1:+.1%})"
    )
    say(
        f"{BLOCKS} blocks of {noise.pairs} pairs of turns: pairs vary by "
        f"{math.expm1(noise.within_sd):.1%}, set-ups by a further "
        f"{math.expm1(noise.between_sd):.1%}"
    )
    say("\nthe smallest effect between two cells that a study detects with 80 % power:")
    for minutes, found in seen.items():
        text = "too short for two blocks" if found is None else f"{found:.1%}"
        say(f"  {minutes:>3} min  {text}")
    say(
        "\nThree set-ups say little about how set-ups differ: take this as a rough guide.", err=True
    )


def _document(
    loaded: StudyFile, noise: Noise, seen: Mapping[int, float | None]
) -> dict[str, object]:
    low, high = noise.effect.ratio_interval
    return {
        "schema": 1,
        "study": loaded.study.name,
        "metric": loaded.study.primary.metric,
        "clients": loaded.study.load.clients[0],
        "ratio": noise.effect.ratio,
        "ratio_low": low,
        "ratio_high": high,
        **{name: value for name, value in asdict(noise).items() if name != "effect"},
        "smallest_effect_by_minutes": dict(seen),
    }
