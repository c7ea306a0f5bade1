"""One program run to its end: what it printed, the CPU it took, the memory it reached."""

import os
import re
import resource
import select
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from dbdyno.errors import MachineError

_LOOK_EVERY_S = 0.02


@dataclass(frozen=True, slots=True)
class Child:
    """A program that has ended well."""

    output: str
    elapsed_s: float
    user_s: float
    system_s: float
    """CPU of the whole process, from `wait4`."""
    memory_peak_kb: int
    """VmHWM as last seen, every 20 ms: `ru_maxrss` would begin with its parent's memory."""


def run_child(
    argv: Sequence[str | Path],
    *,
    environment: Mapping[str, str] | None = None,
    stdin: str | Path = "",
) -> Child:
    """Runs a program and watches it; `stdin` is what it reads, or the file of it.

    # Errors
    `MachineError` with what it said when it fails.
    """
    with (
        _given(stdin) as given,
        tempfile.TemporaryFile("w+", errors="replace") as output,
        tempfile.TemporaryFile("w+", errors="replace") as complaints,
    ):
        start_s = time.monotonic()
        process = subprocess.Popen(
            [str(word) for word in argv],
            stdin=given,
            stdout=output,
            stderr=complaints,
            env={**os.environ, **(environment or {})},
        )
        memory_kb, code, usage = _watch(process)
        elapsed_s = time.monotonic() - start_s
        output.seek(0)
        complaints.seek(0)
        printed = output.read()
        if code != 0:
            raise MachineError(
                f"`{argv[0]}` ended with code {code}",
                hint=f"{' '.join(map(str, argv))}\n{(complaints.read() + printed)[-2000:]}",
            )
    return Child(printed, elapsed_s, usage.ru_utime, usage.ru_stime, memory_kb)


def compiled(source: Path, folder: Path, *libraries: str) -> Path:
    """A C program of that one source, built into the folder.

    # Errors
    `MachineError` without a compiler, or with what it said.
    """
    program = folder / source.stem
    try:
        run_child(["cc", "-O2", "-o", program, source, *libraries])
    except FileNotFoundError as error:
        raise MachineError("no C compiler (`cc`)", hint="`apt-get install gcc`") from error
    return program


@contextmanager
def _given(stdin: str | Path) -> Iterator[IO[bytes]]:
    if isinstance(stdin, Path):
        with stdin.open("rb") as given:
            yield given
        return
    with tempfile.TemporaryFile() as given:
        given.write(stdin.encode())
        given.seek(0)
        yield given


def _watch(process: subprocess.Popen[bytes]) -> tuple[int, int, resource.struct_rusage]:
    """Peak memory, exit code and resources; ends the program if we are interrupted."""
    descriptor = os.pidfd_open(process.pid)
    memory_kb = 0
    try:
        while not select.select([descriptor], [], [], _LOOK_EVERY_S)[0]:
            memory_kb = max(memory_kb, _peak_kb(process.pid))
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    finally:
        os.close(descriptor)
        if process.returncode is None:
            process.kill()
            process.wait()
    return memory_kb, process.returncode, usage


def _peak_kb(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    return int(found[1]) if found else 0
