"""`dbdyno classics`: one study after another, and a table of answers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dbdyno.cli import call
from dbdyno.cli.classics import machine, span_s


@pytest.fixture
def bundled(study_file: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three bundled studies: one answers, one names no source, one has no such scale."""
    folder = study_file.parent
    text = study_file.read_text()
    sourced = f'source = "a paper"\n{text}'
    (folder / "good.toml").write_text(sourced + '\n[scale.small]\nload.measure = "1 s"\n')
    (folder / "bad.toml").write_text(sourced)
    monkeypatch.setattr("dbdyno.conduct.load._BUNDLED", folder)
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.usefixtures("replay_engine")
def test_a_study_that_fails_leaves_the_others_to_go_on(
    bundled: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(["classics", "--json", "--catalogue", "kept"]) == 1

    told = capsys.readouterr()
    answers = json.loads(told.out)["studies"]
    assert list(answers) == ["bad", "good"]
    assert answers["bad"]["failed"]
    assert "there is no scale `small`" in answers["bad"]["answer"]
    assert not answers["good"]["failed"]
    assert Path(answers["good"]["report"]).exists()
    assert sum(answers["good"]["verdicts"].values()) == 2
    assert "1 of 2 studies failed: bad" in told.err
    kept = json.loads((bundled / "kept" / "answers.json").read_text())
    assert list(kept) == ["good"]
    assert kept["good"]["answer"] == answers["good"]["answer"]
    assert "report" not in kept["good"]
    assert (bundled / "kept" / "good.svg").read_text().startswith("<svg")


@pytest.mark.usefixtures("replay_engine")
def test_what_the_store_holds_is_not_measured_again(
    bundled: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(["classics", "good"]) == 0
    first = capsys.readouterr().out
    before = {file: file.stat().st_mtime_ns for file in bundled.rglob("manifest.json")}

    assert call(["classics", "good"]) == 0
    again = capsys.readouterr()

    assert again.out == first
    assert "nothing is missing" in again.err
    assert {file: file.stat().st_mtime_ns for file in bundled.rglob("manifest.json")} == before


def test_a_name_that_is_no_study_is_refused_before_any_is_run(
    bundled: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(["classics", "good", "goood"]) == 2

    assert "did you mean `good`?" in capsys.readouterr().err
    assert not (bundled / "results").exists()


def test_time_spent_counts_runs_at_the_same_time_once_and_pauses_not_at_all() -> None:
    assert span_s([]) == 0
    assert span_s([(0, 10), (2, 8), (5, 12), (100, 101)]) == 13


def test_a_machine_is_told_by_what_is_known_of_it() -> None:
    host = {"processor": {"threads": 2, "model": "Z80"}, "memory": {"total_bytes": 24 * 2**30}}

    assert machine([{"host": host}]) == "2 cores, Z80, 24 GiB"
    assert machine([{}]) == machine([]) == ""
