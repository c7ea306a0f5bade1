"""Redis and Valkey as servers of a run and by URL: watched, configured, compared, left alone."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hostile import served, trickle
from kinds import kill_behind_its_back

from dbdyno.collect import Watched
from dbdyno.collect.sources.redis import COLLECTOR
from dbdyno.errors import ConnectError, LostError, ServerError
from dbdyno.model import Missing
from dbdyno.servers import Server, open_server, parse_provision
from dbdyno.servers.databases.redis.query import durability
from dbdyno.servers.databases.redis.session import Place, RedisSession
from traces import LIMIT_S, nothing_left

SYSTEM = "redis@system"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with nothing_left(), open_server(SYSTEM, {"save": ""}, tmp_path) as server:
        server.start()
        yield server


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """For tests that leave it as it was."""
    with open_server(SYSTEM, {}, tmp_path_factory.mktemp("standing")) as server:
        server.start()
        yield server


def url_of(target: Any, password: str | None = None) -> str:
    (endpoint,) = target["endpoints"]
    password = password or target["password"]
    if "unix" in endpoint:
        return f"redis://default:{password}@/0?socket={endpoint['unix']}"
    return "redis://:{}@{host}:{port}".format(password, **endpoint["tcp"])


def told(server: Server, *commands: str) -> list[list[object]]:
    session = server.database.inside()
    try:
        return [[row["value"] for row in session.rows(command)] for command in commands]
    finally:
        session.close()


@pytest.mark.slow
def test_facts_settings_and_counters_are_the_server_s(server: Server) -> None:
    facts = server.facts()
    assert facts["version"] == parse_provision(SYSTEM).version
    assert (facts["kind"], facts["source"], facts["durability"]) == ("redis", "system", "D0")
    settings = server.database.settings()
    assert settings["save"] == "" and settings["maxclients"] == "10000"
    assert not {"requirepass", "unixsocket", "port", "dir"} & settings.keys()
    before = server.database.counters()
    told(server, "SET a 1", "GET a", "GET b")
    after = server.database.counters()
    assert after["keyspace_hits"] - before["keyspace_hits"] == 1
    assert after["keyspace_misses"] - before["keyspace_misses"] == 1
    assert after["cmdstat_get_calls"] == 2
    capacity = server.entry.capacity()
    assert capacity.connections is not None and 9000 < capacity.connections < 10_000
    assert server.database.size_bytes() > 0


@pytest.mark.slow
def test_a_setting_that_does_not_exist_is_named(tmp_path: Path) -> None:
    for settings, named in (
        ({"maxmemry": "1mb"}, "setting `maxmemry`: Bad directive"),
        ({"maxmemory-policy": "none"}, "setting `maxmemory-policy`"),
    ):
        with (
            open_server(SYSTEM, settings, tmp_path / next(iter(settings))) as server,
            pytest.raises(ServerError, match=named),
        ):
            server.start()


@pytest.mark.parametrize("name", ["port", "requirepass", "UNIXSOCKET"])
def test_settings_by_which_we_watch_are_refused(tmp_path: Path, name: str) -> None:
    with (
        pytest.raises(ServerError, match="is set by dbdyno itself"),
        open_server(SYSTEM, {name: "1"}, tmp_path),
    ):
        pass


@pytest.mark.slow
def test_a_killed_server_is_noticed_and_starts_again(server: Server) -> None:
    inside = server.database.inside()
    assert inside.rows("SET a 1") == [{"value": "OK"}]
    kill_behind_its_back(server)
    with pytest.raises((LostError, ConnectError)):
        inside.rows("GET a")

    server.node.restart(LIMIT_S)

    assert told(server, "GET a") == [[]], "it kept nothing, as its settings say"
    server.stop()
    server.stop()
    server.check()
    assert not server.alive()


@pytest.mark.slow
def test_what_is_synced_survives(tmp_path: Path) -> None:
    settings = {"appendonly": "yes", "appendfsync": "always"}
    with open_server(SYSTEM, settings, tmp_path) as server:
        server.start()
        assert server.facts()["durability"] == "D2"
        told(server, "SET a 1")
        server.node.kill()
        server.node.restart(LIMIT_S)

        assert told(server, "GET a") == [["1"]]


def test_durability_follows_the_settings() -> None:
    assert durability({"appendonly": "no", "appendfsync": "always"}) == "D0"
    assert durability({"appendonly": "yes", "appendfsync": "everysec"}) == "D1"
    assert durability({"appendonly": "yes", "appendfsync": "always"}) == "D2"


@pytest.mark.slow
def test_contents_are_compared_as_clients_see_them(tmp_path: Path) -> None:
    # Encodings of small and large collections differ, and so does the order that they give.
    packed = {"hash-max-listpack-entries": "0", "set-max-intset-entries": "0"}
    commands = (
        "SET text 'a b'",
        "HSET hash f 1 g 2 h 3",
        "SADD set 3 2 1",
        "RPUSH list b a",
        "ZADD scores 1.5 a 2 b",
        "XADD stream 1-1 f v",
    )
    found = {}
    for name, settings, order in (("a", {}, commands), ("b", packed, commands[::-1])):
        with open_server(SYSTEM, settings, tmp_path / name) as server:
            server.start()
            assert server.database.tables() == {}
            told(server, *order)
            assert server.database.tables() == {"db0": "db0"}
            assert server.database.contents("db0", checksum=False).rows == len(commands)
            found[name] = server.database.contents("db0", checksum=True)
            told(server, "HSET hash f 2")
            changed = server.database.contents("db0", checksum=True)
            assert changed.checksum != found[name].checksum
            with pytest.raises(ServerError, match="its databases are `db0`"):
                server.database.contents("sbtest1", checksum=False)
    assert found["a"] == found["b"]
    assert found["a"].rows == len(commands)


@pytest.mark.slow
@pytest.mark.parametrize("transport", ["unix", "tcp"])
def test_a_running_server_is_used_and_left_alone(
    standing: Server, tmp_path: Path, transport: Any
) -> None:
    theirs: Any = standing.entry.target(transport)
    with open_server(f"url:{url_of(theirs)}", {}, tmp_path) as running:
        running.start()
        running.check()
        ours: Any = running.entry.target()
        assert ours["endpoints"] == theirs["endpoints"]
        assert ours["password"] == theirs["password"]
        assert running.facts()["version"] == standing.facts()["version"]
        assert sum(running.database.counters().values()) > 0
        assert running.database.tables() == {}
        told(standing, "CLIENT KILL TYPE normal SKIPME yes")
        with contextlib.suppress(LostError):
            standing.database.settings()
        running.check()
        with pytest.raises(ServerError, match="not ours to kill"):
            running.node.kill()
    assert standing.alive()


@pytest.mark.slow
def test_who_is_not_let_in_is_told_why(standing: Server, tmp_path: Path) -> None:
    target: Any = standing.entry.target("tcp")
    with (
        open_server(f"url:{url_of(target, 's3cret')}", {}, tmp_path) as running,
        pytest.raises(ConnectError, match="WRONGPASS") as caught,
    ):
        running.start()
    assert "s3cret" not in caught.value.message
    for url, why in (
        ("redis://127.0.0.1:1", "refused"),
        ("redis://127.0.0.1/sbtest", "`sbtest`; Redis's are numbers"),
        ("redis://127.0.0.1/0?sokcet=/x", "unknown parameter `sokcet`"),
    ):
        with (
            pytest.raises(ServerError, match=why),
            open_server(f"url:{url}", {}, tmp_path) as running,
        ):
            running.start()


@pytest.mark.slow
def test_another_server_is_known_by_its_words(tmp_path: Path) -> None:
    for provision, kind in (
        ("mariadb@system", "MySQL or MariaDB"),
        ("postgresql@system", "PostgreSQL"),
    ):
        with open_server(provision, {}, tmp_path / kind) as other:
            other.start()
            target: Any = {**other.entry.target("tcp"), "password": "p"}
            with (
                open_server(f"url:{url_of(target)}", {}, tmp_path / "b") as running,
                pytest.raises(ConnectError, match=f"a {kind} server, not a Redis or Valkey"),
            ):
                running.start()


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (b"* OK IMAP4rev1 ready\r\n", "not a Redis or Valkey server"),
        (b":\r\n", "not a Redis or Valkey server"),
        (b"$9999999999\r\n", "claims 9,999,999,999 bytes"),
        (b"*1\r\n" * 1000, "arrays more than 100 deep"),
    ],
)
def test_what_is_no_reply_is_an_error(reply: bytes, why: str) -> None:
    with served(trickle((reply,))) as (port, _):
        session = RedisSession(Place(port=port))
        with pytest.raises(ConnectError, match=why):
            session.command("PING")


@pytest.mark.slow
def test_info_is_sampled(server: Server) -> None:
    readings = COLLECTOR.open(Watched(kind="redis", ask=server.database.ask))
    assert readings is not None and not isinstance(readings, Missing)
    told(server, "SET a 1", "SET b 2", "GET a", "GET none")
    found = {(reading.metric, reading.instance): reading.value for reading in readings.sample()}
    readings.close()
    assert found["keys", "db0"] == 2
    assert found["hits", ""] == 1 and found["misses", ""] == 1
    assert found["commands", ""] >= 4 and found["memory_bytes", ""] > 100_000
    assert {name for name, _ in found} <= {metric.name for metric in COLLECTOR.metrics}
    assert COLLECTOR.open(Watched(kind="mysql", ask=server.database.ask)) is None
