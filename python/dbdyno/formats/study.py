"""Reads a study file into a `Study`, at the requested scale.

Every error names the file and line, says what was expected, and suggests the nearest known name.
"""

from __future__ import annotations

import re
import tomllib
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from pydantic import ValidationError

from dbdyno.errors import StudyError
from dbdyno.formats.complaint import complaint
from dbdyno.formats.fault_schema import all_fault_complaints
from dbdyno.formats.key_path import KeyPath, level_path
from dbdyno.formats.lead_rules import lead_complaints
from dbdyno.formats.load_schema import LevelLoadTable, LoadTable, Pace
from dbdyno.formats.nearest import nearest_hint
from dbdyno.formats.search_rules import metric_of, search_complaints
from dbdyno.formats.study_checks import (
    Fail,
    check_complete,
    check_extent,
    check_groups,
    check_hosts,
    check_load,
    check_most_clients,
    check_published,
    listing,
    price_complaints,
)
from dbdyno.formats.study_design import check_baseline, chosen_levels, design_of
from dbdyno.formats.study_schema import ProxyTable, StudyDocument
from dbdyno.formats.study_secrets import SEE, PasswordError, parted
from dbdyno.formats.toml_lines import key_lines
from dbdyno.formats.topology_rules import topology_of
from dbdyno.model import (
    MAIN,
    Cell,
    Closed,
    Factor,
    Level,
    Load,
    Primary,
    Study,
    abilities,
    find_figure,
)

PAPER = "paper"
"""The scale of the file itself; a table of its name adds what other scales must not inherit."""

SMOKE = "smoke"
"""The scale of runs that only show that a study can be carried out."""


_LARGEST = 1 << 20
"""Longest study file, characters: guards against endless input."""

_BUILT_IN_FACTORS = {
    "server": "a [server.NAME] table for each server",
    "settings": "a [settings.NAME] table for each set of settings",
    "script": "`script = [...]` in [workload]",
    "clients": "`clients = [...]` in [load]",
}
"""Factors that need no [factor.NAME], and where the levels of each are written."""


@dataclass(frozen=True, slots=True)
class StudyFile:
    """A study and the positions of its keys."""

    study: Study
    file: Path
    lines: Mapping[KeyPath, int]
    folder: Path = Path()
    """What the file names is looked for from here: its own folder, or that of the file it is a
    copy of."""
    secrets: Mapping[str, str] = field(default_factory=dict)
    """Provision text without its password, as the study has it → with it."""

    def error(self, path: KeyPath, message: str, *, hint: str | None = None) -> StudyError:
        """An error about the key at `path` (or the nearest table above it)."""
        line = _line(self.lines, path, self.study.scale)
        return StudyError(message, file=self.file, line=line, hint=hint)


def read_study(
    file: Path, *, scale: str | None = None, name: str | None = None, folder: Path | None = None
) -> StudyFile:
    """Reads and checks a study file; all its scales are checked, not only the one asked for.

    `scale` is `None` or `paper` for the file's own figures; `name` is the study's, if not the
    file's; `folder` is the original's, if the file is a copy. Raises `StudyError`.
    """
    text = _read_text(file)
    folder = folder or file.absolute().parent
    document = _parse(file, text)
    overrides = document.pop("scale", {})
    lines = key_lines(text)
    if not isinstance(overrides, dict):
        raise StudyError("`scale` must be tables: [scale.small]", file=file, line=lines["scale",])
    names = tuple(dict.fromkeys((PAPER, *overrides)))
    wanted = scale or PAPER
    if wanted not in names:
        raise StudyError(
            f"there is no scale `{wanted}`; this study has {listing(names)}",
            file=file,
            hint=nearest_hint(wanted, names),
        )
    chosen: Study | None = None
    for scale_name in names:
        merged = with_scale(document, overrides.get(scale_name, {}))
        study = _build(file, text, merged, lines, scale=scale_name, scales=names, folder=folder)
        chosen = study if scale_name == wanted else chosen
    assert chosen is not None
    try:
        study, secrets = parted(replace(chosen, name=name or file.stem))
    except PasswordError as error:
        line = _line(lines, error.path, chosen.scale) if error.path else None
        raise StudyError(str(error), file=file, line=line, hint=SEE) from None
    return StudyFile(study, file, lines, folder, secrets)


