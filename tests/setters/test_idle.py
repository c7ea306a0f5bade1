"""Idle processors that poll for work."""

from __future__ import annotations

from pathlib import Path

import pytest
from scene import root_only, scene, without_root

from dbdyno.guard.guarded import Guarded
from dbdyno.guard.undo import read_switch
from dbdyno.setters.idle import SETTER
from dbdyno.setters.outfit import apply_all

__all__ = ["without_root"]

SWITCH = Path("/sys/devices/system/cpu/cpu0/power/pm_qos_resume_latency_us")
DRIVER = Path("/sys/devices/system/cpu/cpuidle/current_driver")
can_poll = pytest.mark.skipif(
    not DRIVER.exists() or DRIVER.read_text().strip() == "none",
    reason="this kernel has no driver for idle processors",
)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("sleep", "expected one of `poll`"),
        ({"needed": False}, "expected one of `poll`"),
        ({"how": "poll", "needed": "no"}, "expected `needed` to be true or false"),
        (1, "expected a table with some of `how`, `needed`, or `poll`; found 1"),
    ],
)
def test_what_can_not_be_is_refused(value: object, expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        SETTER.read(value)


@can_poll
@pytest.mark.usefixtures("without_root")
def test_without_root_it_is_told_in_a_line_for_each_processor_unless_it_is_not_needed() -> None:
    first, *_ = SETTER.missing(SETTER.read("poll"))
    assert first.what == f"{SWITCH} can't be written"
    assert SETTER.missing(SETTER.read({"how": "poll", "needed": False})) == ()


@can_poll
@pytest.mark.usefixtures("without_root", "clean")
def test_without_root_what_is_not_needed_is_left_as_it_is(tmp_path: Path) -> None:
    before = read_switch(SWITCH)
    with Guarded() as guarded:
        wish = {"idle": {"how": "poll", "needed": False}}
        told = apply_all(wish, guarded, scene(tmp_path)).facts()["idle"]
        assert read_switch(SWITCH) == before
    assert told["after"] == told["before"]


@can_poll
@root_only
@pytest.mark.usefixtures("clean")
def test_processors_poll_and_sleep_again(tmp_path: Path) -> None:
    before = read_switch(SWITCH)
    with Guarded() as guarded:
        told = apply_all({"idle": "poll"}, guarded, scene(tmp_path)).facts()["idle"]
        assert read_switch(SWITCH) == "n/a"
    assert (told["before"], told["after"]) == ({"idle": "sleep"}, {"idle": "poll"})
    assert read_switch(SWITCH) == before
