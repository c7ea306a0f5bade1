"""This machine as a place: programs are children of the lab."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from dbdyno.errors import StoreError
from dbdyno.places.place import Answer


class LocalProcess:
    """A child of the lab; see `Running`."""

    host = ""
    lost = ""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    @property
    def pid(self) -> int:
        return self._process.pid

    def lines(self) -> Iterator[bytes]:
        assert self._process.stdout is not None
        return iter(self._process.stdout)

    def send(self, text: bytes, *, more: bool = True) -> None:
        stdin = self._process.stdin
        assert stdin is not None
        # It may have died before reading; its exit code and standard error say why.
        with suppress(BrokenPipeError):
            stdin.write(text)
            stdin.flush()
        if not more:
            with suppress(BrokenPipeError):
                stdin.close()

    def interrupt(self) -> None:
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)

    def kill(self) -> None:
        self._process.kill()

    def poll(self) -> int | None:
        return self._process.poll()

    def wait(self) -> int:
        return self._process.wait()

    def close(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(BrokenPipeError):
                if pipe is not None:
                    pipe.close()

    def ahead_ns(self) -> int:
        return 0

    def gained_ns(self, over_ns: int) -> int:
        return 0


class Local:
    """This machine; see `Place`."""

    name = ""
    facts: Mapping[str, object] = {}

    def run(self, argv: Sequence[str | Path], error: Path) -> LocalProcess:
        """Raises `StoreError` if the file of errors can't be written."""
        try:
            stderr = error.open("ab")
        except OSError as failure:
            raise StoreError(f"can't write {error}: {failure.strerror}") from failure
        with stderr:
            process = subprocess.Popen(
                argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                # A process group of its own: Ctrl-C on the terminal reaches it only through us.
                process_group=0,
            )
        return LocalProcess(process)

    def ask(self, argv: Sequence[str | Path], text: str, limit_s: float) -> Answer:
        try:
            done = subprocess.run(
                argv, input=text.encode(), capture_output=True, timeout=limit_s, check=False
            )
        except subprocess.TimeoutExpired as error:
            raise TimeoutError from error
        return Answer(done.returncode, done.stdout.decode(), done.stderr.decode(errors="replace"))

    def path(self, file: str) -> str:
        return file


HERE = Local()
"""This machine as a place."""
