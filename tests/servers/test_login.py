"""The lab's own log-in: what it never sends, and that no server can hold it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from hostile import mysql, rowless, scram, served, switch

from dbdyno.errors import ConnectError, ServerError
from dbdyno.servers import open_server
from dbdyno.servers.databases.mysql.session import Address, MysqlSession
from dbdyno.servers.nodes.login import try_apart, within

PASSWORD = "S3cretPW"


def key() -> bytes:
    """A public key that anybody could have made."""
    private = rsa.generate_private_key(65537, 2048)
    return private.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )


def log_in(port: int, *, asks: bool = False) -> None:
    address = Address("bob", PASSWORD, port=port, asks_for_public_key=asks)
    session = MysqlSession("MySQL", address, greeting_limit_s=5)
    try:
        session.connection()
    finally:
        session.close()


@pytest.mark.parametrize(
    ("plugin", "answers"),
    [
        (b"mysql_native_password", [switch(b"mysql_clear_password")]),
        (b"caching_sha2_password", [switch(b"mysql_clear_password")]),
        (b"mysql_native_password", [switch(b"dialog"), b"\x03Password: "]),
        (b"mysql_native_password", [switch(b"mysql_old_password")]),
        (b"caching_sha2_password", [b"\x01\x04"]),
        (b"mysql_native_password", [switch(b"caching_sha2_password"), b"\x01\x04"]),
        (b"sha256_password", [b"\x01-----BEGIN PUBLIC KEY-----"]),
        (b"mysql_native_password", [switch(b"sha256_password"), b"\x01-----BEGIN"]),
    ],
)
def test_a_password_is_not_given_to_whoever_asks(plugin: bytes, answers: list[bytes]) -> None:
    with served(mysql(plugin, *answers)) as (port, heard):
        with pytest.raises(ConnectError) as raised:
            log_in(port)
        assert "over a connection that is not encrypted" in raised.value.message
        assert "get-server-public-key=true" in (raised.value.hint or "")
        assert PASSWORD.encode() not in heard
        assert not any(len(packet) >= 256 for packet in bytes(heard).split(b"\0\0"))


def test_a_key_is_asked_for_where_that_is_wished_for() -> None:
    answers = [b"\x01\x04", b"\x01" + key(), b"\xff\x15\x04#28000no"]
    with served(mysql(b"caching_sha2_password", *answers)) as (port, heard):
        with pytest.raises(ConnectError, match="1045"):
            log_in(port, asks=True)
        assert PASSWORD.encode() not in heard
        assert len(heard) > 256, "the password, encrypted for that key"


def test_in_clear_it_is_never_sent_where_others_listen() -> None:
    answers = [switch(b"mysql_clear_password")]
    with served(mysql(b"mysql_native_password", *answers)) as (port, heard):
        with pytest.raises(ConnectError, match="in clear"):
            log_in(port, asks=True)
        assert PASSWORD.encode() not in heard


def test_a_log_in_that_computes_for_ever_is_ended() -> None:
    with served(scram(2_147_483_647)) as (port, _):
        began_s = time.monotonic()
        with pytest.raises(ConnectError, match="the log-in was not over within 1 s"):
            try_apart(f"url:postgresql://bob:{PASSWORD}@127.0.0.1:{port}/d", 1)
        assert time.monotonic() - began_s < 60


def test_what_the_server_says_is_what_is_told() -> None:
    refused = b"\xff\x15\x04#28000Access denied for bob"
    with served(mysql(b"mysql_native_password", refused)) as (port, _):
        with (
            open_server(f"url:mysql://bob:x@127.0.0.1:{port}/d", {}, Path()) as server,
            pytest.raises(ConnectError, match="Access denied for bob") as raised,
        ):
            server.start()
        assert raised.value.hint == "check the user and the password"


def test_what_takes_too_long_in_this_process_is_not_waited_for() -> None:
    with pytest.raises(ConnectError, match="not over within -2 s"):
        within(-2, lambda: time.monotonic() and __import__("threading").Event().wait(5))
    assert within(5, lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        within(5, lambda: 1 // 0)


@pytest.mark.parametrize("where", ["environment", "file"])
def test_a_password_comes_from_elsewhere(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = "url:mysql://bob@127.0.0.1:1/d"
    if where == "environment":
        monkeypatch.setenv("MYSQL_PWD", PASSWORD)
    else:
        (tmp_path / "my.cnf").write_text(f"[client]\npassword = '{PASSWORD}'\n")
        url += f"?defaults-file={tmp_path}/my.cnf"
    with open_server(url, {}, tmp_path) as server:
        assert server.entry.target()["password"] == PASSWORD


def test_a_file_without_a_password_is_told(tmp_path: Path) -> None:
    (tmp_path / "my.cnf").write_text("[mysqld]\nport=1\n")
    url = f"url:mysql://bob@127.0.0.1:1/d?defaults-file={tmp_path}/my.cnf"
    with (
        pytest.raises(ServerError, match="gives no password"),
        open_server(url, {}, tmp_path),
    ):
        pass


def test_an_answer_without_its_row_is_the_servers_error(tmp_path: Path) -> None:
    with served(rowless) as (port, _):
        url = f"url:postgresql://bob:x@127.0.0.1:{port}/d"
        with open_server(url, {}, tmp_path) as server:
            server.start()
            with pytest.raises(ServerError, match="with 0 rows; one was expected"):
                server.facts()
