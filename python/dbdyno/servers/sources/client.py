"""Running the client program of a package registry, and saying what went wrong in one line."""

import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dbdyno.errors import ServerError
from dbdyno.guard.guarded import Guarded
from dbdyno.servers.folder_size import size_of


@dataclass(frozen=True, slots=True)
class Stage:
    """How far a download or a build is."""

    what: str
    """The name of the package."""
    done: int
    total: int | None = None
    """`None` where nobody says."""
    is_build: bool = False
    """Whether packages are counted that a compiler has done; else bytes that are here."""


Progress = Callable[[Stage], None]
"""Called now and then, while something is fetched."""

_DOWNLOAD_LIMIT_S = 1800
_PROGRESS_S = 0.5
_QUOTED = 300
"""Characters of a client's own words."""
_UNREACHABLE = re.compile(
    r"(?i)temporary failure|could not resolve|name or service not known|unknown host|"
    r"could not connect|unable to connect|cannot initiate the connection|connection refused|"
    r"connection timed out|connect timed out|network is unreachable|no route to host|"
    r"newconnectionerror|connection failed|could not handshake"
)
"""What the clients say when nobody answers."""


def run_client(
    argv: Sequence[str],
    *,
    package: str,
    error_mark: str,
    folder: Path,
    env: Mapping[str, str] | None = None,
    progress: Progress | None = None,
    watched: Path | None = None,
    total_bytes: int | None = None,
    stage: Callable[[Path], Stage] | None = None,
    limit_s: float = _DOWNLOAD_LIMIT_S,
) -> Path:
    """Runs a download to its end, under a guard: it ends with us. Returns the file with what the
    client has printed.

    `error_mark` is a regular expression for what begins this client's statements of errors; the
    first one is quoted, else the last line.
    `progress` gets how much `watched` (else `folder`) holds, of `total_bytes` if that is known, or
    what `stage` makes of that file.

    # Errors
    `ServerError` when the registry does not answer, the client fails or takes over `limit_s`.
    """
    output = folder / "client.log"
    deadline = time.monotonic() + limit_s
    with Guarded() as guarded:
        pid = guarded.spawn(argv, output=output, cwd=folder, env=env or os.environ)
        code = None
        while code is None and time.monotonic() < deadline:
            if progress is not None:
                here = Stage(package, size_of(watched or folder), total_bytes)
                progress(here if stage is None else stage(output))
            code = guarded.wait(pid, _PROGRESS_S if progress else limit_s)
    if code == 0:
        return output
    if code is None:
        raise ServerError(
            f"getting {package} took more than {limit_s // 60:.0f} minutes",
            hint="look at the network, then run again",
        )
    lines = output.read_text(errors="replace").splitlines()
    marked = (re.split(error_mark, line, maxsplit=1)[1:] for line in lines)
    stated = [text.strip() for text, *_ in filter(None, marked)]
    last = lines[-1][:_QUOTED] if lines else f"exit status {code}"
    reason = next((line for line in stated if line), last)
    if unreachable := next((line for line in lines if _UNREACHABLE.search(line)), None):
        raise ServerError(
            f"could not download {package}: the registry can't be reached",
            hint="look at the network and its proxy; `dbdyno fetch NAME` gets it beforehand, "
            f"while there is one; what `{Path(argv[0]).name}` said: "
            f"{unreachable.strip()[:_QUOTED]}",
        )
    raise ServerError(
        f"could not download {package}: {reason}",
        hint=f"`dbdyno servers` lists what is known to be there; what was run: `{' '.join(argv)}`",
    )
