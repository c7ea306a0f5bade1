"""`dbdyno scripts`: what the real engine says of the scripts there are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dbdyno.cli import call
from dbdyno.engine.catalog import script_pages
from dbdyno.engine.script import script_path

OWN = """\
-- Does nothing at all. Really.
-- And says so.

sysbench.cmdline.options = {
  rows = {"How many [of them]", 7},
  quick = {"Whether at once", true},
  name = {"What for", "x y"},
  mix = {"Percent", {1, 2}},
}
function event() end
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.lua").write_text(OWN)
    (tmp_path / "library.lua").write_text("return {}\n")
    (tmp_path / "broken.lua").write_text("function event( end\n")
    (tmp_path / "silent.lua").write_text("function event() end\n")
    return tmp_path


def test_each_script_is_told_with_its_options_and_defaults(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert call(["scripts", "--json"]) == 0
    pages = {page["name"]: page for page in json.loads(capsys.readouterr().out)["scripts"]}
    assert {"own", "broken", "silent", "kv_update"} <= pages.keys()
    assert "library" not in pages
    own = pages["own"]
    assert (own["about"], own["problem"]) == ("Does nothing at all", None)
    options = {option["name"]: option for option in own["options"]}
    assert options["rows"] == {
        "name": "rows",
        "kind": "number",
        "default": "7",
        "about": "How many [of them]",
    }
    assert (options["quick"]["kind"], options["quick"]["default"]) == ("boolean", "on")
    assert (options["mix"]["kind"], options["mix"]["default"]) == ("list", "1,2")
    assert options["name"]["default"] == "x y"
    assert "broken.lua" in pages["broken"]["problem"]
    assert (pages["silent"]["options"], pages["silent"]["problem"]) == ([], None)


def test_the_list_has_a_line_for_each_script(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["scripts"]) == 0
    told = capsys.readouterr()
    lines = told.out.splitlines()
    assert [line.split()[0] for line in lines].count("own") == 1
    assert any(line.split("  ")[-1] == "Does nothing at all" for line in lines)
    assert any(line.startswith("broken") and "can't be read" in line for line in lines)
    assert "--option" not in told.out
    assert "scripts NAME" in told.err


def test_one_is_shown_by_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["scripts", "own"]) == 0
    told = capsys.readouterr().out
    assert told.startswith("own: Does nothing at all\n")
    assert "  --option rows=7 " in told
    assert "kv_update" not in told
    assert call(["scripts", "onw"]) == 2
    assert "did you mean `own`?" in capsys.readouterr().err


def test_every_bundled_script_says_what_it_does() -> None:
    from dbdyno.engine import find_engine

    pages = script_pages(find_engine(), script_path()[1:2])
    assert [page.name for page in pages if not page.about or page.problem] == []
