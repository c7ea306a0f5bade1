"""Random numbers of sysbench and ours: the same distributions."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from dbdyno.engine import find_engine

pytestmark = pytest.mark.slow

DRAWS = 40_000
# Kolmogorov and Smirnov: two samples of this size differ by more once in a million times.
FARTHEST = 2.69 * (2 / DRAWS) ** 0.5
SCRIPT = """
function event()
  for i = 1, %d do
    io.write("> " .. sysbench.rand.%s(1, 1000) .. "\\n")
  end
end
"""


def draws(command: list[str], script: Path) -> np.ndarray:
    done = subprocess.run(
        [*command, str(script), "--events=1", "--time=0", "--rand-seed=1", "run"],
        capture_output=True,
        text=True,
        check=True,
    )
    lines = (line for line in done.stdout.splitlines() if line.startswith("> "))
    return np.array([int(line[2:]) for line in lines])


@pytest.mark.parametrize("name", ["default", "uniform", "gaussian", "pareto", "special"])
def test_a_distribution_is_theirs(name: str, tmp_path: Path) -> None:
    script = tmp_path / "draw.lua"
    script.write_text(SCRIPT % (DRAWS, name))

    theirs = draws(["sysbench"], script)
    ours = draws([str(find_engine().path), "sysbench", "--db-driver=null"], script)

    values = np.arange(1, 1001)
    below = [np.searchsorted(np.sort(each), values, "right") / DRAWS for each in (theirs, ours)]
    assert len(ours) == len(theirs) == DRAWS
    assert np.abs(below[0] - below[1]).max() < FARTHEST
