"""Everything the lab can fail with, by what the user can mend.

    LabError                 (abstract)  exit code
    ├── NotValidError        measured, but the numbers do not answer the question       1
    ├── UsageError           a wrong flag, name or value                                2
    │   └── StudyError       a study file, with file and line                           2
    ├── ScriptError          a workload script, or an outside program                   3
    ├── ServerError          a server can't be provisioned, started or kept running     4
    │   └── ConnectError     a server can't be reached or refuses us                    4
    ├── StatementError       a server's answer stopped the run                          5
    ├── MachineError         this machine lacks something                               6
    ├── StoreError           the results folder                                         7
    ├── EngineError          the engine is missing, of another version, or broke        70
    │   └── EngineLostError  a signal that we did not send ended the engine             6
    │       └── EngineCrashError   it crashed                                           70
    └── InterruptedRunError  Ctrl-C or SIGTERM; what was measured is kept               130

The codes are the engine's, plus 1 and 7; 70 is for faults of our own alone. Lower
exceptions become one of these at the border of the room that meets them; the command line catches
`LabError` and nothing else.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection
from pathlib import Path
from typing import ClassVar, Self


class LabError(Exception):
    """What failed, on what, what was expected (`message`); what to try (`hint`)."""

    exit_code: ClassVar[int] = 70

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def reworded(self, message: str, *, hint: str | None) -> Self:
        """The same failure with the same details, in other words."""
        other = type(self).__new__(type(self), message)
        other.__dict__.update(self.__dict__)
        other.message, other.hint = message, hint
        return other


class NotValidError(LabError):
    """Measured, but not valid: some runs failed or a gate was not met."""

    exit_code = 1


class UsageError(LabError):
    """A wrong flag, name or value."""

    exit_code = 2


def unknown_name(message: str, name: str, known: Collection[str]) -> UsageError:
    """The error for a name that does not exist: `told`, the nearest known one, and all others."""
    close = difflib.get_close_matches(name, known, n=1)
    guess = f"; did you mean `{close[0]}`?" if close else ""
    return UsageError(f"{message}{guess}", hint=f"there are: {', '.join(known)}")


class StudyError(UsageError):
    """A study file that can't be run as it stands."""

    def __init__(
        self, message: str, *, file: Path, line: int | None = None, hint: str | None = None
    ) -> None:
        place = f"{file}:{line}" if line else str(file)
        super().__init__(f"{place}: {message}", hint=hint)
        self.file = file
        self.line = line


class ScriptError(LabError):
    """A workload script that can't be found, loaded or run (`traceback` is the place in it), or an
    outside program that ended with an error."""

    exit_code = 3

    def __init__(
        self, message: str, *, hint: str | None = None, traceback: str | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.traceback = traceback


class ServerError(LabError):
    """A server that can't be provisioned, configured, started or kept running."""

    exit_code = 4


class ConnectError(ServerError):
    """A server that can't be reached or refuses the connection."""


class NotStartedError(ServerError):
    """A program that the system can't start."""


class LostError(ServerError):
    """The connection ended, or the server died, while it was asked."""


class StatementError(LabError):
    """A server's answer to a statement stopped the run."""

    exit_code = 5


class MachineError(LabError):
    """This machine lacks something the study needs."""

    exit_code = 6


class StoreError(LabError):
    """The results folder can't be read or written, or is in use."""

    exit_code = 7


class EngineError(LabError):
    """The engine is missing, of another version, or broke its contract."""


class EngineLostError(EngineError):
    """A signal that we did not send ended the engine: its run has failed, others need not."""

    exit_code = 6


class EngineCrashError(EngineLostError):
    """The engine itself crashed."""

    exit_code = 70


class InterruptedRunError(LabError):
    """Somebody stopped us; what was measured is kept and marked."""

    exit_code = 130


def kind_named(name: str) -> type[LabError]:
    """The class of an error that was stored or sent by its name; `EngineError` if there is none.

    Of a `StudyError` it is `UsageError`: its message has the place in the file already.
    """
    known = globals().get(name)
    if not (isinstance(known, type) and issubclass(known, LabError)):
        return EngineError
    return UsageError if known is StudyError else known
