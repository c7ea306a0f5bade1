"""A probe that ends before the load makes its step fail: outages without it would be wrong."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from dbdyno.conduct.disturbed import Disturbed
from dbdyno.errors import EngineError, LabError, ServerError
from dbdyno.model import Load, Step
from dbdyno.servers import Server, open_server
from traces import LIMIT_S


def load_of(server: Server, folder: Path, failure: LabError | None = None) -> None:
    """A load that lasts until all probes have ended, and may then fail itself."""
    before = threading.enumerate()
    load = Load(clients=(1,), warm_up_s=0.0, measure_s=1.0)
    with Disturbed(server, server.entry.target(), Step(0, 1, 1), load, folder):
        for thread in threading.enumerate():
            if thread not in before:
                thread.join(LIMIT_S)
                assert not thread.is_alive()
        if failure is not None:
            raise failure


def test_what_ends_a_probe_is_raised_unless_the_load_has_failed(tmp_path: Path) -> None:
    with open_server("sqlite", {}, tmp_path) as server:
        server.start()

        with pytest.raises(ServerError, match="no probes for `sqlite`"):
            load_of(server, tmp_path)
        with pytest.raises(EngineError, match="the load itself"):
            load_of(server, tmp_path, EngineError("the load itself"))
