"""Data folders as a server's own program makes them: each is made once in a study and then copied.

A study sets up the same servers in every block. MySQL takes two to three seconds to make a data
folder, about half of what starting it takes in all, and a tenth of that to copy one; PostgreSQL
takes one and a half seconds of processor time, and a seventh of that to copy one. The server
that a folder was made for gets a copy, too, so that no two servers differ in how they got theirs.
"""

import os
import shutil
from collections.abc import Callable, Collection, Hashable
from pathlib import Path
from typing import Self

from dbdyno.errors import ServerError
from dbdyno.guard.account import Account
from dbdyno.guard.guarded import Guarded
from dbdyno.servers.folder_size import size_of

_LARGEST_BYTES = 256 << 20
"""A larger folder is made anew each time: most of it is redo log, which is written either way."""


class InitialData:
    """Keeps folders while its block lasts; they go with its guard, however that ends."""

    def __init__(self, parent: Path) -> None:
        """`parent`: an existing folder, with room for one of each server with its settings."""
        self._parent = parent
        self._guarded: Guarded | None = None
        self._kept: dict[Hashable, Path] = {}
        """What a folder was made with → the folder."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._guarded is not None:
            self._guarded.close()

    def provide(
        self,
        made_with: Hashable,
        folder: Path,
        make: Callable[[], None],
        *,
        account: Account | None,
        without: Collection[str] = (),
        synced: bool = True,
    ) -> bool:
        """Puts the data that `make` leaves in `folder` there: a copy, made with the same program
        and settings before, or else made now. Files named in `without` are each server's own.
        `synced`: the program syncs what it makes, so copies are synced as well. Returns whether
        the data are those of an earlier call.

        # Errors
        `ServerError` when they can't be made, or copied.
        """
        kept = self._kept.get(made_with)
        if kept is None:
            make()
        try:
            if kept is None:
                if size_of(folder) > _LARGEST_BYTES:
                    return False
                self._kept[made_with] = self._keep(folder)
            _copy(self._kept[made_with], folder, account, without, synced=synced)
        except OSError as error:
            raise ServerError(f"could not copy a new data folder: {error}") from error
        return kept is not None

    def _keep(self, folder: Path) -> Path:
        """Moves a folder to the kept ones."""
        self._guarded = self._guarded or Guarded()
        return Path(shutil.move(folder, self._guarded.folder(self._parent) / "data"))


def _copy(
    source: Path, target: Path, account: Account | None, without: Collection[str], *, synced: bool
) -> None:
    """Copies it as the server's program would have written it: to the disk if `synced`."""
    for path in (source, *sorted(source.rglob("*"))):
        if path.name in without:
            continue
        place = target / path.relative_to(source)
        if path.is_dir():
            place.mkdir()
            shutil.copystat(path, place)
        else:
            shutil.copy2(path, place)
            if synced:
                with place.open("rb") as file:
                    os.fsync(file.fileno())
        if account is not None:
            os.chown(place, account.uid, account.gid)
