"""Nothing started by the lab survives it, whatever ends it."""

import contextlib
import json
import os
import pwd
import shutil
import signal
import site
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from dbdyno.guard import guarded, sweep
from dbdyno.guard.family import children_of
from dbdyno.guard.locked_folder import LOCK_NAME
from traces import LIMIT_S, descendants, left_behind, wait_until_gone

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("clean")]

PACKAGE = Path(guarded.__file__).parents[2]
HOLD = Path(__file__).with_name("hold.py")


both_eras = pytest.mark.parametrize(
    "provision", ["postgresql:18.4@wheel", "postgresql:9.6.24@maven", "mariadb@system"]
)
"""With POSIX semaphores and with System V's, noticing a parent's death by signal and by pipe; and
one process that notices nothing."""


@contextlib.contextmanager
def hold(provision: str, folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A process of its own that makes and holds a server; its group is not ours."""
    with subprocess.Popen(
        [sys.executable, str(HOLD), provision, str(folder)],
        env={**os.environ, "PYTHONPATH": str(PACKAGE)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        yield process
        process.kill()


@pytest.fixture
def lab(provision: str, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """One whose server is ready."""
    with hold(provision, tmp_path) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline(), process.stderr.read()
        yield process


def below(process: subprocess.Popen[str]) -> list[int]:
    """The guard, the server and its processes."""
    return list(descendants(process.pid)[1:])


@both_eras
def test_kill_9_of_the_lab_leaves_nothing(lab: subprocess.Popen[str], tmp_path: Path) -> None:
    pids = below(lab)
    assert len(pids) >= 2
    lab.kill()
    wait_until_gone(pids)

    assert [path.name for path in tmp_path.iterdir()] == ["server.log"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@both_eras
def test_a_signal_to_the_whole_group_leaves_nothing(
    lab: subprocess.Popen[str], number: signal.Signals
) -> None:
    pids = below(lab)
    os.killpg(lab.pid, number)
    lab.wait(LIMIT_S)

    wait_until_gone(pids)


@both_eras
def test_kill_9_of_lab_and_server_together_leaves_nothing(lab: subprocess.Popen[str]) -> None:
    pids = below(lab)
    (guard,) = children_of(lab.pid)
    (postmaster,) = children_of(guard)
    os.kill(postmaster, signal.SIGKILL)  # The guard would do it as soon as the lab is gone.
    lab.kill()

    wait_until_gone(pids)


def test_kill_9_while_the_data_folder_is_made_leaves_nothing(tmp_path: Path) -> None:
    with hold("postgresql:18.4@wheel", tmp_path) as process:
        deadline = time.monotonic() + LIMIT_S
        while len(pids := below(process)) < 3:
            assert time.monotonic() < deadline
        process.kill()
        wait_until_gone(pids)

    assert [path.name for path in tmp_path.iterdir()] == ["server.log"]


def test_kill_9_during_a_download_leaves_no_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DBDYNO_CACHE", str(tmp_path / "cache"))
    with hold("postgresql:18.4@wheel", tmp_path) as process:
        deadline = time.monotonic() + LIMIT_S
        pids = below(process)
        while not any(map(is_download, pids)):
            assert time.monotonic() < deadline
            pids = below(process)
        process.kill()
        wait_until_gone(pids)


def is_download(pid: int) -> bool:
    """Whether a process is pip at work."""
    try:
        return b"download" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False


@both_eras
def test_kill_9_of_the_guard_takes_the_server_along(lab: subprocess.Popen[str]) -> None:
    pids = below(lab)
    (guard,) = children_of(lab.pid)
    os.kill(guard, signal.SIGKILL)
    wait_until_gone(pids)
    os.kill(lab.pid, signal.SIGINT)

    lab.wait(LIMIT_S)


@both_eras
def test_kill_9_of_lab_and_guard_is_swept_up_by_the_next(lab: subprocess.Popen[str]) -> None:
    pids = below(lab)
    (guard,) = children_of(lab.pid)
    os.kill(lab.pid, signal.SIGSTOP)
    os.kill(guard, signal.SIGKILL)
    lab.kill()
    wait_until_gone(pids)
    assert any("dbdyno-" in path for path in left_behind())

    sweep.sweep()


def test_sweeping_spares_folders_in_use() -> None:
    with guarded.Guarded() as owner:
        folder = owner.folder(Path("/tmp"))
        sweep.sweep()

        assert (folder / LOCK_NAME).exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="every other test is this one then")
def test_an_unprivileged_user_needs_nothing_more() -> None:
    python = shutil.which(f"python3.{sys.version_info.minor}", path="/usr/bin:/usr/local/bin")
    if python is None:
        pytest.skip("no Python of this version that everybody can run")
    user = pwd.getpwnam("nobody")
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        home = Path(name)
        library = home / "library"
        (library / "dbdyno").mkdir(parents=True)
        for part in (
            *((PACKAGE / "dbdyno" / room) for room in ("guard", "formats", "model", "servers")),
            *(PACKAGE / "dbdyno").glob("*.py"),
        ):
            copy = shutil.copytree if part.is_dir() else shutil.copy
            copy(part, library / "dbdyno" / part.name)
        for package in (
            *Path(site.getsitepackages()[0]).glob("psycopg*"),
            Path(site.getsitepackages()[0], "pymysql"),
            Path(site.getsitepackages()[0], "typing_extensions.py"),
        ):
            copy = shutil.copytree if package.is_dir() else shutil.copy
            copy(package, library / package.name)
        shutil.copy(HOLD, home)
        for path in (home, *home.rglob("*")):
            os.chown(path, user.pw_uid, user.pw_gid)
        with subprocess.Popen(
            [python, str(home / HOLD.name), "postgresql:18.4@wheel", str(home / "run")],
            env={
                "PYTHONPATH": str(library),
                "HOME": str(home),
                "PATH": os.environ["PATH"],
                "DBDYNO_CACHE": "/var/cache/dbdyno",
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            user=user.pw_uid,
            group=user.pw_gid,
            extra_groups=[],
        ) as process:
            assert process.stdout is not None and process.stderr is not None
            line = process.stdout.readline()
            assert line, process.stderr.read()
            socket = json.loads(line)["endpoints"][0]["unix"]
            folder, _, port = socket.rpartition("/.s.PGSQL.")
            with psycopg.connect(host=folder, port=port, user="dbdyno", dbname="sbtest") as there:
                assert there.execute("SELECT 1").fetchone() == (1,)
            pids = below(process)
            process.send_signal(signal.SIGINT)
            process.wait(LIMIT_S)
            wait_until_gone(pids)
        assert [path.name for path in (home / "run").iterdir()] == ["server.log"]
