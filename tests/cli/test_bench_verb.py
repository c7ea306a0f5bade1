"""`bench`, `prepare` and `cleanup`: what is kept, what is judged, what is told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dbdyno.cli import call
from dbdyno.cli.thresholds import Threshold
from dbdyno.store import Store

pytestmark = pytest.mark.usefixtures("replay_engine")


@pytest.fixture
def url(study_file: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A database file beside the script `nothing`."""
    monkeypatch.chdir(study_file.parent)
    return f"sqlite://{study_file.parent}/a.db"


def bench(url: str, *arguments: str) -> int:
    return call(["bench", url, "--script", "nothing", *arguments])


def test_a_bench_is_kept_as_a_study_of_one_run_with_its_report(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench(url, "--clients", "4", "--option", "act=measure", "--seed", "7") == 0
    last = capsys.readouterr().out.splitlines()[-1].split()
    (name,) = Store(tmp_path / "results").names()
    assert last == ["report", f"results/{name}/report.html"]
    assert name.startswith("bench-nothing-")

    study = Store(tmp_path / "results").study(name)
    (run,) = study.survey(whole=True).runs.values()
    assert (run.manifest.status, run.manifest.options) == ("complete", {"act": "measure"})
    assert [(step.clients, step.seed) for step in run.manifest.steps] == [(4, 7)]
    assert run.summaries[0].events == 100
    assert run.series.num_rows == 3
    assert isinstance(run.document("facts.json"), dict)
    page = (tmp_path / last[1]).read_text()
    assert f"What does nothing do on {url}?" in page
    assert "dbdyno run" not in page.split("<h2>Run it again</h2>")[1]


def test_machine_and_database_are_sampled_beside_it(url: str, tmp_path: Path) -> None:
    own = tmp_path / "pages"
    own.write_text('#!/bin/sh\nls "$DBDYNO_DATA_FOLDER" | wc -l | sed "s/^/files /"\n')
    own.chmod(0o755)
    assert bench(url, "--collector", str(own)) == 0
    store = Store(tmp_path / "results")
    (run,) = store.study(*store.names()).runs().values()
    assert run.metrics is not None
    table, _ = run.metrics
    seen = set(zip(*table.select(["source", "metric"]).to_pydict().values(), strict=True))
    assert ("pages", "files") in seen
    assert {"disk", "memory", "processor", "pressure"} <= {source for source, _ in seen}
    assert len(str(run.manifest.collected["pages"]["sha256"])) == 64
    assert run.manifest.lab is not None
    assert run.manifest.lab.cpu_s > 0


def test_a_collector_that_is_none_is_told_before_anything_is_measured(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "wrong.py").write_text("x = (\n")
    assert bench(url, "--collector", str(tmp_path / "wrong.py")) == 2
    assert "wrong.py:1: " in capsys.readouterr().err
    assert not list((tmp_path / "results").glob("bench*"))


def test_with_discard_nothing_is_kept(url: str, tmp_path: Path) -> None:
    assert bench(url, "--discard") == 0
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize("act", ["script error", "be killed"])
def test_where_nothing_was_measured_nothing_is_kept(url: str, tmp_path: Path, act: str) -> None:
    assert bench(url, "--option", f"act={act}", "--json") in (3, 6)
    assert [path.name for path in (tmp_path / "results").iterdir()] == [".lock"]


def test_a_store_that_can_not_be_written_is_told_before_anything_is_measured(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "results").write_text("")
    assert bench(url, "--store", "results/below") == 7
    told = capsys.readouterr()
    assert (told.out, "can't write" in told.err) == ("", True)


@pytest.mark.parametrize("more", [(), ("--discard",)])
def test_what_the_lab_took_is_in_the_document(
    url: str, more: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench(url, "--json", *more) == 0
    lab = json.loads(capsys.readouterr().out)["lab"]
    assert lab["cpu_s"] > 0
    assert lab["wall_s"] > 0
    assert lab["server_cpu_s"] == 0  # a database in process is asked nothing


@pytest.mark.parametrize("more", [("--json",), ("--repeat", "2"), ("--with", "a=1")])
def test_ycsb_s_results_are_those_of_a_single_run(
    url: str, more: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench(url, "--ycsb", *more) == 2
    assert "--ycsb prints one result" in capsys.readouterr().err


def test_a_bench_can_not_be_carried_on_with(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench(url, "--json") == 0
    (name,) = Store(tmp_path / "results").names()
    assert call(["resume", name]) == 2
    assert "a single `dbdyno bench` and can't be resumed" in (capsys.readouterr().err)


def test_no_event_completed_is_said_with_the_codes_and_ends_with_one(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench(url, "--option", "act=nothing completes", "--discard") == 1
    told = capsys.readouterr()
    assert "no event was completed in the window of 2 s; errors: 57P01 × 3" in told.err
    assert "errors         3 (57P01 × 3)" in told.out


@pytest.mark.parametrize(
    ("condition", "code", "said"),
    [
        ("p99 > 10ms", 1, "`p99 > 10ms`: p99 is 99"),
        ("p99 > 1 s", 0, ""),
        ("p99<900us", 0, ""),
        ("errors > 0", 1, "`errors > 0`: errors is 2"),
        ("events_per_s < 51", 1, "events_per_s is 50"),
        ("error_share > 1 %", 0, ""),
    ],
)
def test_thresholds_decide_the_exit_code(
    url: str, capsys: pytest.CaptureFixture[str], condition: str, code: int, said: str
) -> None:
    assert bench(url, "--discard", "--json", "--fail-if", condition) == code
    told = capsys.readouterr()
    assert said in told.err
    assert bool(json.loads(told.out)["broken"]) == bool(code)


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("p99", "expected FIGURE < or > LIMIT"),
        ("p98 > 10ms", "there is no figure `p98`"),
        ("p99 > 10", "expected a duration with its unit"),
        ("errors > many", "expected a number; found `many`"),
        ("errors > nan", "expected a number; found `nan`"),
        ("errors > 1 %", "errors is no share"),
    ],
)
def test_what_is_no_threshold_is_answered_with_two(
    url: str, capsys: pytest.CaptureFixture[str], condition: str, said: str
) -> None:
    assert bench(url, "--fail-if", condition) == 2
    assert said in capsys.readouterr().err


def test_a_time_nobody_measured_breaks_its_threshold(url: str) -> None:
    arguments = ("--option", "act=nothing completes", "--discard", "--fail-if", "p99 > 1h")
    assert bench(url, *arguments) == 1
    assert Threshold("p99 > 1h", "p99", ">", 3600).limit == 3600


def commands(folder: Path) -> list[str]:
    """The engine's calls, in order."""
    return [json.loads(line)["command"] for line in (folder / "specs").read_text().splitlines()]


@pytest.fixture
def specs(replay_engine: Path, tmp_path: Path) -> Path:
    """The played engine notes each spec that it is to run."""
    script = replay_engine.read_text()
    noting = script.replace("exec ", f"tee -a {tmp_path}/specs | exec ", 1).splitlines()[-1]
    chosen = f'if [ "$1" = run ]; then\n{noting}\nexit\nfi\n'
    replay_engine.write_text(script.replace("PYTHONPATH=", f"{chosen}PYTHONPATH=", 1))
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "called"),
    [
        (["bench", "--prepare", "--discard"], ["prepare", "run"]),
        (["bench", "--prepare=replace", "--discard"], ["cleanup", "prepare", "run"]),
        (["bench", "--prepare", "--cleanup", "--discard"], ["prepare", "run", "cleanup"]),
        (["prepare"], ["prepare"]),
        (["prepare", "--replace"], ["cleanup", "prepare"]),
        (["cleanup"], ["cleanup"]),
    ],
)
def test_tables_come_and_go_as_asked(
    url: str, specs: Path, arguments: list[str], called: list[str]
) -> None:
    verb, *rest = arguments
    assert call([verb, url, "--script", "nothing", *rest]) == 0
    assert commands(specs) == called


def test_no_statement_succeeded_is_said_with_the_codes(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench(url, "--option", "act=nothing succeeds", "--discard") == 1
    assert "all 3 statements failed (42P01 × 3)" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["bench", "prepare", "cleanup"])
def test_what_only_looks_like_a_url_is_answered_with_two(
    url: str, capsys: pytest.CaptureFixture[str], verb: str
) -> None:
    assert url
    assert call([verb, "postgresql://u@[::1/db", "--script", "nothing"]) == 2
    assert "is not a URL" in capsys.readouterr().err


def test_what_a_killed_bench_left_goes_with_the_next(url: str, tmp_path: Path) -> None:
    assert bench(url, "--json") == 0
    (first,) = (tmp_path / "results").glob("bench-*")
    (run,) = first.glob("runs/*")
    run.rename(run.with_name(f"{run.name}.partial"))
    first.rename(first.with_name("bench-killed"))
    other = tmp_path / "results" / "bench-of-mine"
    other.mkdir()
    assert bench(url, "--json") == 0
    names = [path.name for path in sorted((tmp_path / "results").glob("bench-*"))]
    assert names[-1] == "bench-of-mine"
    assert len(names) == 2
    assert "bench-killed" not in names


def test_an_engine_that_somebody_else_ends_has_not_measured_the_window(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench(url, "--option", "act=be told to end", "--discard") == 6
    assert "the engine was told to end (SIGINT or SIGTERM) by somebody else" in (
        capsys.readouterr().err
    )


@pytest.mark.parametrize("value", ["--5", "-", "9" * 5000, "²"])
def test_what_only_looks_like_a_number_is_a_text(url: str, tmp_path: Path, value: str) -> None:
    assert bench(url, "--option", "act=measure", "--option", f"x={value}") == 0

    (name,) = Store(tmp_path / "results").names()
    (run,) = Store(tmp_path / "results").study(name).survey().runs.values()
    assert run.manifest.options["x"] == value


def test_a_warning_is_printed_with_its_hint(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert bench(url, "--option", "act=warn") == 0
    told = capsys.readouterr().err
    assert "warning: clients paused\nhint: choose longer intervals\n" in told
