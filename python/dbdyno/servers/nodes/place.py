"""Where a run's server keeps its data and socket."""

import os
from pathlib import Path

from dbdyno.errors import ServerError
from dbdyno.guard.account import Account
from dbdyno.guard.guarded import Guarded
from dbdyno.guard.launch import Launch
from dbdyno.guard.sweep import temporary_parents

DATA_VARIABLE = "DBDYNO_DATA"
_SOCKET_PATH_LIMIT = 107
"""Bytes in `sockaddr_un.sun_path` without the terminator."""
_LONGEST_SOCKET_NAME = len("dbdyno-12345678/.s.PGSQL.65535")


def data_folder(guarded: Guarded, folder: Path, account: Account | None, launch: Launch) -> Path:
    """A new folder for data: where the launch says, else see `data_parent`.

    # Errors
    `ServerError` when `DBDYNO_DATA` is out of that account's reach.
    """
    named = launch.data_parent
    parent = Path(named) if named else data_parent(folder, account)
    return guarded.folder(parent, account=account, locked=not named)


def data_parent(folder: Path, account: Account | None) -> Path:
    """Where data is put: in `DBDYNO_DATA`, else in the run's folder, else (when the server's
    account can't go there) in /var/tmp.

    # Errors
    `ServerError` when `DBDYNO_DATA` is out of that account's reach.
    """
    named = os.environ.get(DATA_VARIABLE)
    parent = Path(named).absolute() if named else folder.absolute()
    if account is not None and not account.can_enter(parent):
        if named:
            raise ServerError(
                f"{DATA_VARIABLE} is {parent}, where the user `{account.name}`, who runs servers "
                "for root, can't go",
                hint=f"`chmod o+x` it and the folders above, or name another in {DATA_VARIABLE}",
            )
        parent = temporary_parents()[-1]
    return parent


def socket_folder(guarded: Guarded, account: Account | None) -> Path:
    """A new folder for a Unix socket, short enough for the kernel."""
    for parent in temporary_parents():
        short = len(os.fsencode(parent)) + 1 + _LONGEST_SOCKET_NAME <= _SOCKET_PATH_LIMIT
        if short and (account is None or account.can_enter(parent)):
            return guarded.folder(parent, account=account)
    raise ServerError(
        "no temporary folder is short enough for a socket and open to the server's account",
        hint="make /tmp usable by everybody: `chmod 1777 /tmp`",
    )
