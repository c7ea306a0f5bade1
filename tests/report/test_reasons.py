"""Reasons are told of what was left out, and what was not measured stands in the first lines."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from made_up_runs import START_UNIX_NS, World, write_study
from made_up_studies import SMALL

from dbdyno.cli import call
from dbdyno.model import PlannedRun, RunStatus, Step, TurnResult
from dbdyno.report.analysis.analyse import Analysis, analyse
from dbdyno.report.analysis.unmeasured import NotMeasured, not_measured, sentences
from dbdyno.report.answer.answer import headline
from dbdyno.report.material.gather import gather
from dbdyno.stats import NotComparable

SHORT = SMALL.replace('"30 s"', '"4 s"').replace('"5 s"', '"1 s"').replace("[1, 4]", "4")
SAID = """\
sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)

Running the test with following options:
Number of threads: 4

SQL statistics:
    queries performed:
        read:                            140000
        write:                           140000
        other:                           20000
        total:                           300000
    transactions:                        {events}  (500.00 per sec.)
    queries:                             300000 (15000.00 per sec.)
    ignored errors:                      {errors}     (2.50 per sec.)
    reconnects:                          0      (0.00 per sec.)

General statistics:
    total time:                          20.0000s
    total number of events:              {events}

Latency (ms):
         min:                                    2.10
         avg:                                    7.99
         max:                                   61.30
         95th percentile:                       13.22
         sum:                                79900.00

Threads fairness:
    events (avg/stddev):           2500.0000/12.00
    execution time (avg/stddev):   19.9750/0.00
