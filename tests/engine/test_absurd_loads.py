"""Loads beyond all reason end by themselves, with figures, whatever is left undone."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from dbdyno.engine import find_engine

TIMEOUT_S = 60.0
"""A program's time. Closing the backlog of the first test event by event would take two minutes."""

NOTHING = "function event() end"


def ended(*arguments: str, text: str = "") -> str:
    """What the engine's program prints; it ends by itself, without an error."""
    command = (str(find_engine().path), *arguments)
    done = subprocess.run(
        command, input=text, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def summary(folder: Path, script: str, **spec: Any) -> dict[str, Any]:
    """The summary of a run without a database."""
    (folder / "script.lua").write_text(script)
    group = {"script": str(folder / "script.lua"), "clients": 1, **spec.pop("group", {})}
    document = {"schema": 2, "target": {"driver": "null"}, "measure_s": 1.0, "groups": [group]}
    printed = ended("run", "-", text=json.dumps({**document, **spec}))
    found: dict[str, Any] = json.loads(printed.splitlines()[-1])
    assert found["record"] == "summary"
    return found


@pytest.mark.parametrize("rate", [2_000_000_000, 2_000_000])
def test_a_rate_that_no_machine_keeps_ends_with_latencies(rate: int) -> None:
    told = ended("sysbench", f"--rate={rate}", "--time=3", "cpu", "run")

    for figure in ("min", "avg", "max", "95th percentile"):
        found = re.search(rf"^ +{figure}: +([\d.]+)$", told, re.MULTILINE)
        assert found is not None, told
        assert float(found[1]) > 0, told


def test_a_backlog_of_billions_is_counted_with_its_times(tmp_path: Path) -> None:
    arrival = {"kind": "constant", "rate_per_s": 2e9}
    found = summary(tmp_path, NOTHING, group={"arrival": arrival})

    responses = [
        histogram["count"]
        for histogram in found["histograms"]
        if (histogram["subject"], histogram["time"]) == ("event", "response")
    ]
    assert found["censored"] > 1_000_000_000
    # Starts at the very end of the window may be in it: there are two in a nanosecond.
    assert abs(sum(responses) - 2_000_000_000) <= 2
    assert found["total"]["events"] > 0


def test_a_budget_of_a_billion_events_ends_with_its_time(tmp_path: Path) -> None:
    found = summary(tmp_path, NOTHING, events=1_000_000_000)

    assert 0 < found["total"]["events"] < 1_000_000_000


@pytest.mark.nightly  # Half a minute of both processors.
def test_a_million_clients_without_a_database_end(tmp_path: Path) -> None:
    found = summary(tmp_path, NOTHING, group={"clients": 1_000_000})

    assert found["clients"] == 1_000_000
    assert found["measured"]["events"] > 0
