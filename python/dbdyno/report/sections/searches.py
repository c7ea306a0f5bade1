"""What each search for the highest rate has found, and all it has tried."""

from collections.abc import Iterator, Sequence

from dbdyno.model import FindMax, Miss, Probe, RateSearch
from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.analysis.points import BlockFigures, Point
from dbdyno.report.sections.comparison_tables import LEAD, lead
from dbdyno.report.terms.table import Column, Table, Value, estimated
from dbdyno.report.terms.wording import count, number, percent
from dbdyno.stats import estimate

RATE = "max_rate"

MISSED: dict[Miss, str] = {
    "percentile": "above the limit",
    "backlog": "the rate was not kept",
    "errors": "statements failed",
}


def searches(point: Point) -> Iterator[tuple[BlockFigures, RateSearch]]:
    """Of each block that has one."""
    for figures in point.blocks:
        if figures.summary.search is not None:
            yield figures, figures.summary.search


def result_words(probe: Probe) -> str:
    """`met`, or why not."""
    return " and ".join(MISSED[limit] for limit in probe.missed) or "met"


def search_tables(analysis: Analysis) -> Iterator[Table]:
    """None where no study searches."""
    asked = analysis.material.study.load.find_max
    if asked is not None:
        yield _found(analysis, asked)
        yield _probes(analysis, asked)


def _found(analysis: Analysis, asked: FindMax) -> Table:
    rows: list[tuple[Value, ...]] = []
    for point in analysis.points:
        values = list(point.judged(RATE).values())
        rows.append(
            (
                *lead(point),
                _over_blocks(values),
                len(values),
                *_brackets(point),
                sum(len(search.probes) for _, search in searches(point)),
                "; ".join(f"block {block}: {why}" for block, why in point.why_left_out().items()),
            )
        )
    columns = (
        *LEAD,
        Column("Rate, events/s", RATE, number, estimate=True),
        Column("Blocks", "blocks", count),
        Column("Met, by block", "met_per_s", number, pair=True),
        Column("Missed, by block", "missed_per_s", number, pair=True),
        Column("Probes", "probes", count),
        Column("Left out", "left_out"),
    )
    title = f"The highest rate with {asked.objective}: geometric mean over blocks, 95 % interval"
    return Table("search", title, columns, tuple(rows)).without_empty()


def _over_blocks(values: Sequence[float]) -> Value:
    """With its 95 % interval where there are two blocks."""
    return estimated(estimate(values)) if values else None


def _brackets(point: Point) -> tuple[Value, Value]:
    """Least and greatest over blocks of the highest rate met, and of the lowest missed."""
    found = [search for _, search in searches(point)]
    lows = [search.low_per_s for search in found if search.low_per_s is not None]
    highs = [search.high_per_s for search in found if search.high_per_s is not None]
    return (
        (min(lows), max(lows)) if lows else None,
        (min(highs), max(highs)) if highs else None,
    )


def _probes(analysis: Analysis, asked: FindMax) -> Table:
    rows = tuple(
        (
            *lead(point),
            figures.block,
            place,
            probe.rate_per_s,
            probe.latency_us.get(asked.percentile),
            probe.events / probe.window_s if probe.window_s else None,
            probe.backlog,
            probe.errors,
            probe.client_busy,
            result_words(probe),
        )
        for point in analysis.points
        for figures, search in searches(point)
        for place, probe in enumerate(search.probes, 1)
    )
    columns = (
        *LEAD,
        Column("Block", "block", count),
        Column("Probe", "probe", count),
        Column("Rate, events/s", "rate_per_s", number),
        Column(f"{asked.percentile}, ms", f"{asked.percentile}_us", lambda us: number(us / 1000)),
        Column("Ended, events/s", "events_per_s", number),
        Column("Backlog at the end", "backlog", count),
        Column("Errors", "errors", count),
        Column("Client's CPU", "client_busy", percent),
        Column("Result", "result"),
    )
    return Table("probes", f"Every probe for {asked.objective}, in order", columns, rows)