def deciding_level(study: Study, cell: Cell, says: Callable[[Level], object]) -> KeyPath | None:
    """The table of the last of a cell's levels that has the setting; `None` if none does."""
    for factor in reversed(study.factors):
        for level in factor.levels:
            if level.name == cell.levels[factor.name] and says(level):
                return level_path(factor.name, level.name)
    return None


def _read_text(file: Path) -> str:
    try:
        with file.open(encoding="utf-8-sig") as opened:
            text = opened.read(_LARGEST + 1)
    except FileNotFoundError:
        raise StudyError("there is no such study file", file=file) from None
    except OSError as error:
        raise StudyError(f"can't be read: {error.strerror}", file=file) from error
    except UnicodeDecodeError as error:
        raise StudyError(
            f"is not UTF-8 text: {error.reason} at byte {error.start}", file=file
        ) from error
    if len(text) > _LARGEST:
        raise StudyError(f"is no study file: it is longer than {_LARGEST:,} characters", file=file)
    return text


def _parse(file: Path, text: str) -> dict[str, object]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message, _, place = str(error).partition(" (at ")
        number = place.removeprefix("line ").partition(",")[0]
        line = int(number) if number.isdigit() else text.count("\n") + 1
        raise StudyError(f"not valid TOML: {message}", file=file, line=line) from error
    except RecursionError:
        raise StudyError("not a study: nested too deeply to be read", file=file) from None


def with_scale(base: Mapping[str, object], override: object) -> dict[str, object]:
    """Merges tables; replaces other values."""
    merged = dict(base)
    if isinstance(override, dict):
        for key, value in override.items():
            below = merged.get(key)
            if isinstance(below, dict) and isinstance(value, dict):
                merged[key] = with_scale(typing.cast("dict[str, object]", below), value)
            else:
                merged[key] = value
    return merged


def _line(lines: Mapping[KeyPath, int], path: KeyPath, scale: str) -> int | None:
    """The line of `path`, in the scale if it overrides it, otherwise in the file's own part."""
    scaled = ("scale", scale, *path)
    if scaled in lines:
        return lines[scaled]
    for length in range(len(path), 0, -1):
        if path[:length] in lines:
            return lines[path[:length]]
    return None


def _build(
    file: Path,
    text: str,
    merged: Mapping[str, object],
    lines: Mapping[KeyPath, int],
    *,
    scale: str,
    scales: tuple[str, ...],
    folder: Path,
) -> Study:
    def fail(path: KeyPath, message: str, hint: str | None = None) -> StudyError:
        return StudyError(message, file=file, line=_line(lines, path, scale), hint=hint)

    try:
        document = StudyDocument.model_validate(merged)
    except ValidationError as error:
        raise fail(*complaint(error)) from error
    every = _factors(document, folder, fail)
    factors = chosen_levels(document.design.levels, every, fail)
    check_extent(factors, fail)
    check_baseline(document.design.baseline, factors, fail)
    check_published(document, every, fail)
    check_groups(document, every, fail)
    check_most_clients(factors, document.load, fail)
    check_hosts(document, fail)
    listed = isinstance(merged.get("leads"), list)
    leading = lead_complaints(document, every, factors, scale=scale, listed=listed)
    faulty = all_fault_complaints(document.all_faults(), document.load)
    priced = price_complaints(document, every)
    for wrong in (*search_complaints(document), *faulty, *leading, *priced):
        raise fail(*wrong)
    primary, metric = document.primary, metric_of(document)
    lower = not find_figure(metric).higher_is_better
    return Study(
        name=file.stem,
        question=document.question,
        source=document.source,
        author=document.author,
        licence=document.licence,
        primary=Primary(
            metric=metric,
            better=primary.better or ("lower" if lower else "higher"),
            smallest_effect=primary.smallest_effect,
        ),
        factors=factors,
        workload=document.workload.workload(),
        answer=document.answer,
        leads=tuple(table.lead() for table in document.leads),
        host=document.host,
        connection=document.connection.stated(),
        published=tuple(table.published() for table in document.published),
        published_note=document.published_note,
        collect=tuple(document.collect),
        places=document.places.places(),
        needs=document.needs.needs(),
        prices=document.prices,
        load=replace(
            _load(document.load, folder, fail),
            faults=tuple(table.fault() for table in document.fault),
        ),
        design=design_of(document.design, factors, fail),
        charts=tuple(chart.chart() for chart in document.chart),
        scale=scale,
        scales=scales,
        text=text,
    )


