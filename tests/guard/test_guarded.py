"""The lab's end of a guard: changes are held, taken back, and outlive neither end."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from dbdyno.errors import MachineError, ServerError
from dbdyno.guard import undo
from dbdyno.guard.family import children_of
from dbdyno.guard.guarded import Guarded
from dbdyno.guard.journal import boot_id, left_to_do, safe_folder
from dbdyno.guard.launch import Launch
from dbdyno.guard.sweep import sweep
from traces import wait_until_gone

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of journals of the test's own."""
    folder = tmp_path / "state"
    monkeypatch.setenv("DBDYNO_STATE", str(folder))
    return folder


@pytest.fixture
def guarded(state: Path) -> Iterator[Guarded]:
    with Guarded() as guarded:
        yield guarded


@pytest.fixture
def switch(tmp_path: Path) -> Path:
    """A file that looks like a switch of the kernel."""
    path = tmp_path / "switch"
    path.write_text("1")
    return path


def journals(state: Path) -> list[Path]:
    return list(state.glob("*.journal"))


def test_a_guard_that_changes_nothing_keeps_no_journal(guarded: Guarded, state: Path) -> None:
    guarded.folder(Path("/tmp"))

    assert not state.exists()


def test_a_written_switch_is_put_back_when_the_block_is_left(
    guarded: Guarded, switch: Path
) -> None:
    with guarded.write(switch, "2") as held:
        assert (held.old, held.new, switch.read_text()) == ("1", "2", "2")

    assert switch.read_text() == "1"


def test_what_is_still_held_is_undone_when_the_guard_closes(switch: Path, state: Path) -> None:
    with Guarded() as guarded:
        guarded.write(switch, "2")
        (journal,) = journals(state)
        assert len(left_to_do(journal)) == 1

    assert switch.read_text() == "1"
    assert journals(state) == []


def test_an_undo_is_kept_before_the_change_is_made(guarded: Guarded, tmp_path: Path) -> None:
    file = tmp_path / "file"
    with guarded.hold(undo.remove_file(file)):
        file.touch()

    assert not file.exists()


def test_a_second_study_does_not_take_our_value_for_the_original(
    guarded: Guarded, switch: Path
) -> None:
    guarded.write(switch, "2")
    with Guarded() as second, pytest.raises(MachineError, match=f"held by process {os.getpid()} "):
        second.write(switch, "3")

    assert switch.read_text() == "2"


def test_a_switch_that_can_not_be_written_says_so(guarded: Guarded, tmp_path: Path) -> None:
    with pytest.raises(MachineError, match="No such file or directory"):
        guarded.write(tmp_path / "none", "1")


def test_a_guard_that_was_killed_is_made_up_for_by_the_lab(switch: Path, state: Path) -> None:
    with Guarded() as guarded:
        guarded.write(switch, "2")
        (pid,) = [pid for pid in children_of(os.getpid()) if is_guard(pid)]
        os.kill(pid, signal.SIGKILL)
        wait_until_gone([pid])
        with pytest.raises(ServerError, match="was killed"):
            guarded.write(switch, "3")

    assert switch.read_text() == "1"
    assert journals(state) == []


def test_what_can_not_be_undone_is_told_when_the_guard_closes(state: Path) -> None:
    guarded = Guarded()
    guarded.hold(undo.run(["false"]))
    with pytest.raises(MachineError, match="could not be undone: run `false`") as caught:
        guarded.close()

    assert caught.value.hint == "`dbdyno doctor --mend` tries again"
    assert len(journals(state)) == 1


def test_what_went_wrong_first_is_told_first() -> None:
    def begin_and_fail() -> None:
        with Guarded() as guarded:
            guarded.hold(undo.run(["false"]))
            raise ServerError("the server died")

    with pytest.raises(ServerError, match="the server died") as caught:
        begin_and_fail()

    assert "could not be undone" in (caught.value.hint or "")


