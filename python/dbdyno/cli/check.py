"""`dbdyno check`: shows what a study would do, without doing it."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import asdict, replace
from pathlib import Path

import click

from dbdyno.cli.check_document import Takes, document_of, members_of, servers_of
from dbdyno.cli.options import (
    collector_option,
    json_option,
    plan_options,
    scale_option,
    store_option,
)
from dbdyno.cli.terminal import say, say_json
from dbdyno.cli.text import clients, load_hosts, sees
from dbdyno.conduct.code import Code, code_of
from dbdyno.conduct.estimate import estimate
from dbdyno.conduct.examine import Started, examine, examine_servers
from dbdyno.conduct.fault_rules import fault_words
from dbdyno.conduct.foreseen import can_be_foreseen, foreseen
from dbdyno.conduct.left_out import lacking_cells
from dbdyno.conduct.level_loads import changed_loads
from dbdyno.conduct.load_hosts import host_share
from dbdyno.conduct.load_keys import passed_on
from dbdyno.conduct.needs import this_machine
from dbdyno.conduct.opening import open_study, scale_reason
from dbdyno.conduct.planning import plan_study
from dbdyno.conduct.sampling import missing_sources
from dbdyno.conduct.volume import scripts_asked
from dbdyno.design import cells
from dbdyno.design.batches import batches, why_not_turns
from dbdyno.design.search import most_probes, usual_probes
from dbdyno.engine import Engine, find_engine
from dbdyno.errors import LabError
from dbdyno.formats.left_out import left_out_sentences
from dbdyno.formats.quantities import format_duration, format_fraction, format_size
from dbdyno.formats.study import StudyFile
from dbdyno.model import (
    FIRST_LOOK,
    OWN_PACE,
    Closed,
    Constant,
    FindMax,
    Group,
    LeftOut,
    Load,
    Missing,
    Needs,
    Plan,
    Poisson,
    Study,
)
from dbdyno.servers import programs_not_asked, provisions_remembered
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
@click.option(
    "--run-code",
    is_flag=True,
    help="Also execute what the study brings (its scripts' top level, its collectors, programs in "
    "folders it names), as a run would, to see whether they can be loaded.",
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
    run_code: bool,
    as_json: bool,
) -> None:
    """Validate STUDY and show what it would run and take: cells, order, machine, disk, time.

    Whatever can be asked without starting a server is asked: bundled scripts and their options,
    loads, pragmas of SQLite. What a run would refuse is told, all of it, and ends the command as
    the run would end. Levels and metrics that this machine can't have are told, and no error: the
    study runs without them.

    A study from elsewhere is a program: its own scripts and collectors are named, and executed only
    with --run-code.
    """
    held, asked = Store(store), nullcontext() if run_code or servers else programs_not_asked()
    with asked, provisions_remembered(), ExitStack() as context:
        file = open_study(study, scale=scale, collect=collect, run_code=run_code)
        context.enter_context(scripts_asked(file, run_code=run_code))
        loaded, plan = plan_study(file.study, held, seed=seed, blocks=blocks)
        file = replace(file, study=loaded)
        engine, code = find_engine(), code_of(file)
        left_out, not_sampled = lacking_cells(plan), missing_sources(loaded)
        errors = [*examine(file, plan, engine, run_code=run_code)]
        lacking = [*_lacking(left_out, not_sampled)]
        for line in (*lacking, *_code(code, run_code)) if errors else ():
            say(line, err=True)
        _raise_all(errors)
        started = _start_servers(file, plan, engine) if servers else []
        free = shutil.disk_usage(_existing(store)).free
        takes = Takes(estimate(loaded, plan), this_machine(), free)
    seen, share = foreseen(loaded, plan, held), host_share(loaded, engine)
    if as_json:
        document = document_of(loaded, plan, takes)
        added = {
            "started": [asdict(server) for server in started],
            "left_out": [asdict(cell) for cell in left_out],
            "not_sampled": {source: asdict(missing) for source, missing in not_sampled.items()},
            "sees": asdict(seen) if seen else None,
            "hosts": None if share is None else asdict(share),
            "passed_on": passed_on(loaded),
            "code": [asdict(named) for named in code],
            "code_was_executed": run_code,
        }
        say_json({**document, **added})
        return
    noise = ""
    if seen is not None:
        noise = sees(seen)
    elif can_be_foreseen(loaded, plan):
        noise = f"not known here; `dbdyno calibrate {study}` measures it"
    passed = [_passed(name, words) for name, words in passed_on(loaded).items()]
    apart = [] if share is None else list(load_hosts(share))
    more = [
        *apart,
        *passed,
        *([f"noise    {noise}"] if noise else []),
        *lacking,
        *_code(code, run_code),
    ]
    for line in explanation(loaded, plan, takes, asked=scale, started=started, more=more):
        say(line)


def _code(code: Sequence[Code], was_executed: bool) -> Iterator[str]:
    """What a run would execute of the study's own."""
    for number, named in enumerate(code):
        yield f"{'code' if number == 0 else '':<8} {named.what}: {named.name}"
    if code and not was_executed:
        yield (
            f"{'':<8} a run executes this as you; `check` has only read it, and "
            "`check --run-code` tries whether it can be loaded"
        )


