"""Errors that a study declares as part of its load exclude nothing, and are on the first screen;
undeclared ones still exclude, and so do more than it allows."""

from __future__ import annotations

import html
from dataclasses import replace
from pathlib import Path

import pytest
from made_up_runs import World, page_of, write_study
from made_up_studies import SMALL

from dbdyno.cli import call
from dbdyno.formats.study import read_study
from dbdyno.model import PlannedRun, Step
from dbdyno.model.expected import sorted_errors, too_many_errors
from dbdyno.report.analysis.analyse import Analysis, analyse
from dbdyno.report.answer.answer import headline
from dbdyno.report.answer.first import first_answer
from dbdyno.report.gates.errors import GATE
from dbdyno.report.gates.gate import Gate
from dbdyno.report.material.declared import EXPECTED, asked_now, is_exploratory
from dbdyno.report.material.gather import gather
from dbdyno.stats import BlockShareEffect, Verdict

ONE_FACTOR = SMALL.split("[factor.synchronous]")[0] + "[workload]" + SMALL.split("[workload]")[1]
PLAIN = (
    ONE_FACTOR.replace('"30 s"', '"4 s"')
    .replace('"5 s"', '"1 s"')
    .replace("[1, 4]", "4")
    .replace(', synchronous = "full"', "")
)
EXPECTING = PLAIN + '\n[load.errors]\nexpected = { "40" = "5 %" }\n'
DECIDING = EXPECTING.replace('metric = "throughput"', 'metric = "error_share"').replace(
    'better = "higher"', 'better = "lower"'
)
WAL = frozenset(f"b{block}-wal" for block in range(1, 9))


def steady(run: PlannedRun, _step: Step, _second: int) -> float:
    return 400.0 * (2.5 if run.cell.levels["journal"] == "wal" else 1.0)


def analysed(folder: Path, text: str, share: float) -> Analysis:
    world = World(steady, error_share=share, faulty=WAL)
    return analyse(gather(write_study(folder, text, world), "study"))


def gate(analysis: Analysis) -> Gate:
    judged = GATE.judge(analysis)
    assert isinstance(judged, Gate)
    return judged


def test_declared_errors_exclude_nothing_and_are_on_the_first_screen(tmp_path: Path) -> None:
    analysis = analysed(tmp_path, EXPECTING, 0.03)

    (comparison,) = analysis.comparisons
    assert comparison.judgement.verdict is Verdict.BETTER
    assert comparison.left_out == {}
    (note,) = first_answer(analysis).notes
    assert note.startswith("Errors that the study expects (40): 3")
    assert "with wal, of all statements" in note
    assert note in headline(analysis)
    assert gate(analysis).state == "ok"
    assert "Expected by the study: 40 " in gate(analysis).text
    assert "are declared by" not in gate(analysis).text
    assert note in html.unescape(page_of(tmp_path / "store"))


def test_undeclared_errors_still_exclude(tmp_path: Path) -> None:
    other = EXPECTING.replace('"40" =', '"23505" =')

    for folder, text, words in (
        ("none", PLAIN, "3 % of its statements failed"),
        ("other", other, "with codes that the study does not expect: 40001"),
    ):
        (tmp_path / folder).mkdir()
        analysis = analysed(tmp_path / folder, text, 0.03)
        (comparison,) = analysis.comparisons
        assert comparison.judgement.verdict is Verdict.CANNOT_TELL
        assert all(words in why for why in comparison.left_out.values()), comparison.left_out
        assert gate(analysis).state == "failed"
        assert "belong to the load (40001?) are declared by" in gate(analysis).text
        assert first_answer(analysis).notes == ()


def test_more_than_the_study_allows_excludes(tmp_path: Path) -> None:
    analysis = analysed(tmp_path, EXPECTING, 0.08)

    (comparison,) = analysis.comparisons
    assert comparison.judgement.verdict is Verdict.CANNOT_TELL
    assert all("failed with 40, where 5 % are expected" in w for w in comparison.left_out.values())
    assert gate(analysis).state == "failed"
    assert "that may fail with 40 did so in" in gate(analysis).text


