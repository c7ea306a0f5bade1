"""`dbdyno classics`: the published benchmarks one after another, and a table of their answers."""

from __future__ import annotations

import datetime
import json
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dbdyno.cli.options import json_option, store_option
from dbdyno.cli.run import Way, carry_out, raise_failures
from dbdyno.cli.terminal import say, say_json
from dbdyno.cli.text import fold, width
from dbdyno.conduct import bundled_studies, open_study
from dbdyno.conduct.opening import SMALL
from dbdyno.conduct.planning import plan_study
from dbdyno.design import design_digest
from dbdyno.errors import InterruptedRunError, LabError, NotValidError, StoreError, UsageError
from dbdyno.formats.nearest import nearest_hint
from dbdyno.formats.study import read_study
from dbdyno.model import RunManifest
from dbdyno.store import Store

if TYPE_CHECKING:
    from dbdyno.report import Written

ANSWERS = "answers.json"
"""In the catalogue's folder: study → `Answer`, and the ones before it as `earlier`."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of one study."""

    answer: str
    """The first sentences of its report, or the error."""
    verdicts: Mapping[str, int] = field(default_factory=dict)
    """Verdict → number of comparisons."""
    minutes: float = 0.0
    """Of measuring, from the first run's beginning to the last one's end; pauses left out."""
    scale: str = SMALL
    date: str = ""
    design: str = ""
    """Fingerprint of the cells and the load that were measured (`design_digest`)."""
    machine: str = ""
    report: str = ""
    """Where the report is."""
    failed: bool = False


@click.command()
@click.argument("studies", nargs=-1)
@click.option("--scale", default=SMALL, show_default=True, help="The scale of every study.")
@store_option
@click.option(
    "--catalogue",
    type=click.Path(file_okay=False, path_type=Path),
    help=f"Also keep answers ({ANSWERS}) and pictures in this folder.",
)
@json_option
def classics(
    studies: Sequence[str], scale: str, store: Path, catalogue: Path | None, as_json: bool
) -> None:
    """Run the published benchmarks, one after another.

    STUDIES are names of bundled ones; without any, all that name a source. One that fails does not
    stop the others. What the store holds already is not repeated: called again, the command goes on
    where it ended, and ends with a table of the answers.
    """
    found: dict[str, Answer] = {}
    try:
        for name in _chosen(studies):
            say(f"\n{name}", err=True)
            found[name] = _answer(name, scale, Store(store), catalogue)
            if catalogue is not None and found[name].report:
                _keep(catalogue, {name: found[name]})
    finally:
        _tell(found, as_json=as_json)
    failed = [name for name, answer in found.items() if answer.failed]
    if failed:
        raise NotValidError(
            f"{len(failed)} of {len(found)} studies failed: {', '.join(failed)}",
            hint="the same command again tries what is missing",
        )


def _chosen(names: Sequence[str]) -> tuple[str, ...]:
    """The names asked for, or all studies with a source. Raises `UsageError`."""
    files = bundled_studies()
    for name in names:
        if name not in files:
            raise UsageError(
                f"there is no bundled study `{name}`",
                hint=nearest_hint(name, files) or f"there are {', '.join(files)}",
            )
    if names:
        return tuple(dict.fromkeys(names))
    return tuple(name for name, file in files.items() if read_study(file).study.source)


def _answer(name: str, scale: str, store: Store, catalogue: Path | None) -> Answer:
    """Runs one study; its own `LabError` becomes its answer."""
    today = datetime.date.today().isoformat()
    began = time.monotonic()
    answer: Answer | None = None
    try:
        loaded = open_study(name, scale=scale, run_code=True)
        study, plan = plan_study(loaded.study, store)
        outcome, written = carry_out(replace(loaded, study=study), plan, Way(name, store))
        runs = store.study(outcome.folder).survey().runs.values()
        ran = [run.manifest for run in runs]
        answer = Answer(
            answer=written.headline,
            verdicts=dict(written.verdicts),
            minutes=round(span_s((run.started_unix_s, run.ended_unix_s) for run in ran) / 60, 1),
            scale=scale,
            date=_latest(ran) or today,
            design=design_digest(loaded.study),
            machine=machine([run.document("facts.json") for run in runs]),
            report=str(written.page),
        )
        _picture(name, written, catalogue)
        raise_failures(outcome, plan, store)
    except InterruptedRunError:
        raise
    except LabError as error:
        _complain(error)
        if answer is not None:
            return Answer(**{**asdict(answer), "failed": True})
        message = error.message.splitlines()[0]
        minutes = round((time.monotonic() - began) / 60, 1)
        return Answer(message, minutes=minutes, scale=scale, date=today, failed=True)
    return answer


