"""What others have written is harmless on a terminal, and nothing is printed past the rim."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import click
import pytest
from rich.console import Console

from dbdyno import cli
from dbdyno.cli import call
from dbdyno.cli.fault import watch_threads
from dbdyno.cli.outlook import Outlook
from dbdyno.cli.progress import Lines
from dbdyno.cli.terminal import harmless, say, say_complaint, say_exactly, say_json
from dbdyno.conduct import LoadWarned, RunStarted
from dbdyno.design import plan as make_plan
from dbdyno.errors import ServerError
from dbdyno.formats.study import read_study
from dbdyno.model import EngineWarning

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "python")}

ROOT = Path(__file__).parents[2]

HOSTILE = [
    ("\x1b]0;pwn\x07", "\\x1b]0;pwn\\x07"),
    ("\x1b[2J\x1b[1;1Hgone", "\\x1b[2J\\x1b[1;1Hgone"),
    ("100 %\rerror: none", "100 %\\x0derror: none"),
    ("a\x08b\x7f", "a\\x08b\\x7f"),
    ("\x9b31m\x90q\x9c", "\\x9b31m\\x90q\\x9c"),
    ("\u202egnp.exe", "\\u202egnp.exe"),
    ("\u2066a\u2069", "\\u2066a\\u2069"),
    ("a\u2028b", "a\\u2028b"),
    ("\udcffname", "\\xffname"),
    ("\ud800", "\\ud800"),
    ("\U000e0041", "\\U000e0041"),
    ("\x00", "\\x00"),
    ("\x1bP$q\x1b\\", "\\x1bP$q\\x1b\\"),
    ("\x1b_x\x1b^y", "\\x1b_x\\x1b^y"),
    ("\x1b]8;;file:///x\x07a", "\\x1b]8;;file:///x\\x07a"),
    ("\x1b[6n\x1bc", "\\x1b[6n\\x1bc"),
    ("\x9d0;t\x9c", "\\x9d0;t\\x9c"),
    ("a\x0bb\x0cc", "a\\x0bb\\x0cc"),
    ("a\x85b", "a\\x85b"),
    ("\u061c\u200e\u200f", "\\u061c\\u200e\\u200f"),
    ("\ufeffa\u2060b", "\\ufeffa\\u2060b"),
    ("\ufff9a\ufffb", "\\ufff9a\\ufffb"),
    ("\x0e\x0f\x05", "\\x0e\\x0f\\x05"),
]


@pytest.mark.parametrize(("text", "shown"), HOSTILE)
def test_what_a_terminal_would_obey_is_written_out(
    text: str, shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert harmless(text) == shown
    say(text)
    say(text, err=True)
    say_complaint(click.ClickException(text))
    out, err = capsys.readouterr()
    assert out == f"{shown}\n"
    assert err.startswith(f"{shown}\nError: ")
    assert harmless(err) == err
    say_json({"a": text})
    out = capsys.readouterr().out
    assert json.loads(out) == {"a": text}
    assert harmless(out) == out


@pytest.mark.parametrize("text", ["plain\n\ttext", "µ × – 日本 é 👩‍🔬", "שלום"])
def test_other_text_stays_as_it_is(text: str) -> None:
    assert harmless(text) == text


def test_programs_get_every_byte(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    say_exactly("a\x1b[0m\r\n")
    assert capsysbinary.readouterr().out == b"a\x1b[0m\r\n"


def test_progress_is_harmless_too(study_file: Path) -> None:
    study = read_study(study_file).study
    run = make_plan(study, seed=1).runs[0]
    told = io.StringIO()
    shown = Lines(Outlook(study.load), Console(file=told))
    shown.show(RunStarted(run, 1))
    shown.show(LoadWarned(run, EngineWarning("x", "a\x1b]0;b", "[bold]c\x07")))
    assert "a\\x1b]0;b\n  hint: [bold]c\\x07" in told.getvalue()


def test_an_error_of_a_server_is_harmless(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ServerError("it says \x1b[31m", hint="\x1b]52;c;cm0=\x07")

    monkeypatch.setattr(cli.cli, "main", fail)
    assert call(["list"]) == 4
    assert capsys.readouterr().err == "error: it says \\x1b[31m\n\nhint: \\x1b]52;c;cm0=\\x07\n"


def test_nothing_is_printed_past_it() -> None:
    folder = ROOT / "python" / "dbdyno" / "cli"
    past = [
        f"{file.name}: {found}"
        for file in folder.glob("*.py")
        if file.name != "terminal.py"
        for found in re.findall(
            r"click\.s?echo\(|(?<!\.)\bprint\(|(?<!error_)Console\(|std(?:out|err)\.write",
            file.read_text(),
        )
    ]
    assert past == []
    past = [
        f"{file.name}: {found}"
        for file in (ROOT / "crates" / "cli" / "src").glob("*.rs")
        for found in re.findall(r"\be?print(?:ln)?!\([^\n]*", file.read_text())
        if file.name != "terminal.rs" and "{message}" in found
    ]
    assert past == []


@pytest.mark.parametrize(
    "error",
    [
        KeyError("x"),
        RecursionError("deep\ndeeper"),
        MemoryError(),
        OSError(28, "No space left on device"),
        AssertionError("\x1b[31m"),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "no"),
        RuntimeError("can't reach mysql://bob:S3cret@host/d?password=S3cret"),
    ],
)
def test_what_nobody_foresaw_is_told_in_one_line(
    error: Exception,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(cli.cli, "main", fail)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert call(["bench", "mysql://bob:S3cret@host/d", "--x"]) == 70
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"error: a fault of dbdyno's own: {type(error).__name__}")
    assert err.count("\n") == 1
    (kept,) = tmp_path.glob("dbdyno-fault-*.txt")
    assert err.endswith(f"details for a report are in {kept}\n")
    text = kept.read_text()
    assert "Traceback (most recent call last)" in text
    assert "dbdyno bench mysql://bob@host/d --x" in text
    assert "S3cret" not in err + text
    assert kept.stat().st_mode & 0o777 == 0o600


def test_a_full_disk_does_not_hide_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise KeyError("x")

    def full(**_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cli.cli, "main", fail)
    monkeypatch.setattr(tempfile, "mkstemp", full)
    assert call(["list"]) == 70
    assert capsys.readouterr().err.endswith("can't be kept: No space left on device\n")


@pytest.mark.filterwarnings("ignore")
def test_a_thread_that_fails_says_so_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)
    monkeypatch.setattr("sys.unraisablehook", lambda _: None)
    watch_threads()
    thread = threading.Thread(target=lambda: 1 // 0, name="sampler")
    thread.start()
    thread.join()
    err = capsys.readouterr().err
    assert err.startswith("note: thread `sampler` has ended: a fault of dbdyno's own: Zero")
    assert err.count("\n") == 1


@pytest.mark.parametrize("verb", ["check", "run", "report", "servers", "resume", "history"])
def test_a_url_where_none_is_expected_is_told_without_its_password(
    verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call([verb, "mysql://bob:S3cretPW@127.0.0.1:1/d"]) in (2, 7)
    told = capsys.readouterr()
    assert "bob@127.0.0.1:1/d" in told.err
    assert "S3cret" not in told.err + told.out


@pytest.mark.parametrize(
    "arguments",
    [("list",), ("scripts", "--json"), ("servers",), ("run", "--help"), ("--version",)],
)
def test_a_full_disk_under_standard_output_is_no_fault_of_ours(arguments: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "dbdyno", *arguments],
            env=ENVIRONMENT,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert ended.returncode == 7
    assert ended.stderr == "error: standard output can't be written: No space left on device\n"


def test_messages_that_nothing_takes_change_no_result(tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "dbdyno", "check", str(tmp_path / "none.toml")],
            env=ENVIRONMENT,
            stdout=subprocess.PIPE,
            stderr=full,
            check=False,
        )
    assert ended.returncode == 2
