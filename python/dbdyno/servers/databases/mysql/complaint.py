"""What a MySQL or MariaDB server complains of in its log when it does not start."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from dbdyno.errors import ServerError
from dbdyno.servers.setting import unknown_setting

_DEBIAN_PACKAGES = {
    "libaio.so.1": "libaio1",
    "libncurses.so.5": "libncurses5",
    "libtinfo.so.5": "libtinfo5",
}
"""Libraries that the packaged programs expect on the system → package that has them."""


def explained(
    name: str, log: str, tail: str, defaults: Callable[[], Mapping[str, str]]
) -> ServerError | None:
    """The error in a server's `log` that a user can fix; `None` if it says nothing. `tail` is the
    end of the log, as a hint; `defaults` are asked for where a setting is unknown."""
    if unknown := re.search(r"unknown (?:variable|option) '(?:--)?([^='\n]+)", log):
        manual = "look at the server's manual"
        return unknown_setting(name, unknown[1], defaults(), manual)
    if library := re.search(r"error while loading shared libraries: (\S+):", log):
        package = _DEBIAN_PACKAGES.get(library[1])
        return ServerError(
            f"{name} needs the library {library[1]}, which is not installed",
            hint=f"`apt-get install {package}`" if package else "install the one it names",
        )
    if re.search(r"io_setup\(\) failed with EAGAIN|Cannot initialize AIO", log):
        return ServerError(
            f"{name} gets no asynchronous I/O: the machine's servers together ask for more "
            "than `fs.aio-max-nr` allows",
            hint="fewer `innodb_read_io_threads` and `innodb_write_io_threads` (each asks for "
            "256), or `sysctl fs.aio-max-nr=1048576` as root",
        )
    complaint = re.search(r"\[ERROR\] (?:\[[^]]+\] )*(.+)", log)
    if complaint is None:
        return None
    return ServerError(f"{name} did not start: {complaint[1].strip()}", hint=tail)
