"""Provenance of the figures: facts, settings, command lines, seeds, versions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from dbdyno.formats.stored_study import IMPORTED, ONE_CALL
from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.analysis.points import label
from dbdyno.report.material.material import OF_A_RUN, RunMaterial
from dbdyno.report.material.script_files import script_files
from dbdyno.report.terms.table import Column, Table
from dbdyno.report.terms.wording import number
from dbdyno.store.places import base_name


def provenance(analysis: Analysis) -> Mapping[str, Table]:
    """The tables that say where the numbers come from, by their names in the templates."""
    return {
        "facts": host_facts(analysis),
        "settings": settings_that_differ(analysis),
        "other_settings": other_settings(analysis),
        "versions": versions(analysis),
        "seeds": seeds(analysis),
    }


def notes_table(analysis: Analysis) -> Table:
    """What people have marked beside the runs."""
    columns = (Column("When (UTC)", "when"), Column("Note", "note"))
    rows = [
        (f"{datetime.fromtimestamp(note.unix_ns // 10**9, UTC):%Y-%m-%d %H:%M:%S}", note.text)
        for note in analysis.material.notes
    ]
    return Table("notes", "Notes", columns, tuple(rows))


def host_facts(analysis: Analysis) -> Table:
    """Facts of the first run's host and server, and what later runs had otherwise."""
    runs = analysis.material.runs
    flat = [dict(_flat(run.facts)) for run in runs]
    pairs: list[tuple[str, str]] = []
    pairs += data_to_cache(analysis)
    names = {name for facts in flat for name in facts}
    for name in sorted(name for name in names if ".settings_changed." not in name):
        values = list(dict.fromkeys(facts[name] for facts in flat if name in facts))
        if name.endswith("durability"):
            values = [_DURABILITY.get(value, value) for value in values]
        shown = values[0] if len(values) == 1 else f"{len(values)} values: {'; '.join(values[:6])}"
        pairs.append((name, shown))
    return _facts("facts", "Host and server facts", pairs)


def data_to_cache(analysis: Analysis) -> list[tuple[str, str]]:
    """How large the data was after it was loaded, by the cache of what stores it; by cell where
    that differs. At the end too where it grew by half or more, only then where nothing was loaded
    before the load.

    Nothing where that has no cache of its own, or where it isn't known which storage engine has
    the data.
    """
    by_cell: dict[str, str | None] = {}
    for run in analysis.material.runs:
        cell = label(run.manifest.cell, analysis.varying)
        by_cell[cell] = by_cell.get(cell) or _data_to_cache(run)
    sizes = set(by_cell.values())
    if len(sizes) == 1 and (same := sizes.pop()) is not None:
        return [(DATA_TO_CACHE, same)]
    return [
        (f"{DATA_TO_CACHE}, {cell}", size) for cell, size in by_cell.items() if size is not None
    ]


DATA_TO_CACHE = "data set ÷ cache"

_CACHES = {
    "innodb": "innodb_buffer_pool_size",
    "aria": "aria_pagecache_buffer_size",
    "rocksdb": "rocksdb_block_cache_size",
    "myisam": "key_buffer_size",
}
"""Storage engine → its cache; MyISAM's holds indexes, and its rows are the kernel's to cache."""

_GROWN = 1.5


def _data_to_cache(run: RunMaterial) -> str | None:
    cache = _cache_bytes(run)
    sizes = run.manifest.server.get("size_bytes")
    found = (sizes.get(when) for when in ("prepared", "end")) if isinstance(sizes, Mapping) else ()
    prepared, end = (size if isinstance(size, int) else 0 for size in (*found, 0, 0)[:2])
    if not cache or not (prepared or end):
        return None
    data = {"": prepared} if prepared else {}
    if end >= _GROWN * prepared:
        data["at the end "] = end
    ratios = ", ".join(f"{when}{number(size / cache, 2)}" for when, size in data.items())
    text = ", then ".join(map(_size, data.values()))
    return f"{ratios} ({text} of data, {_size(cache)} of cache)"


