"""A server made of Go modules is built with progress: packages that are done, of how many."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from dbdyno.cli.fetching import _Shower
from dbdyno.cli.terminal import error_console
from dbdyno.servers.sources import go
from dbdyno.servers.sources.client import Stage

PACKAGE = "hello=example.org/hello@v1.0.0"
MAIN = 'package main\n\nfunc main() { println("hello") }\n'


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("go") is None, reason="needs Go")
def test_packages_are_counted_while_they_are_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "databases" / "hello" / "programs" / "hello"
    source.mkdir(parents=True)
    (source / "go.mod").write_text("module example.org/hello\n\ngo 1.24\n")
    (source / "main.go").write_text(MAIN)
    monkeypatch.setattr(go, "_DATABASES", tmp_path / "databases")
    monkeypatch.setenv("GOCACHE", str(tmp_path / "cache"))  # All is to be built.
    (tmp_path / "scratch").mkdir()
    stages: list[Stage] = []

    archive = go.fetch(PACKAGE, tmp_path / "content", tmp_path / "scratch", stages.append)

    assert (tmp_path / "content" / "bin" / "hello").exists()
    assert archive.package == "example.org/hello@v1.0.0"
    built = [stage for stage in stages if stage.is_build]
    assert built and not stages[0].is_build
    totals = {stage.total for stage in built}
    assert len(totals) == 1 and (totals.pop() or 0) > 10  # Go's own runtime.
    assert [stage.done for stage in built] == sorted(stage.done for stage in built)


def test_a_build_says_how_far_it_is_where_there_is_no_bar(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with _Shower(error_console()) as shower:
        shower.progress(Stage("example.org/hello", 3_000_000))
        for done in (0, 99, 100, 150, 310, 1000):
            shower.progress(Stage("example.org/hello", done, 1000, is_build=True))

    assert capsys.readouterr().err.splitlines() == [
        "downloading example.org/hello",
        "building example.org/hello (1,000 packages)",
        "10 % of its packages are built",
        "30 % of its packages are built",
        "100 % of its packages are built",
    ]
