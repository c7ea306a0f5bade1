"""What the lab asks of servers of MongoDB's protocol, over its own session."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dbdyno.errors import ServerError
from dbdyno.servers.contents import Contents, contents_of
from dbdyno.servers.databases.mongodb.session import MongodbError, MongodbSession
from dbdyno.servers.protocol import Capacity

_OWN = frozenset({"admin", "config", "local"})
"""Databases of the server itself."""
_COUNTED = ("opcounters", "network", "document", "cursor", "asserts", "wiredTiger")
"""Sections of serverStatus whose whole numbers grow, but for those in `_STATES`."""
_STATES = ("current", "maximum", "max ", "min ", "percent", "open", "available", "configured")


def status(session: MongodbSession) -> Mapping[str, Any]:
    """The server's own figures."""
    return session.command({"serverStatus": 1}, "admin")


def facts(session: MongodbSession) -> Mapping[str, object]:
    """Which server answered, its version and build."""
    build = session.command({"buildInfo": 1}, "admin")
    known: dict[str, object] = {"version": str(build.get("version"))}
    two = build.get("ferretdb")
    if "ferretdbVersion" in build or isinstance(two, Mapping):
        # It calls itself a MongoDB of some version; `answered_by` says what it is.
        version = two.get("version") if isinstance(two, Mapping) else build["ferretdbVersion"]
        own = str(version).removeprefix("v")
        return {"version": own, "version_claimed": known["version"], "answered_by": "FerretDB"}
    known["answered_by"] = "MongoDB"
    for name, key in (("build", "gitVersion"), ("allocator", "allocator")):
        if build.get(key):
            known[name] = str(build[key])
    engine = status(session).get("storageEngine")
    if isinstance(engine, Mapping):
        known["storage_engine"] = str(engine.get("name"))
    return known


def settings(session: MongodbSession) -> Mapping[str, str]:
    """The server's parameters, but those that are passwords."""
    listed = session.command({"getParameter": "*"}, "admin")
    return {
        name: str(value)
        for name, value in listed.items()
        if name != "ok" and "password" not in name.lower()
    }


def counters(session: MongodbSession) -> Mapping[str, int]:
    """Counters of serverStatus, by their path: `opcounters.insert`."""
    answer = status(session)
    sections = {name: answer[name] for name in _COUNTED if isinstance(answer.get(name), Mapping)}
    metrics = answer.get("metrics")
    if isinstance(metrics, Mapping) and isinstance(metrics.get("commands"), Mapping):
        sections["commands"] = metrics["commands"]
    return {
        path: value
        for path, value in _numbers(sections)
        if not any(word in path.rpartition(".")[2] for word in _STATES)
    }


def _numbers(section: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, int]]:
    for name, value in section.items():
        path = f"{prefix}{name}"
        if isinstance(value, Mapping):
            yield from _numbers(value, f"{path}.")
        elif (number := _whole(value)) is not None:
            yield path, number


def _whole(value: object) -> int | None:
    """A whole number, which some servers send as a double; `None` for anything else."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return int(value) if isinstance(value, float) and value.is_integer() else None


def size_bytes(session: MongodbSession) -> int:
    """Of all databases but the server's own, on disk."""
    listed = session.command({"listDatabases": 1}, "admin").get("databases")
    databases = [entry for entry in listed if isinstance(entry, Mapping)] if listed else []
    return sum(
        _whole(database.get("sizeOnDisk")) or 0
        for database in databases
        if database.get("name") not in _OWN
    )


def capacity(session: MongodbSession) -> Capacity:
    """Connections left, where the server limits them."""
    connections = status(session).get("connections")
    if not isinstance(connections, Mapping):
        return Capacity()
    current, available = (_whole(connections.get(name)) for name in ("current", "available"))
    if current is None or available is None:
        return Capacity()
    return Capacity(
        connections=available,
        basis=f"{available} connections available, {current} in use",
        cure="raise the server's `net.maxIncomingConnections`, and its limit of open files",
    )


def tables(session: MongodbSession) -> Mapping[str, str]:
    """The collections of the place's database. `session` is closed."""
    try:
        listed = session.documents({"listCollections": 1, "nameOnly": True})
        names = sorted(str(collection["name"]) for collection in listed)
        return {name: name for name in names if not name.startswith("system.")}
    finally:
        session.close()


def contents(session: MongodbSession, table: str, *, checksum: bool) -> Contents:
    """Of a collection: its documents as the server sends them. `session` is closed.

    # Errors
    `ServerError` when there is no such collection, or it can't be read.
    """
    try:
        known = session.documents({"listCollections": 1, "filter": {"name": table}})
        if next(known, None) is None:
            raise ServerError(f"there is no collection `{table}`")
        if not checksum:
            return Contents(_counted(session, table))
        stored = session.raw_documents({"find": table, "filter": {}})
        return contents_of((document,) for document in stored)
    finally:
        session.close()


def _counted(session: MongodbSession, table: str) -> int:
    pipeline = [{"$group": {"_id": 1, "n": {"$sum": 1}}}]
    answer = session.documents({"aggregate": table, "pipeline": pipeline, "cursor": {}})
    counted = next(answer, None)
    return int(counted["n"]) if counted else 0


def durability(session: MongodbSession) -> str:
    """The class printed beside every number: MongoDB syncs its journal after it has answered
    to clients at most 100 ms later (D1), but for those that ask for it; without a journal D0."""
    try:
        options = session.command({"getCmdLineOpts": 1}, "admin").get("parsed", {})
    except MongodbError:
        return "unknown"
    journal = options.get("storage", {}).get("journal", {})
    return "D0" if journal.get("enabled") is False else "D1"
