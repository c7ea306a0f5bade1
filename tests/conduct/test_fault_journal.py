"""Faults are journalled as they begin and are over, so that whoever watches sees them at once."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from dbdyno.conduct.faults import Faults
from dbdyno.model.fault import DueFault, Fault
from dbdyno.servers import open_server

pytestmark = pytest.mark.slow


def test_a_fault_is_journalled_when_it_begins_and_when_it_is_over(tmp_path: Path) -> None:
    journal: list[tuple[str, int]] = []
    with open_server("postgresql@system", {}, tmp_path) as server:
        server.start()
        due = [DueFault(0.0, Fault("pause", 0.0, 0.3))]
        faults = Faults(
            server,
            server.entry.target(),
            due,
            seed=1,
            journal=lambda text, at_ns: journal.append((text, at_ns)),
        )
        before_ns = time.time_ns()
        faults.make_all()
    (began, began_ns), (over, over_ns) = journal
    assert (began, over) == ("pause server", "pause server is over")
    assert before_ns <= began_ns < over_ns
    (result,) = faults.results
    assert over_ns - began_ns > 0.3e9
    assert result.member == "server"
