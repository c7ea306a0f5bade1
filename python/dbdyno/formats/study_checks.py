"""What the tables of a study must be together, and the errors where they are not."""

from __future__ import annotations

import math
import typing
from collections.abc import Iterable, Iterator

from dbdyno.errors import StudyError
from dbdyno.formats.key_path import KeyPath, level_path
from dbdyno.formats.load_schema import LoadTable
from dbdyno.formats.nearest import nearest_hint
from dbdyno.formats.study_schema import StudyDocument
from dbdyno.model import PER_DOLLAR, Factor

MOST_CELLS = 1000
"""Of a study: `check` tries each one, and a run takes seconds at least."""


def listing(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


class Fail(typing.Protocol):
    def __call__(self, path: KeyPath, message: str, hint: str | None = None) -> StudyError: ...


def check_load(load: LoadTable, fail: Fail) -> None:
    if load.measure is None and load.events is None:
        raise fail(
            ("load",), "[load] says neither `measure` nor `events`", 'such as measure = "30 s"'
        )
    if load.measure is not None and load.measure <= 0:
        raise fail(("load", "measure"), "`load.measure` must be longer than nothing")
    if not 0 < load.interval <= 3600:
        raise fail(("load", "interval"), "`load.interval` must lie between 0 s and 1 h")
    for number, rule in enumerate(load.errors.rule):
        if rule.action == "end-load" and load.find_max is not None:
            path = ("load", "errors", "rule", str(number), "action")
            message = "`end-load` would leave a search without its window"
            raise fail(path, message, "`stop` ends a search that meets this error")
    if len(set(load.clients)) != len(load.clients):
        raise fail(("load", "clients"), "`load.clients` names a count twice; each is one step")


def check_hosts(document: StudyDocument, fail: Fail) -> None:
    """Raises for load hosts that can't share the load out, or places that nothing is at."""
    load = document.load
    if not load.hosts:
        if "places" in document.model_fields_set:
            message = "[places] says where load hosts are, and there are none"
            raise fail(("places",), message, "add `hosts = 2` to [load], or leave [places] out")
        return
    parts = (load.hosts if isinstance(load.hosts, int) else len(load.hosts)) * (load.processes or 1)
    if min(load.clients) < parts:
        raise fail(
            ("load", "hosts"),
            f"a step of {min(load.clients)} clients can't be shared out to {parts} engine "
            "processes on load hosts",
            f"each step needs {parts} clients or more",
        )
    for name, group in load.group.items():
        if group.arrival.kind != "closed" and group.clients < parts:
            message = (
                f"group `{name}` has a rate and {group.clients} clients: too few for {parts} "
                "engine processes on load hosts"
            )
            hint = f"give it {parts} clients or more; its rate stays the same"
            raise fail(("load", "group", name, "clients"), message, hint)


def price_complaints(
    document: StudyDocument, factors: tuple[Factor, ...]
) -> Iterator[tuple[KeyPath, str, str]]:
    """Prices of what there is not, and levels without one: a cell's price is that of all factors
    that have any."""
    levels = {factor.name: [level.name for level in factor.levels] for factor in factors}
    for name, prices in document.prices.items():
        if name not in levels:
            hint = f"factors are {listing(levels)}"
            yield ("prices", name), f"[prices]: there is no factor `{name}`", hint
            continue
        missing = [level for level in levels[name] if level not in prices]
        if missing:
            message = f"[prices] has none for {listing(missing)} of factor `{name}`"
            yield ("prices", name), message, "name what an hour of each level costs, in dollars"
        for level in prices.keys() - set(levels[name]):
            message = f"[prices]: factor `{name}` has no level `{level}`"
            yield ("prices", name, level), message, f"its levels are {listing(levels[name])}"
    if document.primary.metric == PER_DOLLAR and not document.prices:
        hint = "such as prices.server = { small = 0.10, large = 0.20 }, dollars an hour"
        yield ("primary", "metric"), f"`{PER_DOLLAR}` needs [prices]", hint


def check_extent(factors: tuple[Factor, ...], fail: Fail) -> None:
    """Checked before cells are made: a few factors of ten levels are a million cells."""
    made = math.prod(len(factor.levels) for factor in factors)
    if made > MOST_CELLS:
        largest = max(factors, key=lambda factor: len(factor.levels))
        sizes = " × ".join(str(len(f.levels)) for f in factors if len(f.levels) > 1)
        raise fail(
            level_path(largest.name, largest.levels[0].name)[:-1],
            f"{sizes} levels are {made:,} cells; a study has at most {MOST_CELLS:,}",
            "name fewer levels, or those that a scale runs (`design.levels`)",
        )


def check_most_clients(factors: tuple[Factor, ...], load: LoadTable, fail: Fail) -> None:
    """Checks that every cell has a step left."""
    least = min(load.clients)
    for factor in factors:
        for level in factor.levels:
            if level.most_clients is not None and level.most_clients < least:
                path = (*level_path(factor.name, level.name), "most_clients")
                raise fail(path, f"`most_clients` leaves no step: the smallest has {least} clients")


def check_complete(factors: list[Factor], has_script: bool, fail: Fail) -> None:
    """Checks that every cell has a server and a script."""

    def given(what: str) -> bool:
        return any(all(getattr(level, what) for level in factor.levels) for factor in factors)

    if not given("provision"):
        raise fail(
            ("server",),
            "the study names no server",
            'add a table such as [server.pg18] with provision = "postgresql:18.0.0"',
        )
    if not has_script and not given("script") and not given("generator"):
        raise fail(
            ("workload",), "the study names no script", 'such as [workload] script = "kv_update"'
        )


def check_published(document: StudyDocument, factors: tuple[Factor, ...], fail: Fail) -> None:
    """Raises for a cell that names no factor or level of the file."""
    known = {factor.name: [level.name for level in factor.levels] for factor in factors}
    for place, published in enumerate(document.published):
        for key, cell in (("cell", published.cell), ("against", published.against)):
            for factor, level in cell.items():
                path = ("published", str(place), key, factor)
                if factor not in known:
                    message = f"`{key}` names a factor `{factor}`; there are {listing(known)}"
                    raise fail(path, message, nearest_hint(factor, known))
                if level not in known[factor]:
                    there = listing(known[factor])
                    message = f"factor `{factor}` has no level `{level}`; it has {there}"
                    raise fail(path, message, nearest_hint(level, known[factor]))
                if key == "against" and published.cell.get(factor) == level:
                    raise fail(path, f"`against` names the cell's own `{factor} = {level}`")


def check_groups(document: StudyDocument, factors: tuple[Factor, ...], fail: Fail) -> None:
    """Raises for a chart's group of something that is no level."""
    known = [level.name for factor in factors for level in factor.levels]
    for place, chart in enumerate(document.chart):
        for group, levels in chart.groups.items():
            for level in levels:
                if level not in known:
                    path = ("chart", str(place), "groups", group)
                    message = f"no factor has a level `{level}`"
                    raise fail(path, message, nearest_hint(level, known))