def _cache_bytes(run: RunMaterial) -> int | None:
    """Of whoever stores the data; `None`: not known."""
    options = run.manifest.options
    if run.manifest.generator == "db_bench":
        return bytes_of(str(options.get("cache_size", "")))
    name = "shared_buffers"
    if name not in run.settings:
        name = _CACHES.get(_storage_engine(run) or "", "")
    return bytes_of(run.settings[name]) if name in run.settings else None


def _storage_engine(run: RunMaterial) -> str | None:
    """The one that has the tables: as the server said, else as the cell's options ask for it. With
    neither it is InnoDB, unless the server's default is another: then the script may follow that
    or not."""
    facts = run.facts.get("server")
    engines = facts.get("data_engines") if isinstance(facts, Mapping) else None
    if isinstance(engines, list):
        return str(engines[0]).lower() if len(engines) == 1 else None
    for name in ("storage_engine", "mysql_storage_engine"):
        if name in run.manifest.options:
            return str(run.manifest.options[name]).lower()
    default = run.settings.get("default_storage_engine", "innodb").lower()
    return default if default == "innodb" else None


_SIZE = re.compile(r"(\d+)\s*([kMGT]?)B?")


def bytes_of(text: str) -> int | None:
    """A server's way of writing an amount of memory: `128MB`, `134217728`."""
    match = _SIZE.fullmatch(text)
    return int(match[1]) * 1024 ** " kMGT".index(match[2] or " ") if match else None


def _size(size: int) -> str:
    for unit, factor in (("GiB", 2**30), ("MiB", 2**20)):
        if size >= factor:
            return f"{number(size / factor)} {unit}"
    return f"{number(size / 1024)} KiB"


def _flat(value: object, prefix: str = "") -> Iterable[tuple[str, str]]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _flat(inner, f"{prefix}.{name}" if prefix else str(name))
    elif isinstance(value, list):
        yield prefix, ", ".join(str(item) for item in value)
    elif value is not None:
        yield prefix, str(value)


def settings_that_differ(analysis: Analysis) -> Table:
    """Effective settings that matter: those set by the study, then others that differ between its
    cells, then those that are not the server's default, if it reports that. Settings that differ
    between runs of one cell (a port, a folder) are omitted."""
    found = _Settings.of(analysis)
    studied = [name for name in found.names if name in found.studied]
    differing = [name for name in found.names if name not in found.studied and found.differs(name)]
    changed = [name for name in found.names if name in found.changed]
    whys = dict.fromkeys(studied, "studied") | dict.fromkeys(differing, "differs")
    whys |= {name: "not the default" for name in changed if name not in whys}
    rows = [
        (name, why, found.defaults.get(name), *found.values(name)) for name, why in whys.items()
    ]
    columns = (
        Column("Setting", "setting"),
        Column("Why", "why"),
        Column("Default", "default"),
        *(Column(cell, cell) for cell in found.cells),
    )
    title = "Settings studied, others that differ between cells, and those that are not the default"
    return Table("settings", title, columns, tuple(rows)).without_empty()


def other_settings(analysis: Analysis) -> Table:
    """All the rest, as they were in the first cell: alike in all, or each run's own."""
    found = _Settings.of(analysis)
    rest = [
        name
        for name in found.names
        if name not in found.studied and not found.differs(name) and name not in found.changed
    ]
    rows = tuple(
        (name, found.values(name)[0], "each run's own" if name in found.own else "")
        for name in rest
        if found.cells
    )
    columns = (Column("Setting", "setting"), Column("Value", "value"), Column("", "note"))
    return Table("other-settings", "All other settings", columns, rows)