def test_the_share_of_errors_decides_block_by_block(tmp_path: Path) -> None:
    analysis = analysed(tmp_path, DECIDING, 0.03)

    (comparison,) = analysis.comparisons
    effect = comparison.judgement.effect
    assert isinstance(effect, BlockShareEffect)
    assert comparison.judgement.verdict is Verdict.WORSE
    assert effect.difference == pytest.approx(0.03, abs=0.003)
    assert len(effect.differences) == len(comparison.blocks) == effect.blocks
    assert "statements that failed" in first_answer(analysis).answer.lower()


def test_errors_declared_after_the_data_make_the_answer_exploratory(tmp_path: Path) -> None:
    before, after = (tmp_path / f"{name}.toml" for name in ("before", "after"))
    before.write_text(PLAIN)
    after.write_text(EXPECTING)

    study, changes = asked_now(read_study(before).study, read_study(after).study)

    assert study.load.errors.expected == {"40": 0.05}
    assert EXPECTED in [change.what for change in changes]
    assert is_exploratory(changes)


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("5", "SQLITE_BUSY"),
        ("1213", "40001"),
        ("1213", "1213"),
        ("1213", "40"),
        ("1451", "23000"),
        ("1644", "45000"),
        ("1047", "08S01"),
        ("40P01", "40"),
        ("connection", "connection"),
        ("HY000", "all"),
        ("", "all"),
    ],
)
def test_an_error_falls_under_the_name_that_was_declared(
    tmp_path: Path, code: str, name: str
) -> None:
    analysis = analysed(tmp_path, PLAIN, 0.03)
    plain = analysis.points[0].blocks[0].summary
    by_code = {code: 30} if code else {}
    summary = replace(plain, statements=970, errors=30, errors_by_code=by_code)

    assert sorted_errors(summary, {name: 0.05}).declared == {name: 30}
    assert not too_many_errors(summary, {name: 0.05})
    assert too_many_errors(summary, {name: 0.02})
    assert too_many_errors(summary, {"99999": 0.5})
    assert too_many_errors(summary, {})


def test_the_exact_code_comes_before_its_class_and_its_state(tmp_path: Path) -> None:
    plain = analysed(tmp_path, PLAIN, 0.03).points[0].blocks[0].summary
    summary = replace(plain, statements=970, errors=30, errors_by_code={"1213": 30})
    expected = {"all": 0.5, "40": 0.5, "40001": 0.5, "1213": 0.02}

    assert sorted_errors(summary, expected).declared == {"1213": 30}
    assert too_many_errors(summary, expected)


def test_a_study_names_codes_and_shares_that_can_be(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    for wrong, words in (
        ('{ "40001" = "150 %" }', "at most 100 %"),
        ('{ SQLITE_BUSSY = "5 %" }', "expected a SQLSTATE"),
        ('{ "40001" = 0 }', "a share above 0"),
    ):
        file.write_text(f"{PLAIN}\n[load.errors]\nexpected = {wrong}\n")
        with pytest.raises(Exception, match=words) as raised:
            read_study(file)
        assert f"{file}:" in str(raised.value)


def test_an_import_declares_them_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = """\
sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)

Number of threads: 4

SQL statistics:
    queries performed:
        total:                           300000
    transactions:                        {events}  (500.00 per sec.)
    queries:                             300000 (15000.00 per sec.)
    ignored errors:                      50     (2.50 per sec.)
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
    named = []
    for cell, numbers in (("a", (10_000, 10_100)), ("b", (12_000, 12_120))):
        for events in numbers:
            file = tmp_path / f"{cell}{events}.txt"
            file.write_text(text.format(events=events))
            named.append(f"{cell}={file}")
    store = ["--store", str(tmp_path / "store")]

    assert call(["import", *named, "--as", "plain", *store]) == 0
    assert call(["import", *named, "--as", "tpcc", "--expected-errors", "all=1%", *store]) == 0
    capsys.readouterr()
    assert call(["compare", "plain/a", "plain/b", "--assume-alike", *store]) == 0
    assert "of their operations failed" in capsys.readouterr().out
    assert call(["compare", "tpcc/a", "tpcc/b", "--assume-alike", *store]) == 0
    assert "faster, throughput +20.0" in capsys.readouterr().out
    assert call(["import", *named, "--expected-errors", "all", *store]) == 2
    assert "CODE=SHARE" in capsys.readouterr().err
