"""Who answers at an address: recognised by its first bytes, asked where it is silent."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator

import pytest

from dbdyno.errors import ConnectError
from dbdyno.servers.databases.mysql import session as mysql
from dbdyno.servers.databases.postgresql import query as postgresql
from dbdyno.servers.nodes import peer

Answer = Callable[[socket.socket], None]


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """These servers are on this machine and have nothing else to do."""
    monkeypatch.setattr(peer, "ASK_AFTER_S", 0.1)
    monkeypatch.setattr(peer, "_QUESTION_LIMIT_S", 0.25)


@contextlib.contextmanager
def answering(answer: Answer) -> Iterator[int]:
    """A port where each connection is answered so, until it is closed."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def handle(client: socket.socket) -> None:
            with client, contextlib.suppress(OSError):
                answer(client)

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    client, _ = listener.accept()
                    threading.Thread(target=handle, args=(client,), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        try:
            yield listener.getsockname()[1]
        finally:
            listener.shutdown(socket.SHUT_RDWR)


def web(client: socket.socket) -> None:
    text = b""
    while not text.endswith(b"\r\n\r\n") and (more := client.recv(100)):
        text += more
    client.sendall(b"HTTP/1.0 400 Bad Request\r\n\r\n")


def ssh(client: socket.socket) -> None:
    client.sendall(b"SSH-2.0-OpenSSH_9.2p1\r\n")
    client.recv(1)


def postgres(client: socket.socket) -> None:
    """As far as its answer to SSLRequest."""
    if client.recv(8):
        client.sendall(b"N")
    client.recv(1)


def silent(client: socket.socket) -> None:
    while client.recv(100):
        pass


def mysql_at(port: int, *, limit_s: float = 5.0) -> ConnectError:
    address = mysql.Address("u", "p", "d", port=port)
    session = mysql.MysqlSession("MySQL", address, greeting_limit_s=limit_s)
    with pytest.raises(ConnectError) as caught:
        session.connection()
    return caught.value


def postgresql_at(port: int) -> ConnectError:
    url = f"postgresql://u@127.0.0.1:{port}/d?sslmode=disable"
    session = postgresql.PostgresqlSession(url, connect_timeout=2)
    with pytest.raises(ConnectError) as caught:
        session.connection()
    return caught.value


@pytest.mark.parametrize(
    ("answer", "kind"), [(web, "an HTTP server"), (ssh, "an SSH server")], ids=["web", "ssh"]
)
def test_another_kind_of_server_is_named(answer: Answer, kind: str) -> None:
    with answering(answer) as port:
        assert mysql_at(port).message == f"127.0.0.1:{port} is {kind}, not {peer.MYSQL}"
        assert postgresql_at(port).message == f"127.0.0.1:{port} is {kind}, not {peer.POSTGRESQL}"


def test_mysqls_client_recognises_postgresql() -> None:
    with answering(postgres) as port:
        error = mysql_at(port)

    assert error.message == f"127.0.0.1:{port} is a PostgreSQL server, not {peer.MYSQL}"
    assert error.hint == "name it by a `postgresql://` URL"


def test_postgresqls_client_recognises_mysql() -> None:
    greeting = b"\x4a\0\0\0\n8.4.0\0" + bytes(60)

    with answering(lambda client: client.sendall(greeting)) as port:
        error = postgresql_at(port)

    assert error.message == f"127.0.0.1:{port} is {peer.MYSQL}, not a PostgreSQL server"
    assert error.hint == "name it by a `mysql://` URL"


def test_a_silent_server_is_told_with_what_it_owes_us() -> None:
    with answering(silent) as port:
        error = mysql_at(port, limit_s=0.2)

    assert f"127.0.0.1:{port}" in error.message
    assert "accepted the connection and did not greet in 0.2 s" in error.message
    assert error.hint is not None
    assert "is it the right port?" in error.hint


@pytest.mark.parametrize("cut", [9, 60])
def test_a_server_that_falls_silent_while_it_greets_is_told_in_time(cut: int) -> None:
    salt = b"12345678\0\xff\xf7\x08\2\0\xff\x81\x15" + bytes(10) + b"123456789012\0"
    text = b"\n8.4.0\0\1\0\0\0" + salt + b"mysql_native_password\0"
    greeting = len(text).to_bytes(3, "little") + b"\0" + text

    def greet(client: socket.socket) -> None:
        client.sendall(greeting[:cut] if cut < 60 else greeting)
        silent(client)

    with answering(greet) as port:
        error = mysql_at(port, limit_s=0.3)

    assert "it greeted and did not let us in within 0.3 s" in error.message


def test_nobody_there_is_told_as_such() -> None:
    with answering(silent) as port:
        pass

    assert mysql_at(port).hint == "is the server running, and is this its address?"
    assert postgresql_at(port).hint == "is the server running, and is this its address?"


@pytest.mark.parametrize(
    "first", [b"", b"N", b"R\0\0\0\x08\0\0\0\0", b"R\0\0\0\x0c\0\0\0\x05salt", b"hello"]
)
def test_other_beginnings_say_nothing(first: bytes) -> None:
    assert peer.recognise(first) is None
