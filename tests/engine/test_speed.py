"""The processors' speed, measured by the real engine."""

from __future__ import annotations

import os
import subprocess
import time

import psutil

from dbdyno.engine import Speedometer, find_engine, open_speedometer

LIMIT_S = 20.0


def stretch_until_measured(speedometer: Speedometer) -> tuple[int, float]:
    """When it began, and its speed."""
    began_ns = time.time_ns()
    while time.time_ns() < began_ns + LIMIT_S * 1e9:
        speed = speedometer.between(began_ns, time.time_ns())
        if speed is not None:
            return began_ns, speed
    raise AssertionError("no burst came")


def test_the_speed_of_a_stretch_is_told_and_of_one_before_it_is_not() -> None:
    with open_speedometer(find_engine()) as speedometer:
        began_ns, speed = stretch_until_measured(speedometer)
        assert speed > 0
        assert speedometer.between(began_ns - 2_000_000_000, began_ns - 1_000_000_000) is None
        measuring = psutil.Process(speedometer.pid)
        measuring.kill()
        while measuring.status() != psutil.STATUS_ZOMBIE:
            pass
        assert speedometer.between(began_ns, time.time_ns()) is None


def test_every_processor_that_may_be_used_is_measured_and_no_other() -> None:
    everything = os.sched_getaffinity(0)
    os.sched_setaffinity(0, [min(everything)])
    try:
        with open_speedometer(find_engine()) as speedometer:
            stretch_until_measured(speedometer)
            pid = speedometer.pid
            assert len(psutil.Process(pid).threads()) == 2  # one that answers, one that measures
    finally:
        os.sched_setaffinity(0, everything)


def test_it_ends_with_its_input_and_says_what_it_expects() -> None:
    command = [str(find_engine().path), "speed"]
    assert subprocess.run(command, input="", capture_output=True, text=True).returncode == 0
    told = subprocess.run(command, input="now then\n", capture_output=True, text=True)
    assert told.returncode == 2
    assert "expected `FROM_UNIX_NS TO_UNIX_NS`, found `now then`" in told.stderr
