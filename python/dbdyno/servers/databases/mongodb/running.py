"""An existing server of MongoDB's protocol: inspected and loaded, never stopped or altered."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import unquote, urlsplit

from dbdyno.errors import ServerError
from dbdyno.model.session import SampledSession
from dbdyno.servers.contents import Contents
from dbdyno.servers.databases.mongodb import query
from dbdyno.servers.databases.mongodb.session import MongodbSession, Place
from dbdyno.servers.nodes.address import parameters_of, port_of, target_at, tls_context
from dbdyno.servers.nodes.running import ANSWER_LIMIT_S, RunningServer
from dbdyno.servers.protocol import Capacity, ServerSpec, Transport

_PARAMETERS = frozenset({"authSource", "ca", "certificate", "compressors", "key", "socket", "tls"})
_COMPRESSORS = ("snappy", "zlib", "zstd")
_FORM = "expected `mongodb://user:password@host:port/database?authSource=admin`"


class RunningMongodb(RunningServer):
    """The server behind a `mongodb://` URL."""

    _PROBE = '{"ping": 1}'
    _session: MongodbSession

    def __init__(self, spec: ServerSpec) -> None:
        provision = spec.provision
        assert provision.url is not None, "a provision by URL has one"
        super().__init__(provision.url, spec, "ferretdb:1.24")
        parts = urlsplit(provision.url)
        if "," in parts.netloc:
            raise ServerError("the server's URL names several hosts; name one", hint=_FORM)
        self._given = given = parameters_of(parts.query, _PARAMETERS, "MongoDB")
        if given.get("compressors", "zlib") not in _COMPRESSORS:
            raise ServerError(
                f"the server's URL has compressors={given['compressors']}; name one of "
                + ", ".join(_COMPRESSORS),
                hint="a load has one algorithm, so that its figures say what they are of",
            )
        encrypted = given.get("tls", "false") == "true" or "ca" in given
        host = unquote(parts.hostname or "127.0.0.1")
        self._place = Place(
            unix=given.get("socket", host if host.startswith("/") else ""),
            host=host,
            port=port_of(parts, 27017),
            user=unquote(parts.username or ""),
            password=unquote(parts.password or ""),
            source=given.get("authSource") or unquote(parts.path.strip("/")) or "admin",
            database=unquote(parts.path.strip("/")) or "test",
            tls=tls_context(given) if encrypted else None,
            limit_s=ANSWER_LIMIT_S,
        )
        self._session = MongodbSession(self._place)

    def target(self, transport: Transport | None = None) -> Mapping[str, object]:
        """The URL itself decides `transport`."""
        place = self._place
        target = target_at(place, self._given)
        target |= {"driver": "mongodb", "database": place.database}
        if "compressors" in self._given:
            target["compression"] = self._given["compressors"]
        if place.user:
            target |= {"password": place.password, "session": [["authSource", place.source]]}
        return target

    def facts(self) -> Mapping[str, object]:
        """Facts reported by the server; its package is unknown."""
        known = {"durability": query.durability(self._session), **query.facts(self._session)}
        return {"kind": "mongodb", "source": "url", **known}

    def settings(self) -> Mapping[str, str]:
        """Parameters that our user may see."""
        return query.settings(self._session)

    def counters(self) -> Mapping[str, int]:
        """Counters of the whole server."""
        return query.counters(self._session)

    def capacity(self) -> Capacity:
        """From its current connections."""
        return query.capacity(self._session)

    def size_bytes(self) -> int:
        """Of all databases, on disk."""
        return query.size_bytes(self._session)

    def ask(self) -> SampledSession | None:
        """A session as its URL says."""
        return MongodbSession(self._place)

    def contents(self, table: str, *, checksum: bool) -> Contents:
        """Contents of a collection."""
        return query.contents(MongodbSession(self._place), table, checksum=checksum)
