"""Any two cells of any two stored studies: what differs between them, and whether one may judge."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dbdyno.design.cells import cells, twice
from dbdyno.errors import UsageError
from dbdyno.model import Primary
from dbdyno.report.analysis.comparisons import compare, judged_family
from dbdyno.report.analysis.differences import differences, imported_differences, one_study
from dbdyno.report.analysis.load_parts import CLIENTS
from dbdyno.report.analysis.points import Point, label, points_of, varying
from dbdyno.report.analysis.reasons import too_few_runs
from dbdyno.report.analysis.side import HOST_FACTORS, WINDOW, Difference, Side
from dbdyno.report.analysis.time_window import METRIC, TimeWindow, parse_window, within
from dbdyno.report.material.gather import gather
from dbdyno.report.material.imported import not_known
from dbdyno.report.material.material import Material
from dbdyno.stats import Judgement, NotComparable, PairedEffect, unpaired_effect

FACTORS = frozenset({"server", "settings", "workload", HOST_FACTORS, WINDOW, CLIENTS})
"""What a comparison may be about; anything else that differs besides makes it say nothing."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What two sides say of each other, load by load."""

    differences: tuple[Difference, ...]
    refused: str | None
    """Why no verdict is given."""
    judged: tuple[tuple[int, Judgement], ...]
    """Clients and judgement of B against A; empty if refused."""
    not_known: tuple[str, ...] = ()
    """What nobody can say of imported results, and so whether it differs."""
    figures: tuple[tuple[float | None, float | None], ...] = ()
    """Of A and of B, a pair for each that is judged; `None`: not measured."""


@dataclass(frozen=True, slots=True)
class Confronted:
    """Two sides before they are judged."""

    differences: tuple[Difference, ...]
    refused: str | None
    """Why no verdict is given."""
    not_known: tuple[str, ...]
    pairs: tuple[tuple[Point, Point], ...]
    """Of B and of A, load by load; empty if refused."""
    paired: bool
    """Their blocks are pairs."""


def open_sides(
    store: Path, name: str, metric: str | None = None, *, read: Callable[..., Material] = gather
) -> tuple[Side, ...]:
    """All cells of `STUDY` (a name, or a folder of any store) but its copy for A/A, or that of
    `STUDY/CELL` or `STUDY/RUN`, whole or from `@10s-60s`; `metric` beside the study's figures.
    `read` is `gather`, or a cached one where both sides may be of one study.

    Raises `UsageError` naming the cells there are, `LabError` for what can't be read.
    """
    named, window = parse_window(name)
    root, study, cell = place(store, named)
    material = read(root, study, metric=metric)
    home = (root / study).resolve()
    if cell is None:
        repeated = twice(material.study)
        every = [cell for cell in cells(material.study) if repeated is None or cell != repeated[1]]
        return tuple(_side(name, home, material, cell.levels, window) for cell in every)
    return (_open_cell(name, home, material, cell, window),)


def open_side(store: Path, name: str) -> Side:
    """A single cell; see `open_sides`."""
    sides = open_sides(store, name)
    if len(sides) > 1:
        raise several(sides)
    return sides[0]


def several(sides: Sequence[Side]) -> UsageError:
    """Of a study where one of its cells should have been named."""
    first = sides[0]
    listed = "; ".join(f"`{first.home.name}/{_label(side)}`" for side in sides)
    return UsageError(
        f"the study `{first.home.name}` holds several cells", hint=f"its cells are {listed}"
    )


def _label(side: Side) -> str:
    return label(side.levels, varying(side.study))


def _open_cell(
    name: str, home: Path, material: Material, cell: str, window: TimeWindow | None
) -> Side:
    study = home.name
    matrix = cells(material.study)
    names = [label(cell.levels, varying(material.study)) for cell in matrix]
    chosen = [
        planned_cell for planned_cell, known in zip(matrix, names, strict=True) if known == cell
    ]
    if not chosen:
        planned = [run for run in material.plan.runs if run.id == cell]
        chosen = [
            planned_cell
            for planned_cell in matrix
            if planned and planned_cell.levels == planned[0].cell.levels
        ]
        runs = tuple(run for run in material.runs if run.manifest.id == cell)
        material = replace(material, runs=runs) if chosen else material
    if not chosen:
        listed = "; ".join(f"`{study}/{known}`" for known in names)
        raise UsageError(
            f"the study `{study}` has no cell or run `{cell}`", hint=f"its cells are {listed}"
        )
    return _side(name, home, material, chosen[0].levels, window)


