"""Pictures are drawn in a process of their own; whatever happens to it is told."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from made_up_runs import World, write_study
from made_up_studies import SMALL
from test_sampled import rate

from dbdyno.cache import CACHE_VARIABLE
from dbdyno.errors import StoreError, UsageError
from dbdyno.guard.family import children_of
from dbdyno.report import write
from dbdyno.report.analysis.analyse import analyse
from dbdyno.report.charts import Chart, charts
from dbdyno.report.material.gather import gather
from dbdyno.report.page.drawing import Drawing, script_file


@pytest.fixture
def drawn(tmp_path: Path) -> tuple[Chart, ...]:
    return charts(analyse(gather(write_study(tmp_path, SMALL, World(rate)), "study")))[:2]


def test_every_chart_is_drawn_twice(drawn: tuple[Chart, ...], tmp_path: Path) -> None:
    with Drawing() as drawing:
        drawing.pictures(drawn, tmp_path)
        script = drawing.finished()

    assert "vegaEmbed" in script and "</script" not in script
    for chart in drawn:
        assert (tmp_path / f"{chart.name}.svg").read_text().startswith("<svg")
        assert (tmp_path / f"{chart.name}.png").read_bytes().startswith(b"\x89PNG")


def test_the_page_s_script_is_made_once_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    with Drawing() as drawing:
        made = drawing.finished()
    assert script_file().read_text() == made
    assert [file.name for file in script_file().parent.iterdir()] == [script_file().name]

    script_file().write_text("kept")
    with Drawing() as drawing:
        assert drawing.finished() == "kept"


def test_a_cache_that_can_not_be_written_costs_only_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "file" / "cache"))
    with Drawing() as drawing:
        assert "vegaEmbed" in drawing.finished()


def test_a_picture_that_can_not_be_written_is_told(
    drawn: tuple[Chart, ...], tmp_path: Path
) -> None:
    with Drawing() as drawing:
        drawing.pictures(drawn, tmp_path / "nowhere")
        with pytest.raises(StoreError, match=r"can't write .*/answer.svg: No such") as caught:
            drawing.finished()
    assert "--out" in (caught.value.hint or "")


def test_without_pictures_no_process_is_started_and_none_of_an_earlier_report_are_left(
    tmp_path: Path,
) -> None:
    store = write_study(tmp_path, SMALL, World(rate))
    page = write(store, "study", tmp_path / "out").page
    folder = page.with_suffix("")
    assert {file.suffix for file in folder.iterdir()} == {".csv", ".md", ".png", ".svg"}
    assert ".svg" in page.read_text("utf-8")

    before = set(children_of(os.getpid()))
    with Drawing(pictures=False) as drawing:
        assert set(children_of(os.getpid())) == before
        assert "vegaEmbed" in drawing.finished()
    written = write(store, "study", tmp_path / "out", pictures=False)

    assert written.picture is None
    assert {file.suffix for file in folder.iterdir()} == {".csv", ".md"}
    text = written.page.read_text("utf-8")
    assert 'data-chart="effects"' in text and ".svg" not in text.split("<script")[0]
    assert ".svg" not in (folder / "summary.md").read_text("utf-8")


def test_a_killed_process_is_told_and_gone(drawn: tuple[Chart, ...], tmp_path: Path) -> None:
    before = set(children_of(os.getpid()))
    with Drawing() as drawing:
        (process,) = set(children_of(os.getpid())) - before
        os.kill(process, signal.SIGKILL)
        drawing.pictures(drawn, tmp_path)
        with pytest.raises(StoreError, match="can't be drawn: it ended with code -9"):
            drawing.finished()
    assert set(children_of(os.getpid())) == before


def test_a_report_that_fails_ends_the_process(tmp_path: Path) -> None:
    before = set(children_of(os.getpid()))
    with pytest.raises(UsageError):
        write(tmp_path / "no-store", "study", tmp_path)
    assert set(children_of(os.getpid())) == before
