"""Finds workload scripts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from dbdyno.errors import ScriptError
from dbdyno.formats.complaint import nearest_hint

SUFFIX = ".lua"

_BUNDLED = Path(__file__).resolve().parent.parent / "workloads"
_SYSBENCH = Path("/usr/share/sysbench")


def script_path(extra: Iterable[Path] = ()) -> tuple[Path, ...]:
    """Folders searched, in order: the current one, `extra`, the bundled workloads, Debian's
    sysbench."""
    return tuple(dict.fromkeys((Path.cwd(), *extra, _BUNDLED, _SYSBENCH)))


def find_script(name: str, folders: Sequence[Path]) -> Path:
    """The file of a script named with or without its path and suffix.

    Raises `ScriptError` with the folders searched and the nearest name there is.
    """
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
    if name.startswith("oltp_"):
        return "oltp_* scripts come with Debian's package `sysbench`"
    return f"there are {', '.join(known)}"


def known_scripts(folders: Sequence[Path]) -> tuple[str, ...]:
    """Names of all scripts in these folders."""
    return tuple(sorted({file.stem for folder in folders for file in folder.glob(f"*{SUFFIX}")}))
