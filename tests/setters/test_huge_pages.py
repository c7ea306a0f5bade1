"""Reserved huge pages: set aside, taken by a real server, and given back."""

from __future__ import annotations

from pathlib import Path

import pytest
from scene import root_only, scene, without_root

from dbdyno.errors import MachineError
from dbdyno.guard.guarded import Guarded
from dbdyno.guard.held import Held
from dbdyno.servers import open_server
from dbdyno.setters.huge_pages import SETTER, reserved_pages_of
from dbdyno.setters.outfit import apply_all

__all__ = ["without_root"]

SWITCH = Path("/proc/sys/vm/nr_hugepages")


@pytest.mark.parametrize("value", ["0 MB", 512, "512"])
def test_a_size_has_its_unit_and_is_more_than_nothing(value: object) -> None:
    with pytest.raises(ValueError, match="expected"):
        SETTER.read(value)


def test_what_does_not_fit_is_told() -> None:
    (lacking,) = SETTER.missing(SETTER.read("900 TB"))

    assert "do not fit" in lacking.what or "can't be written" in lacking.what


@pytest.mark.usefixtures("without_root")
def test_without_root_it_is_told_in_a_line() -> None:
    (lacking,) = SETTER.missing(SETTER.read("4 MB"))

    assert lacking.what == f"{SWITCH} can't be written"


@root_only
@pytest.mark.slow
@pytest.mark.usefixtures("clean")
def test_a_server_takes_them_and_the_host_gets_them_back(tmp_path: Path) -> None:
    before = SWITCH.read_text()
    settings = {"huge_pages": "on", "shared_buffers": "32MB"}
    with Guarded() as guarded:
        outfit = apply_all({"huge_pages": "128 MB"}, guarded, scene(tmp_path))
        with open_server("postgresql@system", settings, tmp_path / "run") as server:
            server.start()
            facts = outfit.facts(server.node.processes())["huge_pages"]

    got = facts["got"]["reserved_bytes"]
    assert isinstance(got, int)
    assert 8 << 20 <= got <= 128 << 20, "pages count once they are touched"
    assert facts["after"]["page_bytes"] == 2 << 20
    assert SWITCH.read_text() == before
    assert reserved_pages_of([2**22]) == {"reserved_bytes": 0}


def test_fewer_pages_than_asked_for_are_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of a kernel whose memory is in pieces, without taking all memory of this one."""

    def found_one(guarded: Guarded, _path: Path, _value: str) -> Held:
        return Held(guarded.undo, 0, old="0", new="1")

    monkeypatch.setattr(Guarded, "write", found_one)
    with Guarded() as guarded, pytest.raises(MachineError, match="found 2 MB of the 8 MB"):
        SETTER.apply(SETTER.read("8 MB"), guarded, scene(tmp_path))
