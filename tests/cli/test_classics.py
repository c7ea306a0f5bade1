"""`dbdyno classics`: one study after another, and a table of answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dbdyno.cli import call
from dbdyno.cli.classics import machine, span_s
from dbdyno.design import design_digest
from dbdyno.formats.study import read_study


@pytest.fixture
def bundled(study_file: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three bundled studies: one answers, one names no source, one has no such scale."""
    folder = study_file.parent
    text = study_file.read_text()
    sourced = f'source = "a paper"\n{text}'
    (folder / "good.toml").write_text(sourced + '\n[scale.small]\nload.measure = "1 s"\n')
    (folder / "bad.toml").write_text(sourced)
    for module in ("bundled", "opening"):
        monkeypatch.setattr(f"dbdyno.conduct.{module}.BUNDLED", folder)
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
    text = (bundled / "good.toml").read_text()
    assert kept["good"]["design"] == design_now(bundled)
    (bundled / "good.toml").write_text(text.replace('load.measure = "1 s"', 'load.measure = "2 s"'))
    assert kept["good"]["design"] != design_now(bundled)
    assert (bundled / "kept" / "good.svg").read_text().startswith("<svg")


@pytest.mark.usefixtures("replay_engine")
def test_the_catalogue_keeps_the_answers_of_earlier_runs(bundled: Path) -> None:
    def kept(store: str) -> dict[str, Any]:
        assert call(["classics", "good", "--catalogue", "kept", "--store", store]) == 0
        found = json.loads((bundled / "kept" / "answers.json").read_text())["good"]
        assert isinstance(found, dict)
        return found

    first = kept("first")
    assert first["earlier"] == []
    assert kept("first")["earlier"] == [], "the same runs are no other answer"
    first["date"] = "2001-02-03"
    (bundled / "kept" / "answers.json").write_text(json.dumps({"good": first}))
    second = kept("second")
    assert [one["date"] for one in second["earlier"]] == ["2001-02-03"]
    second["date"] = "2002-03-04"
    (bundled / "kept" / "answers.json").write_text(json.dumps({"good": second}))
    third = kept("third")
    assert [one["date"] for one in third["earlier"]] == ["2001-02-03", "2002-03-04"]
    assert not any("earlier" in one for one in third["earlier"])


def design_now(folder: Path) -> str:
    return design_digest(read_study(folder / "good.toml", scale="small").study)


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
