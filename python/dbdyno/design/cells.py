"""The matrix: every combination of the factors' levels, resolved to what is to be set up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import product

from dbdyno.model import AGAIN, Cell, Level, Option, Study, abilities, joined

LevelsKey = tuple[tuple[str, str], ...]
"""Levels as a key: what tells a cell of a study from the others, whatever their order."""


def levels_key(levels: Mapping[str, str]) -> LevelsKey:
    """Factor → level as a key of a mapping or a set."""
    return tuple(sorted(levels.items()))


def cells(study: Study) -> tuple[Cell, ...]:
    """All cells, the last factor changing fastest; one that stands twice comes last once more.

    A study without factors has one cell.
    """
    repeated = twice(study)
    return (*_matrix(study), repeated[1]) if repeated else _matrix(study)


def twice(study: Study) -> tuple[Cell, Cell] | None:
    """The cell that stands twice, and itself under a level's name that says so; `None`: none.

    It is the first one with the levels of `design.twice`.
    """
    named = study.design.twice
    if not named:
        return None
    cell = next(
        candidate for candidate in _matrix(study) if named.items() <= dict(candidate.levels).items()
    )
    factor = next(f.name for f in study.factors if f.name in named and len(f.levels) > 1)
    again = cell.levels[factor] + AGAIN
    return cell, replace(cell, levels={**cell.levels, factor: again})


def _matrix(study: Study) -> tuple[Cell, ...]:
    axes = [[(factor.name, level) for level in factor.levels] for factor in study.factors]
    return tuple(_cell(study, combination) for combination in product(*axes))


def _cell(study: Study, combination: tuple[tuple[str, Level], ...]) -> Cell:
    provision: str | None = None
    script = study.workload.script
    settings: dict[str, str] = {}
    options: dict[str, Option] = dict(study.workload.options)
    host = dict(study.host)
    generator = study.workload.generator
    connection = dict(study.connection)
    c_functions: tuple[str, ...] = ()
    proxy: Mapping[str, object] = {}
    topology: Mapping[str, object] = {}
    most_clients: int | None = None
    load: Mapping[str, object] = {}
    for _, level in combination:
        provision = level.provision or provision
        script = level.script or script
        settings.update(level.settings)
        options.update(level.options)
        host.update(level.host)
        generator = level.generator or generator
        connection.update(level.connection)
        c_functions = level.c_functions or c_functions
        proxy = level.proxy or proxy
        topology = level.topology or topology
        most_clients = level.most_clients or most_clients
        load = joined(load, level.load) if level.load else load
    if provision is None or (script is None and abilities(generator).takes_script):
        raise ValueError("a checked study gives every cell a server and a script")
    return Cell(
        levels={factor: level.name for factor, level in combination},
        provision=provision,
        settings=settings,
        script=script or "",
        options=options,
        host=host,
        generator=generator,
        connection=connection,
        proxy=proxy,
        topology=topology,
        most_clients=most_clients,
        tables=study.workload.tables,
        c_functions=c_functions,
        load=load,
    )
