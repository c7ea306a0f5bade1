"""`dbdyno check`: shows what a study would do, without doing it."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

import click

from dbdyno.cli.options import (
    collector_option,
    json_option,
    plan_options,
    print_json,
    scale_option,
    store_option,
)
from dbdyno.cli.text import clients, sees, size
from dbdyno.conduct.estimate import estimate
from dbdyno.conduct.examine import Started, examine, examine_servers
from dbdyno.conduct.foreseen import can_be_foreseen, foreseen
from dbdyno.conduct.left_out import lacking_cells
from dbdyno.conduct.load import load_study, scale_reason
from dbdyno.conduct.planning import plan_study
from dbdyno.design import cells
from dbdyno.design.batches import batches, why_not_turns
from dbdyno.design.search import most_probes, usual_probes
from dbdyno.engine import Engine, find_engine
from dbdyno.errors import LabError
from dbdyno.formats.left_out import left_out_sentences
from dbdyno.formats.quantities import format_duration, format_fraction
from dbdyno.formats.study import StudyFile
from dbdyno.model import FIRST_LOOK, Closed, Constant, FindMax, Group, Load, Plan, Poisson, Study
from dbdyno.store import Store


@click.command()
@click.argument("study")
@scale_option
@plan_options
@collector_option
@store_option
@click.option(
    "--servers",
    is_flag=True,
    help="Also start each server with its settings, and stop it; what is missing is downloaded.",
)
@json_option
def check(
    study: str,
    scale: str | None,
    seed: int | None,
    blocks: int | None,
    collect: tuple[str, ...],
    store: Path,
    servers: bool,
    as_json: bool,
) -> None:
    """Validate STUDY and show what it would run: cells, order, disk, time.

    Whatever can be asked without starting a server is asked: scripts and their options, loads,
    pragmas of SQLite. What a run would refuse is told, all of it, and ends the command as the run
    would end.
    """
    file = load_study(study, scale=scale, collect=collect)
    loaded, plan = plan_study(file.study, Store(store), seed=seed, blocks=blocks)
    file = replace(file, study=loaded)
    engine = find_engine()
    _raise_all(list(examine(file, plan, engine)))
    started = _start_servers(file, plan, engine) if servers else []
    left_out = lacking_cells(plan)
    cost = estimate(plan, loaded.load)
    free = shutil.disk_usage(_existing(store)).free
    seen = foreseen(loaded, plan, Store(store))
    if as_json:
        document = _document(loaded, plan, cost.time_s, cost.disk_bytes, free)
        told = {
            "started": [asdict(one) for one in started],
            "left_out": [asdict(one) for one in left_out],
            "sees": asdict(seen) if seen else None,
        }
        print_json({**document, **told})
        return
    click.echo(loaded.question)
    if loaded.source:
        click.echo(f"after: {loaded.source}")
    reason = scale_reason(loaded, scale)
    others = f" (of {', '.join(loaded.scales)})" if len(loaded.scales) > 1 else ""
    click.echo(f"\nscale    {reason or loaded.scale}{others}")
    for factor in loaded.factors:
        click.echo(f"factor   {factor.name}: {', '.join(level.name for level in factor.levels)}")
    for name, provision in _servers(plan).items():
        click.echo(f"server   {name}: {provision}")
    for one in started:
        click.echo(f"starts   {one.label}: {one.provision} is {one.version}")
    _tell_load(loaded.load)
    stops = _tell_design(loaded, plan)
    click.echo(f"time     {'at most ' if stops else ''}about {format_duration(round(cost.time_s))}")
    click.echo(f"disk     about {size(cost.disk_bytes)} at a time; {size(free)} are free")
    if seen is not None:
        click.echo(f"noise    {sees(seen)}")
    elif can_be_foreseen(loaded, plan):
        click.echo(f"noise    not known here; `dbdyno calibrate {study}` measures it")
    for sentence, cure in left_out_sentences(left_out):
        click.echo(f"{sentence}\n  cure: {cure}")
    click.echo(f"\norder    {_order(loaded, plan)}")
    for run in plan.runs:
        click.echo(f"  {run.position:>3}  block {run.block}  {run.label}")


def _tell_load(load: Load) -> None:
    click.echo(f"load     {_load(load)}")
    if load.find_max is not None:
        click.echo(f"search   {_search(load.find_max)}")
    for group in load.groups:
        click.echo(f"beside   {group.name}: {clients(group.clients)}, {_pace(group)}")


def _tell_design(study: Study, plan: Plan) -> bool:
    """Returns whether the study may stop early."""
    blocks, half_width = plan.blocks, study.design.stop_half_width
    stops = half_width is not None and blocks > FIRST_LOOK
    blocks_text = f"{FIRST_LOOK} to {blocks}" if stops else str(blocks)
    click.echo(f"design   {blocks_text} blocks × {len(plan.runs) // blocks} cells, ", nl=False)
    click.echo(f"{len(plan.runs)} runs, seed {plan.seed}, plan {plan.fingerprint}")
    if half_width is not None:
        click.echo(f"stops    as soon as every interval is within ±{format_fraction(half_width)}")
    if study.design.twice:
        *_, again = cells(study)
        click.echo(f"A/A      the baseline's cell twice, also as {again.label}")
    return stops


def _start_servers(file: StudyFile, plan: Plan, engine: Engine) -> list[Started]:
    found = list(examine_servers(file, plan, engine))
    _raise_all([one for one in found if isinstance(one, LabError)])
    return [one for one in found if isinstance(one, Started)]


def _raise_all(errors: Sequence[LabError]) -> None:
    """All errors as one, of the first one's kind."""
    if not errors:
        return
    first, *others = errors
    if not others:
        raise first
    told = "\n".join(f"  {error.message}" for error in errors)
    hints = "\n      ".join(dict.fromkeys(error.hint for error in errors if error.hint))
    raise first.reworded(
        f"{len(errors)} problems would stop this study:\n{told}", hint=hints or None
    )