def _level_load(
    table: LevelLoadTable, path: KeyPath, folder: Path, fail: Fail
) -> Mapping[str, object]:
    try:
        return table.changes(folder)
    except ValueError as error:
        raise fail((*path, "arrival"), f"`{'.'.join(path)}.arrival`: {error}") from error


def _load(table: LoadTable, folder: Path, fail: Fail) -> Load:
    check_load(table, fail)
    paths: list[tuple[KeyPath, Pace]] = [(("load",), table)]
    paths += [(("load", "group", name), group) for name, group in table.group.items()]
    for path, pace in paths:
        try:
            is_open = not isinstance(pace.arrival.arrival(), Closed)
        except ValueError as error:
            raise fail((*path, "arrival"), f"`{'.'.join(path)}.arrival`: {error}") from error
        if is_open and pace.think_time:
            message = "`think_time` is a pause of a closed loop; here the arrival says when"
            raise fail((*path, "think_time"), message)
    if MAIN in table.group:
        raise fail(("load", "group", MAIN), f"`{MAIN}` are the step's own clients; another name")
    return table.load(folder)


def _factors(document: StudyDocument, folder: Path, fail: Fail) -> tuple[Factor, ...]:
    factors: list[Factor] = []
    if document.server:
        levels = (
            Level(
                name,
                provision=server.provision,
                settings=server.settings,
                host=server.host,
                connection=server.connection.stated(),
                c_functions=tuple(server.c_functions),
                proxy=_proxy(server.proxy),
                topology=topology_of(name, server, fail),
                most_clients=server.most_clients,
                load=_level_load(server.load, ("server", name, "load"), folder, fail),
            )
            for name, server in document.server.items()
        )
        factors.append(Factor("server", tuple(levels)))
    if document.settings:
        levels = (Level(name, settings=values) for name, values in document.settings.items())
        factors.append(Factor("settings", tuple(levels)))
    for name, tables in document.factor.items():
        if where := _BUILT_IN_FACTORS.get(name):
            message = f"`{name}` is a factor already: write {where}, or choose another name"
            raise fail(("factor", name), message)
        if not tables:
            raise fail(("factor", name), f"factor `{name}` has no level")
        levels = (
            Level(
                level,
                table.provision,
                table.settings,
                table.script,
                table.options,
                table.host,
                table.generator,
                table.connection.stated(),
                tuple(table.c_functions),
                _proxy(table.proxy),
                most_clients=table.most_clients,
                load=_level_load(table.load, (*level_path(name, level), "load"), folder, fail),
            )
            for level, table in tables.items()
        )
        factors.append(Factor(name, tuple(levels)))
    scripts = document.workload.script
    if len(scripts) > 1:
        stems = [re.sub(r"[^A-Za-z0-9._+-]", "-", Path(script).stem) for script in scripts]
        if len(set(stems)) != len(stems):
            raise fail(("workload", "script"), "`workload.script` has two scripts of one name")
        levels = (Level(stem, script=name) for stem, name in zip(stems, scripts, strict=True))
        factors.append(Factor("script", tuple(levels)))
    named = not abilities(document.workload.generator).takes_script
    check_complete(factors, bool(scripts) or named, fail)
    return tuple(factors)


def _proxy(table: ProxyTable | None) -> Mapping[str, object]:
    return {} if table is None else table.stated()
