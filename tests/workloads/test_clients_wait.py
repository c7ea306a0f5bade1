"""Statements where Lua can't suspend a client are refused before they are sent; elsewhere, as in
the handler of an error, they work."""

from __future__ import annotations

from pathlib import Path

import pytest

from driven import Driven

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).parent / "held.lua"
REFUSED = {
    *("bulk_in_sort", "connected", "format", "gsub", "gsub_table", "hooked", "inner_sort"),
    *("pipeline_in_sort", "prepare_in_sort", "prepared", "reconnect_in_sort", "resumed", "slept"),
    *("sort", "sort_in_pipeline", "sort_meta", "wrapped"),
}
REFUSED_ON_SQLITE = {"reconnect_in_sort", "slept"}
FAILING_FINALISER = """
function prepare()
  local con = sysbench.sql.driver():connect()
  do
    local made = newproxy(true)
    getmetatable(made).__gc = function() error("this one") end
  end
  collectgarbage()
  collectgarbage()
  con:query("SELECT 1")
  print("not reached on a server")
end
"""


def test_a_client_waits_or_is_told_where_it_can_t(driven: Driven) -> None:
    command = driven.call(str(SCRIPT), "prepare")
    assert command.complaint == ""
    words_of = dict(line.split(" ", 1) for line in command.lines)
    assert words_of.pop("after") == "4711"
    assert words_of.pop("stored") in {"0", "1"}
    at_once = driven.driver == "sqlite"
    refused = {name for name, words in words_of.items() if words.startswith("false")}
    assert refused == (REFUSED_ON_SQLITE if at_once else REFUSED)
    for name in refused:
        refusal = words_of[name]
        assert refusal.startswith("false held.lua:"), refusal
        assert "a client can't wait here" in refusal
        assert "nothing was sent" in refusal


def test_an_error_in_a_finaliser_fails_the_run(driven: Driven, tmp_path: Path) -> None:
    script = tmp_path / "finaliser.lua"
    script.write_text(FAILING_FINALISER)
    command = driven.call(str(script), "prepare")
    assert "finaliser.lua:6: this one" in command.complaint