@dataclass(frozen=True, slots=True)
class _Settings:
    """The effective settings of a study's cells."""

    by_cell: Mapping[str, Mapping[str, str]]
    """Of each cell's first run."""
    studied: frozenset[str]
    """Set by the study, whether or not they differ."""
    own: frozenset[str]
    """Not the same in two runs of one cell, or the name of a place or port."""
    defaults: Mapping[str, str]
    """Of those that some run's server has said not to have it."""

    @classmethod
    def of(cls, analysis: Analysis) -> _Settings:
        by_cell: dict[str, Mapping[str, str]] = {}
        own: set[str] = set()
        studied: set[str] = set()
        for run in analysis.material.runs:
            first = by_cell.setdefault(label(run.manifest.cell, analysis.varying), run.settings)
            names = first.keys() & run.settings.keys()
            own.update(name for name in names if first[name] != run.settings[name])
            own.update(name for name in run.settings if OF_A_RUN.search(name))
            studied.update(run.manifest.settings)
        order = [label(cell.levels, analysis.varying) for cell in analysis.cells]
        cells = {name: by_cell[name] for name in order if name in by_cell}
        servers = [run.facts.get("server") for run in analysis.material.runs]
        defaults = {name: text for facts in servers for name, text in _defaults(facts)}
        return cls(cells, frozenset(studied), frozenset(own - studied), defaults)

    @property
    def cells(self) -> tuple[str, ...]:
        """In the study's order."""
        return tuple(self.by_cell)

    @property
    def names(self) -> list[str]:
        """Of all settings there are."""
        return sorted({name for settings in self.by_cell.values() for name in settings})

    @property
    def changed(self) -> frozenset[str]:
        """What is not the server's default, and not each run's own."""
        return frozenset(self.defaults) - self.own

    def values(self, name: str) -> tuple[str, ...]:
        """The value in each cell's server."""
        return tuple(str(settings.get(name, "–")) for settings in self.by_cell.values())

    def differs(self, name: str) -> bool:
        """Between cells, and not because each run has its own."""
        return name not in self.own and len(set(self.values(name))) > 1


def _defaults(facts: object) -> Iterable[tuple[str, str]]:
    changed = facts.get("settings_changed") if isinstance(facts, Mapping) else None
    if isinstance(changed, Mapping):
        for name, change in changed.items():
            yield name, str(change.get("default_value", change.get("default", "")))


_DURABILITY = {
    "D0": "D0: a crash may lose or tear the data",
    "D1": "D1: a crash may lose the last commits",
    "D2": "D2: each commit is on disk before it is acknowledged",
    "D3": "D3: each commit is on disk here and on a replica before it is acknowledged",
}


def versions(analysis: Analysis) -> Table:
    """Versions of everything that took part, with all values seen."""
    seen: dict[str, list[str]] = {}
    for run in analysis.material.runs:
        for name, value in run.manifest.versions.items():
            if value not in seen.setdefault(name, []):
                seen[name].append(str(value))
    pairs = [(name, ", ".join(values)) for name, values in seen.items()]
    pairs += _scripts(analysis)
    return _facts("versions", "Versions", pairs)


def _scripts(analysis: Analysis) -> list[tuple[str, str]]:
    """Origin and digest of each script's files."""
    return [
        (f"script {name}", "; ".join(f"{file.origin}, SHA-256 {file.sha256}" for file in files))
        for name, files in script_files(analysis.material.runs).items()
    ]


def seeds(analysis: Analysis) -> Table:
    """The seeds everything random was derived from."""
    plan = analysis.material.plan
    data = sorted({run.data_seed for run in plan.runs})
    pairs = [
        ("study", str(plan.seed)),
        ("data", ", ".join(str(seed) for seed in data)),
        ("plan's fingerprint", plan.fingerprint),
    ]
    return _facts("seeds", "Seeds", pairs)


def _facts(name: str, title: str, pairs: Iterable[tuple[str, str]]) -> Table:
    return Table(name, title, (Column("Fact", "fact"), Column("Value", "value")), tuple(pairs))


def command_lines(analysis: Analysis) -> tuple[str, ...]:
    """Exact command lines, each once, in order."""
    lines = (line for run in analysis.material.runs for line in run.manifest.command_lines)
    return tuple(dict.fromkeys(lines))


def rerun_lines(analysis: Analysis) -> tuple[str, ...]:
    """What to type to run the study again."""
    study = analysis.material.study
    if study.text.startswith((ONE_CALL, IMPORTED)):
        return (study.text.removeprefix("# ").strip(),)
    scale = f" --scale {study.scale}" if len(study.scales) > 1 else ""
    file = f"{base_name(study.name)}.toml"
    return (
        f"# save the study below as {file}",
        f"dbdyno check {file}{scale}",
        f"dbdyno run {file}{scale} --seed {analysis.material.plan.seed}",
    )
