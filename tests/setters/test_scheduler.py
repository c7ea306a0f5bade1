"""Scheduling classes, priorities and nice of the server."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from scene import root_only, scene, without_root
from server_process import told_by

from dbdyno.guard.guarded import Guarded
from dbdyno.guard.launch import Launch
from dbdyno.setters.outfit import apply_all
from dbdyno.setters.scheduler import SETTER

__all__ = ["without_root"]

LOOK = ["sh", "-c", "chrt -p $$ | sed 's/.*: //'; nice"]


def test_a_word_is_a_class() -> None:
    assert SETTER.read("batch") == Launch(scheduler="batch")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("deadline", "`fifo`"),
        (3, "`nice`, or a class by name; found 3"),
        ("rr", "a `priority` with"),
        ({"class": "batch", "priority": 3}, "with no other"),
        ({"class": "rr", "priority": 100}, "from 1 to 99"),
        ({"nice": 20}, "from -20 to 19"),
    ],
)
def test_what_can_not_be_is_refused(value: object, expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        SETTER.read(value)


@pytest.mark.usefixtures("without_root")
@pytest.mark.parametrize("value", [{"class": "rr", "priority": 1}, {"nice": -5}])
def test_precedence_over_others_needs_root(value: object) -> None:
    (missing,) = SETTER.missing(SETTER.read(value))

    assert missing.what.startswith("only root may")


@pytest.mark.usefixtures("without_root")
def test_stepping_back_needs_nothing() -> None:
    back = min(os.getpriority(os.PRIO_PROCESS, 0) + 5, 19)
    assert SETTER.missing(SETTER.read({"class": "batch", "nice": back})) == ()


@root_only
def test_a_server_has_the_usual_nice_value_whatever_the_command_s_own_is(tmp_path: Path) -> None:
    ours = os.getpriority(os.PRIO_PROCESS, 0)
    os.setpriority(os.PRIO_PROCESS, 0, 10)
    try:
        with Guarded() as guarded:
            outfit = apply_all({"scheduler": "batch"}, guarded, scene(tmp_path))
            words = told_by(guarded, outfit.server, LOOK, tmp_path).split()
    finally:
        os.setpriority(os.PRIO_PROCESS, 0, ours)

    assert words == ["SCHED_BATCH", "0", "0"]


@pytest.mark.usefixtures("without_root")
def test_the_usual_nice_value_needs_root_where_the_command_has_a_higher_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dbdyno.setters.scheduler.nice_of", lambda _: 10)

    (missing,) = SETTER.missing(SETTER.read("batch"))

    assert missing.what == "only root may give a server nice 0 from a command with nice 10"


@root_only
@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("batch", ["SCHED_BATCH", "0", "0"]),
        ({"class": "rr", "priority": 7}, ["SCHED_RR", "7", "0"]),
        ({"nice": -5}, ["SCHED_OTHER", "0", "-5"]),
    ],
)
def test_the_server_is_scheduled_so(value: object, told: list[str], tmp_path: Path) -> None:
    if SETTER.missing(SETTER.read(value)):
        pytest.skip("this kernel refuses it")
    with Guarded() as guarded:
        outfit = apply_all({"scheduler": value}, guarded, scene(tmp_path))

        assert told_by(guarded, outfit.server, LOOK, tmp_path).split() == told


def test_the_class_of_a_process_is_seen(tmp_path: Path) -> None:
    with Guarded() as guarded:
        outfit = apply_all({"scheduler": "batch"}, guarded, scene(tmp_path))

    assert outfit.facts([os.getpid()])["scheduler"]["got"]["class"] == "other"