def _servers(plan: Plan) -> dict[str, str]:
    return {run.cell.levels.get("server", run.label): run.cell.provision for run in plan.runs}


def _load(load: Load) -> str:
    steps = ", ".join(map(str, load.clients))
    window = format_duration(load.measure_s) if load.measure_s else ""
    events = f"{load.events:,} events" if load.events else ""
    measured = " or ".join(filter(None, (window, events)))
    unit = clients(load.clients[-1]).split()[1]
    warm_up = format_duration(load.warm_up_s)
    return f"{steps} {unit}, {_pace(load)}; warm-up {warm_up}, measured {measured}"


def _search(asked: FindMax) -> str:
    """Its bounds, and how many probes it takes."""
    return (
        f"from {asked.from_per_s:,.10g} to {asked.to_per_s:,.10g} events/s, to "
        f"{format_fraction(asked.precision)}; about {usual_probes(asked)} probes a run, at most "
        f"{most_probes(asked)}"
    )


def _pace(load: Load | Group) -> str:
    """When events start, in a few words."""
    if isinstance(load, Load) and load.find_max is not None:
        return f"the highest rate with {load.find_max.objective}"
    match load.arrival:
        case Constant(rate_per_s=rate) | Poisson(rate_per_s=rate):
            return f"{load.arrival.kind} arrivals, {rate:g} events/s"
        case Closed():
            idle = isinstance(load, Group) and load.idle
            return "idle" if idle else "closed loop"
        case _:
            return f"{load.arrival.kind} arrivals"


def _order(study: Study, plan: Plan) -> str:
    """One by one, or in turns, and how many cells are up at the same time."""
    if plan.order == "runs":
        why = why_not_turns(study)
        return "one by one" + (f": {why}" if why and study.design.order is None else "")
    most = max(len(batch) for batch in batches(plan, plan.runs))
    turn = format_duration(study.design.turn_s)
    return f"in turns of {turn}, up to {most} cells up together"


def _existing(path: Path) -> Path:
    path = path.absolute()
    return next(folder for folder in (path, *path.parents) if folder.exists())


def _document(
    study: Study, plan: Plan, time_s: float, disk_bytes: int, free: int
) -> dict[str, object]:
    return {
        "schema": 1,
        "study": study.name,
        "question": study.question,
        "scale": study.scale,
        "seed": plan.seed,
        "plan": plan.fingerprint,
        "factors": {
            factor.name: [level.name for level in factor.levels] for factor in study.factors
        },
        "servers": _servers(plan),
        "clients": list(study.load.clients),
        "time_s": time_s,
        **_search_document(study.load.find_max),
        "disk_bytes": disk_bytes,
        "disk_free_bytes": free,
        "order": [
            {
                "run": run.id,
                "block": run.block,
                "cell": dict(run.cell.levels),
                "script": run.cell.script,
                "seed": run.seed,
            }
            for run in plan.runs
        ],
    }


def _search_document(asked: FindMax | None) -> dict[str, object]:
    if asked is None:
        return {}
    return {"probes": {"usual": usual_probes(asked), "most": most_probes(asked)}}
