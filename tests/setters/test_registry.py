"""What every setter has, whoever wrote it; and a run's setters as a whole."""

from __future__ import annotations

from pathlib import Path

import pytest
from scene import scene, without_root

from dbdyno.errors import MachineError, UsageError
from dbdyno.guard.guarded import Guarded
from dbdyno.guard.launch import ORDINARY
from dbdyno.setters.outfit import UNCHANGED, apply_all, missing_of_host
from dbdyno.setters.registry import setters

__all__ = ["without_root"]

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "host.md"


@pytest.mark.parametrize("name", setters())
def test_every_setter_is_on_the_page(name: str) -> None:
    assert f"\n## `{name}`\n" in PAGE.read_text()


@pytest.mark.parametrize("name", setters())
def test_every_setter_refuses_nonsense_and_says_what_it_expects(name: str) -> None:
    for nonsense in (None, 3.7, ["?"], {"no such key": 1}):
        with pytest.raises(ValueError, match=r"^expected .*; found "):
            setters()[name].read(nonsense)


def test_names_on_the_page_are_setters() -> None:
    named = {line[4:-1] for line in PAGE.read_text().splitlines() if line.startswith("## `")}

    assert named == set(setters())


def test_an_unknown_setter_is_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="did you mean `filesystem`"):
        missing_of_host({"file_system": "ext4"})


def test_what_is_asked_wrongly_is_refused_by_name() -> None:
    with pytest.raises(UsageError, match=r"host.transparent_hugepages: expected one of"):
        missing_of_host({"transparent_hugepages": "sometimes"})


@pytest.mark.usefixtures("without_root")
def test_what_is_missing_stops_before_anything_is_changed(tmp_path: Path) -> None:
    host = {"filesystem": "ext4"}

    assert list(missing_of_host(host)) == ["filesystem"]
    with Guarded() as guarded, pytest.raises(MachineError, match=r"host\.filesystem: only root"):
        apply_all(host, guarded, scene(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_asks_for_nothing_changes_nothing(tmp_path: Path) -> None:
    with Guarded() as guarded:
        applied = apply_all({}, guarded, scene(tmp_path))

    assert applied == UNCHANGED
    assert (applied.server, applied.client) == (ORDINARY, ORDINARY)
