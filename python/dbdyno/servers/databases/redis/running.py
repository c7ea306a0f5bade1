"""An existing Redis or Valkey server: inspected and loaded, never stopped or altered."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from urllib.parse import parse_qs, unquote, urlsplit

from dbdyno.errors import ServerError
from dbdyno.model.session import SampledSession
from dbdyno.servers.contents import Contents
from dbdyno.servers.databases.redis import query
from dbdyno.servers.databases.redis.brand import Brand
from dbdyno.servers.databases.redis.contents import contents
from dbdyno.servers.databases.redis.session import Place, RedisSession
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
        self._files = _files(brand, parts.query)
        self._encrypted = parts.scheme == brand.tls_scheme
        database = parts.path.strip("/")
        if database and not database.isdecimal():
            raise ServerError(
                f"the server's URL names the database `{database}`; {brand.title}'s are numbers",
                hint=f"expected `{brand.kind}://user:password@host:port/0`, or "
                f"`{brand.kind}:///0?socket=/path/to/socket`",
            )
        try:
            port = parts.port or 6379
        except ValueError as error:
            raise ServerError(f"the server's URL has no valid port: {error}") from None
        self._place = Place(
            unix=self._files.get("socket", ""),
            host=parts.hostname or "127.0.0.1",
            port=port,
            user=unquote(parts.username or ""),
            password=unquote(parts.password or ""),
            database=int(database or 0),
            tls=self._context() if self._encrypted else None,
            limit_s=ANSWER_LIMIT_S,
        )
        self._session = RedisSession(self._place)

    def _context(self) -> ssl.SSLContext:
        """The engine's rule: the server's certificate is checked if the URL names a `ca`."""
        ca = self._files.get("ca")
        try:
            context = ssl.create_default_context(cafile=ca)
            if ca is None:
                context.check_hostname = False
                context.verify_mode = ssl.CERT_NONE
            if certificate := self._files.get("certificate"):
                context.load_cert_chain(certificate, self._files.get("key"))
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
            "driver": "redis",
            "endpoints": [endpoint],
            "user": place.user,
            "database": str(place.database),
        }
        if place.password:
            target["password"] = place.password
        if self._encrypted:
            names = ("ca", "certificate", "key")
            files = {name: self._files[name] for name in names if name in self._files}
            target["tls"] = {"mode": "verify-full" if "ca" in files else "require", **files}
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


def _files(brand: Brand, text: str) -> Mapping[str, str]:
    """The URL's parameters: the socket's path and those of certificates."""
    values = {name: texts[-1] for name, texts in parse_qs(text).items()}
    if unknown := sorted(values.keys() - _PARAMETERS):
        raise ServerError(
            f"the server's URL has an unknown parameter `{unknown[0]}`",
            hint=f"{brand.title}'s are: {', '.join(sorted(_PARAMETERS))}",
        )
    return values
