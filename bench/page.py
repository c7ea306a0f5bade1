"""README.md: the table, how it was measured, the budgets and whether each is met."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.conduct import Measured
from bench.judge import judge, values
from bench.options import Options
from bench.rows import Budget
from dbdyno import stats

_UNITS = {
    "cpu_us": "CPU, µs a statement",
    "user_us": "user, µs",
    "system_us": "system, µs",
    "statements_per_s": "statements/s",
    "memory_peak_kb": "peak memory, KiB",
    "memory_per_connection_kb": "KiB a connection",
    "events_per_s": "events/s",
    "rows_per_s": "rows/s",
}


def write_page(
    folder: Path, measured: Sequence[Measured], facts: Mapping[str, Any], options: Options
) -> None:
    """Writes README.md; hand-written remarks of `notes.md` stand at its end."""
    parts = [
        "# What the engine costs",
        "",
        "Written by `make bench`; `make bench ROWS=postgresql-point-select` measures some rows "
        "only. Remarks stand in [notes.md](notes.md).",
        "",
        *_machine(facts, options),
        *(line for row in measured if row.measurements for line in _row(row)),
        (Path(__file__).parent / "method.md").read_text().rstrip(),
    ]
    (folder / "README.md").write_text("\n".join(parts) + "\n")


def _machine(facts: Mapping[str, Any], options: Options) -> Iterator[str]:
    host = facts["host"]
    processor, kernel, memory = host["processor"], host["kernel"], host["memory"]
    yield "## Machine"
    yield ""
    yield (
        f"{processor['model']}, {processor['threads']} threads; "
        f"{memory['total_bytes'] / 2**30:.0f} GiB; {kernel['distribution']}, kernel "
        f"{kernel['release']}; environment `{facts['environment']}`. "
        f"{options.repeats} blocks, windows of {options.window_s:g} s, seed {options.seed}. "
        + "; ".join(f"{name} {version}" for name, version in facts["versions"].items())
        + "."
    )
    yield ""
    for flag in facts["red_flags"]:
        yield f"- Red flag: {flag['message']}."
    if facts["red_flags"]:
        yield ""


def _row(measured: Measured) -> Iterator[str]:
    row, judged = measured.row, judge(measured)
    yield f"## {row.title}"
    yield ""
    yield f"`{row.name}`. {row.how}"
    if server := measured.server:
        yield ""
        yield (
            f"Server: {server['kind']} {server['version']}, durability {server['durability']}, "
            f"settings {_settings(server['settings_changed'])}."
        )
    yield ""
    yield "| clients | contender | " + " | ".join(_UNITS[m] for m in row.metrics) + " |"
    yield "|---:|---|" + "---:|" * len(row.metrics)
    for cell in row.cells:
        found = [list(values(measured, cell, metric).values()) for metric in row.metrics]
        if any(found):
            shown = " | ".join(_figure(column) for column in found)
            yield f"| {cell.clients:,} | {cell.contender} | {shown} |"
    yield ""
    if judged:
        yield "| budget | found | 95 % interval | |"
        yield "|---|---:|---:|---|"
        for one in judged:
            interval = f"{_number(one.low)} – {_number(one.high)}"
            yield f"| {_promise(one.budget)} | {_number(one.value)} | {interval} | {one.verdict} |"
        yield ""


def _settings(changed: Any) -> str:
    """Those that are not the server's own default."""
    return ", ".join(f"`{name} = {entry['value']}`" for name, entry in sorted(changed.items()))


def _promise(budget: Budget) -> str:
    what = f"{_UNITS[budget.metric]} of {budget.candidate}"
    if budget.baseline is None:
        return f"{what}: at most {_number(budget.at_most)}"
    over = f"{what} over {budget.baseline}"
    if budget.at_least and budget.at_most < float("inf"):
        return f"{over}: {_number(budget.at_least)} to {_number(budget.at_most)}"
    if budget.at_least:
        return f"{over}: at least {_number(budget.at_least)}"
    return f"{over}: at most {_number(budget.at_most)}"


def _figure(column: Sequence[float]) -> str:
    if not column:
        return "–"
    spread = stats.spread(column)
    return f"{_number(spread.median)} ({_number(spread.low)}–{_number(spread.high)})"


def _number(value: float) -> str:
    """Three significant digits, more for whole thousands."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
