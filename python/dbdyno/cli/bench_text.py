"""What `dbdyno bench` prints: the figures of one run in full, of several a line for each side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from statistics import median

from dbdyno.cli.terminal import say, say_exactly, say_json
from dbdyno.cli.text import count, latency
from dbdyno.conduct.bench import BenchPlan, BenchResult
from dbdyno.formats.passwords import without_password
from dbdyno.formats.quantities import format_duration
from dbdyno.formats.ycsb import ycsb_text
from dbdyno.model import EngineWarning, StepSummary, TableFill, named_shards


def error_codes(summary: StepSummary) -> str:
    """Errors by code, the most frequent first."""
    ordered = sorted(summary.errors_by_code.items(), key=lambda pair: (-pair[1], pair[0]))
    return ", ".join(f"{code} × {count(times)}" for code, times in ordered)


def print_run(result: BenchResult) -> None:
    """All figures of a single run, on standard output; warnings on standard error."""
    summary = result.summary
    codes = error_codes(summary)
    lines = [
        ("statements", f"{count(summary.statements)} ({count(summary.statements_per_s)}/s)"),
        ("events", f"{count(summary.events)} ({count(summary.events_per_s)}/s)"),
        (
            "errors",
            f"{count(summary.errors)}{f' ({codes})' if codes else ''}",
        ),
        *([("redirects", count(summary.redirects))] if summary.redirects else []),
        ("window", format_duration(summary.window_s)),
        *((f"latency {name}", latency(value)) for name, value in summary.latency_us.items()),
        *_open_loop(summary),
        *_labels(summary),
    ]
    if summary.client_cpu_us_per_statement is not None:
        cpu = f"{summary.client_cpu_us_per_statement:.2f} µs a statement"
        lines.append(("client CPU", cpu))
    lines.append(("client memory", f"{summary.client_rss_kb:,} KiB"))
    processes = "1 process" if result.processes == 1 else f"{result.processes} processes"
    shards = named_shards(result.shards, bound=result.shards_bound)
    reactor = "" if result.reactor == "none" else f", {result.reactor}"
    lines.append(("engine", f"{processes}, {shards}{reactor}"))
    if result.loads:
        lines.insert(0, ("tables", fills_text(result.loads)))
    for name, value in lines:
        say(f"{name:<14} {value}")
    print_warnings(result.warnings)


def print_document(
    plan: BenchPlan, results: Sequence[BenchResult], broken: Sequence[str], *, alone: bool
) -> None:
    """The same for programs. `broken`: conditions that hold, each in words."""
    document = run_document(plan, results[0]) if alone else sides_document(plan, results)
    say_json({**document, "kept": results[0].kept, "broken": broken})


def print_ycsb(result: BenchResult) -> None:
    """A run as YCSB's client prints it; warnings on standard error."""
    if result.summary.events:
        say_exactly(ycsb_text(result.summary))
    print_warnings(result.warnings)


def print_warnings(warnings: Sequence[EngineWarning]) -> None:
    """Each with its hint, on standard error."""
    for warning in warnings:
        say(f"warning: {warning.message}", err=True)
        if warning.hint:
            say(f"hint: {warning.hint}", err=True)


def fills_text(loads: Sequence[TableFill]) -> str:
    """Tables that arrived as sent; the others are warnings."""
    fine = [load for load in loads if load.rows == load.sent]
    rows = sum(load.sent or 0 for load in fine)
    took = format_duration(sum(load.took_s for load in loads))
    return f"{count(len(fine))} of {count(len(loads))} have the {count(rows)} rows sent ({took})"


def _open_loop(summary: StepSummary) -> Iterator[tuple[str, str]]:
    """Figures of an open loop."""
    if summary.wait_us:
        yield "wait p99", latency(summary.wait_us["p99"])
        yield "service p99", latency(summary.service_us["p99"])
        backlog = summary.backlog
        yield "backlog", f"{count(backlog.at_end)}, max {count(backlog.highest)}"
        if summary.censored:
            yield "not ended", f"{count(summary.censored)}: their times are lower bounds"


