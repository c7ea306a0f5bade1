"""A gallery: the published pages of all studies of some stores, and a front page of cards."""

from __future__ import annotations

import json
import math
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import cache
from multiprocessing import get_context
from pathlib import Path

from dbdyno import __version__
from dbdyno.errors import StoreError
from dbdyno.report.answer.so_far import Effect
from dbdyno.report.page.citation import store_digest
from dbdyno.report.page.drawing import Drawing
from dbdyno.report.page.gallery_page import Entry, Measure, gallery_page
from dbdyno.report.page.publish import Face, Published, names_of, publish
from dbdyno.report.page.redaction import Redaction
from dbdyno.report.terms.wording import clients_text
from dbdyno.store import Store
from dbdyno.store.places import base_name

INDEX, LIST = "index.html", "gallery.json"

FEW = 3
"""Up to so many pages are made by this process: to start another takes as long as a page."""
MOST_PROCESSES = 8
"""Each has some 300 MB."""


@dataclass(slots=True)
class Gallery:
    """The files of a site, by name."""

    files: dict[str, bytes] = field(default_factory=dict)
    replaced: Counter[str] = field(default_factory=Counter)
    """What was taken out of the pages → how often."""
    left_out: dict[str, str] = field(default_factory=dict)
    """Folder of a study without a page → why."""


@dataclass(frozen=True, slots=True)
class _Source:
    """A stored study that has a complete run."""

    store: Path
    name: str
    subject: tuple[str, str]
    """Name and question: those that agree in both are one study, measured several times."""
    file: str
    """Name of its page without the day, safe in addresses."""
    ended_unix_s: float


@dataclass(frozen=True, slots=True)
class _Job:
    """A page to be made."""

    name: str
    source: _Source
    address: str
    """Where it will be; empty: not known."""


def gallery(
    stores: Sequence[Path],
    *,
    title: str = "Studies",
    url: str = "",
    tell: Callable[[str], None] = lambda _: None,
) -> Gallery:
    """The site of all studies of `stores` that have a complete run; `url` is where it will be.
    `tell` is called with the name of each study once its page is made. Pages are made by as many
    processes as there are processors.

    A study of the same name and question in several stores, or run again, has a card with its
    history. Raises `StoreError` if no study has a page.
    """
    made = Gallery()
    entries: list[Entry] = []
    pages = _named(_sources(stores, made))
    jobs = [
        _Job(page, source, f"{url.rstrip('/')}/{page}" if url else "")
        for group in pages
        for page, source in group.items()
    ]
    shown: dict[str, Face] = {}
    for job, made_page in zip(jobs, _published(jobs), strict=True):
        tell(job.source.name)
        if isinstance(made_page, Published):
            shown[job.name] = _add_page(made, job.name, made_page)
        else:
            made.left_out[str(job.source.store / job.source.name)] = made_page
    for group in pages:
        faces = {page: shown[page] for page in group if page in shown}
        if faces:
            entries.append(_entry(next(iter(group.values())), faces, made))
    if not entries:
        reasons = "; ".join(f"{place}: {why}" for place, why in made.left_out.items())
        raise StoreError(
            f"no study to show: {reasons or 'the stores hold none'}",
            hint="`dbdyno list --store STORE` shows what a store holds",
        )
    made.files[INDEX] = gallery_page(entries, title=title).encode()
    made.files[LIST] = _listed(entries, made.files)
    return made


def write_gallery(made: Gallery, folder: Path) -> None:
    """Writes the site, and removes the files of the gallery that the folder held before.

    Raises `StoreError` for a folder that has files and no gallery, or can't be written.
    """
    try:
        before = files_before(folder)
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in made.files.items():
            (folder / name).write_bytes(content)
        for name in before - made.files.keys():
            (folder / name).unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(
            f"{folder} can't be written: {error.strerror}", hint="name another place with --out"
        ) from error


def files_before(folder: Path) -> set[str]:
    """Names of the files of an earlier gallery. Raises `StoreError` for a folder that has files
    and no gallery."""
    if not folder.exists() or not any(folder.iterdir()):
        return set()
    try:
        kept = json.loads((folder / LIST).read_text("utf-8"))["files"]
    except (OSError, ValueError, KeyError, TypeError):
        raise StoreError(
            f"{folder} has files, and no gallery of ours among them",
            hint="name a new folder with --out: nothing else is overwritten",
        ) from None
    names = kept if isinstance(kept, list) else []
    return {str(name) for name in names if str(name) == Path(str(name)).name}


def _sources(stores: Sequence[Path], made: Gallery) -> Iterator[_Source]:
    """Studies with a complete run; of the others, why they are left out."""
    known: dict[str, Path] = {}
    for store in stores:
        for name in Store(store).names():
            try:
                study = Store(store).study(name)
                runs = study.survey().runs.values()
                ends = [
                    run.manifest.ended_unix_s for run in runs if run.manifest.status == "complete"
                ]
                question, names = study.study.question, names_of(study.study)
            except StoreError as error:
                made.left_out[str(store / name)] = error.message
                continue
            if not ends:
                made.left_out[str(store / name)] = "no run is complete"
                continue
            digest = store_digest(store / name)
            if digest in known:
                made.left_out[str(store / name)] = f"a copy of {known[digest]}"
                continue
            known[digest] = store / name
            base = base_name(name)
            yield _Source(store, name, (base, question), _slug(base, names), max(ends))


