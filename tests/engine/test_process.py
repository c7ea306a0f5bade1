"""What the end of a call of the engine means. The engine itself is played by recorded streams."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest

import lines
from dbdyno.engine import Engine, Outcome, find_engine, find_script, run_engine
from dbdyno.engine.process import Call
from dbdyno.errors import (
    ConnectError,
    EngineError,
    LabError,
    MachineError,
    ScriptError,
    StatementError,
    UsageError,
)
from dbdyno.guard.launch import Launch
from dbdyno.model import Record


def replay(
    tmp_path: Path, stream: bytes, *, code: int = 0, says: str = "", then: str = ""
) -> Engine:
    """A program that reads a spec, answers with a recorded stream and ends with a code."""
    (tmp_path / "stream").write_bytes(stream)
    program = tmp_path / "engine"
    program.write_text(
        "#!/bin/sh\n"
        f"cat > {tmp_path}/spec\n"
        f"cat {tmp_path}/stream\n"
        f"echo '{says}' >&2\n"
        f"{then}\n"
        f"exit {code}\n"
    )
    program.chmod(0o755)
    return Engine(program, "0.1.0")


def run(tmp_path: Path, engine: Engine, seen: list[Record] | None = None) -> Outcome:
    def listen(_line: bytes, record: Record, _call: Call) -> None:
        if seen is not None:
            seen.append(record)

    log = tmp_path / "engine.log"
    return run_engine(engine, {"schema": 2}, listener=listen, log=log, processes=1)


def test_records_arrive_in_order_and_the_spec_gets_there(tmp_path: Path) -> None:
    seen: list[Record] = []
    stream = lines.hello() + lines.interval() + lines.summary()
    outcome = run(tmp_path, replay(tmp_path, stream, says="a word"), seen)

    assert [type(record).__name__ for record in seen] == ["Hello", "Interval", "Summary"]
    assert outcome.failure is None
    assert not outcome.interrupted
    assert outcome.summary_line["rss_kb"] == 15_000
    assert (tmp_path / "spec").read_text() == '{"schema": 2}\n'
    assert (tmp_path / "engine.log").read_text() == "a word\n"


def test_a_torn_last_line_loses_itself_only(tmp_path: Path) -> None:
    stream = lines.hello() + lines.interval() + lines.interval(1)[:50]
    seen: list[Record] = []
    outcome = run(tmp_path, replay(tmp_path, stream, then="kill -9 $$"), seen)

    assert len(seen) == 2
    assert isinstance(outcome.failure, EngineError)
    assert "SIGKILL" in outcome.failure.message


@pytest.mark.parametrize(
    ("kind", "code", "expected"),
    [
        ("usage", 2, UsageError),
        ("script", 3, ScriptError),
        ("connection", 4, ConnectError),
        ("statement", 5, StatementError),
        ("environment", 6, MachineError),
        ("internal", 70, EngineError),
    ],
)
def test_each_way_to_fail_has_its_exception(
    tmp_path: Path, kind: str, code: int, expected: type[LabError]
) -> None:
    told = run(tmp_path, replay(tmp_path, lines.hello() + lines.fatal(kind, "no"), code=code))
    untold = run(tmp_path, replay(tmp_path, b"", code=code, says="error: bad"))

    for outcome, message in ((told, "no"), (untold, "error: bad")):
        assert type(outcome.failure) is expected
        assert outcome.failure.message == message
        assert outcome.failure.exit_code == code
    if isinstance(told.failure, ScriptError):
        assert told.failure.traceback == "kv.lua:3: in event"


def test_what_was_measured_before_a_fatal_error_is_there(tmp_path: Path) -> None:
    stream = lines.hello() + lines.fatal("statement", "no table") + lines.summary()
    outcome = run(tmp_path, replay(tmp_path, stream, code=5))

    assert outcome.summary is not None
    assert isinstance(outcome.failure, StatementError)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_is_passed_on_and_the_summary_still_arrives(
    tmp_path: Path, number: signal.Signals
) -> None:
    (tmp_path / "summary").write_bytes(lines.summary(interrupted=True))
    wait = (
        f"trap 'cat {tmp_path}/summary; exit 130' INT\n"
        f"touch {tmp_path}/ready\nwhile :; do sleep 0.05; done"
    )
    engine = replay(tmp_path, lines.hello(), then=wait)
    before = signal.getsignal(number)

    def interrupt() -> None:
        while not (tmp_path / "ready").exists():
            ticks.wait(0.01)
        os.kill(os.getpid(), number)

    ticks = threading.Event()
    interrupting = threading.Thread(target=interrupt)
    interrupting.start()
    outcome = run(tmp_path, engine)
    interrupting.join()

    assert outcome.interrupted
    assert outcome.failure is None
    assert outcome.summary is not None
    assert outcome.summary.interrupted
    assert signal.getsignal(number) is before


def test_a_listener_s_exception_leaves_no_engine_behind(tmp_path: Path) -> None:
    engine = replay(
        tmp_path, lines.hello(), then=f"echo $$ > {tmp_path}/pid\nwhile :; do sleep 0.05; done"
    )

    def listen(_line: bytes, _record: Record, _call: Call) -> None:
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text().strip():
            threading.Event().wait(0.01)
        raise KeyError("a fault of ours")

    with pytest.raises(KeyError):
        run_engine(engine, {}, listener=listen, log=tmp_path / "engine.log", processes=1)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_an_engine_that_can_not_be_started_as_told_says_why(tmp_path: Path) -> None:
    engine = replay(tmp_path, lines.hello())
    log = tmp_path / "engine.log"
    outcome = run_engine(
        engine, {}, listener=lambda *_: None, log=log, processes=1, launch=Launch(cpus=(4095,))
    )

    assert outcome.failure is not None and "taskset" in outcome.failure.message


def test_an_engine_that_is_nowhere_is_looked_for_everywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DBDYNO_ENGINE", str(tmp_path / "gone"))
    with pytest.raises(EngineError, match=r"gone \(\$DBDYNO_ENGINE\)") as caught:
        find_engine()
    assert caught.value.hint


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ('echo \'{"engine_version": "9.9.9", "schema": 2}\'', "is version 9.9.9"),
        ('echo \'{"engine_version": "0.1.0", "schema": 3}\'', "record schema 3"),
        ("echo hello", "does not report its version"),
        ("exit 3", "does not report its version"),
    ],
)
def test_an_engine_of_another_version_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str, said: str
) -> None:
    program = tmp_path / "dbdyno-engine"
    program.write_text(f"#!/bin/sh\n{answer}\n")
    program.chmod(0o755)
    monkeypatch.setenv("DBDYNO_ENGINE", str(program))
    with pytest.raises(EngineError, match=said):
        find_engine()


def test_scripts_are_found_by_name_and_missing_ones_answered(tmp_path: Path) -> None:
    (tmp_path / "kv_update.lua").write_text("")

    assert find_script("kv_update", (tmp_path,)).name == "kv_update.lua"
    assert find_script("kv_update.lua", (tmp_path,)).name == "kv_update.lua"
    assert find_script(str(tmp_path / "kv_update.lua"), (Path.cwd(),)).name == "kv_update.lua"
    for wrong, advice in (
        ("kv_updat", "did you mean `kv_update`?"),
        ("queue", "there are kv_update"),
    ):
        with pytest.raises(ScriptError, match=f"there is no script `{wrong}`") as caught:
            find_script(wrong, (tmp_path,))
        assert caught.value.hint == advice
        assert caught.value.exit_code == 3
