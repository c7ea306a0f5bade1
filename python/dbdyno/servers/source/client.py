"""Running the client program of a package registry, and saying what went wrong in one line."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from dbdyno.errors import ServerError

_DOWNLOAD_LIMIT_S = 1800


def run_client(argv: Sequence[str], *, package: str, error_mark: str, folder: Path) -> None:
    """Runs a download to its end.

    `error_mark` begins the lines in which this client states errors; the first one is quoted.

    # Errors
    `ServerError` when the client fails or takes over half an hour.
    """
    try:
        done = subprocess.run(
            argv,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_DOWNLOAD_LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise ServerError(
            f"downloading {package} took more than {_DOWNLOAD_LIMIT_S // 60} minutes",
            hint="look at the network, then run again",
        ) from error
    if done.returncode == 0:
        return
    lines = (done.stdout + done.stderr).splitlines()
    stated = [line.partition(error_mark)[2].strip() for line in lines if error_mark in line]
    reason = next((line for line in stated if line), f"exit status {done.returncode}")
    raise ServerError(
        f"could not download {package}: {reason}",
        hint=f"`dbdyno servers` lists what is known to be there; what was run: `{' '.join(argv)}`",
    )
