"""The tables of figures: cells, times, errors, client, evenness, runs."""

from collections.abc import Callable, Iterator

from dbdyno.model import find_figure
from dbdyno.model.limits import attempted
from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.analysis.points import BlockFigures, label
from dbdyno.report.sections.canaries import canary_tables
from dbdyno.report.sections.comparison_tables import (
    LEAD,
    comparisons_table,
    factor_tables,
    lead,
    turn_tables,
)
from dbdyno.report.sections.host_changes import host_change_tables
from dbdyno.report.sections.label_tables import labels_table, statements_table
from dbdyno.report.sections.load_hosts import load_host_tables
from dbdyno.report.sections.operations import operations_tables
from dbdyno.report.sections.outages import outage_tables
from dbdyno.report.sections.outcomes import outcome_tables
from dbdyno.report.sections.published import published_tables
from dbdyno.report.sections.scaling import scaling_tables
from dbdyno.report.sections.searches import search_tables
from dbdyno.report.sections.stall_table import stall_tables
from dbdyno.report.sections.work import work_tables
from dbdyno.report.terms.table import Column, Table, Value
from dbdyno.report.terms.wording import count, number, percent, time_unit
from dbdyno.stats import Spread


def tables(analysis: Analysis) -> tuple[Table, ...]:
    """All tables of figures, in the page's order."""
    return (
        *outcome_tables(analysis),
        *outage_tables(analysis),
        comparisons_table(analysis),
        *factor_tables(analysis),
        *turn_tables(analysis),
        *canary_tables(analysis),
        *published_tables(analysis),
        *(() if analysis.metric.of_trials else _load_tables(analysis)),
        *operations_tables(analysis),
        *work_tables(analysis),
        *host_change_tables(analysis),
        errors_table(analysis),
        *_unless_empty(client_table(analysis), "cpu_us_per_statement"),
        *load_host_tables(analysis),
        runs_table(analysis),
    )


def _load_tables(analysis: Analysis) -> Iterator[Table]:
    """Pace and times; trials have neither of their own."""
    yield cells_table(analysis)
    yield from scaling_tables(analysis)
    yield from search_tables(analysis)
    yield from _unless_empty(latency_table(analysis), "p50_us")
    yield from _open_loop_tables(analysis)
    yield from _label_tables(analysis)
    yield statements_table(analysis)
    yield stability_table(analysis)
    yield from stall_tables(analysis)
    yield seconds_below_table(analysis)


def _unless_empty(table: Table, name: str) -> Iterator[Table]:
    """Programs other than the engine don't tell all that it does."""
    place = next(place for place, column in enumerate(table.columns) if column.name == name)
    if any(row[place] is not None for row in table.values):
        yield table


def _range(found: Spread | None) -> tuple[float, float] | None:
    """Least and greatest block; one block has no range."""
    return (found.low, found.high) if found and found.blocks > 1 else None


def cells_table(analysis: Analysis) -> Table:
    """How fast every point was: median and spread over blocks."""
    pace = analysis.pace_name
    figure = find_figure(pace)
    name = "events_per_s" if pace == "throughput" else pace.replace(".", "_")
    rows: list[tuple[Value, ...]] = []
    for point in analysis.points:
        found = point.spread(pace)
        statements = point.spread("statements_per_s")
        sure = found.interval if found else None
        rows.append(
            (
                *lead(point),
                found.median if found else None,
                _range(found),
                found.cv if found else None,
                (sure.low, sure.high) if sure else None,
                (statements.median or None) if statements else None,
                len(point.counted),
                point.stability_words,
            )
        )
    columns = (
        *LEAD,
        Column(
            f"Median, {figure.unit}" if figure.label != figure.title else "Median",
            f"{name}_median",
            number,
        ),
        Column("Least to greatest block", f"{name}_block", number, pair=True),
        Column("CV over blocks", "cv", percent),
        Column("95 % interval of median", f"{name}_median_95", number, pair=True),
        Column("Median, statements/s", "statements_per_s_median", number),
        Column("Blocks", "blocks", count),
        Column("Stability", "stability"),
    )
    title = f"{figure.title} of every cell"
    return Table("cells", title, columns, tuple(rows)).without_empty()


