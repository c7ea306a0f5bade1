"""README.md: what was found, cell by cell, and how."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.service.cells import Cell
from bench.service.judge import Judged, Round, judge, mean
from bench.service.results import Results
from bench.words import number, table

_HEAD = (
    "load",
    "event loop",
    "scheduling",
    "statements/s",
    "service, µs",
    "at the proxy, µs",
    "sending, µs",
    "allowed, µs",
    "",
    "without the kernel's way, µs",
    "",
    "reply, µs",
    "unread, µs",
    "queued, µs",
)


_TEXTS = (0, 1, 2, 8, 10)
"""Columns of words."""


def write_page(folder: Path, results: Results) -> None:
    """Writes README.md."""
    parts = [
        "# Do service times say what a proxy saw?",
        "",
        "Written by `make service-times` from results.json.",
        "",
        *_machine(results),
        "",
        *table(
            _HEAD,
            (_row(cell, rounds) for cell, rounds in results.rounds.items()),
            texts=_TEXTS,
        ),
        "",
        (Path(__file__).parent / "method.md").read_text().rstrip(),
    ]
    (folder / "README.md").write_text("\n".join(parts) + "\n")


def _machine(results: Results) -> Iterator[str]:
    facts = results.facts
    host, count = facts["host"], len(results.started)
    way = [measured["way_us"] for rounds in results.rounds.values() for measured in rounds]
    yield (
        f"{count} round{'s' * (count > 1)} from {results.started[0]} to {results.started[-1]}: "
        f"{host['processor']['model']}, {host['processor']['threads']} threads; kernel "
        f"{host['kernel']['release']}; environment `{facts['environment']}`. dbdyno-engine "
        f"{facts['engine']}, PostgreSQL {facts['server']}; {facts['statements']:,} statements a "
        f"measurement. The kernel's way: {sum(way) / len(way):.2f} µs "
        f"({min(way):.2f}–{max(way):.2f})."
    )


def _row(cell: Cell, rounds: Sequence[Round]) -> Sequence[str]:
    found, without = (judge(rounds, without_way=way) for way in (False, True))
    return (
        cell.load,
        cell.reactor,
        cell.scheduling,
        f"{mean(rounds, 'statements_per_s'):,.0f}",
        _number(mean(rounds, "service_us")),
        _number(mean(rounds, "proxy_us")),
        _between(found),
        _number(found.allowed),
        found.verdict,
        _between(without),
        without.verdict,
        *(_number(mean(rounds, figure)) for figure in ("reply_us", "unread_us", "queued_us")),
    )


def _between(judged: Judged) -> str:
    return f"{judged.least:.2f} – {judged.most:.2f} ({judged.low:.2f} – {judged.high:.2f})"


def _number(value: float) -> str:
    return "0" if value < 0.01 else number(value)
