"""Server and load generator before everything else."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from scene import root_only, scene, without_root
from server_process import told_by

from dbdyno.guard.guarded import Guarded
from dbdyno.guard.launch import ORDINARY
from dbdyno.guard.undo import read_switch
from dbdyno.setters.outfit import apply_all
from dbdyno.setters.precedence import SETTER

__all__ = ["without_root"]

GROUPING = Path("/proc/sys/kernel/sched_autogroup_enabled")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (False, "expected a table with some of `needed`, or `true`; found False"),
        ({"nice": -5}, "expected a table with some of `needed`, or `true`; found `nice`"),
        ({"needed": "no"}, "expected `needed` to be true or false"),
    ],
)
def test_what_can_not_be_is_refused(value: object, expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        SETTER.read(value)


@pytest.mark.usefixtures("without_root")
def test_it_needs_root_unless_it_is_not_needed() -> None:
    first, *_ = SETTER.missing(SETTER.read(True))
    assert first.what == "only root may give precedence by nice"
    assert SETTER.missing(SETTER.read({"needed": False})) == ()


@pytest.mark.usefixtures("without_root", "clean")
def test_without_root_all_stays_as_it_is(tmp_path: Path) -> None:
    with Guarded() as guarded:
        outfit = apply_all({"precedence": {"needed": False}}, guarded, scene(tmp_path))
    told = outfit.facts()["precedence"]
    assert told["after"] == told["before"]
    assert outfit.server == outfit.client == ORDINARY


@root_only
@pytest.mark.usefixtures("clean")
def test_server_and_client_go_first_and_the_kernel_groups_by_session_again(tmp_path: Path) -> None:
    if SETTER.missing(SETTER.read(True)):
        pytest.skip("this kernel refuses it")
    before = read_switch(GROUPING) if GROUPING.exists() else None
    with Guarded() as guarded:
        outfit = apply_all({"precedence": True}, guarded, scene(tmp_path))

        assert told_by(guarded, outfit.server, ["nice"], tmp_path).strip() == "-20"
        client = subprocess.run([*outfit.client.prefix(), "nice"], capture_output=True, check=True)
        assert client.stdout.strip() == b"-20"
        if before is not None:
            assert read_switch(GROUPING) == "0"
    if before is not None:
        assert read_switch(GROUPING) == before
