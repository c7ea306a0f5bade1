"""What tests of setters share: a scene, and asking a setter for what it would find missing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dbdyno.guard.account import server_account
from dbdyno.setters.setter import Scene

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


def scene(scratch: Path) -> Scene:
    """A run whose large things lie in a folder of the test."""
    return Scene(scratch, server_account())


@pytest.fixture
def without_root(monkeypatch: pytest.MonkeyPatch) -> None:
    """We look like somebody who may write nothing of the system's."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    really = os.access
    monkeypatch.setattr(
        os,
        "access",
        lambda path, mode: mode & os.W_OK == 0 and really(path, mode),
    )
