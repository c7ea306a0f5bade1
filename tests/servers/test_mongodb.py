"""Servers of MongoDB's protocol: the lab's own session, a FerretDB of a run, and one by URL."""

from __future__ import annotations

import math
import os
import signal
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import pytest
from hostile import served, trickle
from kinds import kill_behind_its_back, rows_of

from dbdyno.collect import Watched
from dbdyno.collect.sources.mongodb import COLLECTOR
from dbdyno.errors import ConnectError, ServerError
from dbdyno.model import Missing
from dbdyno.servers import Server, open_server, parse_provision
from dbdyno.servers.databases.mongodb import query
from dbdyno.servers.databases.mongodb.bson import Long, decode, encode, raw_elements, raw_value
from dbdyno.servers.databases.mongodb.scram import Scram
from dbdyno.servers.databases.mongodb.session import MongodbSession, Place
from dbdyno.servers.protocol import Capacity
from moving import fetch_or_skip
from traces import LIMIT_S, nothing_left, wait_until_dead

ROOT = Path(__file__).parents[2]
BYTES = ROOT / "crates/wire-mongodb/tests"
"""Documents that pymongo wrote and FerretDB sent."""

FERRETDB = "ferretdb:1.24"
VERSIONS = (FERRETDB, "ferretdb:2.7")
nightly = pytest.mark.nightly  # Builds FerretDB from its modules where it is not in the cache.


def test_documents_are_written_and_read_as_pymongo_does() -> None:
    document = {
        "insert": "c",
        "documents": [{"_id": 1, "a": 0.5, "b": True, "n": None}],
        "$db": "t",
    }
    written = (BYTES / "pymongo/insert.bson").read_bytes()
    assert encode(document) == written
    assert decode(written) == document
    every = decode((BYTES / "pymongo/all.bson").read_bytes())
    assert (every["d"], every["s"], every["o"], every["l"]) == (1.5, "é", {"a": 1}, [True, None])
    assert (every["b"], every["i"], every["t"]) == (b"\1\2", bytes(range(1, 13)), 1000)
    assert (every["r"], every["q"]) == ("/^a/i", 1 << 40)
    assert encode({"a": Long(1)})[4] == 0x12
    sampled = (BYTES / "answers/find.bson").read_bytes()
    batch = raw_value(raw_value(sampled, "cursor"), "firstBatch")
    assert [decode(item) for item in raw_elements(batch)] == [{"_id": 1, "a": 2}]


@pytest.mark.parametrize(
    "data",
    [b"", b"\x05\0\0\0", b"\x05\0\0\0\1", b"\x08\0\0\0\x99a\0\0", b"\x0c\0\0\0\x02a\0\xff" * 2],
)
def test_what_is_no_document_is_an_error(data: bytes) -> None:
    with pytest.raises(ServerError, match="malformed document"):
        decode(data)


