"""What real servers say they have left for a run."""

from pathlib import Path

import pytest

from dbdyno.servers import open_server

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    "provision",
    ["postgresql:18.0.0@maven", "postgresql:9.6.24@maven", "mariadb:10.11.5@maven", "mysql:5.6.14"],
)
def test_connections_left_are_the_limit_less_those_in_use(provision: str, tmp_path: Path) -> None:
    with open_server(provision, {"max_connections": "50"}, tmp_path) as server:
        server.start()
        capacity = server.entry.capacity()

    # The lab's own session is one of those in use.
    assert capacity.connections is not None
    assert 45 <= capacity.connections <= 49
    assert capacity.basis.startswith("max_connections 50, ")
    if not provision.startswith("postgresql"):
        assert capacity.statements == 16_382
        assert capacity.accept_queue is not None and capacity.accept_queue > 0


def test_a_file_has_no_limits(tmp_path: Path) -> None:
    with open_server("sqlite", {}, tmp_path) as server:
        server.start()
        capacity = server.entry.capacity()

    assert (capacity.connections, capacity.statements) == (None, None)
