"""Finds workload scripts."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dbdyno.errors import ScriptError
from dbdyno.formats.nearest import nearest_hint

if TYPE_CHECKING:
    from dbdyno.model.result import ScriptFile, ScriptOrigin

SUFFIX = ".lua"

_REQUIRED = re.compile(r"""require\s*\(?\s*["']([\w.]+)["']""")
_BUNDLED = (Path(__file__).resolve().parent.parent / "workloads").resolve()
_SYSBENCH = Path("/usr/share/sysbench")
_SHIPPED = (_BUNDLED, _SYSBENCH)


def script_path(first: Iterable[Path] = (), *, here: bool = True) -> tuple[Path, ...]:
    """Folders searched, in order: `first`, the current one unless it is not to be searched
    (`here`), the bundled workloads, Debian's sysbench."""
    return tuple(dict.fromkeys((*first, *([Path.cwd()] if here else []), *_SHIPPED)))


def is_shipped(script: Path) -> bool:
    """Whether a script came with dbdyno or with Debian's sysbench: nobody's own file."""
    return script.resolve().parent in _SHIPPED


def origin_of(script: Path) -> ScriptOrigin:
    """Where a script comes from."""
    folder = script.resolve().parent
    return "bundled" if folder == _BUNDLED else "sysbench" if folder == _SYSBENCH else "own"


def script_file(script: Path) -> ScriptFile:
    """Origin and digest of a script, with the files beside it that it requires. A file that is gone
    by now has the digest of an empty one."""
    # Who only lists scripts needs none of the model.
    from dbdyno.model.result import ScriptFile

    digest, seen, waiting = hashlib.sha256(), {script}, [script]
    while waiting:
        content = _content(waiting.pop(0))
        digest.update(content)
        for name in _REQUIRED.findall(content.decode(errors="replace")):
            required = script.parent / f"{name.replace('.', '/')}{SUFFIX}"
            if required not in seen and _is_file(required):
                seen.add(required)
                waiting.append(required)
    return ScriptFile(origin_of(script), digest.hexdigest())


def _content(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        return b""


def find_script(name: str, folders: Sequence[Path]) -> Path:
    """The file of a script named with or without its path and suffix.

    A name with a `/` is a path: no bundled script is meant by it. Raises `ScriptError` with the
    folders searched and the nearest name there is.
    """
    if "/" in name:
        folders = [folder for folder in folders if folder not in _SHIPPED]
    for folder in folders:
        for candidate in (folder / name, folder / f"{name}{SUFFIX}"):
            if _is_file(candidate):
                return candidate.resolve()
    searched = ", ".join(str(folder) for folder in folders)
    raise ScriptError(
        f"there is no script `{name}`; searched {searched}",
        hint=_advice(Path(name).stem, known_scripts(folders)),
    )


def _is_file(path: Path) -> bool:
    """Whether the path is a file; a name that the system refuses (too long, say) is not."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _advice(name: str, known: Sequence[str]) -> str:
    if hint := nearest_hint(name, known):
        return hint
    return f"there are {', '.join(known)}" if known else "a path is searched as it is written"


def known_scripts(folders: Sequence[Path]) -> tuple[str, ...]:
    """Names of all scripts in these folders."""
    return tuple(sorted({file.stem for folder in folders for file in folder.glob(f"*{SUFFIX}")}))
