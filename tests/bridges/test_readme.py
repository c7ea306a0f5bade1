"""README's commands as written: those that need no server are carried out."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from outputs import SYSBENCH_1_0

from dbdyno.cli import call

README = Path(__file__).parents[2] / "README.md"
WITHOUT_SERVER = ("import", "report", "compare", "list")


def commands() -> list[list[str]]:
    """Words behind `dbdyno`, of each command in README's blocks, in their order."""
    blocks = re.findall(r"^```\n(.*?)^```", README.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
    split = (shlex.split(line, comments=True) for line in lines)
    return [words[1:] for words in split if words[:1] == ["dbdyno"]]


def test_commands_without_a_server_do_as_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DBDYNO_PICTURES", "no")
    for name, took in (("old", "2.0183"), ("new", "1.9183")):
        text = SYSBENCH_1_0.format(threads=2, errors=0).replace("2.0183", took)
        (tmp_path / f"{name}.txt").write_text(text)
    chosen = [words for words in commands() if words[0] in WITHOUT_SERVER]
    assert {words[0] for words in chosen} >= {"import", "report", "compare"}
    for words in chosen:
        assert call(words) == 0, words
    printed = capsys.readouterr()
    assert (tmp_path / "results" / "upgrade" / "report.html").is_file()
    assert "after" in printed.err
    assert "B against A" in printed.out
    assert "before=FILE before=FILE" in printed.err, "how imports get the repeats they lack"
    assert call(["list"]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "upgrade" in line]
    assert line.split() == ["upgrade", "2", "complete"]


def test_a_load_of_a_script_has_its_tables_made() -> None:
    loads = [words for words in commands() if words[0] == "bench"]
    assert len(loads) >= 2
    assert [words for words in loads if "--prepare" not in words] == []
