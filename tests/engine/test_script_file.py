"""Which file a script is read from: origin, and a digest of it with what it requires."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbdyno.engine import drop_in
from dbdyno.engine.script import find_script, script_file, script_path


def test_the_digest_is_of_all_files_beside_the_script_that_it_needs(tmp_path: Path) -> None:
    script, part = tmp_path / "own.lua", tmp_path / "parts" / "rows.lua"
    part.parent.mkdir()
    script.write_text('local rows = require("parts.rows")\nrequire "nowhere"\n')
    digests = set()
    for content in ("return 1\n", 'return 2, require("own")\n'):
        part.write_text(content)
        found = script_file(script)
        assert found.origin == "own"
        digests.add(found.sha256)
    assert len(digests) == 2
    (tmp_path / "other.lua").write_text("return 3\n")
    assert script_file(script).sha256 in digests


def test_bundled_scripts_come_before_those_of_an_installed_sysbench() -> None:
    found = find_script("oltp_read_write", script_path(here=False))
    assert script_file(found).origin == "bundled"


def test_sysbenchs_command_line_gets_a_bundled_script_only_where_there_is_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(drop_in, "_PLACES", (".", str(tmp_path / "installed")))
    call = ["--threads=2", "oltp_delete", "run"]
    (flag, script, command) = drop_in.with_bundled(call)
    assert (flag, command) == ("--threads=2", "run")
    assert script_file(Path(script)).origin == "bundled"
    assert drop_in.with_bundled(["cpu", "run"]) == ["cpu", "run"]
    (tmp_path / "installed").mkdir()
    (tmp_path / "installed" / "oltp_delete.lua").write_text("")
    assert drop_in.with_bundled(call) == call