def _labels(summary: StepSummary) -> Iterator[tuple[str, str]]:
    """Events by label, if the script labels them."""
    for label, events in sorted(summary.events_by_label.items()):
        name = label.partition("/")[2]
        if name:
            times = summary.latency_by_label_us
            response = f"event.{label}.response"
            found = times.get(response) or times[f"event.{label}.service"]
            rate = events / summary.window_s
            yield name, f"{count(events)} ({count(rate)}/s), p99 {latency(found['p99'])}"


def run_document(bench_plan: BenchPlan, result: BenchResult) -> dict[str, object]:
    """What a program reads of one run; times in µs as the names say."""
    summary = result.summary
    return {
        "schema": 1,
        "statements": summary.statements,
        "statements_per_s": summary.statements_per_s,
        "events": summary.events,
        "events_per_s": summary.events_per_s,
        "errors": summary.errors,
        "errors_by_code": dict(summary.errors_by_code),
        "restarts": summary.restarts,
        "reconnects": summary.reconnects,
        "redirects": summary.redirects,
        "latency_us": dict(summary.latency_us),
        "events_by_label": dict(summary.events_by_label),
        "latency_by_label_us": {
            label: dict(figures) for label, figures in summary.latency_by_label_us.items()
        },
        "wait_us": dict(summary.wait_us),
        "service_us": dict(summary.service_us),
        "lag_us": dict(summary.lag_us),
        "queued_us": dict(summary.queued_us),
        "unread_us": dict(summary.unread_us),
        "backlog": summary.backlog.at_end,
        "backlog_highest": summary.backlog.highest,
        "censored": summary.censored,
        "p99_us_at_most": summary.p99_us_at_most,
        "client_cpu_us_per_statement": summary.client_cpu_us_per_statement,
        "client_rss_kb": summary.client_rss_kb,
        "client_rss_peak_kb": summary.client_rss_peak_kb,
        "window_s": summary.window_s,
        "clients": summary.clients,
        "total_statements": summary.total_statements,
        "total_events": summary.total_events,
        "url": without_password(bench_plan.url),
        "script": str(result.script),
        "options": dict(bench_plan.options),
        "seed": bench_plan.seed,
        "reactor": result.reactor,
        "scheduling": result.scheduling,
        "clock": result.clock,
        "processes": result.processes,
        "shards": result.shards,
        "shards_bound": result.shards_bound,
        "lab": None if result.lab is None else asdict(result.lab),
        "versions": dict(result.versions),
        "command_line": bench_plan.command_line,
        "interrupted": result.interrupted,
        "loads": [asdict(load) for load in result.loads],
        "warnings": [
            {"code": warning.code, "message": warning.message} for warning in result.warnings
        ],
    }


def print_sides(results: Sequence[BenchResult]) -> None:
    """A line for each side: medians over its repeats, with the least and the greatest."""
    sides = by_side(results)
    broad = max(map(len, sides))
    for side, runs in sides.items():
        rates = [run.summary.events_per_s for run in runs]
        shown = [f"{count(median(rates))} events/s"]
        if len(runs) > 1:
            shown[0] += f" ({count(min(rates))} to {count(max(rates))}, {len(runs)} repeats)"
        for name in ("p50", "p99"):
            times = [run.summary.latency_us[name] for run in runs if run.summary.latency_us]
            if times:
                shown.append(f"{name} {latency(median(times))}")
        shown.append(f"{count(sum(run.summary.errors for run in runs))} errors")
        say(f"{side:<{broad}}  {' · '.join(shown)}")
    warnings = {w.message: w for run in results for w in run.warnings}
    print_warnings(list(warnings.values()))


def by_side(results: Sequence[BenchResult]) -> Mapping[str, Sequence[BenchResult]]:
    """Side → its runs, block by block."""
    sides: dict[str, list[BenchResult]] = {}
    for run in results:
        sides.setdefault(run.side, []).append(run)
    return sides


def sides_document(bench_plan: BenchPlan, results: Sequence[BenchResult]) -> dict[str, object]:
    """What a program reads of several runs: each one whole, by side."""
    sides = {
        side: [run_document(bench_plan, run) for run in runs]
        for side, runs in by_side(results).items()
    }
    return {"schema": 1, "sides": sides, "command_line": bench_plan.command_line}
