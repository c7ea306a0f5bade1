"""The sides of a bench: a database, and what it is compared with. Pure.

A side is a level of a factor: of `server` where two URLs are compared, of `settings` where one
database is compared with itself under other settings of its sessions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from dbdyno.formats.passwords import without_password
from dbdyno.model import Factor, Level
from dbdyno.model.study import BY_URL

AS_IS = "as-is"
"""The level of a database whose sessions have the settings that its server gives them."""


@dataclass(frozen=True, slots=True)
class BenchSide:
    """A database by its URL, and the settings of the clients' sessions there."""

    name: str
    """Level of the factor; also the name of its runs."""
    url: str
    """With its password."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Name → value, set in every session of the clients."""


def sides_of(
    url: str, against: str | None, settings: Mapping[str, str], script: str
) -> tuple[BenchSide, ...]:
    """The baseline first, the side at `url` last; a single side is named after its script."""
    if against is None and not settings:
        return (BenchSide(_level(script), url),)
    asked = "+".join(f"{name}={value}" for name, value in settings.items())
    if against is None:
        return (BenchSide(AS_IS, url), BenchSide(_level(asked), url, settings))
    names = _places(against, url)
    ours = f"{names[1]}+{asked}" if asked else names[1]
    return (BenchSide(_level(names[0]), against), BenchSide(_level(ours), url, settings))


def factor_of(sides: Sequence[BenchSide]) -> Factor:
    """The factor whose levels the sides are."""
    of_settings = len({side.url for side in sides}) == 1 and len(sides) > 1
    levels = [
        Level(side.name, f"{BY_URL}{without_password(side.url)}", dict(side.settings))
        for side in sides
    ]
    return Factor("settings" if of_settings else "server", tuple(levels))


def question_of(sides: Sequence[BenchSide], script: str) -> str:
    """The question that a bench of these sides answers."""
    theirs, ours = sides[0], sides[-1]
    place = without_password(ours.url)
    if len(sides) == 1:
        return f"What does {script} do on {place}?"
    if theirs.url == ours.url:
        asked = ", ".join(f"{name} = {value}" for name, value in ours.settings.items())
        return f"What does {asked} change for {script} on {place}?"
    return f"How does {script} do on {ours.name}, compared with {theirs.name}?"


def _places(*urls: str) -> tuple[str, ...]:
    """Short names of databases: as much of their URLs as tells them apart."""
    plain = [without_password(url) for url in urls]
    shapes: Sequence[Callable[[str], str]] = (_short, _whole)
    for shape in shapes:
        names = tuple(map(shape, plain))
        if len({_level(name) for name in names}) == len(urls):
            return names
    return tuple(f"{number}-{name}" for number, name in enumerate(map(_short, plain), 1))


def _short(url: str) -> str:
    """Host, port and database."""
    parts = urlsplit(url)
    return f"{parts.netloc.rpartition('@')[2]}{parts.path}".strip("/")


def _whole(url: str) -> str:
    """The same with its parameters."""
    parts = urlsplit(url)
    return "-".join(filter(None, (_short(url), parts.query)))


def _level(name: str) -> str:
    """Fit for a level and a folder."""
    return re.sub(r"[^A-Za-z0-9._+=-]+", "-", name).strip("-")[-80:] or "it"
