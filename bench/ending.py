"""How the commands of `bench` end."""

import sys
from collections.abc import Callable

from dbdyno.errors import LabError


def exit_code(command: Callable[[], None]) -> int:
    """Of a command, run to its end: 0, or that of its error, which is printed with its hint."""
    try:
        command()
    except LabError as error:
        hint = f"\n\nhint: {error.hint}" if error.hint else ""
        sys.stderr.write(f"error: {error.message}{hint}\n")
        return error.exit_code
    return 0
