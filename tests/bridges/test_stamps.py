"""What stands before each line of a log: time stamps of a CI, of ts, quotations, counters."""

from __future__ import annotations

from pathlib import Path

import pytest
import texts_others
import texts_pgbench
import texts_sysbench
from outputs import YCSB_0_17
from reading import result, results

from dbdyno.bridges.stamps import bare

TEXTS = {
    "pgbench": texts_pgbench.V16_RATE,
    "sysbench": texts_sysbench.V1_0,
    "ycsb": YCSB_0_17,
    "fio": '{\n "fio version" : "fio-3.36",\n "jobs" : [\n  {\n   "jobname" : "a",\n'
    '   "error" : 0,\n   "job options" : {},\n   "read" : {\n    "runtime" : 1000,\n'
    '    "total_ios" : 10,\n    "iops" : 10.0,\n    "bw_bytes" : 40960\n   }\n  }\n ]\n}\n',
}
STAMPS = [
    "2024-01-02T03:04:05.1234567Z ",
    "\ufeff2024-01-02T03:04:05.1234567Z ",
    "bench\tRun it\t2024-01-02T03:04:05.1234567Z ",
    "2024-01-02T03:04:05.123456Z 01O ",
    "2024-01-02T03:04:05.123456Z 00E+",
    "[2024-01-02T03:04:05.123Z] ",
    "[2024-01-02 03:04:05] ",
    "03:04:05  ",
    "00:00:01 ",
    "Jan 02 03:04:05 ",
    "2024-01-02 03:04:05 ",
    "2024-01-02 03:04:05,678 ",
    "2024-01-02T03:04:05+01:00 ",
    "1700000000.123456 ",
    "pgbench-1  | ",
    "> ",
    "    ",
    "2024-01-02T03:04:05.1234567Z 00:00:01 ",
    "\x1b[36;1m",
]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("stamp", STAMPS)
@pytest.mark.parametrize("tool", TEXTS)
def test_stamped_text_says_what_it_says_without(stamp: str, tool: str) -> None:
    stamped = "".join(f"{stamp}{line}\n" for line in TEXTS[tool].splitlines())
    entry = result(stamped)
    assert entry.bridge.tool == tool
    assert entry.result == result(TEXTS[tool]).result
    measured = "what stands before each of its lines" in " ".join(entry.notes)
    assert measured == bool(stamp.strip() and "\x1b" not in stamp)


def test_lines_of_the_file_are_counted_as_they_are() -> None:
    stamped = "".join(f"03:04:05 {line}\n" for line in (texts_pgbench.V14 * 2).splitlines())
    assert [entry.line for entry in results(stamped)] == [1, 13]


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(f"0 {n} 900 0 1700000000 {n}" for n in range(9)),
        "1795814914 100 1375925 21795839779 1630 38098\n" * 3,
        "2026-11-23 09:30:15:088 1 sec: 7948 operations; 7371 current ops/sec\n" * 3,
        texts_sysbench.CHECKPOINTS,
        texts_others.hammerdb("5.0"),
        "secs_elapsed,interval_qps\n1,500\n2,700\n",
    ],
)
def test_what_a_tool_prints_itself_is_no_stamp(text: str) -> None:
    assert bare(text) == (text, False)


def test_what_was_written_over_is_not_there() -> None:
    assert bare("SET: 1.0\rSET: 2.0\r\nGET\r\n")[0] == "SET: 2.0\nGET\n"
    assert bare("a\rb\r")[0] == "a\nb\n"
