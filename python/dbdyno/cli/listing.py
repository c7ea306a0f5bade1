"""`dbdyno list`: the studies there are and the runs there were."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import click

from dbdyno.cli.options import json_option, print_json, store_option
from dbdyno.conduct import bundled_studies
from dbdyno.formats.study import read_study
from dbdyno.store import Store, StoredStudy


@click.command("list")
@store_option
@json_option
def list_command(store: Path, as_json: bool) -> None:
    """List the bundled studies, and what the store holds."""
    bundled = {name: read_study(file).study.question for name, file in bundled_studies().items()}
    kept = [_kept(Store(store).study(name)) for name in Store(store).names()]
    if as_json:
        print_json({"schema": 1, "bundled": bundled, "store": str(store), "stored": kept})
        return
    click.echo("Studies:")
    width = max(map(len, bundled), default=0)
    for name, question in bundled.items():
        click.echo(f"  {name:<{width}}  {question}")
    click.echo(f"\nRuns in {store}:" if kept else f"\nNo runs in {store}.")
    width = max((len(str(study["study"])) for study in kept), default=0)
    for study in kept:
        counts = study["runs"]
        assert isinstance(counts, dict)
        states = ", ".join(f"{number} {state}" for state, number in counts.items() if number)
        click.echo(
            f"  {study['study']:<{width}}  {states}  (scale {study['scale']}, seed {study['seed']})"
        )


def _kept(study: StoredStudy) -> dict[str, object]:
    states = Counter(run.manifest.status for run in study.runs().values())
    missing = len(study.plan.runs) - sum(states.values())
    return {
        "study": study.name,
        "scale": study.plan.scale,
        "seed": study.plan.seed,
        "runs": {
            "complete": states["complete"],
            "failed": states["failed"],
            "interrupted": states["interrupted"],
            "missing": missing,
        },
    }