def _passed(program: str, words: Mapping[str, str]) -> str:
    text = ", ".join(f"{key} ({word})" for key, word in words.items())
    return f"passed   to {program}, of the load: clients{f', {text}' if text else ''}"


def _lacking(left_out: Sequence[LeftOut], not_sampled: Mapping[str, Missing]) -> Iterator[str]:
    """What the study runs without, each with a hint."""
    for sentence, hint in left_out_sentences(left_out):
        yield f"{sentence}\n  hint: {hint}"
    for source, missing in not_sampled.items():
        yield f"not sampled: `{source}`, since {missing.what}\n  hint: {missing.cure}"


def explanation(
    study: Study,
    plan: Plan,
    takes: Takes,
    *,
    asked: str | None = None,
    started: Sequence[Started] = (),
    more: Sequence[str] = (),
) -> Iterator[str]:
    """What a study would run and take, line by line; `asked` is the scale the user named, `more`
    what stands above the order."""
    yield study.question
    if study.source:
        yield f"after: {study.source}"
    reason = scale_reason(study, asked)
    others = f" (of {', '.join(study.scales)})" if len(study.scales) > 1 else ""
    yield ""
    if others or reason:
        yield f"scale    {reason or study.scale}{others}"
    for factor in study.factors:
        yield f"factor   {factor.name}: {', '.join(level.name for level in factor.levels)}"
    for name, provision in servers_of(plan).items():
        yield f"server   {name}: {provision}"
    for name, servers in members_of(plan).items():
        yield f"members  {name}: {servers}"
    yield from (f"fault    {words}" for words in fault_words(study))
    for server in started:
        yield f"starts   {server.label}: {server.provision} is {server.version}"
    tools = {cell.generator for cell in cells(study)}
    own = ", ".join(sorted(tools)) if tools <= OWN_PACE else ""
    yield f"load     {_load(study.load, own)}"
    if study.load.find_max is not None:
        yield f"search   {_search(study.load.find_max)}"
    for group in study.load.groups:
        where = f" to {group.entry}" if group.entry else ""
        yield f"beside   {group.name}: {clients(group.clients)}{where}, {_pace(group)}"
    for level, keys in changed_loads(study):
        yield f"changes  {level}: {keys}"
    half_width = study.design.stop_half_width
    stops = half_width is not None and plan.blocks > FIRST_LOOK
    blocks = f"{FIRST_LOOK} to {plan.blocks}" if stops else str(plan.blocks)
    yield (
        f"design   {blocks} blocks × {len(plan.runs) // plan.blocks} cells, "
        f"{len(plan.runs)} runs, seed {plan.seed}, plan {plan.fingerprint}"
    )
    if half_width is not None:
        yield f"stops    as soon as every interval is within ±{format_fraction(half_width)}"
    if study.design.twice:
        *_, again = cells(study)
        yield f"A/A      the baseline's cell twice, also as {again.label}"
    yield from _taken(study.needs, takes, "at most " if stops else "")
    yield from more
    yield f"\norder    {_order(study, plan)}"
    for run in plan.runs:
        yield f"  {run.position:>3}  block {run.block}  {run.label}"


