"""The program behind `login.py`: logs in at the server whose provision text it reads, and says how
that went. Ends with its parent, which may kill it at any time."""

import ctypes
import json
import signal
import sys
from pathlib import Path

from dbdyno.errors import LabError
from dbdyno.servers.nodes.login import answer_of
from dbdyno.servers.nodes.running import RunningServer
from dbdyno.servers.registry import open_server


def main() -> None:
    """A line when it begins, and one when it is over."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    provision = sys.stdin.read()
    print("begins", flush=True)  # noqa: T201 — its parent reads it
    answer = json.dumps({})
    try:
        with open_server(provision, {}, Path()) as server:
            assert isinstance(server, RunningServer), "by its URL"
            server.log_in()
    except LabError as error:
        answer = answer_of(error)
    print(answer, flush=True)  # noqa: T201 — its parent reads it


if __name__ == "__main__":
    main()