def _complain(error: LabError) -> None:
    columns = width(of_errors=True)
    say(fold(f"error: {error.message}", columns), err=True)
    if error.hint:
        say(fold(f"hint: {error.hint}", columns), err=True)


def span_s(spans: Iterable[tuple[float, float]]) -> float:
    """Seconds that lie in at least one span from a beginning to an end."""
    total, reached = 0.0, float("-inf")
    for start, end in sorted(spans):
        total += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return total


def _latest(manifests: Iterable[RunManifest]) -> str:
    ends = [manifest.ended_unix_s for manifest in manifests]
    return datetime.date.fromtimestamp(max(ends)).isoformat() if ends else ""


def machine(facts: Sequence[object]) -> str:
    """Processor, cores, memory and kernel of the first run's host, in a few words."""
    host = _part(facts[0], "host") if facts else {}
    processor, memory, kernel = (_part(host, name) for name in ("processor", "memory", "kernel"))
    cores, size = processor.get("threads"), memory.get("total_bytes")
    parts = (
        f"{cores} cores" if cores else "",
        str(processor.get("model") or ""),
        f"{round(size / 2**30)} GiB" if isinstance(size, int) else "",
        f"Linux {kernel['release']}" if kernel.get("release") else "",
    )
    return ", ".join(filter(None, parts))


def _part(document: object, name: str) -> Mapping[str, object]:
    found = document.get(name) if isinstance(document, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _picture(name: str, written: Written, catalogue: Path | None) -> None:
    if catalogue is None or written.picture is None:
        return
    try:
        catalogue.mkdir(parents=True, exist_ok=True)
        (catalogue / f"{name}.svg").write_bytes(written.picture.read_bytes())
    except OSError as error:
        raise StoreError(f"{catalogue} can't be written: {error.strerror}") from error


def _keep(folder: Path, found: Mapping[str, Answer]) -> None:
    """Puts the answers beside those of other studies; reports lie in a store, which is not kept."""
    file = folder / ANSWERS
    try:
        folder.mkdir(parents=True, exist_ok=True)
        kept = json.loads(file.read_text()) if file.exists() else {}
        for name, answer in found.items():
            now = {key: value for key, value in asdict(answer).items() if key != "report"}
            kept[name] = {**now, "earlier": _earlier(kept.get(name), now)}
        file.write_text(json.dumps(kept, indent=2, ensure_ascii=False, sort_keys=True) + "\n")
    except (OSError, ValueError) as error:
        raise StoreError(f"{file} can't be read or written: {error}") from error


def _earlier(
    before: Mapping[str, Any] | None, now: Mapping[str, Any]
) -> Sequence[Mapping[str, Any]]:
    """The answers before `now`, the oldest first. Runs analysed again are no other answer."""
    if before is None:
        return ()
    earlier = before.get("earlier", ())
    if all(before.get(key) == now[key] for key in ("date", "minutes", "design", "machine")):
        return tuple(earlier)
    return *earlier, {key: value for key, value in before.items() if key != "earlier"}


def _tell(found: Mapping[str, Answer], *, as_json: bool) -> None:
    if as_json:
        say_json({"schema": 1, "studies": {name: asdict(result) for name, result in found.items()}})
        return
    columns = None
    with suppress(ValueError):
        columns = width()
    for name, result in found.items():
        words = ", ".join(f"{verdict} in {count}" for verdict, count in result.verdicts.items())
        state = "failed" if result.failed else words or "no comparison"
        say(f"\n{name}  ({result.minutes:g} min; {state})")
        say(fold(f"  {result.answer}", columns))
        if result.report:
            say(f"  {result.report}")
