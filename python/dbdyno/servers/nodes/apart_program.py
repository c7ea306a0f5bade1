"""The program behind `apart.py`: opens one SQLite file and answers statements over a socket.

Runs in a Python without site packages: standard library only. It ends when its socket closes.
"""

import ctypes
import json
import signal
import socket
import sqlite3
import sys
from pathlib import Path
from typing import Any

_RESERVE_BYTES = 38
"""SQLITE_FCNTL_RESERVE_BYTES."""
_CHECKSUM_BYTES = 8


def main() -> None:
    """Arguments: socket, database file, and the checksum extension where it is to be used."""
    where, database, *extension = sys.argv[1:]
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    if extension:
        _use_checksums(extension[0], database)
    connection = sqlite3.connect(database, timeout=30, isolation_level=None)
    connection.text_factory = lambda text: text.decode(errors="backslashreplace")
    with socket.socket(socket.AF_UNIX) as lab, connection:
        lab.connect(where)
        stream = lab.makefile("rwb")
        for line in stream:
            answer = _answer(connection, json.loads(line))
            stream.write(json.dumps(answer, default=repr).encode() + b"\n")
            stream.flush()


def _answer(connection: sqlite3.Connection, statement: str) -> dict[str, Any]:
    try:
        cursor = connection.execute(statement)
        columns = [column[0] for column in cursor.description or ()]
        return {"columns": columns, "rows": cursor.fetchall()}
    except sqlite3.Error as error:
        return {"error": str(error)}


def _use_checksums(extension: str, database: str) -> None:
    """Every file opened from now on goes through the extension; a new one gets room for checksums.

    Python's SQLite is often built without the call that loads extensions; the library has it.
    """
    import _sqlite3

    library = ctypes.CDLL(_sqlite3.__file__)
    handle = ctypes.c_void_p()
    library.sqlite3_open(b":memory:", ctypes.byref(handle))
    library.sqlite3_enable_load_extension(handle, 1)
    error = ctypes.c_char_p()
    if library.sqlite3_load_extension(handle, extension.encode(), None, ctypes.byref(error)):
        raise SystemExit(f"can't load {extension}: {(error.value or b'').decode()}")
    if Path(database).stat().st_size:
        return
    file = ctypes.c_void_p()
    library.sqlite3_open(database.encode(), ctypes.byref(file))
    room = ctypes.c_int(_CHECKSUM_BYTES)
    library.sqlite3_file_control(file, None, _RESERVE_BYTES, ctypes.byref(room))
    library.sqlite3_exec(file, b"VACUUM", None, None, None)
    library.sqlite3_close(file)


if __name__ == "__main__":
    main()
