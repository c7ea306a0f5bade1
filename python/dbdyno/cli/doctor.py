"""`dbdyno doctor`: what distorts measurements on this machine, and what limits a run."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from dbdyno.cli.options import json_option
from dbdyno.cli.terminal import say, say_json
from dbdyno.cli.text import fold, width
from dbdyno.collect import host_facts, machine_limits, red_flags
from dbdyno.conduct.preflight import Limit, machine_needs
from dbdyno.engine import find_engine, plan_engine, spec_of_clients
from dbdyno.errors import MachineError
from dbdyno.guard.sweep import sweep


@click.command()
@click.option(
    "--clients",
    type=click.IntRange(1, 1_000_000),
    default=1000,
    show_default=True,
    help="Number of TCP clients you plan to run.",
)
@click.option(
    "--addresses",
    type=click.IntRange(1, 10_000),
    default=1,
    show_default=True,
    help="Number of server or pooler addresses they are spread over.",
)
@click.option(
    "--mend",
    is_flag=True,
    help="Only undo what killed runs left behind: switches, mounts, control groups, folders.",
)
@click.option(
    "--places",
    metavar="ADDRESS",
    help="Only look at the load hosts of a Ray cluster: `auto`, `ray://HOST:PORT` or `HOST:PORT`.",
)
@json_option
def doctor(clients: int, addresses: int, mend: bool, places: str | None, as_json: bool) -> None:
    """Report what distorts measurements on this machine or limits a run.

    Each with a hint what to do. Run it where the data will lie: the disk is looked at, too.
    """
    if mend:
        _mend(as_json)
        return
    if places is not None:
        _hosts(places, as_json)
        return
    flags = red_flags(host_facts(Path.cwd(), software=False))
    machine = machine_limits()
    endpoints = [{"tcp": {"host": "127.0.0.1", "port": number}} for number in range(addresses)]
    plan = plan_engine(find_engine(), spec_of_clients(clients, endpoints))
    needs = list(machine_needs(plan, machine, endpoints))
    if as_json:
        say_json(
            {
                "schema": 1,
                "red_flags": [
                    {"code": flag.code, "message": flag.message, "cure": flag.hint}
                    for flag in flags
                ],
                "clients": clients,
                "processes": plan.processes,
                "limits": [_document(limit) for limit in needs],
            }
        )
        return
    columns = width()
    say("What distorts measurements:" if flags else "Nothing here distorts measurements.")
    for flag in flags:
        say(fold(f"  {flag.message}\n    hint: {flag.hint}", columns))
    say(f"\nWhat {clients:,} clients need, and what there is:")
    for limit in needs:
        say(fold(f"  {'ok' if limit.is_met else 'too low':<7}  {limit}", columns))
        if not limit.is_met:
            say(fold(f"    hint: {limit.cure}", columns))


def _hosts(address: str, as_json: bool) -> None:
    """What each load host has and lacks."""
    from dbdyno.conduct.places_report import inspect_hosts  # Few ask for load hosts.

    reports = inspect_hosts(address)
    if as_json:
        say_json({"schema": 1, "hosts": [asdict(report) for report in reports]})
        return
    for report in reports:
        facts = report.facts
        say(
            fold(
                f"{report.name} ({facts['address']}): {facts['cores']} processors, "
                f"{_gib(facts['memory_bytes'])} GiB, Linux {facts['kernel']}, "
                f"clock {report.clock_ahead_us:+.0f} µs against ours, "
                f"known to {report.clock_uncertainty_us:.0f} µs",
                width(),
            )
        )
        for what, hint in report.lacks:
            say(fold(f"  {what}\n    hint: {hint}", width()))


def _gib(size: object) -> str:
    return f"{size / 2**30:.0f}" if isinstance(size, int) else "?"


def _mend(as_json: bool) -> None:
    """Carries out the journals of guards that are gone."""
    steps = sweep()
    if as_json:
        undone = [
            {"undo": step.undo.document(), "remark": step.remark, "error": step.error}
            for step in steps
        ]
        say_json({"schema": 1, "undone": undone})
    for step in () if as_json else steps:
        outcome = step.error or step.remark or "done"
        say(fold(f"{step.undo}: {outcome}", width()))
    if not steps and not as_json:
        say("Killed runs have left nothing to undo.")
    if failed := [step for step in steps if step.error is not None]:
        raise MachineError(
            f"{len(failed)} of {len(steps)} changes of killed runs could not be undone",
            hint=f"undo them by hand, then remove {failed[0].journal}",
        )


def _document(limit: Limit) -> dict[str, object]:
    return {
        "code": limit.code,
        "what": limit.what,
        "needed": limit.needed,
        "available": limit.available,
        "met": limit.is_met,
        "cure": limit.cure,
    }
