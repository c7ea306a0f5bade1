"""README.md: the table, how it was measured, the budgets and whether each is met."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.conduct import Measured
from bench.judge import judge, values
from bench.results import Results, Run
from bench.row import Budget
from bench.words import number, over_blocks, table

_UNITS = {
    "cpu_us": "CPU, µs a statement",
    "user_us": "user, µs",
    "system_us": "system, µs",
    "statements_per_s": "statements/s",
    "memory_peak_kb": "peak memory, KiB",
    "memory_per_connection_kb": "KiB a connection",
    "events_per_s": "events/s",
    "rows_per_s": "rows/s",
    "row_cpu_us": "CPU, µs a row",
    "result_rows": "rows a statement",
    "result_bytes": "bytes a statement",
    "connections": "connections",
    "errors": "errors and reconnects",
    "memory_in_all_kb": "peak memory in all, KiB",
    "elapsed_s": "whole command, s",
    "build_s": "building, s",
    "build_cpu_s": "CPU of it, s",
    "page_mb": "page, MB",
    "content_s": "content loaded, s",
    "panels_s": "panels drawn, s",
    "opened_s": "all drawn, s",
}


def write_page(folder: Path, results: Results) -> None:
    """Writes README.md."""
    parts = [
        "# What the engine costs",
        "",
        "Written by `make bench` from results.json. Remarks: [notes.md](notes.md).",
        "",
        "## Machine",
        "",
        *(line for run in _runs(results) for line in _machine(run)),
        *(line for run, measured in results.rows for line in _row(run, measured)),
        (Path(__file__).parent / "method.md").read_text().rstrip(),
    ]
    (folder / "README.md").write_text("\n".join(parts) + "\n")


def _runs(results: Results) -> Sequence[Run]:
    return list({run.started: run for run, _ in results.rows}.values())


def _machine(run: Run) -> Iterator[str]:
    host, options = run.facts["host"], run.options
    processor, kernel, memory = host["processor"], host["kernel"], host["memory"]
    versions = ", ".join(f"{name} {version}" for name, version in run.facts["versions"].items())
    yield (
        f"Run of {run.started}: {processor['model']}, {processor['threads']} threads, "
        f"{memory['total_bytes'] / 2**30:.0f} GiB; {kernel['distribution']}, kernel "
        f"{kernel['release']}; environment `{run.facts['environment']}`. {versions}. "
        f"{options['repeats']} blocks, windows of {options['window_s']:g} s; tables of "
        f"{options['table_rows']:,} rows, {options['load_rows']:,} rows loaded; seed "
        f"{options['seed']}."
    )
    yield ""
    for flag in run.facts["red_flags"]:
        yield f"- Red flag: {flag['message']}."
    if run.facts["red_flags"]:
        yield ""


def _row(run: Run, measured: Measured) -> Iterator[str]:
    row, judged = measured.row, judge(measured)
    yield f"## {row.title}"
    yield ""
    yield f"`{row.name}`, run of {run.started}. {row.how}"
    if server := measured.server:
        yield ""
        yield (
            f"Server: {server['kind']} {server['version']}, durability {server['durability']}, "
            f"settings {_settings(server['settings_changed'])}."
        )
    yield ""
    scripts = any(cell.script for cell in row.cells)
    first = ("script", "clients", "contender") if scripts else ("clients", "contender")
    lines = []
    for cell in row.cells:
        found = [list(values(measured, cell, metric).values()) for metric in row.metrics]
        if any(found):
            script = (cell.script,) * scripts
            figures = map(over_blocks, found)
            lines.append((*script, f"{cell.clients:,}", cell.contender, *figures))
    texts = (0, 2) if scripts else (1,)
    yield from table((*first, *(_UNITS[metric] for metric in row.metrics)), lines, texts=texts)
    yield ""
    if judged:
        budgets = (
            (
                _promise(row.budget),
                number(row.value),
                f"{number(row.low)} – {number(row.high)}",
                row.verdict,
            )
            for row in judged
        )
        yield from table(("budget", "found", "95 % interval", ""), budgets, texts=(0, 3))
        yield ""


def _settings(changed: Any) -> str:
    """Those that are not the server's own default."""
    return ", ".join(f"`{name} = {entry['value']}`" for name, entry in sorted(changed.items()))


def _promise(budget: Budget) -> str:
    what = f"{_UNITS[budget.metric]} of {budget.candidate}"
    if budget.baseline is None:
        if budget.at_least:
            return f"{what}: at least {number(budget.at_least)}"
        return f"{what}: at most {number(budget.at_most)}"
    over = f"{what} over {budget.baseline}"
    if budget.at_least and budget.at_most < float("inf"):
        return f"{over}: {number(budget.at_least)} to {number(budget.at_most)}"
    if budget.at_least:
        return f"{over}: at least {number(budget.at_least)}"
    return f"{over}: at most {number(budget.at_most)}"
