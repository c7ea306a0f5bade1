"""The journal: on disk before the change, carried out once, by the guard or by whoever is next."""

from __future__ import annotations

import errno
import fcntl
import json
import os
from pathlib import Path

import pytest

from dbdyno.guard import undo
from dbdyno.guard.journal import (
    HostLock,
    Journal,
    boot_id,
    left_to_do,
    mend,
    safe_folder,
    state_folder,
)


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return safe_folder(tmp_path / "state")


def dead_journal(state: Path, *lines: object) -> Path:
    """What a killed guard leaves: a file that nobody holds."""
    path = state / "1-1.journal"
    path.write_text(
        "".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines)
    )
    return path


def line(number: int, step: undo.Undo, boot: str | None = None) -> dict[str, object]:
    return {"number": number, "boot": boot or boot_id(), "undo": step.document()}


def test_a_step_is_on_the_disk_when_it_is_held(state: Path) -> None:
    journal = Journal(state)
    journal.hold(undo.remove_file("/tmp/nothing"))

    ((number, boot, step),) = left_to_do(journal.path)
    assert (number, boot, step) == (1, boot_id(), undo.remove_file("/tmp/nothing"))


def test_a_journal_with_nothing_left_to_do_is_removed(state: Path, tmp_path: Path) -> None:
    journal = Journal(state)
    file = tmp_path / "file"
    file.touch()
    journal.carry_out(journal.hold(undo.remove_file(file)))
    journal.close()

    assert not file.exists()
    assert list(state.iterdir()) == []


def test_steps_are_undone_in_reverse(state: Path, tmp_path: Path) -> None:
    told = tmp_path / "told"
    journal = Journal(state)
    for word in ("first", "second"):
        journal.hold(undo.run(["sh", "-c", f"echo {word} >> {told}"]))
    journal.carry_out_all()
    journal.close()

    assert told.read_text().split() == ["second", "first"]


def test_the_next_command_mends_what_a_dead_guard_left(state: Path, tmp_path: Path) -> None:
    switch, file = tmp_path / "switch", tmp_path / "file"
    switch.write_text("9")
    file.touch()
    path = dead_journal(
        state,
        line(1, undo.write(switch, old="1", new="8")),
        line(2, undo.remove_file(file)),
        line(1, undo.write(switch, old="1", new="9")),
        line(3, undo.remove_folder(tmp_path)),
        {"done": 3},
        '{"number": 4, "bo',
    )

    assert [step.error for step in mend(state)] == [None, None]
    assert switch.read_text() == "1"
    assert not file.exists()
    assert not path.exists()


def test_a_living_guards_journal_is_left_alone(state: Path, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    journal = Journal(state)
    journal.hold(undo.remove_file(file))

    assert mend(state) == []
    assert file.exists()


def test_after_another_boot_switches_are_as_they_were_and_files_go(
    state: Path, tmp_path: Path
) -> None:
    switch, file = tmp_path / "switch", tmp_path / "file"
    switch.write_text("9")
    file.touch()
    dead_journal(
        state,
        line(1, undo.write(switch, old="1", new="9"), "another boot"),
        line(2, undo.remove_file(file), "another boot"),
    )

    assert [str(step.undo) for step in mend(state)] == [f"remove file {file}"]
    assert switch.read_text() == "9"


def test_what_fails_is_told_and_kept(state: Path) -> None:
    path = dead_journal(state, line(1, undo.run(["false"])))

    assert [step.error for step in mend(state)] == ["exit status 1: "]
    assert path.exists()
    assert len(mend(state)) == 1


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o1777])
def test_a_folder_that_is_open_to_others_is_not_trusted(state: Path, mode: int) -> None:
    state.chmod(mode)

    with pytest.raises(PermissionError, match="mode 0700"):
        mend(state)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_somebody_elses_folder_is_not_trusted(state: Path) -> None:
    os.chown(state, 65534, 65534)

    with pytest.raises(PermissionError, match="of our own"):
        mend(state)


def test_a_link_is_not_trusted(state: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(state)

    with pytest.raises(PermissionError):
        mend(tmp_path / "link")


def test_one_at_a_time_changes_the_host_and_the_other_is_told_who(state: Path) -> None:
    first = HostLock(state, "process 7 (`dbdyno run x`)")
    with pytest.raises(BlockingIOError, match=r"process 7 \(`dbdyno run x`\)"):
        HostLock(state, "process 8")
    first.close()

    HostLock(state, "process 8").close()


def test_the_folder_can_be_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DBDYNO_STATE", str(tmp_path))

    assert state_folder() == tmp_path


def test_switches_wait_in_the_journal_while_another_study_has_the_host(
    state: Path, tmp_path: Path
) -> None:
    switch, file = tmp_path / "switch", tmp_path / "file"
    switch.write_text("9")
    file.touch()
    dead_journal(
        state, line(1, undo.write(switch, old="1", new="9")), line(2, undo.remove_file(file))
    )
    other = HostLock(state, "process 7")

    assert [step.error for step in mend(state)] == [
        None,
        "another study holds the switches of this host",
    ]
    assert (switch.read_text(), file.exists()) == ("9", False)
    other.close()

    assert [step.error for step in mend(state)] == [None]
    assert switch.read_text() == "1"


def test_a_command_is_taken_back_after_another_boot_too(state: Path, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    mark.touch()
    dead_journal(state, line(1, undo.run(["rm", "-f", str(mark)]), "another boot"))

    assert [step.error for step in mend(state)] == [None]
    assert not mark.exists()


def test_a_journal_whose_guard_ends_while_it_is_opened_is_nobodys(
    state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The guard removes its file and lets go of it between our opening and our locking."""
    journal = Journal(state)
    number = journal.hold(undo.remove_file(tmp_path / "file"))
    flock = fcntl.flock

    def ended_meanwhile(file: int, how: int) -> None:
        if journal.path.exists() and os.path.samestat(os.fstat(file), journal.path.stat()):
            journal.carry_out(number)
            journal.close()
        flock(file, how)

    monkeypatch.setattr(fcntl, "flock", ended_meanwhile)

    assert mend(state) == []


def test_a_line_that_does_not_fit_leaves_the_journal_as_it_was(
    state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = Journal(state)
    journal.hold(undo.remove_file(tmp_path / "first"))
    write = os.write

    def no_room(file: int, data: bytes) -> int:
        if len(data) < 20:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(file, bytes(data[: len(data) // 2]))

    monkeypatch.setattr(os, "write", no_room)
    with pytest.raises(OSError, match="No space left"):
        journal.hold(undo.remove_file(tmp_path / "second"))
    monkeypatch.undo()
    journal.hold(undo.remove_file(tmp_path / "third"))

    steps = [str(step) for _, _, step in left_to_do(journal.path)]
    assert steps == [f"remove file {tmp_path / name}" for name in ("first", "third")]
