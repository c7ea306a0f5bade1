"""A link between client and server: as fast as asked, and gone with the run."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
from scene import root_only, scene, without_root
from server_process import told_by

from dbdyno.guard.guarded import Guarded
from dbdyno.setters.network import SETTER, Network
from dbdyno.setters.outfit import apply_all

__all__ = ["without_root"]

SERVE = """
import socket
listener = socket.create_server(("192.0.2.1", 5555))
connection, _ = listener.accept()
while connection.recv(1 << 20): pass
connection.sendall(b"done")
"""
SEND = """
import socket, sys
size_bytes = int(sys.argv[1])
while True:
    try:
        connection = socket.create_connection(("192.0.2.1", 5555))
        break
    except ConnectionRefusedError:
        continue
connection.sendall(bytes(size_bytes))
connection.shutdown(socket.SHUT_WR)
assert connection.recv(4) == b"done"
"""


@pytest.mark.parametrize(
    ("text", "rate_bit_s"),
    [("1 Gbit/s", 10**9), ("100Mbit", 10**8), ("1.5 Mbit/s", 1_500_000), ("64 kbit/s", 64_000)],
)
def test_a_rate_has_its_unit(text: str, rate_bit_s: int) -> None:
    assert SETTER.read({"rate": text}) == Network(rate_bit_s, 1500)


@pytest.mark.parametrize("value", [{"rate": 100}, {"rate": "1 Gb"}, {"rate": "1 bit"}, {"mtu": 10}])
def test_what_can_not_be_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match=r"^expected"):
        SETTER.read(value)


@pytest.mark.usefixtures("without_root")
def test_without_root_it_is_told_in_a_line() -> None:
    (missing,) = SETTER.missing(Network(None, 1500))

    assert missing.what == "only root may make network namespaces"


@pytest.fixture
def possible() -> None:
    if SETTER.missing(Network(10**6, 1500)):
        pytest.skip("no links to be had here")


@root_only
@pytest.mark.usefixtures("clean", "possible")
def test_what_is_sent_takes_as_long_as_the_rate_says(tmp_path: Path) -> None:
    host = {"network": {"rate": "8 Mbit/s", "mtu": 9000}}
    with Guarded() as guarded:
        outfit = apply_all(host, guarded, scene(tmp_path))
        server = guarded.spawn(
            [sys.executable, "-S", "-c", SERVE],
            output=tmp_path / "said",
            cwd=tmp_path,
            env={},
            launch=outfit.server,
        )
        start = time.monotonic()
        client = [*outfit.client.prefix(), sys.executable, "-S", "-c", SEND, str(1_000_000)]
        subprocess.run(client, check=True)
        took_s = time.monotonic() - start

        assert guarded.wait(server, 30) == 0, (tmp_path / "said").read_text()
        links = told_by(guarded, outfit.server, ["ip", "-o", "link"], tmp_path)
        assert "mtu 9000" in links and "server@" in links
    assert took_s > 0.8, "a million bytes at 8 Mbit/s take a second; some wait in the bucket"
