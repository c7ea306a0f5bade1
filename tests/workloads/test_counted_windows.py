"""A window bounded by a number of events ends with the last, whatever a script does then."""

from __future__ import annotations

from pathlib import Path

import pytest

from driven import Driven

pytestmark = pytest.mark.slow

START = """\
local ffi = require("ffi")
pcall(ffi.cdef, "int usleep(unsigned);")
local function nap(ms) ffi.C.usleep(ms * 1000) end
function thread_init() con = sysbench.sql.driver():connect() end
"""
EVENT = "function event() con:query('SELECT 1') nap(5) end "
ENDS = {
    "nothing": "",
    "waits": "function thread_done() nap(600) end",
    "asks": "function thread_done() con:query('SELECT 1') nap(600) end",
    "asks often": "function thread_done() for _ = 1, 90 do con:query('SELECT 1') nap(10) end end",
    "writes": (
        "function thread_done() con:query('CREATE TABLE IF NOT EXISTS z (a INT)') nap(600) end"
    ),
    "connects": "function thread_done() sysbench.sql.driver():connect() nap(600) end",
    "reconnects": "function thread_done() con:reconnect() nap(600) end",
    "disconnects": "function thread_done() con:disconnect() nap(600) end",
    "pipelines": (
        "function thread_done() dbdyno.pipeline(con, 4, function()"
        " for _ = 1, 9 do con:query('SELECT 1') end end) nap(600) end"
    ),
    "prepares": "function thread_done() con:prepare('SELECT 1'):execute() nap(600) end",
    "done asks": "function done() sysbench.sql.driver():connect():query('SELECT 1') nap(600) end",
    "fails": "function thread_done() nap(600) error('x') end",
}


@pytest.mark.parametrize("ends", ENDS)
def test_what_follows_the_last_event_is_outside(driven: Driven, tmp_path: Path, ends: str) -> None:
    check(driven, tmp_path, ends, events=1, clients=1)


@pytest.mark.parametrize(("events", "clients"), [(10, 1), (10, 4), (2, 8)])
def test_so_it_is_with_several_clients(
    driven: Driven, tmp_path: Path, events: int, clients: int
) -> None:
    check(driven, tmp_path, "asks", events, clients)


def check(driven: Driven, folder: Path, ends: str, events: int, clients: int) -> None:
    """One statement an event; what the end executes is in the total alone."""
    script = folder / "counted.lua"
    script.write_text(START + EVENT + ENDS[ends])
    run = driven.run(str(script), events=events, clients=clients)
    summary = run.outcome.summary
    assert summary is not None, run.complaint
    assert summary.measured.events == summary.measured.statements == events
    assert summary.total.statements >= events
    assert 0.005 <= summary.window_s < 0.55
    assert run.complaint.startswith("`thread_done` failed" if ends == "fails" else "")


LARGE = "('x'):rep(200000)"
APART = f"""\
function thread_init(id) con, own = sysbench.sql.driver():connect(), id end
function event() con:query('SELECT 1') if own == 0 then nap(300) end end
function thread_done()
  if own == 0 then return end
  pcall(function() con:query("SELECT '" .. {LARGE} .. "'") end)
  pcall(function() con:query("SELEKT '" .. {LARGE} .. "'") end)
  dbdyno.pipeline(con, 2, function()
    for _ = 1, 2 do con:query("SELECT '" .. {LARGE} .. "'") end
  end)
  con:reconnect()
  con:query('SELECT 1')
end
"""


def test_nothing_that_a_stopped_client_does_is_in_the_window(
    driven: Driven, tmp_path: Path
) -> None:
    """Neither statements nor bytes, errors and reconnects, though another event still counts."""
    script = tmp_path / "apart.lua"
    script.write_text(START + APART)
    run = driven.run(str(script), events=2, clients=2)
    summary = run.outcome.summary
    assert summary is not None, run.complaint
    measured, total = summary.measured, summary.total
    assert (measured.events, measured.statements, measured.errors, measured.reconnects) == (
        *(2, 2, 0, 0),
    )
    assert measured.bytes_sent + measured.bytes_received < 10_000
    assert total.statements >= 6
    assert total.errors == 1
    if total.bytes_sent:
        assert min(total.bytes_sent, total.bytes_received) > 600_000
