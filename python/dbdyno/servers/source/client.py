"""Running the client program of a package registry, and saying what went wrong in one line."""

import os
from collections.abc import Sequence
from pathlib import Path

from dbdyno.errors import ServerError
from dbdyno.guard.guarded import Guarded

_DOWNLOAD_LIMIT_S = 1800


def run_client(argv: Sequence[str], *, package: str, error_mark: str, folder: Path) -> None:
    """Runs a download to its end, under a guard: it ends with us.

    `error_mark` begins the lines in which this client states errors; the first one is quoted.

    # Errors
    `ServerError` when the client fails or takes over half an hour.
    """
    output = folder / "client.log"
    with Guarded() as guarded:
        pid = guarded.spawn(argv, output=output, cwd=folder, env=os.environ)
        code = guarded.wait(pid, _DOWNLOAD_LIMIT_S)
    if code == 0:
        return
    if code is None:
        raise ServerError(
            f"downloading {package} took more than {_DOWNLOAD_LIMIT_S // 60} minutes",
            hint="look at the network, then run again",
        )
    lines = output.read_text(errors="replace").splitlines()
    stated = [line.partition(error_mark)[2].strip() for line in lines if error_mark in line]
    reason = next((line for line in stated if line), f"exit status {code}")
    raise ServerError(
        f"could not download {package}: {reason}",
        hint=f"`dbdyno servers` lists what is known to be there; what was run: `{' '.join(argv)}`",
    )
