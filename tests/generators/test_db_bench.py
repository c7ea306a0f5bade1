"""db_bench: options checked, what old and new releases print understood, a real one run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from jobs import STEP

from dbdyno.errors import EngineError
from dbdyno.generators.db_bench import GENERATOR, outcome, shape_warnings
from dbdyno.model import Option
from dbdyno.servers import open_tool

HISTOGRAM = """\
Microseconds per read:
Count: 262998 Average: 30.6521  StdDev: 756.37
Min: 0  Median: 4.0853  Max: 88170
Percentiles: P50: 4.09 P75: 5.74 P99: 14.88 P99.9: 13414.42 P99.99: 31140.04
"""
NEW = (
    "readwhilewriting :      30.678 micros/op 64569 ops/sec 4.073 seconds 262998 operations;"
    "    7.1 MB/s (135999 of 135999 found)\n\n"
    + HISTOGRAM
    + "rocksdb.block.cache.miss COUNT : 17\n"
    + "rocksdb.bytes.written COUNT : 4096\n"
    + "rocksdb.stall.micros COUNT : 250\n"
)
OLD = "readrandom   :       7.031 micros/op 262998 ops/sec;   15.0 MB/s\n\n" + HISTOGRAM
REPORTS = ["secs_elapsed,interval_qps", "1,120181", "2,96013"]


def test_a_new_release_is_understood() -> None:
    told = outcome(NEW, REPORTS, 10**18, ["db_bench"])

    assert (told.events, told.window_s) == (262_998, 4.073)
    assert told.latency_us == {
        "p50": 4.09,
        "p75": 5.74,
        "p99": 14.88,
        "p99.9": 13_414.42,
        "max": 88_170,
        "mean": 30.6521,
    }
    assert told.figures == {
        "rocksdb.block.cache.miss_count": 17,
        "rocksdb.bytes.written_bytes": 4096,
        "rocksdb.stall.micros_us": 250,
    }
    assert [(s.unix_ns - 10**18, s.value) for s in told.samples] == [
        (10**9, 120_181),
        (2 * 10**9, 96_013),
    ]


def test_an_old_release_s_operations_are_those_of_its_histogram() -> None:
    told = outcome(OLD, [], 0, [])

    assert (told.events, told.window_s) == (262_998, 1.0)


def test_response_times_of_several_kinds_are_not_mixed() -> None:
    assert outcome(NEW + HISTOGRAM, [], 0, []).latency_us == {}


def test_no_summary_is_an_error() -> None:
    with pytest.raises(EngineError, match="no summary"):
        outcome("unknown benchmark 'x'", [], 0, [])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "expected `benchmark`"),
        ({"benchmark": "a,b"}, "expected `benchmark`"),
        ({"benchmark": "fillseq", "threads": 4}, "set by dbdyno itself"),
        ({"benchmark": "fillseq", "version": "9.10", "suite": "sid"}, "not both"),
    ],
)
def test_wrong_options_are_told(options: dict[str, str | int], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        GENERATOR.read(options)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, []),
        ({"write_buffer_size": 1 << 20, "max_bytes_for_level_base": 4 << 20}, []),
        (
            {"level0_file_num_compaction_trigger": 8},
            ["smaller (256 MB) than level 0 when its compaction starts (512 MB)"],
        ),
        ({"level0_file_num_compaction_trigger": 8, "compaction_style": 1}, []),
        ({"write_buffer_size": "given elsewhere"}, []),
    ],
)
def test_a_first_level_smaller_than_level_0_is_told(
    options: dict[str, Option], said: list[str]
) -> None:
    told = list(shape_warnings(options))

    assert len(told) == len(said)
    assert all(words in text for words, text in zip(said, told, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("suite", ["bullseye", "trixie"])
def test_a_real_release_runs(suite: str, tmp_path: Path) -> None:
    options: dict[str, Option] = {
        "benchmark": "readrandom",
        "prepare": "fillseq",
        "num": 20_000,
        "suite": suite,
    }
    program = open_tool(str(GENERATOR.provision(options))).path
    job = replace(STEP, program=program, options=options, measure_s=3.0, scratch=tmp_path)

    told = GENERATOR.run(job)

    assert told.events > 0
    assert 2 < told.window_s < 60
    assert 0 < told.latency_us["p50"] <= told.latency_us["p99"] <= told.latency_us["max"]
    assert told.samples
    assert any("assertions are enabled" in warning for warning in told.warnings)
