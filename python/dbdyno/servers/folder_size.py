"""How large a folder or a file is that may be changing."""

from pathlib import Path


def size_of(folder: Path) -> int:
    """Bytes in a folder that may be changing."""
    total = 0
    for path in folder.rglob("*"):
        try:
            status = path.lstat()
        except FileNotFoundError:
            continue
        total += status.st_size if path.is_file() and not path.is_symlink() else 0
    return total


def size_of_file(path: Path) -> int:
    """Bytes; nothing when the file went away just now."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
