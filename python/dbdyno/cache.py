"""Where what can be had or made again is kept between commands.

`DBDYNO_CACHE` names the folder. Default: `/var/cache/dbdyno` for root, because servers then run as
another user who must be able to read it; otherwise `dbdyno` in the user's cache folder.
"""

import os
from pathlib import Path

CACHE_VARIABLE = "DBDYNO_CACHE"
_SYSTEM_CACHE = Path("/var/cache/dbdyno")


def cache_folder() -> Path:
    """The folder, which may not exist yet."""
    if named := os.environ.get(CACHE_VARIABLE):
        return Path(named).absolute()
    if os.geteuid() == 0:
        return _SYSTEM_CACHE
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "dbdyno"
