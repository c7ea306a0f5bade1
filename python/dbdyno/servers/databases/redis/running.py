"""An existing Redis or Valkey server: inspected and loaded, never stopped or altered."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import unquote, urlsplit

from dbdyno.errors import ServerError
from dbdyno.model.session import SampledSession
from dbdyno.servers.contents import Contents
from dbdyno.servers.databases.redis import query
from dbdyno.servers.databases.redis.brand import Brand
from dbdyno.servers.databases.redis.contents import contents
from dbdyno.servers.databases.redis.session import Place, RedisSession
from dbdyno.servers.nodes.address import parameters_of, port_of, target_at, tls_context
from dbdyno.servers.nodes.running import ANSWER_LIMIT_S, RunningServer
from dbdyno.servers.protocol import Capacity, ServerSpec, Transport

_PARAMETERS = frozenset({"socket", "ca", "certificate", "key"})


class RunningRedis(RunningServer):
    """The server behind a `redis://` or `valkey://` URL; with one `s` more, by TLS."""

    _PROBE = "PING"
    _session: RedisSession

    def __init__(self, brand: Brand, spec: ServerSpec) -> None:
        provision = spec.provision
        assert provision.url is not None, "a provision by URL has one"
        super().__init__(provision.url, spec, brand.example)
        self._brand = brand
        parts = urlsplit(provision.url)
        self._files = parameters_of(parts.query, _PARAMETERS, brand.title)
        database = parts.path.strip("/")
        if database and not database.isdecimal():
            raise ServerError(
                f"the server's URL names the database `{database}`; {brand.title}'s are numbers",
                hint=f"expected `{brand.kind}://user:password@host:port/0`, or "
                f"`{brand.kind}:///0?socket=/path/to/socket`",
            )
        self._place = Place(
            unix=self._files.get("socket", ""),
            host=parts.hostname or "127.0.0.1",
            port=port_of(parts, 6379),
            user=unquote(parts.username or ""),
            password=unquote(parts.password or ""),
            database=int(database or 0),
            tls=tls_context(self._files) if parts.scheme == brand.tls_scheme else None,
            limit_s=ANSWER_LIMIT_S,
        )
        self._session = RedisSession(self._place)

    def target(self, transport: Transport | None = None) -> Mapping[str, object]:
        """The URL itself decides `transport`."""
        place = self._place
        target = target_at(place, self._files)
        target |= {"driver": "redis", "database": str(place.database)}
        if place.password:
            target["password"] = place.password
        return target

    def facts(self) -> Mapping[str, object]:
        """Facts reported by the server; its package is unknown."""
        return {"kind": self._brand.kind, "source": "url", **query.facts(self._session)}

    def settings(self) -> Mapping[str, str]:
        """Settings that our user may see."""
        return query.settings(self._session)

    def counters(self) -> Mapping[str, int]:
        """Counters of the whole server."""
        return query.counters(self._session)

    def capacity(self) -> Capacity:
        """From its settings and current connections."""
        return query.capacity(self._session)

    def size_bytes(self) -> int:
        """Memory of the data."""
        return query.size_bytes(self._session)

    def ask(self) -> SampledSession | None:
        """A session as its URL says."""
        return RedisSession(self._place)

    def contents(self, table: str, *, checksum: bool) -> Contents:
        """Contents of a database: `db0`."""
        return contents(RedisSession(self._place), table, checksum=checksum)
