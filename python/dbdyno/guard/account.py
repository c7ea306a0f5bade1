"""The account a server runs under: ourselves, or an unprivileged one when we are root.

Database servers refuse to run as root, so root hands them to `nobody`, or to the account named by
`DBDYNO_SERVER_USER`.
"""

import os
import pwd
from dataclasses import dataclass
from pathlib import Path

from dbdyno.errors import ServerError

USER_VARIABLE = "DBDYNO_SERVER_USER"
_DEFAULT_USER = "nobody"


@dataclass(frozen=True, slots=True)
class Account:
    """Another user than ourselves."""

    name: str
    uid: int
    gid: int

    def can_reach(self, path: Path) -> bool:
        """Whether this user may go through every folder down to `path` and read it."""
        return self.can_enter(path) and self._may(path.resolve(), 0o4)

    def can_enter(self, folder: Path) -> bool:
        """Whether this user may use what it owns in this folder."""
        resolved = folder.resolve()
        return all(self._may(place, 0o1) for place in (resolved, *resolved.parents))

    def _may(self, path: Path, bits: int) -> bool:
        status = path.stat()
        if status.st_uid == self.uid:
            shift = 6
        elif status.st_gid == self.gid:
            shift = 3
        else:
            shift = 0
        return (status.st_mode >> shift) & bits == bits


def server_account() -> Account | None:
    """The account for servers; `None`: our own.

    # Errors
    `ServerError` when we are root and there is nobody else to be.
    """
    if os.geteuid() != 0:
        return None
    name = os.environ.get(USER_VARIABLE, _DEFAULT_USER)
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        raise ServerError(
            f"a server can't run as root, and there is no user `{name}` to run it",
            hint=f"name an unprivileged user in {USER_VARIABLE}, or run dbdyno as one",
        ) from None
    if entry.pw_uid == 0:
        raise ServerError(
            f"{USER_VARIABLE} is `{name}`, which is root; a server can't run as root",
            hint="name an unprivileged user",
        )
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid)
