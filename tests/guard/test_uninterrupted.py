"""What Ctrl-C may not cut in two is finished first, and ends as it would have."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from dbdyno.guard.family import children_of
from dbdyno.guard.guarded import Guarded
from dbdyno.guard.journal import Step, mend
from dbdyno.guard.uninterrupted import uninterrupted
from traces import wait_until_gone


def test_an_interrupt_waits_for_the_end_of_the_block() -> None:
    done = []

    def work() -> None:
        with uninterrupted():
            signal.raise_signal(signal.SIGINT)
            done.append("all of it")
        done.append("and more")

    with pytest.raises(KeyboardInterrupt):
        work()

    assert done == ["all of it"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_what_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with uninterrupted():
            os.kill(os.getpid(), signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_another_thread_is_never_interrupted() -> None:
    handlers = []

    def work() -> None:
        with uninterrupted():
            handlers.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()

    assert handlers == [signal.default_int_handler]


def test_what_a_killed_guard_has_left_is_put_back_though_ctrl_c_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DBDYNO_STATE", str(tmp_path / "state"))
    switch = tmp_path / "switch"
    switch.write_text("1")

    def interrupted_mend(folder: Path, *, patience_s: float) -> Sequence[Step]:
        signal.raise_signal(signal.SIGINT)
        return mend(folder, patience_s=patience_s)

    def work() -> None:
        known = set(children_of(os.getpid()))
        with Guarded() as guarded:
            guarded.write(switch, "2")
            killed = set(children_of(os.getpid())) - known
            for pid in killed:
                os.kill(pid, signal.SIGKILL)
            wait_until_gone(sorted(killed))

    monkeypatch.setattr("dbdyno.guard.guarded.mend", interrupted_mend)
    with pytest.raises(KeyboardInterrupt):
        work()

    assert switch.read_text() == "1"
    assert not list((tmp_path / "state").glob("*.journal"))
