"""`cpu_bound`: every database computes the same, and a wrong sum would stop the run."""

from __future__ import annotations

import pytest

from driven import Driven

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("rows", [1, 7, 10, 3000, 4321])
def test_the_sums_are_right(rows: int, driven: Driven) -> None:
    ran = driven.run("cpu_bound", events=10, rows=rows)

    assert ran.complaint == ""
    assert ran.summary.total.reads == ran.summary.total.events >= 10


def test_a_size_that_is_none_is_told(driven: Driven) -> None:
    assert "--rows=0: expected" in driven.run("cpu_bound", events=1, rows=0).complaint
