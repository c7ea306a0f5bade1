"""The scripts behind the verbs of the Makefile: which tests a change reaches, where time went."""

from __future__ import annotations

import subprocess
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]


def script(name: str) -> Any:
    """A program of `scripts/` as a module."""
    loader = SourceFileLoader(f"scripts_{name}", str(ROOT / "scripts" / name))
    spec = spec_from_loader(loader.name, loader)
    assert spec is not None
    module = sys.modules[loader.name] = module_from_spec(spec)
    loader.exec_module(module)
    return module


ALWAYS = ["tests/test_architecture.py", "tests/test_docs.py", "tests/test_tidy.py"]


@pytest.mark.parametrize(
    ("changed", "tests"),
    [
        (["python/dbdyno/report/analysis/sides.py"], ["tests/report", *ALWAYS]),
        (["python/dbdyno/stats/rates.py"], ["tests/report", "tests/stats", *ALWAYS]),
        (["crates/measure/src/clock.rs", "docs/README.md"], ["rust", *ALWAYS]),
        (["tests/report/made_up_runs.py"], ["tests/report", *ALWAYS]),
        (["tests/cli/test_check.py"], ["tests/cli/test_check.py", *ALWAYS]),
        (["tests/cli/test_that_was_removed.py"], ALWAYS),
        (["README.md"], ALWAYS),
    ],
)
def test_a_change_reaches_the_tests_of_its_rooms(changed: list[str], tests: list[str]) -> None:
    assert script("reached").reached(changed) == tests


@pytest.mark.parametrize(
    "changed",
    [[], ["python/dbdyno/errors.py"], ["tests/conftest.py"], ["pyproject.toml", "README.md"]],
)
def test_no_change_or_one_that_may_reach_everything_asks_for_all(changed: list[str]) -> None:
    assert script("reached").reached(changed) == ()


def test_every_test_that_a_change_may_reach_exists() -> None:
    reached = script("reached")
    for tests in (*reached.ALSO.values(), reached.ALWAYS):
        assert all((ROOT / test).exists() for test in tests)


def test_the_check_s_phases_are_verbs_and_its_tables_add_up(tmp_path: Path) -> None:
    check = script("check")
    makefile = (ROOT / "Makefile").read_text()
    assert all(f"\n{phase}: " in makefile for phase in check.PHASES)
    assert list(check.PHASES) == [phase for phases in check.SIDE_BY_SIDE for phase in phases]

    (tmp_path / "test_some.py").write_text(
        "import pytest\n"
        "def test_good(): pass\n"
        "def test_bad(): assert False\n"
        "def test_left_out(): pytest.skip('why')\n"
    )
    results = tmp_path / "results.xml"
    command = [sys.executable, "-m", "pytest", "-q", "-c/dev/null", f"--junitxml={results}"]
    subprocess.run([*command, str(tmp_path)], check=False, capture_output=True)

    tests = list(check.tests_in(results))
    assert {test.name: test.outcome for test in tests} == {
        "test_good": "passed",
        "test_bad": "failure",
        "test_left_out": "skipped",
    }
    assert check.closing_line(tests) == "1 passed, 1 failed, 1 skipped"
    took = [check.Took("lint", 61.2, 100.0), check.Took("rust-tests", 59.0, 20.0)]
    assert [line.split() for line in check.phase_table(took, 75.0)][1:] == [
        ["lint", "1:01", "1:40"],
        ["rust-tests", "0:59", "0:20"],
        ["total", "1:15", "2:00"],
    ]
