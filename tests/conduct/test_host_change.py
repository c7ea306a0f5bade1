"""What a study asks of the host: checked with its line, applied for a batch, undone behind it."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbdyno.conduct.host import UNCHANGED, apply_host, check_host, missing_of
from dbdyno.errors import MachineError, StudyError
from dbdyno.formats.study import read_study
from dbdyno.guard.undo import read_switch

SWITCH = Path("/sys/kernel/mm/transparent_hugepage/enabled")


def study(folder: Path, host: str) -> Path:
    file = folder / "example.toml"
    file.write_text(
        f"""\
question = "Does it matter?"

[server.lite]
provision = "sqlite"

[factor.pages.huge]
host = {host}

[factor.pages.small]

[workload]
script = "kv_update"

[load]
clients = 1
measure = "1 s"
"""
    )
    return file


def test_a_cell_that_asks_for_nothing_changes_nothing(tmp_path: Path) -> None:
    with apply_host({}, tmp_path) as host:
        assert host is UNCHANGED


@pytest.mark.parametrize(
    ("host", "told"),
    [
        ('{ transparent_hugepage = "always" }', "did you mean `transparent_hugepages`"),
        ('{ transparent_hugepages = "sometimes" }', "expected one of `always`"),
    ],
)
def test_what_no_setter_understands_is_told_with_its_line(
    tmp_path: Path, host: str, told: str
) -> None:
    loaded = read_study(study(tmp_path, host))

    with pytest.raises(StudyError) as caught:
        check_host(loaded)

    assert caught.value.line == 7
    assert told in caught.value.message


def test_what_this_machine_lacks_is_told_before_anything_is_changed(tmp_path: Path) -> None:
    wishes = {"switch": {"/proc/sys/no/such/switch": "1"}}

    assert missing_of(wishes)
    with pytest.raises(MachineError, match="no/such/switch"), apply_host(wishes, tmp_path):
        pass


@pytest.mark.slow
def test_the_host_is_as_it_was_behind_the_block(tmp_path: Path) -> None:
    before = read_switch(SWITCH)
    wanted = "always" if before != "always" else "never"

    with apply_host({"transparent_hugepages": {"enabled": wanted}}, tmp_path) as host:
        assert read_switch(SWITCH) == wanted
        facts = host.facts(())["transparent_hugepages"]

    assert read_switch(SWITCH) == before
    assert facts == {
        "before": {"enabled": before},
        "after": {"enabled": wanted},
        "got": {"own_bytes": 0, "shared_bytes": 0},
    }
