"""The page docs/catalogue.md, and the same as a gallery (docs/catalogue/index.html): the studies
there are, and what they found where they were run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from dbdyno.cli.classics import ANSWERS
from dbdyno.conduct import bundled_studies
from dbdyno.conduct.opening import SMALL
from dbdyno.design import cells, design_digest
from dbdyno.formats.study import read_study
from dbdyno.model import ENGINE, Study
from dbdyno.report.page.gallery_page import Entry, Measure, gallery_page

PAGE = Path(__file__).parents[1] / "docs" / "catalogue.md"
FOLDER = PAGE.with_suffix("")
GALLERY = FOLDER / "index.html"

HEAD = """\
# Catalogue

Published benchmarks as studies: `dbdyno run NAME` repeats one, from provisioning its servers to a \
report, and takes the scale `small` on a small machine; `--scale medium` takes an hour on 8 cores \
and 32 GB, `--scale paper` is what was published, and `dbdyno check NAME --scale paper` says what \
machine, disk and time that takes. \
`make classics` runs all of them. Answers are those of one machine on one day: they say what came \
out there, and how sure it is, and not what comes out elsewhere. Generated from studies and stored \
results by `make generate`.
"""


ABOUT = (
    "Answers are those of one machine on one day: they say what came out there, and how sure it "
    "is, and not what comes out elsewhere. Generated from studies and stored results."
)

Answers = Mapping[str, Mapping[str, Any]]


def page() -> str:
    """A table of contents, then a section a study."""
    answers, small = _answers(), _small()
    rows = [f"| [{name}](#{name}) | {study.question} |" for name, study in small.items()]
    sections = (
        line for name, answer in small.items() for line in _section(answer, answers.get(name))
    )
    return (
        "\n".join((HEAD, "| study | question |\n|---|---|", *rows, "", *sections)).rstrip() + "\n"
    )


def gallery() -> str:
    """A card a study, as `dbdyno gallery` makes them."""
    answers = _answers()
    entries = [_entry(study, answers.get(name)) for name, study in _small().items()]
    return gallery_page(entries, title="Published benchmarks, repeated", about=ABOUT)


def _entry(study: Study, answer: Mapping[str, Any] | None) -> Entry:
    known = () if answer is None else (answer, *reversed(answer.get("earlier", ())))
    picture = FOLDER / f"{study.name}.svg"
    return Entry(
        name=study.name,
        question=study.question,
        measures=tuple(_measure(answer) for answer in known if not answer["failed"]),
        source=study.source or "",
        picture=picture.name if picture.exists() else "",
        command=f"dbdyno run {study.name}",
    )


def _measure(answer: Mapping[str, Any]) -> Measure:
    scale = f"scale {answer['scale']}, {answer['minutes']:g} min"
    return Measure(answer["date"], answer["answer"], f"{scale}; {answer['machine']}")


def _answers() -> Answers:
    file = FOLDER / ANSWERS
    answers: Answers = json.loads(file.read_text()) if file.exists() else {}
    return answers


@cache
def _small() -> Mapping[str, Study]:
    return {name: read_study(path, scale=SMALL).study for name, path in _sourced().items()}


def _sourced() -> Mapping[str, Path]:
    files = bundled_studies().items()
    return {name: file for name, file in files if read_study(file).study.source}


def _section(study: Study, answer: Mapping[str, Any] | None) -> Iterator[str]:
    yield f"## {study.name}\n"
    yield f"**{study.question}** After: {study.source}\n"
    yield f"Needs: {'; '.join(_needs(study))}.\n"
    if answer is None or answer["failed"]:
        yield "Not run here to its end yet.\n"
        return
    verdicts = _verdicts(answer)
    yield f"> {answer['answer']}\n"
    yield (
        f"{answer['date']}, scale `{answer['scale']}`, {answer['minutes']:g} min; "
        f"{answer['machine']}.{f' Verdicts: {verdicts}.' if verdicts else ''}\n"
    )
    if earlier := answer.get("earlier"):
        yield f"Before: {'; '.join(_before(before, answer) for before in earlier)}.\n"
    if answer.get("design") != design_digest(study):
        yield "The cells or the load of this scale have changed since: run again, it may differ.\n"
    if (FOLDER / f"{study.name}.svg").exists():
        yield f"![{study.question}]({FOLDER.name}/{study.name}.svg)\n"


def _verdicts(answer: Mapping[str, Any]) -> str:
    return ", ".join(f"{word} in {count}" for word, count in answer["verdicts"].items())


def _before(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Date and verdicts of an earlier answer, and whether it was to the same question."""
    changed = "" if before.get("design") == now.get("design") else ", of other cells or load"
    verdicts = "failed" if before["failed"] else _verdicts(before) or "no comparison"
    return f"{before['date']} ({verdicts}{changed})"


def _needs(study: Study) -> Iterator[str]:
    """Servers, tools and changes to the machine at the study's scale."""
    made = cells(study)
    yield ", ".join(dict.fromkeys(f"`{cell.provision}`" for cell in made))
    tools = dict.fromkeys(f"`{cell.generator}`" for cell in made if cell.generator != ENGINE)
    if tools:
        yield ", ".join(tools)
    setters = dict.fromkeys(f"`{setter}`" for cell in made for setter in cell.host)
    if setters:
        yield f"a machine it may change ({', '.join(setters)}; as root)"
