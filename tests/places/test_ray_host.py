"""What a load host's actor does, called without Ray."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dbdyno.places.ray_host import LoadHost
from traces import wait_until_gone

LONG_S = 600.0


@pytest.fixture
def host() -> Iterator[LoadHost]:
    host = LoadHost(LONG_S)
    yield host
    host.close()


def heard_of(host: LoadHost, number: int) -> tuple[str, int, str]:
    """Everything that a program prints, its exit code, and its errors."""
    text = ""
    while True:
        for whose, part, code, error in host.read(1.0):
            assert whose == number
            text += part
            if code is not None:
                return text, code, error


def test_lines_go_in_and_come_out_and_the_end_is_told(host: LoadHost) -> None:
    assert host.run(1, ["sh", "-c", "read x; echo got $x; echo wrong >&2; exit 3"]) == ""
    host.send(1, "this\n", more=False)

    assert heard_of(host, 1) == ("got this\n", 3, "wrong\n")


def test_every_byte_and_much_input_passes(host: LoadHost) -> None:
    whole = "".join(map(chr, range(256))) * 4000
    host.run(7, ["cat"])
    host.send(7, whole, more=True)
    host.send(7, whole, more=False)

    assert heard_of(host, 7)[:2] == (whole * 2, 0)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_program_is_signalled(host: LoadHost, number: signal.Signals) -> None:
    host.run(1, ["sleep", "600"])
    host.signal(1, number)

    assert heard_of(host, 1) == ("", -number, "")


def test_what_cannot_be_started_says_why(host: LoadHost) -> None:
    assert "No such file" in host.run(1, ["/no/such/program"])
    host.send(1, "into the void", more=False)
    assert isinstance(host.ask(["/no/such/program"], "", 5.0), str)


def test_a_host_says_what_it_has(host: LoadHost) -> None:
    facts = host.facts()

    assert int(str(facts["cores"])) >= 1
    assert int(str(facts["memory_bytes"])) > 2**28
    assert abs(host.clock() - time.time_ns()) < 60 * 10**9
    assert facts["boot_id"] == Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def test_a_host_on_which_nothing_runs_waits_for_the_others() -> None:
    words = (
        "from dbdyno.places.ray_host import LoadHost; import threading; host = LoadHost(0.0); "
        "[thread.join(1.0) for thread in threading.enumerate() if thread.daemon]; "
        "print('waits'); host.close()"
    )
    done = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True)

    assert done.stdout == "waits\n"


def test_programs_end_when_nobody_asks_any_more() -> None:
    words = (
        "from dbdyno.places.ray_host import LoadHost; import threading; host = LoadHost(1.0); "
        "host.run(1, ['sh', '-c', 'echo $$; exec sleep 600']); "
        "print(host.read(60.0)[0][1], flush=True); threading.Event().wait()"
    )
    with subprocess.Popen([sys.executable, "-c", words], stdout=subprocess.PIPE) as actor:
        assert actor.stdout is not None
        program = int(actor.stdout.readline())

        assert actor.wait(120) == 1
    wait_until_gone([program])
