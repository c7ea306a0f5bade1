"""A failed statement ends its transaction where the event restarts, not where a script goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from driven import Driven

pytestmark = pytest.mark.slow

SCRIPT = str(Path(__file__).parent / "caught.lua")


def test_a_script_that_catches_an_error_keeps_its_transaction(driven: Driven) -> None:
    done = driven.restart(SCRIPT, limit=3, catch=True)
    assert done.complaint == ""
    assert "caught false 1" in done.lines[0]
    # PostgreSQL has failed the transaction: it is rolled back at once, as by sysbench.
    kept = "rows 5" if driven.driver == "pgsql" else "rows 1 5"
    assert done.lines[-1] == kept
    assert done.summary.total.restarts == 0


def test_what_is_left_of_a_restarted_event_is_rolled_back(driven: Driven) -> None:
    done = driven.restart(SCRIPT, limit=3, catch=False)
    assert done.complaint == ""
    assert done.lines[-1] == "rows 2"
    assert done.summary.total.restarts == 1
