"""Any command, given with the one that undoes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dbdyno.guard import undo
from dbdyno.guard.guarded import Guarded
from dbdyno.model.part import Missing
from dbdyno.setters.setter import Applied, Scene, find_program, table, texts


@dataclass(frozen=True, slots=True)
class Command:
    """Two commands, each a program and its arguments."""

    apply: tuple[str, ...]
    undo: tuple[str, ...]


class CommandSetter:
    """A table of `apply` and `undo`, each a list of a program and its arguments."""

    name: ClassVar[str] = "command"

    def read(self, value: object) -> Command:
        """Checks the value; both commands are needed."""
        asked = table(value, "apply", "undo")
        commands = {key: texts(asked.get(key, ())) for key in ("apply", "undo")}
        if not all(commands.values()):
            raise ValueError(f"expected both `apply` and `undo`; found {value!r}")
        for program in (argv[0] for argv in commands.values()):
            if "/" in program and not program.startswith("/"):
                raise ValueError(
                    f"expected a program on the path or an absolute path, since `undo` may be run "
                    f"from another folder; found {program!r}"
                )
        return Command(**commands)

    def missing(self, value: Command) -> tuple[Missing, ...]:
        """Programs of the commands that this machine lacks."""
        return tuple(
            Missing(f"there is no program `{argv[0]}`", "install it, or give its path")
            for argv in dict.fromkeys((value.apply[:1], value.undo[:1]))
            if find_program(argv[0]) is None
        )

    def apply(self, value: Command, guarded: Guarded, _: Scene) -> Applied:
        """Runs `apply` after registering `undo`."""
        guarded.hold(undo.run(list(value.undo)))
        printed = guarded.run(value.apply)
        return Applied(after={"command": list(value.apply), "told": printed.strip()})


SETTER = CommandSetter()