def _five(times: list[float]) -> list[float | None]:
    return [*times] if times else [None] * 5


def latency_table(analysis: Analysis) -> Table:
    """Response times from histograms merged over blocks; the spread of p99 over blocks."""
    unit, ns = time_unit([p.latency.p99 for p in analysis.points if p.latency])
    rows: list[tuple[Value, ...]] = []
    for point in analysis.points:
        d = point.latency
        times = (d.p50, d.p95, d.p99, d.p999, d.max) if d else ()
        rows.append(
            (
                *lead(point),
                *_five([t / 1000 for t in times]),
                _range(point.spread("p99")),
                d.count if d else None,
            )
        )

    def show(us: float) -> str:
        return number(us * 1000 / ns)

    columns = (
        *LEAD,
        *(Column(f"{n}, {unit}", f"{n}_us", show) for n in ("p50", "p95", "p99", "p99.9", "max")),
        Column(f"p99 by block, {unit}", "p99_us_block", show, pair=True),
        Column("Events", "events", count),
    )
    return Table("latency", "Response time of events, merged over blocks", columns, tuple(rows))


def _open_loop_tables(analysis: Analysis) -> Iterator[Table]:
    """Only of studies with intended starts."""
    if analysis.material.study.is_open:
        yield open_loop_table(analysis)


def _label_tables(analysis: Analysis) -> Iterator[Table]:
    """Only where there is more than one kind of events."""
    blocks = (figures for point in analysis.points for figures in point.blocks)
    if any(len(figures.summary.events_by_label) > 1 for figures in blocks):
        yield labels_table(analysis)


def open_loop_table(analysis: Analysis) -> Table:
    """What the response time is made of, where events have intended starts; block by block."""
    return _by_block(
        analysis,
        "open-loop",
        "Events behind their intended start",
        (Column("Wait p99, µs", "wait_p99_us", number), lambda f: f.summary.wait_us.get("p99")),
        (
            Column("Service p99, µs", "service_p99_us", number),
            lambda f: f.summary.service_us.get("p99"),
        ),
        (
            Column("Response p99, µs", "response_p99_us", number),
            lambda f: f.summary.latency_us.get("p99"),
        ),
        (Column("Lag p99, µs", "lag_p99_us", number), lambda f: f.summary.lag_us.get("p99")),
        (Column("Backlog at the end", "backlog", count), lambda f: f.summary.backlog.at_end),
        (Column("Highest backlog", "backlog_highest", count), lambda f: f.summary.backlog.highest),
        (Column("Not ended at the end", "censored", count), lambda f: f.summary.censored),
    )


def stability_table(analysis: Analysis) -> Table:
    """How evenly every block of every point ran, interval by interval."""
    return _by_block(
        analysis,
        "stability",
        "How evenly each block ran",
        (Column("CV", "cv", percent), lambda f: f.stability.cv),
        (Column("Robust CV", "robust_cv", percent), lambda f: f.stability.robust_cv),
        (Column("P1 / median", "p1_over_median", percent), lambda f: f.stability.p1_over_median),
        (Column("Dips", "dips", count), lambda f: len(f.stability.dips)),
        (Column("Stalls", "stalls", count), lambda f: len(f.stability.stalls)),
        (Column("Stops", "stops", count), lambda f: len(f.stability.stops)),
        (
            Column("Longest stall, s", "longest_stall_s", number),
            lambda f: f.stability.longest_stall_s,
        ),
        (
            Column("Below half the median, s", "seconds_below_half", number),
            lambda f: f.stability.loss.seconds_below[5] if f.stability.loss else None,
        ),
        (
            Column("Work lost, s", "loss_s", number),
            lambda f: f.stability.loss.loss_s if f.stability.loss else None,
        ),
        (Column("Drift", "drift", percent), lambda f: f.stability.settling.drift),
        (Column("Step", "step", percent), lambda f: f.stability.settling.step),
        (
            Column("Period, intervals", "period_intervals", number),
            lambda f: f.stability.period.intervals if f.stability.period else None,
        ),
        (
            Column("p of the period", "period_p", number),
            lambda f: f.stability.period.p if f.stability.period else None,
        ),
        (Column("Word", "word"), lambda f: f.stability.word.value),
    )


