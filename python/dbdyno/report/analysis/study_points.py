"""The points of a history: what each study of a store measured of a cell, with its place in time
and among versions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from dbdyno.design.cells import cells, twice
from dbdyno.errors import UsageError
from dbdyno.formats.nearest import nearest_hint
from dbdyno.model import Study
from dbdyno.report.analysis.points import Point, points_of
from dbdyno.report.analysis.side import Side
from dbdyno.report.material.gather import gather
from dbdyno.store import Store, folders_of

EARLY = re.compile(r"alpha|beta|rc|dev|pre", re.IGNORECASE)
"""What is in a version before the one of the same numbers."""


@dataclass(frozen=True, slots=True)
class StudyPoint:
    """One cell at one load, as one study measured it."""

    study: Study
    folder: Path
    """Of the study in its store."""
    point: Point
    side: Side
    """The same, to be held against others."""
    version: str
    """The server's, exactly; empty where it has none."""
    began_unix_s: float

    @property
    def kind(self) -> str:
        """Of server: `postgresql`."""
        facts = self.side.runs[0].manifest.server.get("facts")
        kind = facts.get("kind") if isinstance(facts, Mapping) else None
        return str(kind or re.split("[:@]", self.side.runs[0].manifest.provision)[0])

    @property
    def day(self) -> str:
        """When it began, UTC."""
        return f"{datetime.fromtimestamp(self.began_unix_s, UTC):%Y-%m-%d %H:%M}"

    @property
    def levels(self) -> Mapping[str, str]:
        """Factor → level."""
        return self.point.cell.levels


def version_key(version: str) -> tuple[object, ...]:
    """By its numbers: 9.6 before 10, 18beta1 before 18rc1 before 18.0."""
    early = EARLY.search(version)
    head = version[: early.start()] if early else re.split(r"[^\d.]", version, maxsplit=1)[0]
    numbers = tuple(int(digits) for digits in re.findall(r"\d+", head))
    rest = version[early.start() :].lower() if early else ""
    later = tuple(int(digits) for digits in re.findall(r"\d+", rest))
    return numbers, early is None, rest[:1], later


def version_factors(study: Study) -> frozenset[str]:
    """Factors whose levels say which server it is."""
    return frozenset(
        factor.name for factor in study.factors if any(level.provision for level in factor.levels)
    )


def named_levels(study: Study, text: str) -> Mapping[str, str]:
    """`LEVEL`, `FACTOR=LEVEL`, or several of them after commas, as factor → level.

    Raises `UsageError` for a level that the study has not, or has in two factors.
    """
    found: dict[str, str] = {}
    for part in text.split(","):
        factor, equals, level = (word.strip() for word in part.rpartition("="))
        holders = [
            known.name
            for known in study.factors
            if level in {named.name for named in known.levels}
            and (not equals or known.name == factor)
        ]
        if len(holders) != 1:
            known = [level_known.name for factor in study.factors for level_known in factor.levels]
            message = (
                f"several factors have a level `{level}`" if holders else f"no level `{level}`"
            )
            raise UsageError(
                f"`{text}`: {message} in the study `{study.name}`",
                hint=f"name one as FACTOR=LEVEL: {', '.join(holders)}"
                if holders
                else nearest_hint(level, known) or f"its levels are {', '.join(known)}",
            )
        found[holders[0]] = level
    return found


def study_points(store: Store, studies: Sequence[str], metric: str) -> tuple[StudyPoint, ...]:
    """All cells at all loads of the studies named and of their repeats (`NAME.2`, …).

    Without a name: of the one study that the store holds, with its repeats. A name may be a
    study's folder in another store. Raises `LabError`.
    """
    places = dict.fromkeys(
        place for name in studies or _only(store) for place in _folders(store, name)
    )
    return tuple(entry for root, name in places for entry in _points_of(root, name, metric))


def _only(store: Store) -> Sequence[str]:
    names = store.names()
    repeats = {folder.name for name in names for folder in folders_of(store, name)[1:]}
    families = [name for name in names if name not in repeats]
    if len(families) == 1:
        return families
    if not families:
        raise UsageError(
            f"the store {store.root} holds no study",
            hint="`dbdyno run` measures; --store names another store",
        )
    raise UsageError(
        f"the store {store.root} holds {len(families)} studies",
        hint=f"name those to read: {', '.join(families)}",
    )


def _folders(store: Store, name: str) -> Iterator[tuple[Path, str]]:
    folder = Path(name)
    elsewhere = name not in store.names() and (folder / "study.json").is_file()
    home = Store(folder.absolute().parent) if elsewhere else store
    found = folders_of(home, folder.absolute().name if elsewhere else name)
    if not found:
        home.study(name)  # Complains, with the nearest name there is.
    for study in found or (home.study(name),):
        yield home.root, study.name


def _points_of(root: Path, name: str, metric: str) -> Iterator[StudyPoint]:
    stored = Store(root).study(name).study
    material = gather(
        root, name, asked=replace(stored, primary=replace(stored.primary, metric=metric))
    )
    home = (root / name).resolve()
    repeated = twice(stored)
    every = [cell for cell in cells(stored) if repeated is None or cell != repeated[1]]
    for point in points_of(material, every):
        runs = tuple(
            run for run in material.runs if dict(run.manifest.cell) == dict(point.cell.levels)
        )
        sound = [run for run in runs if run.manifest.status == "complete"]
        if not sound:
            continue
        versions = {run.manifest.versions.get("server", "") for run in sound}
        side = Side(name, home, stored, (point,), tuple(sound), point.cell.levels)
        began = min(run.manifest.started_unix_s for run in sound)
        newest = sorted(versions, key=version_key)[-1]
        yield StudyPoint(stored, home, point, side, newest, began)
