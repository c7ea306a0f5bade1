"""What a verb imports: nothing that takes long and that it doesn't use."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import click
import pytest

from dbdyno.cli import VERBS, cli

PYTHON = str(Path(__file__).parents[2] / "python")
HEAVY = ("altair", "numpy", "psycopg", "pyarrow", "pymysql", "scipy", "vl_convert")
"""Each takes a tenth of a second or more."""

ENGINE = {name: os.environ[name] for name in ["DBDYNO_ENGINE"] if name in os.environ}
"""Another engine than the usual one, where somebody tests with it."""

KEPT = Path(__file__).parents[1] / "store" / "kept" / "schema-2"
STUDY = next(path.parent.name for path in KEPT.glob("*/study.json"))
SIDES = [f"{STUDY}/{path.name}" for path in sorted((KEPT / STUDY / "runs").iterdir())][:2]

CODE = """\
import sys
from dbdyno.cli import call
assert call(sys.argv[1:]) == 0
print(*sorted({name.partition(".")[0] for name in sys.modules}), file=sys.stderr)
"""


def imported(*arguments: str, folder: Path) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", CODE, *arguments],
        env={"PYTHONPATH": PYTHON, "PATH": "/usr/bin:/bin", **ENGINE},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return set(done.stderr.splitlines()[-1].split())


@pytest.mark.parametrize("arguments", [["--help"], ["--version"]])
def test_what_only_prints_imports_no_more_than_click(arguments: list[str], tmp_path: Path) -> None:
    found = imported(*arguments, folder=tmp_path)
    assert "click" in found
    assert found.isdisjoint((*HEAVY, "pydantic", "rich", "psutil"))


@pytest.mark.parametrize("arguments", [["list"], ["check", "quickstart"], ["list", "--help"]])
def test_what_only_reads_imports_no_driver_and_no_statistics(
    arguments: list[str], tmp_path: Path
) -> None:
    assert imported(*arguments, folder=tmp_path).isdisjoint(HEAVY)


@pytest.mark.parametrize("verb", ["list", "scripts", "servers"])
def test_what_lists_reads_no_study_and_shows_no_progress(verb: str, tmp_path: Path) -> None:
    found = imported(verb, folder=tmp_path)
    assert found.isdisjoint((*HEAVY, "jinja2", "pydantic", "rich"))


@pytest.mark.parametrize("verb", [["compare", *SIDES], ["export", STUDY, "--format", "csv"]])
def test_what_compares_and_exports_draws_nothing(verb: list[str], tmp_path: Path) -> None:
    found = imported(*verb, "--store", str(KEPT), folder=tmp_path)
    assert found.isdisjoint(("altair", "jinja2", "vl_convert"))


@pytest.mark.parametrize("verb", VERBS)
def test_the_list_of_verbs_says_what_each_says_of_itself(verb: str) -> None:
    command = cli.get_command(click.Context(cli), verb)
    assert command is not None
    assert " ".join((command.help or "").split()).startswith(VERBS[verb][1])


@pytest.mark.parametrize("room", ["conduct", "engine", "report", "servers", "store"])
def test_every_public_name_is_where_the_room_says(room: str) -> None:
    package = import_module(f"dbdyno.{room}")
    constants_first = sorted(
        package.__all__, key=lambda name: (name.islower(), not name.isupper(), name)
    )
    assert package.__all__ == constants_first
    assert set(package.__all__) == set(package._PLACES)
    assert all(getattr(package, name) is not None for name in package.__all__)
    with pytest.raises(AttributeError, match="has no attribute `nothing`"):
        _ = package.nothing