def place(store: Path, name: str) -> tuple[Path, str, str | None]:
    """The store, the study and what is named within it: a cell, a run, or nothing."""
    study, slash, cell = name.partition("/")
    if (store / study / "study.json").is_file() or not slash:
        return store, study, cell or None
    folder = next(
        (f for f in (Path(name), *Path(name).parents) if (f / "study.json").is_file()), None
    )
    if folder is None:
        return store, study, cell or None
    rest = str(Path(name).relative_to(folder))
    return folder.absolute().parent, folder.absolute().name, None if rest == "." else rest


def _side(
    name: str,
    home: Path,
    material: Material,
    levels: Mapping[str, str],
    window: TimeWindow | None,
) -> Side:
    points = points_of(material, [c for c in cells(material.study) if c.levels == levels])
    runs = [run for run in material.runs if dict(run.manifest.cell) == dict(levels)]
    if window is not None:
        points = (within(point, window, runs) for point in points)
    return Side(name, home, material.study, tuple(points), tuple(runs), levels, window)


def confront(a: Side, b: Side, primary: Primary, *, assume_alike: bool = False) -> Outcome:
    """B against A on the figure of `primary`, unless more than one factor or anything else differs.

    Blocks of one study are paired; runs of two studies, and imported ones, are not (Welch). What is
    not known of imported results may differ, which refuses a verdict too, unless somebody who knows
    says that it is alike.
    """
    found = prepare(a, b, primary, assume_alike=assume_alike)
    study = replace(b.study, primary=primary)
    if found.refused is not None:
        judged: list[Judgement] = []
    elif found.paired:
        judged = [comparison.judgement for comparison in compare(found.pairs, study)]
    else:
        judged = list(judged_family(unpaired(found, primary.metric), study))
    clients = [point.clients for point, _ in found.pairs]
    return Outcome(
        found.differences,
        found.refused,
        tuple(zip(clients, judged, strict=True)),
        found.not_known,
        figures_of(found, primary.metric),
    )


def figures_of(found: Confronted, metric: str) -> tuple[tuple[float | None, float | None], ...]:
    """The means of A and of B, load by load."""
    return tuple((_mean(a, metric), _mean(b, metric)) for b, a in found.pairs)


def _mean(point: Point, metric: str) -> float | None:
    mean = point.estimate(metric)
    return None if mean is None else mean.value


def prepare(a: Side, b: Side, primary: Primary, *, assume_alike: bool = False) -> Confronted:
    """What differs, whether one may judge, and the loads that both were driven at."""
    if (a.window or b.window) and primary.metric != METRIC:
        raise UsageError(
            f"windows of time have no {primary.metric}: {METRIC} alone is kept interval by interval"
        )
    unknown = not_known((*a.runs, *b.runs))
    found = tuple(imported_differences(a, b) if unknown else differences(a, b))
    refused = _refusal(found)
    if refused is None and unknown and not assume_alike:
        refused = (
            f"{', '.join(unknown)} of imported results are not known, and may differ "
            "(`--assume-alike` takes them to be alike)"
        )
    theirs = {point.clients: point for point in a.points}
    pairs = [(point, theirs[point.clients]) for point in b.points if point.clients in theirs]
    if refused is None and not pairs:
        refused = f"no load was driven on both sides: {_loads(a)}; {_loads(b)}"
    return Confronted(
        found,
        refused,
        unknown,
        () if refused else tuple(pairs),
        paired=not unknown and one_study(a, b),
    )


def _loads(side: Side) -> str:
    """What a side was driven at, or that it was not."""
    loads = ", ".join(str(point.clients) for point in side.points)
    if loads:
        return f"{side.name} at {loads} clients"
    errors = [run.manifest.error.message for run in side.runs if run.manifest.error is not None]
    why = f": {errors[0].splitlines()[0]}" if errors else ""
    return f"{side.name} has no run that was driven{why}"


def unpaired(found: Confronted, metric: str) -> list[PairedEffect | NotComparable]:
    """The effects of B's runs against A's, load by load."""
    return [_unpaired(point, other, metric) for point, other in found.pairs]


def _unpaired(point: Point, other: Point, metric: str) -> PairedEffect | NotComparable:
    few = too_few_runs(point, other, metric)
    if few is not None:
        return few
    return unpaired_effect(list(other.judged(metric).values()), list(point.judged(metric).values()))


def _refusal(found: tuple[Difference, ...]) -> str | None:
    groups = list(dict.fromkeys(difference.group for difference in found))
    other = [group for group in groups if group not in FACTORS]
    factors = [group for group in groups if group in FACTORS]
    if other:
        return f"{', '.join(other)} differ: what of an effect is theirs can't be told"
    if len(factors) > 1:
        return f"{' and '.join(factors)} differ at once: which of them did it can't be told"
    return None