def _taken(needs: Needs, takes: Takes, most: str) -> Iterator[str]:
    """Machine, time and disk, each with what is missing of it."""
    cost, machine, lacking = takes.cost, takes.machine, takes.lacking(needs)
    asked = (
        f"{needs.cores} cores" if needs.cores else "",
        f"{format_size(needs.memory_bytes)} of memory" if needs.memory_bytes else "",
        needs.also,
    )
    if any(asked):
        here = f"{machine.cores} cores and {format_size(machine.memory_bytes)} here"
        short = {"cores": "too few cores", "memory": "too little memory"}
        missing = ", ".join(words for what, words in short.items() if what in lacking)
        yield f"needs    {', '.join(filter(None, asked))}; {here}{missing and f': {missing}'}"
    makers = ", ".join(f"`{name}`" for name in cost.unknown)
    without = makers and f", without the data of {makers}, whose size is not known"
    yield f"time     {most}about {_rough(cost.time_s)}{without}"
    free = f"{format_size(takes.free_bytes)} are free"
    if "disk" in lacking:
        free += ": too little"
    without = "" if needs.disk_bytes else without
    yield f"disk     about {format_size(cost.disk_bytes)} at a time{without}; {free}"


def _rough(seconds: float) -> str:
    """A duration with as many places as an estimate deserves."""
    if seconds >= 72 * 3600:
        return f"{seconds / 86_400:.0f} days"
    if seconds >= 10 * 3600:
        return f"{seconds / 3600:.0f} h"
    return format_duration(round(seconds))


def _start_servers(file: StudyFile, plan: Plan, engine: Engine) -> list[Started]:
    found = list(examine_servers(file, plan, engine))
    _raise_all([outcome for outcome in found if isinstance(outcome, LabError)])
    return [outcome for outcome in found if isinstance(outcome, Started)]


def _raise_all(errors: Sequence[LabError]) -> None:
    """All errors as one, of the first one's kind."""
    if not errors:
        return
    first, *others = errors
    if not others:
        raise first
    message = "\n".join(map(_with_hint, errors))
    raise first.reworded(f"{len(errors)} problems would stop this study:\n{message}", hint=None)


def _with_hint(error: LabError) -> str:
    """Each hint below its own problem: of a list of hints nobody knows which is for what."""
    message = textwrap.indent(error.message, "  ")
    if error.hint is None:
        return message
    first, *more = (line.strip() for line in error.hint.splitlines())
    return "\n".join((message, f"    hint: {first}", *(f"          {line}" for line in more)))


def _load(load: Load, own: str) -> str:
    steps = ", ".join(map(str, load.clients))
    window = format_duration(load.measure_s) if load.measure_s else ""
    events = f"{load.events:,} events" if load.events else ""
    measured = " or ".join(filter(None, (window, events)))
    unit = clients(load.clients[-1]).split()[1]
    warm_up = format_duration(load.warm_up_s)
    return f"{steps} {unit}, {_pace(load, own)}; warm-up {warm_up}, measured {measured}"


def _search(asked: FindMax) -> str:
    """Its bounds, and how many probes it takes."""
    return (
        f"from {asked.from_per_s:,.10g} to {asked.to_per_s:,.10g} events/s, to "
        f"{format_fraction(asked.precision)}; about {usual_probes(asked)} probes a run, at most "
        f"{most_probes(asked)}"
    )


def _pace(load: Load | Group, own: str = "") -> str:
    """When events start, in a few words; `own`: programs whose pace is their own."""
    if isinstance(load, Load) and load.find_max is not None:
        return f"the highest rate with {load.find_max.objective}"
    if own:
        return f"at the pace of {own}"
    match load.arrival:
        case Constant(rate_per_s=rate) | Poisson(rate_per_s=rate):
            return f"{load.arrival.kind} arrivals, {rate:g} events/s"
        case Closed():
            return "idle" if isinstance(load, Group) and load.idle else "closed loop"
        case _:
            return f"{load.arrival.kind} arrivals"


def _order(study: Study, plan: Plan) -> str:
    """One by one, or in turns, and how many cells are up at the same time."""
    if plan.order == "runs":
        why = why_not_turns(study)
        asked = {"reconnect": study.design.reconnect, "freeze": study.design.freeze}
        unused = [f"`{name}`" for name, value in asked.items() if value]
        order = "one by one" + (f": {why}" if why and study.design.order is None else "")
        return order + (f"; no effect outside of turns: {', '.join(unused)}" if unused else "")
    most = max(len(batch) for batch in batches(plan, plan.runs))
    turn = format_duration(study.design.turn_s)
    return f"in turns of {turn}, up to {most} cells up together"


def _existing(path: Path) -> Path:
    path = path.absolute()
    return next(folder for folder in (path, *path.parents) if folder.exists())
