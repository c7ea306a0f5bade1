"""Ctrl-C twice: the program ends, although it doesn't come to hear of the first."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

from dbdyno.engine import find_engine
from dbdyno.formats.record_schema import SCHEMA

LIMIT_S = 60.0

DEAF = """
import signal, threading
from dbdyno.cli.interruption import end_at_second_signal
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, lambda *_: print("heard", flush=True))
end_at_second_signal()
print("up", flush=True)
while True:
    threading.Event().wait(60)
"""

ENDLESS = "function init() while true do end end\nfunction event() end\n"


def test_the_lab_ends_at_the_second_signal() -> None:
    with subprocess.Popen([sys.executable, "-c", DEAF], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        for word, number in ((b"up\n", signal.SIGINT), (b"heard\n", signal.SIGTERM)):
            assert process.stdout.readline() == word
            process.send_signal(number)

        assert process.wait(LIMIT_S) == 130


def test_the_engine_ends_at_the_second_signal(tmp_path: Path) -> None:
    script = tmp_path / "endless.lua"
    script.write_text(ENDLESS)
    spec = {
        "schema": SCHEMA,
        "target": {"driver": "null"},
        "groups": [{"script": str(script), "clients": 1}],
        "measure_s": 1,
    }
    (tmp_path / "spec.json").write_text(json.dumps(spec))
    command = [str(find_engine().path), "run", str(tmp_path / "spec.json")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        said = [process.stdout.readline()]
        # Two of one kind that come at once are one.
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGTERM)
        said += process.stdout.readlines()

        assert process.wait(LIMIT_S) == 130
    assert b'"record":"hello"' in said[0]
    assert not any(b'"record":"summary"' in line for line in said)
