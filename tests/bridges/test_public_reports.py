"""Texts in the shapes of public reports of the tools' own bugs, with what these say of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from reading import rate, result, results

SPLIT = """\
readrandomwriterandom :     20.000 micros/op 40000 ops/sec; ( reads:3000 writes:2999 total:90000)
Microseconds per read:
Count: 120000  Average: 1400.5000  StdDev: 30.00
Min: 2.0000  Median: 480.0000  Max: 20000.0000
Percentiles: P50: 480.00 P75: 830.00 P99: 14000.00 P99.9: 19000.00 P99.99: 19900.00

Microseconds per write:
Count: 80000  Average: 58.0000  StdDev: 81.00
Min: 7.0000  Median: 40.0000  Max: 9000.0000
Percentiles: P50: 40.00 P75: 63.00 P99: 240.00 P99.9: 700.00 P99.99: 1100.00
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_histograms_of_reads_and_writes_are_counted_together() -> None:
    """As in the change that divided them: reads alone were taken for all that ended."""
    entry = result(SPLIT, clients=8)
    measured = entry.result.outcome
    assert (measured.events, measured.window_s, rate(entry)) == (200_000, 5.0, 40_000)
    assert measured.latency_us == {}
    assert measured.figures == {
        "read_us_mean": 1400.5,
        "read_us_max": 20_000,
        "read_us_p50": 480,
        "read_us_p99": 14_000,
        "read_us_p99.9": 19_000,
        "write_us_mean": 58,
        "write_us_max": 9000,
        "write_us_p50": 40,
        "write_us_p99": 240,
        "write_us_p99.9": 700,
    }
    assert entry.result.unread == ("( reads:3000 writes:2999 total:90000)",)


def test_what_a_mixed_test_did_is_named_as_not_read() -> None:
    """As in proposals for mixgraph; lines begin with a blank as in changes of db_bench."""
    mixed = "mixgraph : 20.0 micros/op 50000 ops/sec 2.0 seconds 100000 operations; 7.0 MB/s"
    plain, other = results(
        f" overwrite : 10.0 micros/op 100000 ops/sec 1.0 seconds 100000 operations; 31.3 MB/s\n"
        f" {mixed} ( Gets:50 Puts:25 Seek:25, reads 75 in 75 found, avg size: 36.0 value)\n",
        clients=1,
    )
    assert (rate(plain), plain.result.unread) == (100_000, ())
    assert other.result.unread == (
        "( Gets:50 Puts:25 Seek:25, reads 75 in 75 found, avg size: 36.0 value)",
    )
