"""Texts as public pages have them, of sysbench: tests of files, memory and threads; as code in
Markdown."""

from __future__ import annotations

from pathlib import Path

import pytest
import texts_public as texts
import texts_sysbench
from reading import rate, result, results

from dbdyno.errors import UsageError


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def indented(text: str) -> str:
    """As code in Markdown, below a heading."""
    code = "".join(f"    {line}\n" if line else "\n" for line in text.splitlines())
    return f"# What was measured\n\n{code}\nThat was all.\n"


def test_files_of_sysbench_1_1_have_rates_and_no_number_of_events() -> None:
    """As in public results of file systems' developers."""
    with pytest.raises(UsageError, match="does not say how many events of fileio there were"):
        result(texts.files())
    entry = result(texts.files(), events=5000)
    measured = entry.result
    assert (measured.script, entry.clients, rate(entry)) == ("fileio", 4, 1000.0)
    assert measured.outcome.latency_us == {"p95": 9250, "mean": 4000, "max": 37_500}
    assert measured.outcome.figures == {
        "reads_per_s": 600,
        "writes_per_s": 300,
        "fsyncs_per_s": 100,
        "read_bytes_per_s": 4.69 * 2**20,
        "written_bytes_per_s": 2 * 2**20,
    }
    assert (measured.absent, measured.unread) == ((), ())
    with pytest.raises(UsageError, match="`sum"):
        result(texts.files().partition("         sum")[0], events=5000)


def test_tests_of_files_in_other_modes_are_other_loads() -> None:
    """As in public loops over modes: they were repeats of one another."""
    modes = [texts.files(mode=mode) for mode in ("random r/w", "sequential rewrite")]
    entries = results("".join([*modes, texts.files(flags="directio")]), events=1000)
    assert [entry.result.options["test_mode"] for entry in entries] == [
        "random r/w",
        "sequential rewrite",
        "random r/w",
    ]
    assert len({entry.cell for entry in entries}) == 3
    assert entries[2].result.options["open_flags"] == "directio"


def test_files_of_sysbench_0_4_are_read_whole() -> None:
    """As in public notes on new disks."""
    entry = result(texts.FILES_0_4)
    measured = entry.result
    assert (measured.stated_per_s, rate(entry), measured.unread) == (200.0, 200.0, ())
    assert measured.outcome.figures == {"transferred_bytes_per_s": 3.125 * 2**20}
    assert measured.options == {
        "test_mode": "random r/w",
        "files": "16 files, 64Mb",
        "block_size": "16Kb",
        "io_mode": "synchronous",
        "open_flags": "16384",
        "read_write_ratio": "1.50",
        "fsync_each": "100",
        "fsync_at_end": "Enabled",
    }


def test_memory_of_sysbench_0_4_with_and_without_indentation() -> None:
    """As on public pages that lost blanks; other sizes of blocks are other loads."""
    small, large = results("".join(texts.MEMORY_0_4.format(block=n) for n in (1, 1024)))
    assert small.result.outcome.latency_us == {"p95": 500, "mean": 400, "max": 900}
    assert small.result.outcome.figures == {"transferred_bytes_per_s": 512 * 2**20}
    assert (small.result.stated_per_s, small.result.unread) == (2000.0, ())
    assert (small.cell, large.cell) == ("sysbench-block_size-1K", "sysbench-block_size-1024K")


def test_what_threads_and_mutex_lack_is_not_said_to_be_missing() -> None:
    """As in public comparisons of containers; what prepared files before is no option of it."""
    entry = result(texts.THREADS_1_0)
    assert entry.result.absent == ("SQL statistics (threads and mutex have none)",)
    assert (entry.result.unread, entry.result.options) == ((), {})


def test_deadlocks_stand_for_ignored_errors_in_early_0_5() -> None:
    """As in public results of a company that kept them for each release of its server."""
    early = texts_sysbench.V0_5.replace("ignored errors:", "deadlocks:     ")
    lines = [line for line in early.splitlines(keepends=True) if "reconnects" not in line]
    entry = result("".join(lines))
    assert (entry.result.outcome.errors, entry.result.absent) == (3, ())


def test_cells_are_named_by_what_differs_within_their_script() -> None:
    cpu = texts_sysbench.V1_0_CPU.replace("1.0.20", "1.1.0-0000000")
    cells = [entry.cell for entry in results(cpu + texts.files(), events=1000)]
    assert cells == ["cpu", "fileio"]


@pytest.mark.parametrize(
    "text",
    [
        texts.PGBENCH_HEADED,
        texts.FILES_0_4,
        texts_sysbench.V1_0,
        texts_sysbench.V0_4,
        texts.MEMORY_0_4.format(block=4),
    ],
)
def test_code_in_markdown_says_what_it_says_alone(text: str) -> None:
    alone = result(text).result.outcome
    assert result(indented(text)).result.outcome == alone
    assert result("\n" + indented(text).partition("\n\n")[2]).result.outcome == alone
