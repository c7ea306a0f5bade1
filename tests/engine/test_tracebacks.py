"""Failures of the engine as the lab's errors."""

from __future__ import annotations

import pytest

from dbdyno.engine.fatal import error_of
from dbdyno.errors import ScriptError
from dbdyno.model import Fatal

PRELUDE = "stack traceback:\n\t[C]: in field 'restart'\n\tprelude:228: in field 'thread_run'"
SCRIPT = "stack traceback:\n\t[C]: in function 'error'\n\tmine.lua:4: in function 'event'"


LINE = "kv.lua:3: in event"


@pytest.mark.parametrize(
    ("traceback", "kept"),
    [(PRELUDE, None), (SCRIPT, SCRIPT), (LINE, LINE), ("", None), (None, None)],
)
def test_a_traceback_that_names_no_line_of_a_script_is_left_out(
    traceback: str | None, kept: str | None
) -> None:
    error = error_of(Fatal(kind="script", message="too often", hint=None, traceback=traceback))

    assert isinstance(error, ScriptError)
    assert error.traceback == kept
