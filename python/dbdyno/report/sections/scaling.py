"""How each cell's throughput grows with its clients: the curve that describes it best."""

from collections.abc import Iterator, Mapping, Sequence

from dbdyno.model import Study
from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.analysis.points import Point
from dbdyno.report.terms.table import Column, Table, Value, estimated
from dbdyno.report.terms.wording import number, percent
from dbdyno.stats import NotComparable, Scaling, scaling
from dbdyno.stats.scaling import LEAST_LOADS


def curves(analysis: Analysis) -> Mapping[str, tuple[Sequence[Point], Scaling | NotComparable]]:
    """Cell → its points and their curve. Empty where the number of clients is not what loads differ
    in, or there are too few."""
    if len(analysis.clients) < LEAST_LOADS or not _is_plain(analysis.material.study):
        return {}
    by_cell: dict[str, list[Point]] = {}
    for point in analysis.points:
        by_cell.setdefault(point.label, []).append(point)
    return {label: (points, _curve(points, analysis)) for label, points in by_cell.items()}


def _is_plain(study: Study) -> bool:
    """Every client is always in an event: a closed loop without pauses, and nothing beside it."""
    load = study.load
    return not load.is_open and not load.think_time_s and not load.groups


def _curve(points: Sequence[Point], analysis: Analysis) -> Scaling | NotComparable:
    """Of the blocks that enter verdicts at every load."""
    by_load = {point.clients: point.judged(analysis.pace_name) for point in points}
    whole = set.intersection(*(set(values) for values in by_load.values()))
    if not whole:
        lacking = [point for point in points if not by_load[point.clients]]
        loads = ", ".join(str(point.clients) for point in lacking)
        why = {reason: None for point in points for reason in point.why_left_out().values()}
        of = f": none at {loads} clients" if lacking else ""
        text = f" ({next(iter(why))})" if why else ""
        return NotComparable(f"no block is sound at every load{of}{text}")
    return scaling(
        [{load: values[block] for load, values in by_load.items()} for block in sorted(whole)]
    )


def scaling_tables(analysis: Analysis) -> Iterator[Table]:
    """A row a cell; none where no study of clients was made."""
    rows = tuple(_row(label, found) for label, (_, found) in curves(analysis).items())
    if rows:
        title = "How throughput grows with clients: the curve that describes it best"
        yield Table("scaling", title, _COLUMNS, rows).without_empty()


_COLUMNS = (
    Column("Cell", "cell"),
    Column("Curve", "curve"),
    Column("One client, events/s", "rate", number, estimate=True),
    Column("Serial share (σ)", "contention", percent, estimate=True),
    Column("Coherency (κ)", "coherency", number, estimate=True),
    Column("Knee at clients", "knee_clients", number, estimate=True),
    Column("Peak at clients", "peak_clients", number),
    Column("Peak, events/s", "peak_rate", number, estimate=True),
    Column("Worst miss", "worst_miss", percent),
)


def _row(label: str, found: Scaling | NotComparable) -> tuple[Value, ...]:
    if isinstance(found, NotComparable):
        return (label, f"none: {found.reason}", *[None] * 7)
    return (
        label,
        found.curve.value,
        estimated(found.rate),
        estimated(found.contention),
        estimated(found.coherency),
        estimated(found.knee_clients),
        found.peak_clients,
        estimated(found.peak_rate),
        found.worst_miss,
    )
