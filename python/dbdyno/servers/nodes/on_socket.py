"""Runs a program whose standard input, output and error are a socket: arguments are the socket's
path and the program's own. Run by a Python without site packages: standard library only.
"""

import ctypes
import os
import signal
import socket
import sys


def main() -> None:
    """Becomes the program; it dies with whoever started this."""
    where, *argv = sys.argv[1:]
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    with socket.socket(socket.AF_UNIX) as lab:
        lab.connect(where)
        for stream in (0, 1, 2):
            os.dup2(lab.fileno(), stream)
    os.execv(argv[0], argv)


if __name__ == "__main__":
    main()
