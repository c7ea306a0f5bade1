"""Closed standard streams do no harm, and a /proc of another PID namespace is refused."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

DBDYNO = (sys.executable, "-m", "dbdyno")


def shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ("sh", "-c", command, *DBDYNO), capture_output=True, text=True, cwd=folder, check=False
    )


@pytest.mark.parametrize("closed", [">&-", "<&- >&- 2>&-"])
def test_a_closed_stream_is_no_fault_and_no_file_takes_its_place(
    closed: str, tmp_path: Path
) -> None:
    text = tmp_path / "results.txt"
    text.write_text("nothing of a tool\n")
    listed = shell(f'"$0" "$@" list --store {tmp_path} {closed}', tmp_path)
    assert listed.returncode == 0
    assert "fault" not in listed.stderr
    refused = shell(f'"$0" "$@" import {text} --store {tmp_path} {closed}', tmp_path)
    assert refused.returncode == 2
    assert text.read_text() == "nothing of a tool\n"


@pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("unshare") is None, reason="makes a PID namespace"
)
def test_a_proc_of_other_processes_is_refused(tmp_path: Path) -> None:
    asked = ("unshare", "--pid", "--fork", "--kill-child")
    for verb in (("check", "quickstart"), ("report", "x"), ("run", "quickstart")):
        ended = subprocess.run(
            (*asked, *DBDYNO, *verb), capture_output=True, text=True, cwd=tmp_path, check=False
        )
        assert ended.returncode == 6
        assert "/proc shows the processes of another PID namespace" in ended.stderr
        assert "--mount-proc" in ended.stderr
    told = subprocess.run(
        (*asked, "--mount-proc", *DBDYNO, "check", "quickstart"),
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert "namespace" not in told.stderr
    assert told.returncode == 0