def test_a_switch_is_not_taken_while_a_killed_runs_value_is_in_it(
    guarded: Guarded, switch: Path, state: Path, tmp_path: Path
) -> None:
    safe_folder(state)
    left = undo.write(tmp_path / "gone", old="1", new="2")
    document = {"number": 1, "boot": boot_id(), "undo": left.document()}
    (state / "1-1.journal").write_text(json.dumps(document) + "\n")

    with pytest.raises(MachineError, match="a killed run's change is still there") as caught:
        guarded.write(switch, "2")

    assert "another" not in (caught.value.hint or "")
    assert switch.read_text() == "1"


def is_guard(pid: int) -> bool:
    return b"dbdyno.guard" in Path(f"/proc/{pid}/cmdline").read_bytes()


def test_nothing_to_sweep_is_no_error() -> None:
    assert sweep() == ()


def test_a_journal_folder_that_others_can_write_stops_the_sweep(state: Path) -> None:
    state.mkdir(mode=0o777)
    state.chmod(0o777)

    with pytest.raises(MachineError, match="mode 0700"):
        sweep()


def test_a_command_under_the_guard_tells_what_it_printed(guarded: Guarded) -> None:
    assert guarded.run(["echo", "said"]) == "said\n"
    with pytest.raises(MachineError, match="ended with 3") as caught:
        guarded.run(["sh", "-c", "echo why >&2; exit 3"])
    assert caught.value.hint == "it says: why"


def test_a_process_starts_where_it_is_told(guarded: Guarded, tmp_path: Path) -> None:
    last = max(os.sched_getaffinity(0))
    said = told(guarded, tmp_path, Launch(cpus=(last,), nice=5, scheduler="batch"))

    assert said == [str(last), "5", "SCHED_BATCH"]
    assert os.sched_getaffinity(0) != {last} or last == 0


def test_the_same_is_said_by_a_prefix(guarded: Guarded, tmp_path: Path) -> None:
    last = max(os.sched_getaffinity(0))
    launch = Launch(cpus=(last,), nice=5, scheduler="batch")

    assert told(guarded, tmp_path, Launch(), launch.prefix()) == [str(last), "5", "SCHED_BATCH"]


LOOK = (
    "awk '/Cpus_allowed_list/ {print $2}' /proc/self/status; nice; chrt -p $$ | sed -n '1s/.* //p'"
)


def told(guarded: Guarded, tmp_path: Path, launch: Launch, prefix: Sequence[str] = ()) -> list[str]:
    output = tmp_path / "said"
    argv = [*prefix, "sh", "-c", LOOK]
    pid = guarded.spawn(argv, output=output, cwd=tmp_path, env=os.environ, launch=launch)
    assert guarded.wait(pid, 30) == 0
    return output.read_text().split()


def test_a_start_that_is_refused_says_which_step(guarded: Guarded, tmp_path: Path) -> None:
    with pytest.raises(ServerError, match=r"could not run on processors \(4095,\)"):
        guarded.spawn(
            ["true"],
            output=tmp_path / "o",
            cwd=tmp_path,
            env=os.environ,
            launch=Launch(cpus=(4095,)),
        )


def test_a_folder_where_nobody_sweeps_goes_by_the_journal(tmp_path: Path) -> None:
    guarded = Guarded()
    folder = guarded.folder(tmp_path)
    (pid,) = [pid for pid in children_of(os.getpid()) if is_guard(pid)]
    os.kill(pid, signal.SIGKILL)
    wait_until_gone([pid])
    assert folder.is_dir()

    sweep()
    assert not folder.exists()
    guarded.close()


@root_only
def test_a_network_namespace_goes_with_the_guard() -> None:
    with Guarded() as guarded:
        place = guarded.network()
        said = guarded.run(["nsenter", f"--net={place}", "ls", "/sys/class/net"])
        assert place.readlink() != Path("/proc/self/ns/net").readlink()
        pids = [pid for pid in children_of(os.getpid()) if is_guard(pid)]
        assert said

    wait_until_gone(pids)
    assert not place.exists()


def test_two_launches_add_up() -> None:
    first = Launch(cpus=(1,), cgroups=("/a",), nice=3)
    second = Launch(cgroups=("/b",), nice=4)

    assert first.joined(second) == Launch(cpus=(1,), cgroups=("/a", "/b"), nice=4)
    assert Launch.from_document(first.document()) == first
