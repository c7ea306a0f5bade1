"""Any kernel switch: files under /proc/sys and /sys, by path or by sysctl name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from dbdyno.guard.guarded import Guarded
from dbdyno.model.part import Missing
from dbdyno.setters.setter import Applied, Scene, without_switch

_ROOTS = (Path("/proc/sys"), Path("/sys"))


class Switch:
    """A table of switches: `{ "vm.swappiness" = 1, "/sys/block/sda/queue/scheduler" = "none" }`."""

    name: ClassVar[str] = "switch"

    def read(self, value: object) -> Mapping[Path, str]:
        """File → value to write."""
        if not isinstance(value, Mapping) or not value:
            raise ValueError(f"expected a table of switches and their values; found {value!r}")
        return {_path(str(name)): _text(switch_value) for name, switch_value in value.items()}

    def missing(self, value: Mapping[Path, str]) -> tuple[Missing, ...]:
        """Missing root, or a switch that this kernel lacks."""
        return without_switch(*value)

    def apply(self, value: Mapping[Path, str], guarded: Guarded, _: Scene) -> Applied:
        """Writes the switches in the study's order."""
        held = {str(path): guarded.write(path, text) for path, text in value.items()}
        return Applied(
            before={path: change.old for path, change in held.items()},
            after={path: change.new for path, change in held.items()},
        )


def _path(name: str) -> Path:
    """The file of a switch. Raises `ValueError` if it is not a kernel switch."""
    path = Path(name) if name.startswith("/") else Path("/proc/sys", *name.split("."))
    inside = any(root in path.parents for root in _ROOTS) and ".." not in path.parts
    if not inside or not (name.startswith("/") or "." in name):
        raise ValueError(
            f'expected a file under /proc/sys or /sys, or a name such as "vm.swappiness"; '
            f"found {name!r}"
        )
    return path


def _text(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise ValueError(f"expected a text or a whole number for a switch; found {value!r}")
    return " ".join(str(value).split())


SETTER = Switch()
