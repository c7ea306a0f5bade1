"""Draws beside the rest of a report, in a process of its own.

vl-convert keeps Python's lock while it works, so threads would wait for it. Large texts go through
files in memory, and jobs and answers are so short that neither side ever waits to write. The page's
script is the same for all reports of one release of vl-convert, and takes three seconds of
processor time to put together: it is kept in the cache.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Self

from dbdyno.cache import cache_folder
from dbdyno.errors import StoreError
from dbdyno.report.charts import Chart
from dbdyno.report.page import drawing_program
from dbdyno.report.page.paper import VEGA_LITE

_BESIDE = 70
"""Pixels of a chart's title and axes, about."""
_NARROWEST, _WIDEST = 400, 1400


def script_file() -> Path:
    """Where the page's script is kept, for the releases that made it."""
    release = version("vl-convert-python")
    return cache_folder() / "report" / f"vega-lite-{VEGA_LITE}-vl-convert-{release}.js"


def kept_script() -> str:
    """The page's script; empty if none is kept, or it can't be read."""
    try:
        return script_file().read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


def keep_script(text: str) -> None:
    """Keeps it, whole or not at all; a cache that can't be written only costs time."""
    file = script_file()
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=file.parent, encoding="utf-8") as aside:
            aside.write(text)
            aside.flush()
            Path(aside.name).chmod(0o644)
            os.link(aside.name, file)


def picture_files(chart: Chart, folder: Path) -> dict[str, str]:
    """Kind of picture → its file."""
    return {kind: f"{folder.resolve() / chart.name}.{kind}" for kind in ("svg", "png")}


def remove_pictures(charts: Sequence[Chart], folder: Path) -> None:
    """Those of an earlier report, which beside this one would be taken for its own."""
    for chart in charts:
        for file in picture_files(chart, folder).values():
            Path(file).unlink(missing_ok=True)


class Drawing:
    """The process, which makes the page's script first if none is kept; it ends with the block.
    Without `pictures`, and with a script that is kept, there is none."""

    def __init__(self, *, pictures: bool = True) -> None:
        self._files: list[int] = []
        self._asked = 0
        self._script = kept_script()
        self._made_script = ""
        self._process: subprocess.Popen[str] | None = None
        if pictures or not self._script:
            self._process = subprocess.Popen(
                [sys.executable, "-P", drawing_program.__file__, VEGA_LITE],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                process_group=0,  # Ctrl-C is for the lab, which ends it
            )
        if not self._script:
            self._made_script = self._file("")
            self._ask({"script": self._made_script})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
        for file in self._files:
            os.close(file)

    def pictures(self, charts: Sequence[Chart], folder: Path) -> None:
        """Begins with every chart as SVG and PNG in the folder."""
        for chart in charts:
            spec = json.dumps(chart.picture(), allow_nan=False)
            # A picture of many panels is large already; at double size it takes a minute to draw.
            scale = 2 if chart.selector is None else 1
            self._ask({"spec": self._file(spec), "scale": scale, **picture_files(chart, folder)})

    def picture(self, chart: Chart, folder: Path, *, name: str, room: tuple[int, int]) -> None:
        """Begins with a chart as `NAME.svg`, in the proportions of a room (width, height)."""
        high = chart.height + _BESIDE
        width = round(min(max(high * room[0] / room[1] - _BESIDE, _NARROWEST), _WIDEST))
        spec = json.dumps(chart.picture(width=width), allow_nan=False)
        self._ask({"spec": self._file(spec), "svg": f"{folder.resolve() / name}.svg"})

    def finished(self) -> str:
        """Waits for all pictures; the page's script.

        # Errors
        `StoreError` when one can't be drawn or written.
        """
        for _ in range(self._asked):
            wrong = self._answer()
            if "unwritten" in wrong:
                raise StoreError(
                    f"can't write {wrong['unwritten']}: {wrong['why']}",
                    hint="name another place with --out",
                )
            if wrong:
                raise StoreError(f"the report's pictures can't be drawn: {wrong['why']}")
        self._asked = 0
        if not self._script:
            self._script = Path(self._made_script).read_text("utf-8")
            keep_script(self._script)
        return self._script

    def _answer(self) -> Mapping[str, str]:
        """To the next job: empty, or why it can't be done."""
        assert self._process is not None and self._process.stdout is not None, "it was asked"
        line = self._process.stdout.readline()
        if not line:
            return {"why": f"it ended with code {self._process.wait()}"}
        answer: Mapping[str, str] = json.loads(line)
        return answer

    def _ask(self, job: dict[str, object]) -> None:
        assert self._process is not None and self._process.stdin is not None, "it is a pipe"
        try:
            self._process.stdin.write(json.dumps(job) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # `finished` says how it ended
        self._asked += 1

    def _file(self, text: str) -> str:
        """One in memory, by the name under which the other process opens it."""
        file = os.memfd_create("dbdyno-drawing")
        self._files.append(file)
        path = f"/proc/{os.getpid()}/fd/{file}"
        Path(path).write_text(text, "utf-8")
        return path
