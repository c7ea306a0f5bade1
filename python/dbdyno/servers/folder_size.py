"""How large a folder or a file is that may be changing."""

import os
import stat
from pathlib import Path


def size_of(folder: Path) -> int:
    """Bytes of the files in a folder that may be changing: what goes away meanwhile, a folder of it
    too, counts as nothing."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                status = Path(place, name).lstat()
            except FileNotFoundError:
                continue
            total += status.st_size if stat.S_ISREG(status.st_mode) else 0
    return total


def size_of_file(path: Path) -> int:
    """Bytes; nothing when the file went away just now."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