"""


def steady(run: PlannedRun, step: Step, second: int) -> float:
    return 400.0 * (2.5 if run.cell.levels["journal"] == "wal" else 1.0)


def told(folder: Path, world: World, text: str = SHORT) -> Analysis:
    return analyse(gather(write_study(folder, text, world), "study"))


def reason(analysis: Analysis, cell: str = "wal, full") -> str:
    (effect,) = [c.judgement.effect for c in analysis.comparisons if c.point.label == cell]
    assert isinstance(effect, NotComparable)
    return effect.reason


@pytest.mark.parametrize(
    ("errors", "said"),
    [
        (
            (50, 50, 50, 50),
            "all 4 runs are left out: up to 0.5 % of their operations failed; 0.01 % is tolerated.",
        ),
        (
            (50, 0, 0, 0),
            "1 of 4 runs are left out: 0.5 % of their operations failed; 0.01 % is tolerated; a "
            "side with one run or none holds no spread, so no interval can be given.",
        ),
        ((0, 0, 0, 0), "faster, throughput +20"),
    ],
)
def test_imported_runs_that_are_left_out_are_the_reason(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    errors: tuple[int, ...],
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, events, failed in zip(
        ("a1", "a2", "b1", "b2"), (10000, 10100, 12000, 12120), errors, strict=True
    ):
        Path(f"{name}.txt").write_text(SAID.format(events=events, errors=failed))
    files = ["a=a1.txt", "a=a2.txt", "b=b1.txt", "b=b2.txt"]
    assert call(["import", *files, "--as", "e", "--store", "S"]) == 0
    capsys.readouterr()

    assert call(["compare", "e/a", "e/b", "--assume-alike", "--store", "S"]) == 0
    assert said in capsys.readouterr().out


OF_FOUR = "{} of 4 runs are left out: {} % of their operations failed; 0.01 % is tolerated; a side"


@pytest.mark.parametrize(
    ("a", "b", "said"),
    [
        ((0, 50), (0, 0), OF_FOUR.format(1, 0.49)),
        ((0, 0), (50, 0), OF_FOUR.format(1, 0.41)),
        ((50, 50), (0, 0), OF_FOUR.format(2, "up to 0.5")),
        ((0, 0), (50, 50), OF_FOUR.format(2, 0.41)),
        ((50, 0), (50, 0), OF_FOUR.format(2, "up to 0.5")),
        ((50, 50), (50, 0), OF_FOUR.format(3, "up to 0.5")),
        ((2, 0), (0, 0), OF_FOUR.format(1, 0.02)),
        ((10000, 0), (0, 0), OF_FOUR.format(1, 50)),
        ((1, 1), (1, 1), "faster, throughput +20.0 %"),
        ((0, 0), (0,), "of 2 against 1 runs, a side of one holds no spread"),
        ((0,), (0, 0), "of 1 against 2 runs, a side of one holds no spread"),
    ],
)
def test_a_reason_counts_the_runs_that_were_there(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    a: tuple[int, ...],
    b: tuple[int, ...],
    said: str,
) -> None:
    """Failed operations of each run of a side."""
    monkeypatch.chdir(tmp_path)
    files = []
    for side, first, failed in (("a", 10000, a), ("b", 12000, b)):
        for number, errors in enumerate(failed):
            file = Path(f"{side}{number}.txt")
            events = first * (100 + number) // 100
            file.write_text(SAID.format(events=events, errors=errors))
            files.append(f"{side}={file}")
    assert call(["import", *files, "--as", "e", "--store", "S"]) == 0
    assert call(["compare", "e/a", "e/b", "--assume-alike", "--store", "S"]) == 0
    assert said in " ".join(capsys.readouterr().out.split())


def test_one_run_a_side_is_said_where_there_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a").write_text(SAID.format(events=10000, errors=0))
    Path("b").write_text(SAID.format(events=12000, errors=0))
    assert call(["import", "a=a", "b=b", "--as", "e", "--store", "S"]) == 0
    assert call(["compare", "e/a", "e/b", "--assume-alike", "--store", "S"]) == 0
    assert "cannot tell: one run a side holds no spread" in capsys.readouterr().out


def test_blocks_of_which_all_failed_a_gate_are_the_reason(tmp_path: Path) -> None:
    why = reason(told(tmp_path, World(steady, error_share=0.5)))
    assert why == "no block passed its gates (blocks 1, 2, 3: 50 % of its statements failed)"


def test_a_single_block_that_is_left_tells_what_became_of_the_others(tmp_path: Path) -> None:
    status: dict[str, RunStatus] = {"b1-wal,full": "interrupted"}
    world = World(steady, error_share=0.5, faulty=frozenset({"b2-delete,full"}), status=status)
    assert reason(told(tmp_path, world)) == (
        "one block holds no spread, so no interval can be given: 3 blocks, of which 2 are left "
        "out (block 1: the run of wal, full is not complete; block 2: 50 % of its statements "
        "failed)"
    )


def test_a_label_that_never_occurred_is_named_with_the_cell(tmp_path: Path) -> None:
    text = SHORT.replace('metric = "throughput", better = "higher"', 'metric = "mean.first"')
    analysis = told(tmp_path, World(steady), text)
    cell, base = "no event was labelled `first` in {}", "delete, full"
    assert reason(analysis) == f"{cell.format('wal, full')}; {cell.format(base)}"
    effect = analysis.main_effects[0].judgement.effect
    assert isinstance(effect, NotComparable)
    assert effect.reason.startswith(
        "2 of 2 matched pairs have no effect: wal, full against delete, full: no event was "
    )
    assert "no event was labelled `first` in delete, full" in headline(analysis)


def test_pairs_without_a_common_block_tell_the_blocks_of_each(tmp_path: Path) -> None:
    text = SHORT.replace("blocks = 3", "blocks = 4")
    gone = frozenset({"b1-wal,full", "b2-wal,full", "b3-wal,normal", "b4-wal,normal"})
    journal = told(tmp_path, World(steady, missing=gone), text).main_effects[0]
    effect = journal.judgement.effect
    assert isinstance(effect, NotComparable)
    assert effect.reason == (
        "no block has all 2 pairs: wal, full against delete, full has blocks 3, 4; wal, normal "
        "against delete, normal has blocks 1, 2"
    )


def test_turns_that_were_all_set_aside_are_the_reason(tmp_path: Path) -> None:
    def stolen(run: PlannedRun, step: Step) -> tuple[TurnResult, ...]:
        at = START_UNIX_NS
        turn = TurnResult(
            step.index, 0, 0, at, at + 1, at + 9, 2.0, 800, 800, 0, 1, 1, 1.0, 1.0, 1.0, 1.0, 3.0
        )
        return tuple(replace(turn, round=number) for number in range(4))

    why = reason(told(tmp_path, World(steady, turns=stolen)))
    assert why.startswith("all 12 pairs of turns were set aside (block 1, round 1: ")
    assert "of the processors' time was stolen" in why


def test_cells_that_never_ran_stand_first_with_their_reason(tmp_path: Path) -> None:
    failed: dict[str, RunStatus] = {
        f"b{block}-wal,{sync}": "failed" for block in (1, 2, 3) for sync in ("full", "normal")
    }
    analysis = told(tmp_path, World(steady, status=failed))
    assert headline(analysis).startswith(
        "wal, full; wal, normal: not measured: the server ended while warming up. "
    )
    assert [(one.cell, one.blocks) for one in not_measured(analysis)] == [
        ("wal, full", ()),
        ("wal, normal", ()),
    ]


def test_blocks_that_a_cell_lacks_are_no_headline_and_in_the_list(tmp_path: Path) -> None:
    analysis = told(tmp_path, World(steady, missing=frozenset({"b2-wal,full"})))
    assert "not measured" not in headline(analysis)
    (one,) = not_measured(analysis)
    assert (one.cell, one.blocks, one.reason) == ("wal, full", (2,), "it was not run")


def test_refusals_that_differ_in_a_value_are_one_sentence() -> None:
    def refused(value: str) -> NotMeasured:
        return NotMeasured(value, {}, f'invalid value for "wal_compression": "{value}"')

    (told_once,) = sentences((refused("lz4"), refused("zstd")))
    assert told_once == ('lz4, zstd: not measured: invalid value for "wal_compression": "lz4".')
