"""The wheel: built, installed by pipx, used outside the checkout."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DATA = ("workloads", "studies")
PIPX = "pipx==1.18.4"
"""What the README has its reader install the wheel with."""

pytestmark = pytest.mark.slow


def carry_out(*command: str | Path, folder: Path, **environment: str) -> str:
    """The command's standard output; its standard error explains a failure."""
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command} ended with {done.returncode}:\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from this checkout with the locked build tools."""
    folder = tmp_path_factory.mktemp("wheel")
    carry_out("scripts/wheel", folder, folder=ROOT)
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs that `pipx install WHEEL` makes; its environment holds the wheel and
    its dependencies, nothing else."""
    folder = tmp_path_factory.mktemp("pipx")
    pipx = folder / "own"
    carry_out(sys.executable, "-m", "venv", pipx, folder=folder)
    carry_out(pipx / "bin" / "pip", "install", "--quiet", PIPX, folder=folder)
    carry_out(
        *(pipx / "bin" / "pipx", "install", wheel),
        f"--pip-args=--no-compile --constraint {constraints(folder)}",
        folder=folder,
        PIPX_HOME=str(folder / "home"),
        PIPX_BIN_DIR=str(folder / "bin"),
        PIPX_DEFAULT_PYTHON=sys.executable,
    )
    return folder / "bin"


def constraints(folder: Path) -> Path:
    """The lock's pins without hashes: pip takes hashes for all requirements or for none."""
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    pins = [line.removesuffix("\\").strip() for line in lines if "==" in line]
    path = folder / "constraints.txt"
    path.write_text("\n".join(pins) + "\n")
    return path


def test_the_wheel_s_tag_names_the_c_library_that_it_needs(wheel: Path) -> None:
    assert re.search(r"-manylinux_2_\d\d_\w+\.whl$", wheel.name)


def test_the_wheel_holds_package_engine_workloads_and_studies(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    package = [p for p in (ROOT / "python" / "dbdyno").rglob("*") if "__pycache__" not in p.parts]
    files = {
        str(p.relative_to(ROOT / "python")) for p in package if p.is_file() and p.name[0] != "."
    }
    kept = (p for name in DATA for p in (ROOT / name).rglob("[!.]*") if p.is_file())
    data = {f"dbdyno/{path.relative_to(ROOT)}" for path in kept}

    assert files | data <= set(names)
    assert any(name.endswith(".data/scripts/dbdyno-engine") for name in names)


def test_one_wheel_serves_every_python_from_3_11(wheel: Path) -> None:
    assert "-cp311-abi3-" in wheel.name


def test_engine_and_package_are_of_one_version(installed: Path, tmp_path: Path) -> None:
    engine = json.loads(carry_out(installed / "dbdyno-engine", "version", folder=tmp_path))
    version = "from importlib.metadata import version; print(version('dbdyno'))"
    python = (installed / "dbdyno").resolve().with_name("python")
    package = carry_out(python, "-c", version, folder=tmp_path)

    assert engine["engine_version"] == package.strip()


def test_list_names_the_bundled_studies(installed: Path, tmp_path: Path) -> None:
    listed = carry_out(installed / "dbdyno", "list", folder=tmp_path)

    for study in (ROOT / "studies").glob("*.toml"):
        assert study.stem in listed


def test_the_quickstart_runs_from_an_empty_folder(installed: Path, tmp_path: Path) -> None:
    """`pipx install dist/*.whl && dbdyno run quickstart`, with one repeat of three."""
    words = ("run", "quickstart", "--blocks", "1", "--no-pictures")
    report = Path(carry_out(installed / "dbdyno", *words, folder=tmp_path).strip())

    assert (tmp_path / report).is_file()
    assert "What do SQLite" in (tmp_path / report).read_text("utf-8")


def test_the_description_links_to_nothing_beside_it(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (path for path in archive.namelist() if path.endswith("info/METADATA"))
        headers, _, description = archive.read(name).decode().partition("\n\n")

    assert "pipx install dbdyno" in description
    links = re.findall(r"\]\(([^)]*)\)", description)
    assert [link for link in links if not link.startswith("https://")] == []
    assert "Classifier: Topic :: Database" in headers
    assert "Classifier: Operating System :: POSIX :: Linux" in headers


SCRIPT = """
function thread_init() con = sysbench.sql.driver():connect() end
function event() con:query("SELECT 1") end
"""


def test_bench_measures_sqlite_outside_the_checkout(installed: Path, tmp_path: Path) -> None:
    script = tmp_path / "select.lua"
    script.write_text(SCRIPT)
    arguments = (f"sqlite:///{tmp_path / 'database'}", "--script", script, "--json")
    load = ("--clients", "2", "--warm-up", "0s", "--time", "1s")
    printed = carry_out(installed / "dbdyno", "bench", *arguments, *load, folder=tmp_path)

    measured = json.loads(printed)
    assert measured["statements"] > 0
    assert measured["latency_us"]["p50"] > 0
