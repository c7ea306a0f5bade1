"""How large a folder is, downloads and new data folders alike."""

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