def test_a_server_proves_that_it_knows_the_password() -> None:
    scram = Scram("user", "pencil")
    scram._nonce, scram._first = "rOprNGfwEbeRWgbNEkqO", "n=user,r=rOprNGfwEbeRWgbNEkqO"
    first = (
        b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    )
    # The exchange of RFC 7677.
    assert scram.answer(first).endswith(b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=")
    scram.finish(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")
    with pytest.raises(ServerError, match="does not prove itself"):
        scram.finish(b"v=7rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")
    nonce = scram._nonce.encode()
    for bad in (
        b"r=other,s=W22Z,i=4096",
        b"r=%b,s=W22Z,i=many" % nonce,
        b"r=%b,s=W22Z,i=%b" % (nonce, b"9" * 5000),
        b"r=%b\xff,s=W22Z,i=4096" % nonce,
        b"",
    ):
        with pytest.raises(ServerError, match="out of order"):
            scram.answer(bad)


class Answering:
    """Stands for a session with a server that answers anything."""

    def __init__(self, answer: Mapping[str, Any]) -> None:
        self.answer = answer

    def command(self, _document: object, _database: str = "") -> Mapping[str, Any]:
        return self.answer


def test_figures_that_are_none_are_left_out() -> None:
    odd = {"a": math.inf, "b": math.nan, "c": "7", "d": True, "e": 3.0, "f": 0.5, "g": 1 << 40}
    session = cast("MongodbSession", Answering({"opcounters": odd, "databases": [odd, "x"]}))
    assert query.counters(session) == {"opcounters.e": 3, "opcounters.g": 1 << 40}
    assert query.size_bytes(session) == 0
    assert query.capacity(session) == Capacity()


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (b"HTTP/1.0 200 OK\r\n\r\n" + b"x" * 16, "an HTTP server, not a server of MongoDB's"),
        (struct.pack("<iiii", 1 << 30, 0, 1, 2013), "no sensible header"),
        (struct.pack("<iiii", 40, 0, 7, 2013), "no sensible header"),
        (struct.pack("<iiii", 26, 0, 1, 2013) + b"\0\0\0\0\1\5\0\0\0\0", "not one document"),
        (struct.pack("<iiii", 26, 0, 1, 2013) + b"\0\0\0\0\0\5\0\0\0\0", "no reason given"),
        (
            struct.pack("<iiii", 38, 0, 1, 2013) + b"\0\0\0\0\0" + encode({"code": "x"}),
            "no reason given",
        ),
    ],
)
def test_what_is_no_answer_is_an_error(answer: bytes, why: str) -> None:
    with served(trickle((answer,))) as (port, _):
        session = MongodbSession(Place(port=port, limit_s=5))
        with pytest.raises(ConnectError, match=why):
            session.command({"ping": 1})


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("mongodb://127.0.0.1:1/d", "refused"),
        ("mongodb://a,b/d", "names several hosts"),
        ("mongodb://127.0.0.1/d?sokcet=/x", "unknown parameter `sokcet`"),
        ("mongodb://127.0.0.1/d?compressors=snappy,zstd", "name one of snappy, zlib, zstd"),
    ],
)
def test_urls_that_lead_nowhere_are_named(tmp_path: Path, url: str, why: str) -> None:
    with (
        pytest.raises(ServerError, match=why),
        open_server(f"url:{url}", {}, tmp_path) as running,
    ):
        running.start()


def test_a_url_says_whom_to_enter_as(tmp_path: Path) -> None:
    url = "url:mongodb://me:s3cret@db.example/shop?authSource=admin&tls=true"
    with open_server(url, {}, tmp_path) as running:
        target: Any = running.entry.target()
    assert (target["driver"], target["user"], target["database"]) == ("mongodb", "me", "shop")
    assert target["session"] == [["authSource", "admin"]]
    assert target["tls"] == {"mode": "require"}
    assert "s3cret" not in parse_provision(url).text


@pytest.fixture(params=VERSIONS)
def server(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Server]:
    fetch_or_skip(request.param)
    with nothing_left(), open_server(request.param, {}, tmp_path) as server:
        server.start()
        yield server


@nightly
def test_facts_contents_and_counters_are_the_server_s(server: Server) -> None:
    facts = server.facts()
    assert (facts["kind"], facts["source"]) == ("ferretdb", "go")
    assert facts["version"] in ("1.24.0", "2.7.0")
    assert (facts["answered_by"], facts["durability"]) == ("FerretDB", "D2")
    database = server.database
    assert database.tables() == {}
    before = database.counters()
    rows_of(server, '{"insert": "c", "documents": [{"_id": 1, "a": "x"}, {"_id": 2}]}')
    assert (
        database.counters()["commands.insert.total"] - before.get("commands.insert.total", 0) == 1
    )
    assert rows_of(server, '{"find": "c", "filter": {"_id": 1}}') == [{"_id": 1, "a": "x"}]
    assert database.tables() == {"c": "c"}
    first = database.contents("c", checksum=True)
    assert first.rows == database.contents("c", checksum=False).rows == 2
    rows_of(server, '{"update": "c", "updates": [{"q": {"_id": 2}, "u": {"$set": {"a": 1}}}]}')
    assert database.contents("c", checksum=True).checksum != first.checksum
    with pytest.raises(ServerError, match="no collection `nothing`"):
        database.contents("nothing", checksum=False)
    with pytest.raises(ServerError, match="CommandNotFound"):
        rows_of(server, '{"nonsense": 1}')
    assert database.size_bytes() > 0
    documents = ", ".join(f'{{"_id": {number}}}' for number in range(1000))
    rows_of(server, f'{{"insert": "many", "documents": [{documents}]}}')
    assert database.contents("many", checksum=True).rows == 1000, "its cursor was read to the end"


