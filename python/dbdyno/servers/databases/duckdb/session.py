"""A session with DuckDB's command-line program, in a separate process so that a crash does not
affect the lab.

The program reads statements and prints a result as JSON, or an error as text; a marker line
printed after each statement shows where its answer ends.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dbdyno.errors import LostError, ServerError
from dbdyno.guard.guarded import Guarded
from dbdyno.servers.nodes import on_socket
from dbdyno.servers.nodes.apart import ApartProcess

_END = "-- end of the answer --"
_ARGUMENTS = ("-batch", "-init", "/dev/null", "-json")


class DuckdbSession:
    """Opened at once, with its settings; ends with `close`, with its process, or `limit_s` without
    an answer.

    # Errors
    `ServerError` when the file can't be opened or a setting is refused.
    """

    def __init__(
        self,
        guarded: Guarded,
        program: Path,
        database: Path,
        settings: Mapping[str, str],
        *,
        limit_s: float,
    ) -> None:
        argv: list[Path | str] = [on_socket.__file__, program, *_ARGUMENTS, database]
        self._process = ApartProcess(guarded, argv, limit_s=limit_s)
        try:
            self._set(settings)
        except LostError as error:
            self.close()
            raise ServerError(f"the database file can't be opened: {error.message}") from None
        except ServerError:
            self.close()
            raise

    def _set(self, settings: Mapping[str, str]) -> None:
        self.rows("SELECT 1")
        for name, value in settings.items():
            self.rows(f"SET {name} = '{value.replace(chr(39), chr(39) * 2)}'")

    def rows(self, statement: str) -> Sequence[Mapping[str, Any]]:
        """The result of a statement.

        # Errors
        `ServerError` when it is refused, `LostError` when the process has died or does not answer.
        """
        text = " ".join(statement.split())
        self._process.write(f"{text};\n.print {_END}\n".encode())
        lines: list[str] = []
        while (line := self._process.line().decode(errors="backslashreplace").rstrip("\n")) != _END:
            lines.append(line)
            if self._process.is_over:
                raise LostError(f"the database's process has died: {_one_line(lines)}")
        answer = "\n".join(lines).strip()
        if not answer:
            return []
        if not answer.startswith("["):
            raise ServerError(f"refused `{text[:200]}`: {_one_line(lines)}")
        found: list[Mapping[str, Any]] = json.loads(answer)
        return found

    def close(self) -> None:
        """Kills the process, whatever it is doing."""
        self._process.close()


def _one_line(lines: Sequence[str]) -> str:
    return " ".join(" ".join(lines).split())[:500] or "it said nothing"
