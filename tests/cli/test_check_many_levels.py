"""What `check` asks of servers and engine does not grow with the number of levels."""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from dbdyno.cli import call
from dbdyno.servers.sources.provision import parse

STUDY = """\
question = "Which?"
[server.s]
provision = "PROVISION"
[factor.level]
LEVELS
[workload]
script = "tpcb_like"
[load]
clients = [2]
measure = "10 s"
[design]
blocks = 2
CONNECTION
"""
LEVELS = {
    "settings of postgresql": ("postgresql", 'settings = { work_mem = "NUMBERkB" }', ""),
    "settings of mariadb": ("mariadb", 'settings = { sort_buffer_size = "NUMBER" }', ""),
    "connected by TCP": (
        "postgresql",
        'settings = { work_mem = "NUMBERkB" }',
        '[connection]\ntransport = "tcp"',
    ),
    "options": ("postgresql", "options = { accounts = NUMBER }", ""),
}


def asked(monkeypatch: pytest.MonkeyPatch, folder: Path, case: str, count: int) -> Counter[str]:
    """Programs started, by name, and provisions understood, with so many levels."""
    provision, level, connection = LEVELS[case]
    levels = [f"l{n} = {{ {level.replace('NUMBER', str(4096 + n))} }}" for n in range(count)]
    file = folder / f"of_{count}.toml"
    text = STUDY.replace("PROVISION", provision).replace("LEVELS", "\n".join(levels))
    file.write_text(text.replace("CONNECTION", connection))
    counts: Counter[str] = Counter()

    class Popen(subprocess.Popen[Any]):
        def __init__(self, words: Any, *rest: Any, **more: Any) -> None:
            counts[Path(str(words[0])).name] += 1
            super().__init__(words, *rest, **more)

    def counted(*parts: Any) -> Any:
        counts["provisions understood"] += 1
        return parse(*parts)

    with monkeypatch.context() as patched:
        patched.setattr(subprocess, "Popen", Popen)
        patched.setattr("dbdyno.servers.registry.parse", counted)
        assert call(["check", str(file)]) == 0
    return counts


@pytest.mark.slow
@pytest.mark.parametrize("case", LEVELS)
def test_levels_cost_no_further_program(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, case: str
) -> None:
    asked(monkeypatch, tmp_path, case, 1)  # Programs are asked for their version once.
    few, many = (asked(monkeypatch, tmp_path, case, count) for count in (2, 30))

    assert few["dbdyno-engine"] > 0
    assert many == few