@nightly
def test_a_killed_server_starts_again_with_its_documents(server: Server) -> None:
    rows_of(server, '{"insert": "c", "documents": [{"_id": 1}]}')
    kill_behind_its_back(server)
    server.node.restart(LIMIT_S)
    assert rows_of(server, '{"find": "c"}') == [{"_id": 1}]
    readings = COLLECTOR.open(Watched(kind="ferretdb", ask=server.database.ask))
    assert readings is not None and not isinstance(readings, Missing)
    sampled = {(reading.metric, reading.instance): reading.value for reading in readings.sample()}
    readings.close()
    assert sampled["commands", "find"] == 1


@nightly
def test_a_running_server_is_used_and_left_alone(server: Server, tmp_path: Path) -> None:
    target: Any = server.entry.target("tcp")
    place = "{host}:{port}".format(**target["endpoints"][0]["tcp"])

    def url(password: str) -> str:
        return f"url:mongodb://{target['user']}:{password}@{place}/sbtest?authSource=admin"

    with open_server(url(target["password"]), {}, tmp_path / "url") as running:
        running.start()
        running.check()
        assert running.facts()["answered_by"] == "FerretDB"
        assert running.entry.target() == target | {"database": "sbtest"}
        assert running.database.tables() == {}
        with pytest.raises(ServerError, match="not ours to kill"):
            running.node.kill()
    with (
        pytest.raises(ConnectError, match="AuthenticationFailed"),
        open_server(url("another"), {}, tmp_path / "refused") as running,
    ):
        running.start()
    with (
        pytest.raises(ConnectError, match="is a MongoDB server, not"),
        open_server(f"url:redis://{place}", {}, tmp_path / "other") as running,
    ):
        running.start()
    assert server.alive()


@nightly
def test_a_ferretdb_2_stands_on_a_postgresql_with_settings(tmp_path: Path) -> None:
    fetch_or_skip("ferretdb:2.7")
    settings = {"shared_buffers": "64MB"}
    with nothing_left(), open_server("ferretdb:2.7", settings, tmp_path) as server:
        server.start()
        facts: Any = server.facts()
        assert facts["store"]["version"].startswith("18.") and facts["durability"] == "D2"
        assert server.database.settings()["shared_buffers"] == "64MB"
        rows_of(server, '{"insert": "c", "documents": [{"_id": 1, "n": [1, 2]}, {"_id": 2}]}')
        query_text = '{"find": "c", "filter": {"_id": {"$in": [1]}, "n": 2}}'
        assert rows_of(server, query_text) == [{"_id": 1, "n": [1, 2]}]
        _, postgresql, *_ = server.node.processes()
        os.kill(postgresql, signal.SIGKILL)
        wait_until_dead(server)
        with pytest.raises(ServerError, match="postgresql 18"):
            server.check()
        server.node.restart(LIMIT_S)
        assert rows_of(server, query_text) == [{"_id": 1, "n": [1, 2]}]
        assert {path.parent.name for path in server.log_files()} >= {"postgresql"}


def test_what_holds_a_ferretdb_2_is_reserved(tmp_path: Path) -> None:
    with (
        pytest.raises(ServerError, match="is set by dbdyno itself"),
        open_server("ferretdb:2.7", {"shared_preload_libraries": "x"}, tmp_path),
    ):
        pass


def test_a_ferretdb_has_no_settings(tmp_path: Path) -> None:
    with (
        pytest.raises(ServerError, match="FerretDB 1 has no settings: cache"),
        open_server(FERRETDB, {"cache": "1"}, tmp_path),
    ):
        pass
