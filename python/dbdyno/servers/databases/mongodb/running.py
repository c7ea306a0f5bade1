"""An existing server of MongoDB's protocol: inspected and loaded, never stopped or altered."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from urllib.parse import parse_qs, unquote, urlsplit

from dbdyno.errors import ServerError
from dbdyno.model.session import SampledSession
from dbdyno.servers.contents import Contents
from dbdyno.servers.databases.mongodb import query
from dbdyno.servers.databases.mongodb.session import MongodbSession, Place
from dbdyno.servers.nodes.running import ANSWER_LIMIT_S, RunningServer
from dbdyno.servers.protocol import Capacity, ServerSpec, Transport

_PARAMETERS = frozenset({"authSource", "ca", "certificate", "key", "socket", "tls"})
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
        self._given = _given(parts.query)
        self._encrypted = self._given.get("tls", "false") == "true" or "ca" in self._given
        try:
            port = parts.port or 27017
        except ValueError as error:
            raise ServerError(f"the server's URL has no valid port: {error}") from None
        host = unquote(parts.hostname or "127.0.0.1")
        self._place = Place(
            unix=self._given.get("socket", host if host.startswith("/") else ""),
            host=host,
            port=port,
            user=unquote(parts.username or ""),
            password=unquote(parts.password or ""),
            source=self._given.get("authSource") or unquote(parts.path.strip("/")) or "admin",
            database=unquote(parts.path.strip("/")) or "test",
            tls=self._context() if self._encrypted else None,
            limit_s=ANSWER_LIMIT_S,
        )
        self._session = MongodbSession(self._place)

    def _context(self) -> ssl.SSLContext:
        """The engine's rule: the server's certificate is checked if the URL names a `ca`."""
        ca = self._given.get("ca")
        try:
            context = ssl.create_default_context(cafile=ca)
            if ca is None:
                context.check_hostname = False
                context.verify_mode = ssl.CERT_NONE
            if certificate := self._given.get("certificate"):
                context.load_cert_chain(certificate, self._given.get("key"))
        except (OSError, ssl.SSLError) as error:
            raise ServerError(f"the URL's certificates can't be used: {error}") from error
        return context

    def target(self, transport: Transport | None = None) -> Mapping[str, object]:
        """The URL itself decides `transport`."""
        place = self._place
        endpoint: object = {"tcp": {"host": place.host, "port": place.port}}
        if place.unix:
            endpoint = {"unix": place.unix}
        target: dict[str, object] = {
            "driver": "mongodb",
            "endpoints": [endpoint],
            "user": place.user,
            "database": place.database,
        }
        if place.user:
            target |= {"password": place.password, "session": [["authSource", place.source]]}
        if self._encrypted:
            names = ("ca", "certificate", "key")
            files = {name: self._given[name] for name in names if name in self._given}
            target["tls"] = {"mode": "verify-full" if "ca" in files else "require", **files}
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


def _given(text: str) -> Mapping[str, str]:
    """The URL's parameters."""
    values = {name: texts[-1] for name, texts in parse_qs(text).items()}
    if unknown := sorted(values.keys() - _PARAMETERS):
        raise ServerError(
            f"the server's URL has an unknown parameter `{unknown[0]}`",
            hint=f"known are: {', '.join(sorted(_PARAMETERS))}",
        )
    return values
