"""`python -m bench.beside [OPTIONS] -- COMMAND…`: runs a command while busy processes come and go.

A machine shared with others, on purpose: each process keeps one processor busy for a while and
then is gone for a while, at random, by a seed that is printed. Both spans are exponential, so when
the next change comes says nothing of the last. The busy processes end with the command, and with
this program however it ends.
"""

import argparse
import heapq
import os
import random
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from types import FrameType

from bench.ending import exit_code
from dbdyno.errors import UsageError

BUSY = """
import os, sys
parent = int(sys.argv[1])
while os.getppid() == parent:
    for _ in range(1_000_000):
        pass
"""
"""Computes until its parent is another: so it ends even where the parent was killed."""

SEED_BITS = 32


def spans(seed: int, process: int, busy_s: float, idle_s: float) -> Iterator[float]:
    """Seconds without end, idle and busy in turn, idle first: exponential with these means."""
    drawn = random.Random(f"{seed}/{process}")
    while True:
        yield drawn.expovariate(1 / idle_s)
        yield drawn.expovariate(1 / busy_s)


@contextmanager
def busy() -> Iterator[None]:
    """One process that keeps a processor busy meanwhile."""
    command = [sys.executable, "-c", BUSY, str(os.getpid())]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, stdin=quiet, stderr=quiet) as process:
        try:
            yield
        finally:
            process.kill()


class Company:
    """Busy processes that come and go by their spans."""

    def __init__(self, processes: int, seed: int, busy_s: float, idle_s: float) -> None:
        self._spans = [spans(seed, number, busy_s, idle_s) for number in range(processes)]
        self._there: list[ExitStack] = [ExitStack() for _ in range(processes)]
        self._since = [0.0] * processes
        """When each one's busy span began; 0: it is idle."""
        now = time.monotonic()
        self._changes = [(now + next(own), number) for number, own in enumerate(self._spans)]
        heapq.heapify(self._changes)
        self.busy_s = 0.0
        """Of all processes together, of spans that have ended."""

    def next_change(self) -> float:
        """On the monotonic clock, seconds."""
        return self._changes[0][0]

    def change(self) -> None:
        """Lets the process whose change is due come or go."""
        at, number = heapq.heappop(self._changes)
        if self._since[number]:
            self._go(number)
        else:
            self._there[number].enter_context(busy())
            self._since[number] = time.monotonic()
        heapq.heappush(self._changes, (at + next(self._spans[number]), number))

    def end(self) -> None:
        """All of them go."""
        for number, since in enumerate(self._since):
            if since:
                self._go(number)

    def _go(self, number: int) -> None:
        self._there[number].close()
        self.busy_s += time.monotonic() - self._since[number]
        self._since[number] = 0.0


def run(command: Sequence[str], company: Company) -> int:
    """The command's exit code, or the negative signal that ended it; then all processes are gone.

    A signal that asks this program to end is passed on, and the command waited for.
    """
    try:
        with subprocess.Popen(command) as process:

            def pass_on(number: int, _frame: FrameType | None) -> None:
                process.send_signal(number)

            # The terminal sends Ctrl-C to the command as well.
            signal.signal(signal.SIGINT, lambda _number, _frame: None)
            signal.signal(signal.SIGTERM, pass_on)
            while True:
                left_s = max(0.0, company.next_change() - time.monotonic())
                try:
                    return process.wait(left_s)
                except subprocess.TimeoutExpired:
                    company.change()
    except OSError as error:
        raise UsageError(f"{command[0]} can't be run: {error.strerror}") from error
    finally:
        company.end()


def main(arguments: Sequence[str]) -> int:
    """Runs the command and says how busy the machine was kept."""
    parser = argparse.ArgumentParser(prog="python -m bench.beside", description=__doc__)
    parser.add_argument("--processes", type=int, default=2, help="how many (default: 2)")
    parser.add_argument("--busy", type=float, default=20.0, help="mean, seconds (default: 20)")
    parser.add_argument("--idle", type=float, default=20.0, help="mean, seconds (default: 20)")
    parser.add_argument("--seed", type=int, help="of all spans (default: drawn)")
    parser.add_argument("command", nargs="+")
    parsed = parser.parse_args(arguments)
    if min(parsed.processes, parsed.busy, parsed.idle) <= 0:
        raise UsageError("--processes, --busy and --idle must be above 0")
    seed = secrets.randbits(SEED_BITS) if parsed.seed is None else parsed.seed
    sys.stderr.write(f"beside it: {parsed.processes} busy processes, seed {seed}\n")
    company = Company(parsed.processes, seed, parsed.busy, parsed.idle)
    begun = time.monotonic()
    code = run(parsed.command, company)
    took_s = time.monotonic() - begun
    share = company.busy_s / (parsed.processes * took_s) if took_s else 0.0
    sys.stderr.write(f"they were busy {share:.0%} of {took_s:.0f} s\n")
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    ended: list[int] = []
    code = exit_code(lambda: ended.append(main(sys.argv[1:])))
    raise SystemExit(code or ended[0])
