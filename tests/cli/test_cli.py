"""The command line: what goes where, and what each mistake is answered with."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from dbdyno.cli import call
from dbdyno.cli.text import fold, step_line
from dbdyno.model import Counters, CpuTime, Step, Summary
from dbdyno.store import step_summary

pytestmark = pytest.mark.usefixtures("replay_engine")

PYTHON = str(Path(__file__).parents[2] / "python")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def start(*arguments: str, act: str = "") -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "dbdyno", *arguments],
        env={**os.environ, "PYTHONPATH": PYTHON, "ACT": act},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for(pattern: str, folder: Path) -> None:
    tick = threading.Event()
    for _ in range(6000):
        if any(path.stat().st_size for path in folder.glob(pattern)):
            return
        tick.wait(0.02)
    raise AssertionError(f"no {pattern} appeared in {folder}")


def test_run_prints_the_report_s_path_and_nothing_else(
    study_file: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(["run", study_file.name]) == 0

    told = capsys.readouterr()
    assert told.out == "results/example/report.html\n"
    assert (here / "results/example/report.html").is_file()
    assert "[1/2] delete · block 1" in told.err
    assert "4 clients: 50 events/s, p99 99 ms, 2 errors" in told.err
    assert "Of 2 comparisons with the baseline: cannot tell in 2." in told.err
    assert "\x1b" not in told.err


@pytest.mark.parametrize(
    ("old", "new", "code", "said"),
    [
        ("measure", "mesure", 2, "example.toml:16: unknown key `mesure` in [load]"),
        ('"sqlite"', '"sqlight"', 2, "example.toml:4: `sqlight` is not a kind of server"),
        ('"nothing"', '"nothin"', 3, "example.toml:11: there is no script `nothin`"),
        ("table_size = 10", 'act = "script error"', 3, "in event"),
        ("[load]", "[load", 2, "not valid TOML"),
    ],
)
def test_each_mistake_has_its_code_and_one_message(
    study_file: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, code: int, said: str
) -> None:
    study_file.write_text(study_file.read_text().replace(old, new, 1))

    assert call(["run", study_file.name]) == code
    told = capsys.readouterr()
    assert told.out == ""
    assert said in told.err
    assert told.err.count("error: ") == 1
    assert "Traceback" not in told.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run"], "Missing argument 'STUDY'"),
        (["runn", "x"], "No such command 'runn'"),
        (["run", "quikstart"], "did you mean `quickstart`?"),
        (["run", "quickstart", "--scale", "smal"], "there is no scale `smal`"),
        (["report", "nothing"], "holds no study `nothing`"),
        (["bench", "null:", "--script", "x", "--time", "5"], "expected a duration"),
        (["bench", "null:", "--script", "x", "--time", "-5s"], "and not negative; found '-5s'"),
        (["bench", "null:", "--script", "x", "--time", "0s"], "expected 1 ms or longer"),
        (["bench", "null:", "--script", "x", "--time", "999999999 h"], "1,000,000,000 s at most"),
        (["bench", "null:", "--script", "x", "--interval", "0s"], "expected 1 ms to 1 h"),
        (["bench", "null:", "--script", "x", "--rate", "1e300"], "at most 1,000,000,000"),
        (["bench", "null:", "--script", "x", "--rate", "nan"], "found 'nan'"),
        (["bench", "null:", "--script", "x", "--rate", "inf"], "found 'inf'"),
        (["bench", "null:", "--script", "x", "--rate", "0"], "above 0"),
        (["bench", "null:", "--script", "nothing", "--option", "x"], "expected NAME=VALUE"),
        (["bench", "here", "--script", "nothing"], "`here` is not a URL"),
        (["bench", "sqlite://", "--script", "nothing"], "names no file"),
    ],
)
def test_wrong_use_is_answered_with_two(
    study_file: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert study_file.is_file()
    assert call(arguments) == 2
    assert said in capsys.readouterr().err


def test_check_tells_cells_order_and_cost(
    study_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(["check", study_file.name, "--blocks", "3", "--json"]) == 0

    told = json.loads(capsys.readouterr().out)
    assert len(told["order"]) == 6
    assert told["factors"] == {"server": ["lite"], "journal": ["delete", "wal"]}
    assert told["time_s"] > 6


def test_check_tells_the_load_in_words(
    study_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = (
        'arrival = { kind = "poisson", rate = 500 }\n'
        "[load.group.crowd]\nclients = 2_000\nidle = true\n"
    )
    study_file.write_text(study_file.read_text().replace("[design]", more + "[design]"))
    assert call(["check", study_file.name]) == 0

    told = capsys.readouterr().out
    assert "load     1, 4 clients, poisson arrivals, 500 events/s; warm-up 0 s" in told
    assert "beside   crowd: 2,000 clients, idle" in told


def test_bench_prints_the_figures_a_program_reads(
    study_file: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert study_file.is_file()
    url = f"sqlite://{here}/a.db"
    assert call(["bench", url, "--script", "nothing", "--clients", "4", "--json"]) == 0

    told = json.loads(capsys.readouterr().out)
    assert (told["statements"], told["statements_per_s"], told["events_per_s"]) == (600, 300, 50)
    assert list(told["latency_us"])[:5] == ["p50", "p95", "p99", "p99.9", "max"]
    assert (told["client_cpu_us_per_statement"], told["client_rss_kb"]) == (20, 15_000)
    assert (told["errors"], told["seed"], told["clients"]) == (2, 1, 4)


def test_bench_says_by_what_it_was_measured(
    study_file: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert study_file.is_file()
    url = f"sqlite://{here}/a.db"
    assert call(["bench", url, "--script", "nothing", "--prepare", "--cleanup"]) == 0

    told = capsys.readouterr()
    assert re.search(r"^engine +1 process, \d+ shards?$", told.out, re.MULTILINE), told.out
    assert not re.search(r"(prepare|cleanup) .* connections", told.err), told.err


def test_ctrl_c_keeps_what_was_measured(study_file: Path, here: Path) -> None:
    process = start("run", study_file.name, act="wait")
    wait_for("results/example/runs/*.partial/records.ndjson.zst", here)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)

    assert (process.returncode, out) == (130, "")
    assert "hint: `dbdyno resume example.toml --store results` carries on" in err
    assert err.count("what was measured is kept") == 1
    assert [path.name for path in (here / "results/example/runs").iterdir()] == ["b1-delete"]


def test_after_a_kill_resume_runs_only_what_is_missing(study_file: Path, here: Path) -> None:
    runs = here / "results/example/runs"
    text = study_file.read_text()
    study_file.write_text(text.replace('"wal" } }', '"wal" }, options = { act = "wait" } }'))
    process = start("run", study_file.name)
    wait_for("results/example/runs/b1-wal.partial/records.ndjson.zst", here)
    process.kill()
    process.communicate()
    before = (runs / "b1-delete" / "manifest.json").stat().st_mtime_ns

    again = start("resume", "example", act="measure")
    out, err = again.communicate(timeout=120)
    assert (again.returncode, out) == (0, "results/example/report.html\n"), err
    ended = {
        path.name: json.loads((path / "manifest.json").read_text())["status"]
        for path in sorted(runs.iterdir())
    }
    # What was measured until the kill is kept beside what was missing, if it had begun.
    assert set(ended.values()) <= {"complete", "interrupted"}
    complete = [name.partition("~")[0] for name, how in ended.items() if how == "complete"]
    assert complete == ["b1-delete", "b1-wal"]
    assert (runs / "b1-delete" / "manifest.json").stat().st_mtime_ns == before


def test_some_failed_runs_make_the_study_not_valid(
    study_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = study_file.read_text()
    study_file.write_text(
        text.replace('"wal" } }', '"wal" }, options = { act = "lose the server" } }')
    )
    assert call(["run", study_file.name]) == 1
    assert "1 of 2 runs failed: b1-wal: the database file" in capsys.readouterr().err


def test_failed_runs_are_told_with_their_cure(
    study_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = study_file.read_text()
    study_file.write_text(text.replace('"wal" } }', '"wal", jornal_size_limit = "1" } }'))
    assert call(["run", study_file.name]) == 1
    told = capsys.readouterr().err
    cure = "did you mean `journal_size_limit`?"
    failed = rf"sqlite has no setting `jornal_size_limit` · \d+ s left\n  hint: {re.escape(cure)}\n"
    assert re.search(failed, told)
    assert f"\nhint: {cure}\n`dbdyno resume example --store results` tries them again" in told
    assert "Nothing was measured at the same load to compare, so there is no verdict." in told


def test_a_script_error_of_one_cell_has_its_code_and_a_report_of_the_others(
    study_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = study_file.read_text()
    acts = '"delete" }, options = { act = "script error" } }'
    study_file.write_text(text.replace('"delete" } }', acts, 1))

    assert call(["run", study_file.name]) == 3
    told = capsys.readouterr()
    assert told.out == "results/example/report.html\n"
    reason = "1 of 2 runs failed: b1-delete: kv.lua:3: attempt to call a nil value"
    assert f"error: {reason}\nkv.lua:3: in event\n" in told.err
    assert told.err.count("error: ") == 1


def test_where_nothing_was_measured_the_reason_is_told_once(
    study_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = study_file.read_text()
    study_file.write_text(text.replace("table_size = 10", 'act = "statement error"'))
    assert call(["run", study_file.name]) == 5
    assert capsys.readouterr().err.splitlines()[-1].count("no such table: kv") == 1


def test_a_study_of_failed_runs_only_ends_with_their_code(
    study_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = study_file.read_text()
    study_file.write_text(text.replace("table_size = 10", 'act = "statement error"'))
    assert call(["run", study_file.name]) == 5
    assert "every run failed; the first one: no such table: kv" in capsys.readouterr().err


def test_doctor_tells_limits_with_their_cures(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["doctor", "--clients", "1000000"]) == 0
    told = capsys.readouterr().out
    assert "local ports for connections to the server's address: 1,000,000 needed" in told
    assert "hint: `sysctl -w net.ipv4.ip_local_port_range" in told

    assert call(["doctor", "--clients", "1", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert all(limit["met"] for limit in document["limits"])
    assert document["processes"] == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--arrival", "poisson"], "--arrival needs --rate"),
        (["--rate", "5", "--think-time", "1s"], "--think-time is a pause of a closed loop"),
        (["--rate", "0"], "expected events per second, above 0"),
        (["--on-error", "40P01"], "expected CODE=ACTION[:LIMIT]"),
        (["--on-error", "deadlock=retry"], "expected a SQLSTATE"),
        (["--on-error", "all=ignore:3"], "only `retry` has a limit"),
        (["--processes", "2"], "1 clients can't be divided among 2 processes"),
    ],
)
def test_a_load_that_can_not_be_is_answered_with_two(
    study_file: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert study_file.is_file()
    assert call(["bench", "null:", "--script", "nothing", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_bench_hands_the_load_to_the_engine(study_file: Path, here: Path) -> None:
    pace = ("--rate", "500", "--arrival", "poisson", "--shards", "3", "--reactor", "epoll")
    schedule = ("--scheduling", "inherit", "--bind", "each")
    rules = ("--on-error", "40P01,1213=retry:5", "--on-error", "all=ignore")
    program = here / "dbdyno-engine"
    program.write_text(program.read_text().replace("exec ", "tee spec | exec ", 1))
    assert study_file.is_file()
    url = f"sqlite://{here}/a.db"
    call(["bench", url, "--script", "nothing", *pace, *schedule, *rules, "--json"])

    spec = json.loads((here / "spec").read_text())
    (group,) = spec["groups"]
    assert group["arrival"] == {"kind": "poisson", "rate_per_s": 500}
    assert (spec["shards"], spec["reactor"]) == (3, "epoll")
    assert (spec["scheduling"], spec["bind"]) == ("inherit", "each")
    assert spec["errors"]["rules"] == [
        {"codes": ["40P01", "1213"], "action": "retry", "limit": 5},
        {"codes": ["all"], "action": "ignore", "limit": 10},
    ]


def test_lines_are_broken_between_words_on_a_terminal_only() -> None:
    text = "note: words beyond the edge\n  hint: a-word-that-is-longer-than-any-terminal"

    assert fold(text, None) == text
    assert fold(text, 18) == (
        "note: words beyond\n  the edge\n  hint:\n    a-word-that-is-longer-than-any-terminal"
    )


def test_a_step_that_was_cut_short_says_so() -> None:
    counters = Counters(48, 0, 48, 0, 0, 0, 0, 0, 0)
    summary = Summary(
        interrupted=True,
        start_ns=0,
        end_ns=400_000_000,
        measured=counters,
        total=counters,
        errors={},
        cpu=CpuTime(1, 1),
        rss_peak_kb=1,
        rss_kb=1,
        clients=0,
        histograms=(),
    )
    step = Step(index=0, clients=2, seed=1)

    assert step_line(step, step_summary(0, summary, {})) == (
        "2 clients: 120 events/s, cut short after 400 ms"
    )


def test_doctor_mends_what_a_killed_run_left(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DBDYNO_STATE", str(tmp_path / "state"))
    assert call(["doctor", "--mend"]) == 0
    assert "nothing to undo" in capsys.readouterr().out
    (tmp_path / "state").mkdir(mode=0o700)
    journal = tmp_path / "state" / "1-1.journal"
    folder, undone = (
        tmp_path / "folder",
        {"kind": "remove_folder", "path": str(tmp_path / "folder")},
    )
    folder.mkdir()
    journal.write_text(json.dumps({"number": 1, "boot": "another", "undo": undone}) + "\n")

    assert call(["doctor", "--mend"]) == 0
    assert "remove folder" in capsys.readouterr().out
    assert not folder.exists()

    failing = {"kind": "remove_folder", "path": "/proc/self"}
    journal.write_text(json.dumps({"number": 1, "boot": "another", "undo": failing}) + "\n")
    assert call(["doctor", "--mend"]) == 6
    assert str(journal) in capsys.readouterr().err
