"""An existing ClickHouse server: inspected and loaded, never stopped or altered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import unquote, urlsplit

from dbdyno.errors import ServerError
from dbdyno.model.session import SampledSession
from dbdyno.servers.contents import Contents
from dbdyno.servers.databases.clickhouse import query
from dbdyno.servers.databases.clickhouse.program import COMPRESSIONS
from dbdyno.servers.databases.clickhouse.session import ClickhouseSession, Place
from dbdyno.servers.nodes.address import parameters_of, port_of, target_at, tls_context
from dbdyno.servers.nodes.running import ANSWER_LIMIT_S, RunningServer
from dbdyno.servers.protocol import Capacity, ServerSpec, Transport

_PARAMETERS = frozenset({"ca", "certificate", "compression", "http_port", "key"})
_PORTS = {"clickhouse": (9000, "8123"), "clickhouses": (9440, "8443")}
"""Native and HTTP port where the URL names none, by its scheme."""


class RunningClickhouse(RunningServer):
    """The server behind `clickhouse://user:password@host:9000/database?http_port=8123`: the
    engine loads it at its native port, the lab asks it at its HTTP port. `clickhouses`: both by
    TLS."""

    _session: ClickhouseSession

    def __init__(self, spec: ServerSpec) -> None:
        provision = spec.provision
        assert provision.url is not None, "a provision by URL has one"
        super().__init__(provision.url, spec, "clickhouse@system")
        parts = urlsplit(provision.url)
        given = self._given = parameters_of(parts.query, _PARAMETERS, "ClickHouse")
        native_port, http_port = _PORTS[parts.scheme]
        http_port = given.get("http_port", http_port)
        if given.get("compression", "lz4") not in COMPRESSIONS:
            raise ServerError(
                f"the server's URL has `compression={given['compression']}`",
                hint=f"expected one of {', '.join(COMPRESSIONS)}",
            )
        if not http_port.isdecimal():
            raise ServerError(
                f"the server's URL has `http_port={http_port}`, which is no port",
                hint="expected `clickhouse://user:password@host:9000/database?http_port=8123`",
            )
        self._port = port_of(parts, native_port)
        self._place = Place(
            host=parts.hostname or "127.0.0.1",
            port=int(http_port),
            user=unquote(parts.username or ""),
            password=unquote(parts.password or ""),
            database=parts.path.strip("/") or "default",
            tls=tls_context(given) if parts.scheme == "clickhouses" else None,
            limit_s=ANSWER_LIMIT_S,
        )
        self._session = ClickhouseSession(self._place)

    def _try_settings(self) -> None:
        """Raises `ServerError` for a setting that the server does not know or take."""
        for name, value in self._wanted.items():
            number = value.replace(".", "", 1).removeprefix("-").isdecimal()
            self._session.rows(f"SET {name} = {value if number else repr(value)}")

    def target(self, transport: Transport | None = None) -> Mapping[str, object]:
        """Its native port; the URL itself decides `transport`."""
        place = self._place
        target = target_at(replace(place, port=self._port), self._given)
        target |= {"driver": "clickhouse", "database": place.database}
        if compression := self._given.get("compression"):
            target["compression"] = compression
        if place.password:
            target["password"] = place.password
        return self._with_settings(target)

    def facts(self) -> Mapping[str, object]:
        """Facts reported by the server; its package is unknown."""
        return {"kind": "clickhouse", "source": "url", **query.facts(self._session)}

    def settings(self) -> Mapping[str, str]:
        """Settings in force for our user."""
        return query.settings(self._session)

    def counters(self) -> Mapping[str, int]:
        """Counters of the whole server."""
        return query.counters(self._session)

    def capacity(self) -> Capacity:
        """Not known of a server that is not ours."""
        return query.capacity(self._session, None)

    def size_bytes(self) -> int:
        """Of all tables on disk."""
        return query.size_bytes(self._session)

    def ask(self) -> SampledSession | None:
        """A session as its URL says."""
        return ClickhouseSession(self._place)

    def contents(self, table: str, *, checksum: bool) -> Contents:
        """Contents of a table."""
        return query.contents(self._session, table, checksum=checksum)
