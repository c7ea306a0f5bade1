"""Analysis is not measurement: what a changed study file does to runs that exist, and what not."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from dbdyno.cli import call
from replayed import replaying, write_study

pytestmark = pytest.mark.usefixtures("replay_engine")


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a study whose runs are in `results`, for tests to copy."""
    folder = tmp_path_factory.mktemp("once")
    file = write_study(folder)
    with pytest.MonkeyPatch.context() as patched:
        replaying(tmp_path_factory.mktemp("engine"), patched)
        patched.chdir(folder)
        assert call(["run", file.name]) == 0
    return folder


@pytest.fixture
def measured(once: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The study's file, its runs beside it in `results`."""
    shutil.copytree(once, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "example.toml"


def change(file: Path, old: str, new: str) -> None:
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))


def manifests(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in folder.glob("results/*/runs/*/manifest.json")}


def test_a_primary_changed_after_the_data_is_called_exploratory(
    measured: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = manifests(measured.parent)
    change(measured, "[server.lite]", 'primary = { metric = "p99" }\n[server.lite]')
    capsys.readouterr()
    assert call(["run", measured.name]) == 0

    told = capsys.readouterr()
    assert "`primary` was metric = throughput, better = higher, smallest_effect = 0.02" in told.err
    assert "is metric = p99, better = lower" in told.err
    assert "Exploratory, chosen after the data:" in told.err
    assert manifests(measured.parent) == before
    assert "Exploratory, chosen after the data:" in Path(told.out.strip()).read_text()


def test_by_its_name_a_report_says_what_was_asked_then(
    measured: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change(measured, 'journal = "delete" }', 'journal = "wal" }')
    change(measured, "Does it matter?", "Does it really?")
    capsys.readouterr()
    assert call(["report", measured.name, "--out", "now.html"]) == 0
    assert "`design.baseline` was journal = delete, is journal = wal" in capsys.readouterr().err
    assert call(["report", "example", "--out", "then.html"]) == 0
    assert "Exploratory" not in capsys.readouterr().err

    now, then = (measured.with_name(name).read_text() for name in ("now.html", "then.html"))
    assert "<h1>Does it really?</h1>" in now
    assert "Changed in the study&#39;s file" in now
    assert "<h1>Does it matter?</h1>" in then
    assert "Changed in the study" not in then


def test_other_words_and_charts_are_told_and_are_no_exploration(
    measured: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change(measured, "Does it matter?", "Does it?")
    capsys.readouterr()
    assert call(["report", measured.name]) == 0
    told = capsys.readouterr().err
    assert "`question` was Does it matter?, is Does it?." in told
    assert "xploratory" not in told


def test_a_file_that_measures_something_else_has_no_runs(
    measured: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change(measured, 'measure = "1 s"', 'measure = "2 s"')
    assert call(["report", measured.name]) == 2
    told = capsys.readouterr().err
    assert "example.toml has changed since results/example was begun" in told
    assert "`dbdyno report example` reports those" in told
    other = measured.with_name("other.toml")
    other.write_text(measured.read_text())
    assert call(["report", other.name]) == 2
    assert "the store results holds no runs of other.toml" in capsys.readouterr().err


def test_what_was_declared_first_stays(measured: Path) -> None:
    stored = measured.parent / "results/example/study.json"
    before = stored.read_bytes()
    change(measured, "[server.lite]", 'primary = { metric = "p99" }\n[server.lite]')
    assert call(["run", measured.name]) == 0
    assert stored.read_bytes() == before


def damage_head(run: Path) -> None:
    (run / "manifest.json").write_text((run / "manifest.json").read_text().replace("1", "2"))


@pytest.fixture
def damaged(measured: Path) -> Path:
    """One run altered, a folder that is none, and a study without its head."""
    runs = measured.parent / "results/example/runs"
    damage_head(runs / "b1-wal")
    (runs / "junk").mkdir()
    shutil.copytree(runs / "b1-delete", runs / "b2-delete")
    shutil.copytree(measured.parent / "results/example", measured.parent / "results/headless")
    (measured.parent / "results/headless/study.json").unlink()
    return measured


def test_list_names_what_is_damaged_and_lists_the_rest(
    damaged: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert call(["list"]) == 0
    told = capsys.readouterr()
    assert "quickstart" in told.out
    assert "example   1 complete, 3 damaged, 1 missing" in told.out
    assert "headless  can not be read" in told.out
    assert "runs/b1-wal/manifest.json: was changed: its checksum differs" in told.err
    assert "runs/junk" in told.err
    assert "runs/b2-delete: is the run `b1-delete` under another name" in told.err
    assert "results/headless/study.json: is missing" in told.err
    assert told.err.count("damaged: ") == 4

    assert call(["list", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [study["study"] for study in document["stored"]] == ["example", "headless"]


def test_a_report_names_what_is_damaged_and_counts_it_out(
    damaged: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert call(["report", "example"]) == 0
    told = capsys.readouterr().err
    assert "3 set aside, not as written" in told
    assert "wal: not measured: its run is not as it was written, and set aside." in told
    assert "b1-wal/manifest.json: was changed" in told
    page = (damaged.parent / "results/example/report.html").read_text()
    assert "1 of 2 planned runs are complete, 1 missing" in page


def test_a_file_that_no_report_reads_is_missed_too(
    measured: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (measured.parent / "results/example/runs/b1-wal/latency.hlog").unlink()
    assert call(["report", "example"]) == 0
    assert "b1-wal/latency.hlog: is missing" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["report", "headless"], ["resume", "headless"]])
def test_a_study_without_its_head_is_told_by_every_verb_alike(
    damaged: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    assert damaged.is_file()
    assert call(arguments) == 7
    told = capsys.readouterr().err
    assert "results/headless/study.json: is missing" in told
    assert "put it back from a copy" in told


def test_runs_without_a_head_are_never_given_another(
    damaged: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (damaged.parent / "results/example/study.json").unlink()
    assert call(["run", damaged.name]) == 7
    assert "results/example holds runs, but its study.json is missing" in capsys.readouterr().err


def test_what_is_damaged_is_run_again_beside_it(damaged: Path) -> None:
    runs = damaged.parent / "results/example/runs"
    assert call(["run", damaged.name]) == 0
    names = sorted(path.name for path in runs.iterdir())
    assert names == ["b1-delete", "b1-wal", "b1-wal~2", "b2-delete", "junk"]
