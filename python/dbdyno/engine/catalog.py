"""The available scripts: their descriptions and options, as read by the engine."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dbdyno.engine.binary import Engine
from dbdyno.engine.script import SUFFIX, is_shipped

_LIMIT_S = 20.0
_EVENT = re.compile(r"^\s*function\s+event\b|^\s*event\s*=", re.MULTILINE)
"""Errors of files that are only libraries of other scripts."""

_OPTION = re.compile(
    r" +--(?P<name>[\w-]+)(?P<kind>\[=on\|off\]|=\S+)?\s+"
    r"(?P<about>.*?)(?: \[(?P<default>[^\[\]]*)\])?"
)
_KINDS = {"[=on|off]": "boolean", "=N": "number", "=STRING": "text"}


@dataclass(frozen=True, slots=True)
class ScriptOption:
    """An option that a script defines."""

    name: str
    kind: str
    """`number`, `boolean`, `text` or `list`."""
    default: str | None
    about: str


@dataclass(frozen=True, slots=True)
class ScriptPage:
    """A script that can be run by name."""

    name: str
    file: Path
    about: str
    """The first sentence of the file's first comment; empty if there is none."""
    options: tuple[ScriptOption, ...]
    problem: str | None = None
    """Why the engine can't read it."""


def script_pages(
    engine: Engine, folders: Sequence[Path], *, options: bool = True
) -> Iterator[ScriptPage]:
    """Every script in these folders that has events; for equal names the first is used. Without
    `options` the engine reads only scripts of somebody's own, to say what is wrong with them."""
    files: dict[str, Path] = {}
    for folder in folders:
        for file in sorted(folder.glob(f"*{SUFFIX}")):
            files.setdefault(file.stem, file)
    for name, file in sorted(files.items()):
        try:
            text = file.read_text("utf-8", errors="replace")
        except OSError:
            continue
        if _EVENT.search(text):
            if options or not is_shipped(file):
                yield _page(engine, name, file, text)
            else:
                yield ScriptPage(name, file, _first_sentence(text), ())


def _page(engine: Engine, name: str, file: Path, text: str) -> ScriptPage:
    about = _first_sentence(text)
    try:
        done = subprocess.run(
            [engine.path, "sysbench", file, "help"],
            capture_output=True,
            text=True,
            timeout=_LIMIT_S,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        return ScriptPage(name, file, about, (), str(error))
    if done.returncode != 0:
        lines = f"{done.stdout}{done.stderr}".strip().splitlines()
        output = [line for line in lines if line and not line.startswith("sysbench 1.")]
        if output and output[-1].endswith("does not implement the 'help' command."):
            return ScriptPage(name, file, about, ())
        return ScriptPage(name, file, about, (), output[0] if output else "can't be read")
    forms = map(_OPTION.fullmatch, done.stdout.splitlines())
    return ScriptPage(name, file, about, tuple(_option(form) for form in forms if form))


def _option(form: re.Match[str]) -> ScriptOption:
    kind = _KINDS.get(form["kind"] or "", "list")
    return ScriptOption(form["name"], kind, form["default"], form["about"].strip())


def _first_sentence(text: str) -> str:
    """The first sentence of the file's opening comment; licences and separators don't count."""
    words: list[str] = []
    for line in text.splitlines():
        comment = re.fullmatch(r"\s*--(?!\[\[)\s*(.*)", line)
        if comment is None or (not comment[1].strip() and words):
            break
        if re.search(r"[A-Za-z]", comment[1]):
            words.append(comment[1].strip())
    sentence = " ".join(words)
    if re.match(r"(?i)copyright|#!", sentence):
        return ""
    return sentence.partition(". ")[0].rstrip(".")
