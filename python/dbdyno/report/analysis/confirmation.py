"""Makes the study that confirms a change in a history: one neighbour against the other."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from dbdyno.formats.quantities import format_fraction
from dbdyno.formats.stored_study import ONE_CALL
from dbdyno.formats.study import PAPER, with_scale
from dbdyno.formats.toml_text import dump_toml
from dbdyno.model import Primary, find_figure
from dbdyno.model.study import BY_URL
from dbdyno.report.analysis.study_points import StudyPoint, version_factors

_WORDS = ("source", "answer", "leads", "published", "published_note", "chart", "scale")
"""Keys that belong to the original study's question only."""

_OF_ITS_DESIGN = ("seed", "levels", "aa", "baseline")


@dataclass(frozen=True, slots=True)
class Confirmation:
    """A study file with both neighbours of a change as its two levels."""

    text: str
    before: str
    after: str
    """Names of the levels."""


def confirmation(before: StudyPoint, after: StudyPoint, primary: Primary) -> Confirmation | str:
    """The study, or why there is none.

    Everything but the server is as in the study that measured `after`, at its scale.
    """
    if (before.kind, before.version) == (after.kind, after.version):
        version = f"{after.kind} {after.version}".strip()
        return f"both sides ran {version}: what changed is not the version of the server"
    if any(entry.study.text.startswith(ONE_CALL) for entry in (before, after)):
        return "it was measured by `dbdyno bench`, which has no study file"
    try:
        ours, theirs = _document(after), _document(before)
        factor = sorted(version_factors(after.study))[-1]
        if factor not in before.levels:
            return f"the study `{before.side.name}` has no factor `{factor}`"
        sides = [_level(theirs, factor, before), _level(ours, factor, after)]
    except (tomllib.TOMLDecodeError, KeyError, IndexError, TypeError):
        return f"the study file of `{after.side.name}` can no longer be read"
    text = str(sides[1].get("provision"))
    if text.startswith(BY_URL):
        return "its server is somebody else's, reached by its URL"
    if "@path:" in text and text == sides[0].get("provision"):
        return f"`{text}` was both: give each version a folder of its own"
    names, tables = _told_apart((before, after), factor, sides)
    _keep(ours, after, factor)
    _put(ours, factor, dict(zip(names, tables, strict=True)))
    design = {k: v for k, v in ours.get("design", {}).items() if k not in _OF_ITS_DESIGN}
    load = {**ours["load"], "clients": after.point.clients}
    words = find_figure(primary.metric).words
    document = {
        "question": f"Is the {words} of {names[1]} another than that of {names[0]}?",
        "primary": {
            "metric": primary.metric,
            "better": primary.better,
            "smallest_effect": format_fraction(primary.smallest_effect),
        },
        **{
            key: value for key, value in ours.items() if key not in (*_WORDS, "primary", "question")
        },
        "load": load if "clients" in ours["load"] else ours["load"],
        "design": {**design, "baseline": {factor: names[0]}},
    }
    return Confirmation(dump_toml(document), *names)


def _document(entry: StudyPoint) -> dict[str, Any]:
    """The study's file with its scale in force."""
    document: dict[str, Any] = tomllib.loads(entry.study.text)
    scales = document.pop("scale", {})
    scale = entry.study.scale
    return with_scale(document, scales.get(PAPER, {}) if scale == PAPER else scales[scale])


def _level(document: Mapping[str, Any], factor: str, entry: StudyPoint) -> dict[str, Any]:
    tables = document if factor in ("server", "settings") else document["factor"]
    return dict(tables[factor][entry.levels[factor]])


def _told_apart(
    entries: tuple[StudyPoint, StudyPoint], factor: str, sides: list[dict[str, Any]]
) -> tuple[list[str], list[dict[str, Any]]]:
    """Names and tables of both; one provision that meant two versions is named by them."""
    tables = [dict(side) for side in sides]
    if tables[0].get("provision") == tables[1].get("provision"):
        for table, entry in zip(tables, entries, strict=True):
            table["provision"] = f"{entry.kind}:{entry.version}"
    names = [entry.levels[factor] for entry in entries]
    if names[0] == names[1]:
        names = [re.sub(r"[^\w.+-]", "-", entry.version, flags=re.ASCII) for entry in entries]
    return names, tables


def _keep(document: dict[str, Any], entry: StudyPoint, factor: str) -> None:
    """Of all other factors the level of this cell alone."""
    for name, level in entry.levels.items():
        if name == factor:
            continue
        if name == "script":
            scripts = document["workload"]["script"]
            chosen = [script for script in scripts if level in (script, PurePath(script).stem)]
            document["workload"] = {**document["workload"], "script": chosen[0]}
        elif name in ("server", "settings"):
            document[name] = {level: document[name][level]}
        else:
            of_factors = document["factor"]
            document["factor"] = {**of_factors, name: {level: of_factors[name][level]}}


def _put(document: dict[str, Any], factor: str, levels: Mapping[str, object]) -> None:
    if factor in ("server", "settings"):
        document[factor] = levels
    else:
        document["factor"] = {**document["factor"], factor: levels}
