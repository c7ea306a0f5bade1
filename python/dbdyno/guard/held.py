"""A change of the machine that a guard undoes."""

from collections.abc import Callable, Mapping
from typing import Any, Self

from dbdyno.errors import MachineError


class Held:
    """A change that the guard undoes if this process can't. Leaving the block undoes it."""

    def __init__(
        self, undo: Callable[[int], str], number: int, *, old: str = "", new: str = ""
    ) -> None:
        self._undo = undo
        self._number = number
        self.old = old
        """The switch's value before."""
        self.new = new
        """Its value now, as the kernel writes it."""

    def undo(self) -> str:
        """Takes it back now; once. Returns a remark if it was left alone on purpose.

        # Errors
        `MachineError` when it can't be taken back; it stays in the journal.
        """
        return self._undo(self._number)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.undo()


def not_held(what: str, answer: Mapping[str, Any]) -> MachineError:
    taken = "one study at a time changes a host; wait for the other"
    refused = "run as root, outside of a container; `dbdyno doctor --mend` undoes what was left"
    return MachineError(
        f"could not {what}: {answer['error']}", hint=taken if answer["taken"] else refused
    )
