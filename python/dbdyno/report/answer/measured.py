"""When and on what an answer was measured: date, server, machine, disk, version, runs, time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from urllib.parse import urlsplit

from dbdyno.formats.hosts import is_loopback
from dbdyno.model import Study
from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.answer.disk import disk_words
from dbdyno.report.material.imported import imports, not_known
from dbdyno.report.material.material import RunMaterial
from dbdyno.report.terms.wording import enumerated

MOST_SERVERS = 4

NOT_SEEN = {"server": "server", "host": "machine"}
"""What imported results may not know and this line names of measured ones → its word here."""

NAMES = {
    "clickhouse": "ClickHouse", "dolt": "Dolt", "duckdb": "DuckDB", "ferretdb": "FerretDB",
    "mariadb": "MariaDB", "mongodb": "MongoDB", "mysql": "MySQL", "pgbouncer": "PgBouncer",
    "postgresql": "PostgreSQL", "redis": "Redis", "rocksdb": "RocksDB", "sqlite": "SQLite",
    "tidb": "TiDB", "valkey": "Valkey",
}  # fmt: skip
"""Kind of server → its name."""


def measured_words(analysis: Analysis) -> tuple[str, ...]:
    """Parts of one line; what is not known is left out."""
    return tuple(part for part in _parts(analysis) if part)


def measured_on(analysis: Analysis) -> str:
    """The day of the first run, or the first and the last; empty without any. UTC."""
    starts = [run.manifest.started_unix_s for run in analysis.material.runs]
    if not starts:
        return ""
    days = [datetime.fromtimestamp(second, UTC) for second in (min(starts), max(starts))]
    first, last = (f"{day.day} {day:%b %Y}" for day in days)
    return first if first == last else f"{first} to {last}"


def credit(study: Study) -> str:
    """Whether the answer may be published, and who says so or is to be asked."""
    if study.licence:
        by = f", given by the author, {study.author}" if study.author else "; no author is named"
        return f"under the licence {study.licence}{by}".rstrip(".") + "."
    if study.author:
        return f"not without asking the author, {study.author}: no licence is named."
    return "not without asking whoever gave you this page: no author or licence is named."


def _parts(analysis: Analysis) -> Iterator[str]:
    runs = analysis.material.runs
    by_files = any(source.dated_by == "file" for source in imports(runs))
    yield f"files of {measured_on(analysis)}" if by_files else measured_on(analysis)
    yield _servers(runs)
    yield _machine(runs)
    yield disk_words(runs)
    unknown = [word for what, word in NOT_SEEN.items() if what in not_known(runs)]
    yield f"{enumerated(unknown)} not known" if unknown else ""
    versions = dict.fromkeys(run.manifest.versions.get("dbdyno", "") for run in runs)
    yield f"dbdyno {', '.join(filter(None, versions))}" if any(versions) else ""
    minutes = 0.0 if imports(runs) else _busy_s(runs) / 60
    time = f" in {minutes:.0f} min" if minutes >= 1.5 else ""
    yield f"{_runs(analysis)}{time}"
    yield _scale(analysis.material.study)


def _runs(analysis: Analysis) -> str:
    """How many runs there are, or are complete of those planned; of imports, how many files were
    read."""
    if files := sum(len(source.files) for source in imports(analysis.material.runs)):
        return f"{files} file{'s' if files > 1 else ''} read"
    complete, planned = complete_runs(analysis)
    if complete < planned:
        return f"{complete} of {planned} runs"
    return "1 run" if planned == 1 else f"{planned} runs"


def complete_runs(analysis: Analysis) -> tuple[int, int]:
    """How many runs are complete, and how many there should be."""
    complete = sum(run.manifest.status == "complete" for run in analysis.material.runs)
    return complete, max(len(analysis.material.plan.runs), len(analysis.material.runs))


def _scale(study: Study) -> str:
    """Where it is not that of the study's file."""
    return "" if study.scale == study.scales[0] else f"scale {study.scale}"


def _servers(runs: Iterable[RunMaterial]) -> str:
    names: dict[str, None] = {}
    for run in runs:
        kind = _kind(run)
        version = str(run.manifest.versions.get("server", "")).split(" ")[0]
        if kind:
            names[f"{NAMES.get(kind, kind)} {version}".strip()] = None
    listed = list(names)
    more = len(listed) - MOST_SERVERS
    return ", ".join([*listed[:MOST_SERVERS], *([f"{more} more"] if more > 0 else [])])


def _kind(run: RunMaterial) -> str:
    facts = run.manifest.server.get("facts")
    if isinstance(facts, Mapping) and isinstance(facts.get("kind"), str):
        return str(facts["kind"])
    kind = run.manifest.provision.partition(":")[0]
    return kind if kind in NAMES else ""


def _machine(runs: Iterable[RunMaterial]) -> str:
    run = next((run for run in runs if run.processors), None)
    if run is None:
        return ""
    model = " ".join(str(run.host("processor").get("model") or "").split())
    number = f"{run.processors} processor{'' if run.processors == 1 else 's'}"
    parts = [f"{number} ({model})" if model else number]
    memory = run.host("memory").get("total_bytes")
    if isinstance(memory, int):
        parts.append(f"{memory / 2**30:.0f} GiB")
    if run.host("virtualisation").get("virtual_machine"):
        parts.append("virtual machine")
    return ("clients on " if _is_elsewhere(run) else "") + ", ".join(parts)


def _is_elsewhere(run: RunMaterial) -> bool:
    """Whether the server is reached by the name of another machine."""
    kind, _, url = run.manifest.provision.partition(":")
    host = urlsplit(url).hostname if kind == "url" else None
    return host is not None and not is_loopback(host)


def _busy_s(runs: Iterable[RunMaterial]) -> float:
    """Seconds in which any of the runs was under way: those driven in turns overlap."""
    spans = sorted((r.manifest.started_unix_s, r.manifest.ended_unix_s) for r in runs)
    total = until = 0.0
    for start, end in spans:
        total += max(0.0, end - max(start, until))
        until = max(until, end)
    return total