def seconds_below_table(analysis: Analysis) -> Table:
    """How long every block was at or below each tenth of its median rate."""

    def below(tenth: int) -> tuple[Column, Callable[[BlockFigures], Value]]:
        title = f"{10 * tenth}\u202f%" if tenth else "0"
        return Column(
            title, f"at_most_{10 * tenth}_percent_s", number
        ), lambda f: f.stability.loss.seconds_below[tenth] if f.stability.loss else None

    title = "Seconds at or below a share of the block's median rate"
    return _by_block(analysis, "seconds-below", title, *map(below, range(10)))


def _by_block(
    analysis: Analysis,
    name: str,
    title: str,
    *fields: tuple[Column, Callable[[BlockFigures], Value]],
) -> Table:
    """A row a block of every point; each column beside what stands in it."""
    columns, readers = zip(*fields, strict=True)
    rows = tuple(
        (*lead(point), figures.block, *(read(figures) for read in readers))
        for point in analysis.points
        for figures in point.blocks
    )
    return Table(name, title, (*LEAD, Column("Block", "block", count), *columns), rows)


def errors_table(analysis: Analysis) -> Table:
    """Failures by code, over all blocks of a point, counted or not."""
    rows: list[tuple[Value, ...]] = []
    for point in analysis.points:
        codes: dict[str, int] = {}
        tried = 0
        for figures in point.blocks:
            tried += attempted(figures.summary)
            for code, errors in figures.summary.errors_by_code.items():
                codes[code] = codes.get(code, 0) + errors
        for code, errors in sorted(codes.items()):
            rows.append((*lead(point), code, errors, errors / tried if tried else None))
    columns = (
        *LEAD,
        Column("Code", "code"),
        Column("Errors", "errors", count),
        Column("Of all", "share", percent),
    )
    return Table("errors", "Errors by code", columns, tuple(rows))


def client_table(analysis: Analysis) -> Table:
    """What the load cost the client: CPU per statement, memory, bytes sent and received."""
    rows: list[tuple[Value, ...]] = []
    for point in analysis.points:
        cpu = point.spread("client_cpu")
        rss = max((f.summary.client_rss_peak_kb for f in point.counted), default=None)
        moved = point.spread("bytes_per_statement")
        values = (cpu.median if cpu else None, _range(cpu), rss, moved.median if moved else None)
        rows.append((*lead(point), *values))
    columns = (
        *LEAD,
        Column("CPU per statement, µs", "cpu_us_per_statement", number),
        Column("Least to greatest block", "cpu_us_per_statement_block", number, pair=True),
        Column("Peak memory, MiB", "rss_peak_kb", lambda kb: number(kb / 1024)),
        Column("Bytes per statement", "bytes_per_statement", number),
    )
    return Table("client", "What the client cost", columns, tuple(rows))


def runs_table(analysis: Analysis) -> Table:
    """Every planned run in order and every attempt at it: nothing is left out."""
    material = analysis.material
    manifests = [*material.replaced, *(run.manifest for run in material.runs)]
    rows: list[tuple[Value, ...]] = []
    for planned in material.plan.runs:
        lead = (
            planned.position,
            label(planned.cell.levels, analysis.varying),
            planned.block,
            str(planned.seed),
        )
        attempts = [manifest for manifest in manifests if manifest.id == planned.id]
        for manifest in attempts:
            why = manifest.error.message if manifest.error else ""
            rows.append((*lead, manifest.attempt, manifest.status, why))
        if not attempts:
            rows.append((*lead, None, "missing", ""))
    columns = (
        Column("Position", "position", count),
        Column("Cell", "cell"),
        Column("Block", "block", count),
        Column("Seed", "seed"),
        Column("Attempt", "attempt", count),
        Column("Status", "status"),
        Column("Why", "why"),
    )
    return Table("runs", "All planned runs, in the order drawn", columns, tuple(rows))
