"""`dbdyno list`: the bundled studies and the stored runs."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from dbdyno.cli.options import json_option, store_option
from dbdyno.cli.terminal import say, say_json
from dbdyno.conduct.bundled import bundled_questions
from dbdyno.errors import StoreError

if TYPE_CHECKING:
    from dbdyno.store import StoredStudy


@click.command("list")
@store_option
@json_option
def list_command(store: Path, as_json: bool) -> None:
    """List the bundled studies, and what the store holds."""
    bundled = bundled_questions()
    kept = _stored(store)
    damaged = [message for study in kept for message in cast("list[str]", study["damaged"])]
    if as_json:
        say_json({"schema": 1, "bundled": bundled, "store": str(store), "stored": kept})
        return
    say("Studies:")
    width = max(map(len, bundled), default=0)
    for name, question in bundled.items():
        say(f"  {name:<{width}}  {question}")
    say(f"\nRuns in {store}:" if kept else f"\nNo runs in {store}.")
    width = max((len(str(study["study"])) for study in kept), default=0)
    for study in kept:
        counts = cast("dict[str, int]", study["runs"])
        states = ", ".join(f"{number} {state}" for state, number in counts.items() if number)
        scale = "" if study["scale"] in (None, _OWN_SCALE) else f"  (scale {study['scale']})"
        say(f"  {study['study']:<{width}}  {states or 'can not be read'}{scale}")
    for message in damaged:
        say(f"damaged: {message}", err=True)
    if damaged:
        say(f"\nhint: {_CURE}", err=True)


_OWN_SCALE = "paper"
"""A study's own figures (`formats.study.PAPER`, whose import takes long)."""

_CURE = (
    "take a damaged run's folder out of the store, and `dbdyno resume` runs it again; a study "
    "without its study.json needs it back from a copy"
)


def _stored(store: Path) -> list[dict[str, object]]:
    """What the store holds; checking it takes imports that an empty one does without."""
    if not store.is_dir() or not any(entry.is_dir() for entry in store.iterdir()):
        return []
    from dbdyno.store import Store

    held = Store(store)
    return [_kept(held.study(name)) for name in held.names()]


def _kept(study: StoredStudy) -> dict[str, object]:
    """The state of a study's runs; if it can't be read, why."""
    try:
        plan, survey = study.plan, study.survey()
    except StoreError as error:
        nothing: dict[str, object] = {"study": study.name, "scale": None, "seed": None, "runs": {}}
        return {**nothing, "damaged": [error.message]}
    states = Counter(run.manifest.status for run in survey.runs.values())
    counts = {
        "complete": states["complete"],
        "failed": states["failed"],
        "interrupted": states["interrupted"],
        "damaged": len(survey.damages),
        "missing": sum(run.id not in survey.runs for run in plan.runs),
    }
    return {
        "study": study.name,
        "scale": plan.scale,
        "seed": plan.seed,
        "runs": counts,
        "damaged": [damage.text for damage in survey.damages],
    }