def _slug(name: str, names: Mapping[str, str]) -> str:
    """A study's name as part of an address, without names of hosts and users."""
    safe = re.sub(r"[^\w.=-]+", "-", Redaction(names).clean(name), flags=re.ASCII).strip("-.")
    return safe or "study"


def _named(sources: Iterator[_Source]) -> list[dict[str, _Source]]:
    """For each study the names of its pages, the newest first: `NAME.html`, then with days."""
    groups: dict[tuple[str, str], list[_Source]] = {}
    for source in sources:
        groups.setdefault(source.subject, []).append(source)
    taken = {INDEX}
    named: list[dict[str, _Source]] = []
    for group in groups.values():
        group.sort(key=lambda source: source.ended_unix_s, reverse=True)
        pages: dict[str, _Source] = {}
        for place, source in enumerate(group):
            stem = f"{source.file}.{_day(source.ended_unix_s)}" if place else source.file
            number = 1
            while (name := f"{stem}{f'-{number}' if number > 1 else ''}.html").lower() in taken:
                number += 1
            taken.add(name.lower())
            pages[name] = source
        named.append(pages)
    return named


def _day(unix_s: float) -> str:
    return f"{datetime.fromtimestamp(unix_s, UTC):%Y-%m-%d}" if unix_s else ""


def _published(jobs: Sequence[_Job]) -> Iterator[Published | str]:
    """The page of each job, in their order, or why it can't be made."""
    processes = min(len(os.sched_getaffinity(0)), MOST_PROCESSES)
    if len(jobs) <= FEW or processes == 1:
        for job in jobs:
            yield _publish(job)
        return
    # Forked from a process with threads, a child may wait for a lock for ever.
    with ProcessPoolExecutor(min(processes, len(jobs)), get_context("spawn")) as pool:
        yield from pool.map(_publish_in_worker, jobs)


def _publish(job: _Job, drawing: Drawing | None = None) -> Published | str:
    source = job.source
    try:
        return publish(source.store, source.name, url=job.address, pictures=False, drawing=drawing)
    except StoreError as error:
        return error.message


def _publish_in_worker(job: _Job) -> Published | str:
    """By the drawing that the worker has for all its pages."""
    made_page = _publish(job, _drawing_of_worker())
    if isinstance(made_page, str):
        _drawing_of_worker.cache_clear()  # What it was asked for may still come.
    return made_page


@cache
def _drawing_of_worker() -> Drawing:
    """It ends with this process, which holds the other end of its standard input."""
    return Drawing()


def _add_page(made: Gallery, page: str, made_page: Published) -> Face:
    """Adds a study's page and its card."""
    back = f'<p class="mark"><a href="{INDEX}">All studies</a></p>\n'
    made.files[page] = made_page.html.replace("<body>\n", f"<body>\n{back}", 1).encode()
    made.files[f"{page.removesuffix('.html')}.png"] = made_page.card
    made.replaced.update(made_page.replaced)
    return made_page.face


def _entry(source: _Source, faces: Mapping[str, Face], made: Gallery) -> Entry:
    """The card of a study; `faces` are those of its pages, the newest first."""
    newest = next(iter(faces))
    face = faces[newest]
    name, picture = newest.removesuffix(".html"), ""
    if face.picture:
        picture = f"{name}.svg"
        made.files[picture] = face.picture.encode()
    followed = max(face.effects, key=lambda effect: abs(math.log(effect.ratio)), default=None)
    return Entry(
        name=name,
        question=face.question,
        measures=tuple(_measure(page, face, followed) for page, face in faces.items()),
        source=face.source,
        then_and_now=face.agreement,
        picture=picture,
        followed=_followed_words(followed),
    )


def _measure(page: str, face: Face, followed: Effect | None) -> Measure:
    effects = {
        _contrast(effect): (effect.low, effect.ratio, effect.high) for effect in face.effects
    }
    return Measure(
        day=_day(face.ended_unix_s),
        answer=face.answer,
        measured=" · ".join(face.measured[1:]),
        page=page,
        effect=effects.get(_contrast(followed)) if followed else None,
    )


def _contrast(effect: Effect) -> tuple[str, str, int]:
    return effect.cell, effect.baseline, effect.clients


def _followed_words(effect: Effect | None) -> str:
    if effect is None:
        return ""
    return f"{effect.cell} against {effect.baseline}, {clients_text(effect.clients)}"


def _listed(entries: Sequence[Entry], files: Mapping[str, bytes]) -> bytes:
    """The cards as data, and the names of all files."""
    document = {
        "schema": 1,
        "dbdyno": __version__,
        "studies": [asdict(entry) for entry in entries],
        "files": sorted({*files, LIST}),
    }
    return (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode()
